"""A layout: how a report is shown, which columns, in what units, under which titles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fgtrace import units
from fgtrace.analysis import spread, verdicts
from fgtrace.views.model import Column

LEVEL = units.level(spread.LEVEL)
"""The level of the intervals, as a column's title."""

LEVEL_OF_VERDICTS = units.level(verdicts.LEVEL)
"""That of differences that are judged."""


@dataclass(frozen=True)
class Shown:
    """A column of a table: the frame's columns that it is made of, and how their values are shown.

    An optional one is left out where no row has a value.
    """

    title: str
    sources: tuple[str, ...]
    text: Callable[..., str]
    drop: int = 0
    optional: bool = False
    wrap: bool = False

    def column(self) -> Column:
        """Names stand to the left, everything that is counted to the right."""
        align: Literal["left", "right"] = "left" if self.text in (named, indented) else "right"
        return Column(self.title, align, self.drop, self.wrap)


@dataclass(frozen=True)
class Layout:
    """How a report is shown, and which of its columns hold the names that `--filter` looks at.

    `empty` says why the report can have no rows; without it, the notes of the trace do.
    """

    title: str
    shown: tuple[Shown, ...]
    names: tuple[str, ...]
    footnotes: tuple[str, ...] = ()
    empty: str | None = None


def named(value: str | None) -> str:
    """Show a name as it is, its control characters escaped."""
    return units.MISSING if value is None else units.printable(value)


def indented(name: str | None, depth: int | None) -> str:
    """Show a name below its parent."""
    return "  " * (depth or 0) + named(name)
