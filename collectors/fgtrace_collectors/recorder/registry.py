"""The cases and routes that can be named, wherever they were registered."""

from __future__ import annotations

import difflib
import json
import pkgutil
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Iterable, Mapping

from fgtrace_collectors.recorder.errors import unavailable, usage


def load(reference: str) -> Any:
    """Import `module:attribute`."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def nearest(what: str, name: str, known: Iterable[str]) -> str:
    """Write the hint for an unknown name."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    listed = f"known: {', '.join(known)}"
    return f"did you mean {close[0]}? {listed}" if close else f"no such {what}; {listed}"


@dataclass(frozen=True)
class Registry:
    """References `module:attribute` by name; an object is imported when it is asked for."""

    cases: Mapping[str, str]
    routes: Mapping[str, str]
    tool: str
    """The fgtrace that they were registered with, as provenance names it."""

    def case(self, name: str) -> Any:
        """Import a case by name."""
        if name not in self.cases:
            raise usage(f"unknown case {name!r}", nearest("case", name, self.cases))
        return _named(name, load(self.cases[name]))

    def route(self, name: str) -> Any:
        """Import a route by name."""
        if name not in self.routes:
            raise unavailable(f"unknown route {name!r}", nearest("route", name, self.routes))
        return _named(name, load(self.routes[name]))


def _named(name: str, found: Any) -> Any:
    """Refuse a name that ranges and files cannot carry, or that is not the object's own."""
    if found.name != name or not re.match(r"\w[\w.-]*\Z", name):
        raise usage(
            f"{found.name!r} is registered as {name!r}",
            "its entry point must have its name: letters, digits, and _ . - inside",
        )
    return found


def bundled_registry() -> Registry:
    """Read the registry that was written into the one-file recorder."""
    data = pkgutil.get_data("fgtrace_collectors.recorder", "registry.json")
    if data is None:
        raise FileNotFoundError("registry.json")
    found = json.loads(data)
    return Registry(found["cases"], found["routes"], found["tool"])
