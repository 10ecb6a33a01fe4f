"""Rows to browse: of a report or of the events, sorted, filtered, and with what is behind each."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import polars as pl

from fgtrace import units
from fgtrace.analysis.evidence import evidence
from fgtrace.analysis.tree import SEPARATOR
from fgtrace.frames.trace import Trace
from fgtrace.views.build import build_table
from fgtrace.views.layout import Layout, Shown, named
from fgtrace.views.layouts import LAYOUTS
from fgtrace.views.model import Column, Table


class Rows(Protocol):
    """What a table on a screen shows: ready text of any of its rows, made when it is asked for."""

    @property
    def title(self) -> str:
        """What the rows are."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What holds for all rows, and why there are none where there are none."""

    def __len__(self) -> int:
        """Count the rows."""

    def cells(self, first: int, count: int) -> Sequence[tuple[str, ...]]:
        """Give the text of so many rows, from one on."""

    def sorted(self, column: int, *, descending: bool) -> Rows:
        """Sort by what a column is made of."""

    def filtered(self, pattern: re.Pattern[str], *, inverse: bool) -> Rows:
        """Keep the rows in whose names the pattern is found; or, inversely, is not."""

    def row(self, place: int) -> dict[str, Any]:
        """Give a row as data."""

    def events(self, place: int) -> list[int]:
        """Give the ids of the events behind a row."""


class TableRows(ABC):
    """Rows that are all in a table already."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The table that `fgtrace show` or `diff` has too."""

    @property
    def title(self) -> str:
        """What the rows are."""
        return self.table.title

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""
        return self.table.columns

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.table.rows)

    def cells(self, first: int, count: int) -> Sequence[tuple[str, ...]]:
        """Give the text of so many rows, from one on."""
        return self.table.rows[first : first + count]


@dataclass(frozen=True)
class ReportRows(TableRows):
    """The rows of a report."""

    kind: str
    """One of `fgtrace.views.reports`."""
    frame: pl.DataFrame
    trace: Trace

    @cached_property
    def table(self) -> Table:
        """The table as `fgtrace show` has it."""
        return build_table(self.kind, self.frame)

    @property
    def notes(self) -> tuple[str, ...]:
        """What holds for all rows, and why there are none where there are none."""
        empty = LAYOUTS[self.kind].empty
        why = (f"No rows: {empty}.",) if self.frame.is_empty() and empty else ()
        return (*why, *self.table.footnotes)

    def sorted(self, column: int, *, descending: bool) -> ReportRows:
        """Sort by what a column is made of; a column that is made of none stays as it is."""
        title = self.columns[column].title
        made_of = [one.sources[0] for one in LAYOUTS[self.kind].shown if one.title == title]
        if not made_of:
            return self
        return replace(self, frame=by(self.frame, made_of[0], descending=descending))

    def filtered(self, pattern: re.Pattern[str], *, inverse: bool) -> ReportRows:
        """Keep the rows in whose names the pattern is found; or, inversely, is not."""
        names = self.frame.select(pl.col(LAYOUTS[self.kind].names).cast(pl.String))
        found = [
            any(name is not None and pattern.search(name) for name in row) != inverse
            for row in names.iter_rows()
        ]
        return replace(self, frame=self.frame.filter(pl.Series(found, dtype=pl.Boolean)))

    def row(self, place: int) -> dict[str, Any]:
        """Give a row as data."""
        return self.frame.row(place, named=True)

    def events(self, place: int) -> list[int]:
        """Give the ids of the events behind a row."""
        return evidence(self.trace, self.kind, self.row(place))


OPEN = 2
"""Levels of a tree that are open at first."""

SMALL = 0.01
"""Of all time: what takes less can be hidden."""


