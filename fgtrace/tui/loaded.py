"""A recording that is open in the terminal UI, and what is made of it while it is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

from fgtrace.analysis.diff import Asked, diff
from fgtrace.views.browse import EventRows, ReportRows, Rows
from fgtrace.views.browse_diffs import DiffRows
from fgtrace.views.details import detail
from fgtrace.views.lanes import Lanes
from fgtrace.views.notices import Notices, notices
from fgtrace.views.overview import Overview, Place, glance, overview, places
from fgtrace.views.reports import report_of
from fgtrace.views.selection import about, arrows
from fgtrace.views.whatif import Prediction, prediction

if TYPE_CHECKING:
    from fgtrace.frames.trace import Trace


class Loaded:
    """A trace, under the name by which it was opened, and its reports, made once.

    Threads take turns.
    """

    def __init__(self, name: str, trace: Trace) -> None:
        self.name = name
        self.trace = trace
        self._turn = RLock()
        self._reports: dict[str, ReportRows] = {}

    @cached_property
    def notices(self) -> Notices:
        """What is to be told beside every number."""
        return notices(self.trace)

    @cached_property
    def places(self) -> list[Place]:
        """The cases and routes that calls are of."""
        return places(self.trace)

    def glance(self, place: Place | None) -> Overview:
        """Make what the first screen says at once."""
        with self._turn:
            return glance(self.trace, place)

    def overview(self, place: Place | None) -> Overview:
        """Make the first screen of a case and route."""
        with self._turn:
            return overview(self.trace, place)

    def rows(self, kind: str) -> Rows:
        """Make a report, or the events."""
        if kind == "events":
            return self.events
        with self._turn:
            if kind not in self._reports:
                self._reports[kind] = ReportRows(kind, report_of(kind, self.trace), self.trace)
            return self._reports[kind]

    @cached_property
    def events(self) -> EventRows:
        """All events that last."""
        with self._turn:
            return EventRows.of_trace(self.trace)

    @cached_property
    def lanes(self) -> Lanes:
        """What each thread and stream did."""
        with self._turn:
            return Lanes.of(self.trace)

    def about(self, event_id: int) -> tuple[str, ...]:
        """Say what a selected event is."""
        with self._turn:
            return about(self.trace, event_id, self.lanes.start)

    def arrows(self, event_id: int) -> list[int]:
        """Find the launch of an event, or what it launched."""
        with self._turn:
            return arrows(self.trace, event_id)

    def behind(self, rows: Rows, place: int) -> list[int]:
        """Find the events behind a row."""
        with self._turn:
            return rows.events(place)

    def detail(self, kind: str, rows: Rows, place: int, beside: int | None) -> tuple[str, ...]:
        """Say more of a row."""
        other = None if beside is None else rows.row(beside)
        with self._turn:
            return detail(self.trace, kind, rows.row(place), other)

    def predict(self, place: Place, off: Sequence[str]) -> Prediction | None:
        """Predict calls without parts, all taken out together."""
        with self._turn:
            return prediction(self.trace, place, off)

    def compared(self, base: Loaded, by: str | None) -> DiffRows:
        """Compare this recording with a base."""
        with self._turn:
            found = diff(base.trace, self.trace, Asked(by=by))
            return DiffRows.of(found, base.trace, self.trace)
