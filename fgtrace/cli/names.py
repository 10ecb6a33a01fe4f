"""Names on the command line: completed by the shell, and the nearest given for a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import click
from click.shell_completion import CompletionItem

from fgtrace.errors import ExitCode, FgtraceError

FORMATS = ("table", "json", "csv", "markdown")


def unknown_name(
    what: str, name: str, names: Iterable[str], exit_code: ExitCode = ExitCode.USAGE
) -> FgtraceError:
    """Make the error for a `name` that is none of `names`; the hint has the nearest."""
    names = list(names)
    nearest = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}?" if nearest else f"one of: {', '.join(names)}"
    return FgtraceError(
        f"there is no {what} {name!r}", hint=hint, kind="usage", exit_code=exit_code
    )


@dataclass(frozen=True)
class Names(click.ParamType[str]):
    """A name out of a fixed list, called `name` in messages."""

    name: str
    names: tuple[str, ...]

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Name the list in a usage line: REPORT, FORMAT."""
        return self.name.upper()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse a name that is not in the list."""
        if value not in self.names:
            raise unknown_name(self.name, str(value), self.names)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the names that begin like what was typed."""
        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]


@dataclass(frozen=True)
class RegistryNames(click.ParamType[str]):
    """The name of an installed case or route, or one of `also`; completed, but not checked.

    Whoever uses the name refuses an unknown one: other interpreters may have other routes.
    """

    name: Literal["case", "route"]
    also: tuple[str, ...] = ()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Take the name as it is."""
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the names that begin like what was typed; no case or route is imported."""
        # Reads the entry points of every installed package.
        from fgtrace_collectors.registry import installed_registry

        registry = installed_registry()
        names = registry.cases if self.name == "case" else registry.routes
        return [
            CompletionItem(name) for name in (*names, *self.also) if name.startswith(incomplete)
        ]


CASE = RegistryNames("case", also=("all",))
ROUTE = RegistryNames("route")
FORMAT = Names("format", FORMATS)