@dataclass(frozen=True)
class TreeRows(ReportRows):
    """The rows of the call tree, below those that are open."""

    folded: frozenset[str] = frozenset()
    """Paths whose insides are not shown."""
    large_only: bool = False

    @classmethod
    def of(cls, rows: ReportRows) -> TreeRows:
        """Show the outer levels of a tree."""
        tree = cls(rows.kind, rows.frame, rows.trace)
        return tree.closed()

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The rows that no closed one is around."""
        frame = self.frame
        if self.large_only:
            whole = int(frame.filter(depth=0)["total_ns"].sum())
            frame = frame.filter(pl.col("total_ns") >= SMALL * whole)
        kept, below = [], None
        for path, depth in frame.select("path", "depth").iter_rows():
            if below is not None and depth > below:
                kept.append(False)
                continue
            kept.append(True)
            below = depth if path in self.folded else None
        return frame.filter(pl.Series(kept, dtype=pl.Boolean))

    @cached_property
    def table(self) -> Table:
        """The table, names with a mark that says whether they are open."""
        has_inside = self._parents
        marks = [
            "  " if path not in has_inside else "▸ " if path in self.folded else "▾ "
            for path in self.shown["path"]
        ]
        names = pl.Series("name", marks, dtype=pl.String) + self.shown["name"]
        return build_table(self.kind, self.shown.with_columns(names))

    @cached_property
    def _parents(self) -> set[str]:
        deeper = self.frame["depth"].shift(-1) > self.frame["depth"]
        return set(self.frame.filter(deeper)["path"])

    def sorted(self, column: int, *, descending: bool) -> TreeRows:
        """Stay a tree."""
        return self

    def filtered(self, pattern: re.Pattern[str], *, inverse: bool) -> TreeRows:
        """Keep the rows in whose names the pattern is found, and what is around them."""
        rows = super().filtered(pattern, inverse=inverse)
        around = {
            SEPARATOR.join(names[:depth])
            for names in (path.split(SEPARATOR) for path in rows.frame["path"])
            for depth in range(1, len(names) + 1)
        }
        kept = self.frame.filter(pl.col("path").is_in(sorted(around)))
        return replace(self, frame=kept, folded=frozenset())

    def row(self, place: int) -> dict[str, Any]:
        """Give a row as data."""
        return self.shown.row(place, named=True)

    def toggled(self, place: int, *, fold: bool) -> TreeRows:
        """Close or open a row."""
        path = self.shown["path"][place]
        if path not in self._parents:
            return self
        return replace(self, folded=self.folded | {path} if fold else self.folded - {path})

    def opened(self) -> TreeRows:
        """Open all rows."""
        return replace(self, folded=frozenset())

    def closed(self) -> TreeRows:
        """Leave the outer levels open."""
        inner = self.frame.filter(pl.col("depth") >= OPEN - 1)["path"]
        return replace(self, folded=frozenset(inner) & self._parents)

    def parent(self, place: int) -> int:
        """Give the place of the row around one."""
        depths = self.shown["depth"].to_list()
        above = [at for at in range(place) if depths[at] < depths[place]]
        return above[-1] if above else place


EVENTS = Layout(
    title="Events",
    names=("name",),
    shown=(
        Shown("start", ("start_ns",), units.duration),
        Shown("time", ("dur_ns",), units.duration),
        Shown("kind", ("kind",), named),
        Shown("name", ("name",), named),
        Shown("thread", ("thread",), named, drop=2),
        Shown("device", ("device",), units.count, drop=3),
        Shown("stream", ("stream",), units.count, drop=1),
    ),
    footnotes=("start: since the first event.",),
)
"""How events are shown."""


@dataclass(frozen=True)
class EventRows:
    """Events, or some of them; text is made of those in view only."""

    frame: pl.DataFrame
    of: str = ""
    """What they stand for, where they are not all."""

    @classmethod
    def of_trace(cls, trace: Trace) -> EventRows:
        """Take all events that last."""
        columns = ["event_id", *(one.sources[0] for one in EVENTS.shown)]
        lasting = trace.events.filter(pl.col("dur_ns").is_not_null()).select(columns)
        frame = lasting.collect()
        first = frame["start_ns"].min() or 0
        return cls(frame.with_columns(pl.col("start_ns") - first))

    def only(self, event_ids: Sequence[int], of: str) -> EventRows:
        """Keep the events with these ids."""
        ids = pl.Series(event_ids, dtype=pl.UInt32).implode()
        return replace(self, frame=self.frame.filter(pl.col("event_id").is_in(ids)), of=of)

    @property
    def title(self) -> str:
        """What the rows are."""
        return f"{EVENTS.title} of {self.of}" if self.of else EVENTS.title

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""
        return tuple(one.column() for one in EVENTS.shown)

    @property
    def notes(self) -> tuple[str, ...]:
        """What holds for all rows."""
        return EVENTS.footnotes

    def __len__(self) -> int:
        """Count the rows."""
        return self.frame.height

    def cells(self, first: int, count: int) -> Sequence[tuple[str, ...]]:
        """Give the text of so many rows, from one on."""
        shown = self.frame.slice(first, count)
        texts = [
            [one.text(*values) for values in shown.select(one.sources).iter_rows()]
            for one in EVENTS.shown
        ]
        return list(zip(*texts, strict=True))

    def sorted(self, column: int, *, descending: bool) -> EventRows:
        """Sort by what a column is made of."""
        source = EVENTS.shown[column].sources[0]
        return replace(self, frame=by(self.frame, source, descending=descending))

    def filtered(self, pattern: re.Pattern[str], *, inverse: bool) -> EventRows:
        """Keep the events in whose names the pattern is found; or, inversely, is not."""
        names = self.frame["name"].unique().cast(pl.String)
        found = [name for name in names if bool(pattern.search(name)) != inverse]
        wanted = pl.Series(found, dtype=self.frame.schema["name"])
        return replace(self, frame=self.frame.filter(pl.col("name").is_in(wanted.implode())))

    def row(self, place: int) -> dict[str, Any]:
        """Give a row as data."""
        return self.frame.row(place, named=True)

    def events(self, place: int) -> list[int]:
        """Give the id of an event."""
        return [self.frame["event_id"][place]]


def by(frame: pl.DataFrame, column: str, *, descending: bool) -> pl.DataFrame:
    """Sort by a column, names by their letters; what is not known comes last."""
    key = pl.col(column)
    if isinstance(frame.schema[column], pl.Categorical | pl.Enum):
        key = key.cast(pl.String)
    return frame.sort(key, descending=descending, nulls_last=True, maintain_order=True)
