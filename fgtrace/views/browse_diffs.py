"""The rows of a diff to browse, and what is to be read above them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from fgtrace import units
from fgtrace.analysis.diff import Diff
from fgtrace.analysis.measured import Measure
from fgtrace.frames.trace import Trace
from fgtrace.views.browse import TableRows, by
from fgtrace.views.diffs import ROWS, changed, row_table
from fgtrace.views.model import Table

TOLD = 3
"""Findings above the rows."""


@dataclass(frozen=True)
class DiffRows(TableRows):
    """The rows of a diff: those that changed, or all."""

    found: Diff
    frame: pl.DataFrame
    sides: tuple[Trace, Trace]
    everything: bool = False

    @classmethod
    def of(cls, found: Diff, a: Trace, b: Trace) -> DiffRows:
        """Show what changed."""
        return cls(found, found.rows, (a, b))

    @property
    def shown(self) -> pl.DataFrame:
        """The rows that are shown."""
        return self.frame if self.everything else changed(self.frame)

    @cached_property
    def table(self) -> Table:
        """The table as `fgtrace diff` has it."""
        return row_table(self.found, self.shown)

    @property
    def notes(self) -> tuple[str, ...]:
        """What may be concluded, what could not be compared, and what stands out."""
        told = self.found.comparability
        different = [axis.name for axis in told.axes if axis.state == "different"]
        axes = (f"Different: {', '.join(different)}.",) if different else ()
        findings = self.found.changes["sentence"].head(TOLD).to_list()
        return (
            f"{told.summary}: {told.sentence}",
            *axes,
            *map(units.printable, (*self.found.missing, *findings)),
        )

    def sorted(self, column: int, *, descending: bool) -> DiffRows:
        """Sort by what a column is made of."""
        title = self.columns[column].title
        source = next(one.sources[0] for one in ROWS.shown if one.title == title)
        return replace(self, frame=by(self.frame, source, descending=descending))

    def filtered(self, pattern: re.Pattern[str], *, inverse: bool) -> DiffRows:
        """Keep the rows in whose paths the pattern is found; or, inversely, is not."""
        found = [bool(pattern.search(path)) != inverse for path in self.frame["path"]]
        return replace(self, frame=self.frame.filter(pl.Series(found, dtype=pl.Boolean)))

    def toggled(self) -> DiffRows:
        """Show all rows, or those that changed."""
        return replace(self, everything=not self.everything)

    def row(self, place: int) -> dict[str, Any]:
        """Give a row as data."""
        return self.shown.row(place, named=True)

    def side_of(self, place: int) -> int:
        """Say which side has the events behind a row: 1, b, unless it is gone there."""
        return 0 if self.shown["status"][place] == "removed" else 1

    def events(self, place: int) -> list[int]:
        """Give the ids of the events of such a name, of the side that has them."""
        row, trace = self.row(place), self.sides[self.side_of(place)]
        is_kind = pl.col("kind").cast(pl.String) == row["kind"]
        events = trace.device_work if row["time"] == "device" else trace.host_events
        candidates = events.filter(is_kind)
        same = Measure().named(candidates) == row["name"]
        return candidates.filter(same)["event_id"].to_list()
