"""A trace: one recording as frames and provenance, frozen once read."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import polars as pl

from fgtrace.frames import schema
from fgtrace.frames.nesting import HOST, nest
from fgtrace.frames.provenance import Provenance

_DEVICE_WORK = (
    "event_id",
    "part",
    "kind",
    "name",
    "start_ns",
    "dur_ns",
    "device",
    "stream",
    "correlation",
    "bytes",
    "copy_kind",
)
_API_CALLS = (
    "event_id",
    "part",
    "name",
    "process",
    "thread",
    "start_ns",
    "dur_ns",
    "correlation",
)
_RANGES = (
    "event_id",
    "part",
    "kind",
    "name",
    "process",
    "thread",
    "start_ns",
    "dur_ns",
)

_HOST_EVENTS = _RANGES

Made = TypeVar("Made")


@dataclass(frozen=True)
class Trace:
    """Frames whose columns `fgtrace.frames.schema` documents.

    Frames that a source does not have are empty, never absent. `events`, `launch_attributes` and
    `op_attributes` are lazy, since all their rows at once can be more than memory holds: select
    what you need, then collect. Each is sorted by `event_id`.
    """

    source: str
    provenance: Provenance
    parts: pl.DataFrame
    events: pl.LazyFrame
    links: pl.DataFrame
    calls: pl.DataFrame
    samples: pl.DataFrame
    witnesses: pl.DataFrame
    calibration: pl.DataFrame
    notes: pl.DataFrame
    launch_attributes: pl.LazyFrame
    op_attributes: pl.LazyFrame
    stacks: Trace | None = None
    """A recording of the same calls with Python's stacks, which makes them slower still."""

    @cached_property
    def device_work(self) -> pl.DataFrame:
        """Kernels, copies and fills, in order; without the columns that only host events have.

        Impossible times are null, so it need not be sorted by `start_ns`.
        """
        return self._collected(schema.DEVICE_WORK, _DEVICE_WORK)

    @cached_property
    def api_calls(self) -> pl.DataFrame:
        """The calls into the device's API, in order; without the columns of device work."""
        return self._collected(schema.HOST_API, _API_CALLS)

    @cached_property
    def ranges(self) -> pl.DataFrame:
        """The named ranges on the host, in order; without the columns of device work."""
        return self._collected(("range",), _RANGES)

    @cached_property
    def host_events(self) -> pl.DataFrame:
        """The host's events that last, in order, with what `fgtrace.frames.nesting.nest` finds.

        These are all rows that can lie inside each other: operators, API calls, ranges, Python
        frames, allocations and the profiler's own work.
        """
        events = self.events.filter(pl.col("kind").is_in(HOST), pl.col("dur_ns").is_not_null())
        return nest(events.select(_HOST_EVENTS).collect())

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Give what `make` makes, made once for this trace and key: a step that reports share."""
        made = vars(self).setdefault("_made", {})
        if key not in made:
            made[key] = make()
        result: Made = made[key]
        return result

    def _collected(self, kinds: tuple[str, ...], columns: tuple[str, ...]) -> pl.DataFrame:
        return self.events.filter(pl.col("kind").is_in(kinds)).select(columns).collect()

    def having(self, **fields: Any) -> Trace:
        """Give the trace with other fields; what was collected of its events stays collected."""
        other = replace(self, **fields)
        if other.events is self.events:
            known = vars(self)
            vars(other).update((name, known[name]) for name in _OF_EVENTS if name in known)
        return other


COLLECTED = ("device_work", "api_calls", "ranges")
"""The frames that a trace collects of its events when they are asked for; a cache has them."""

_OF_EVENTS = (*COLLECTED, "host_events")

FRAMES = {
    "parts": schema.PARTS,
    "links": schema.LINKS,
    "calls": schema.CALLS,
    "samples": schema.SAMPLES,
    "witnesses": schema.WITNESSES,
    "calibration": schema.CALIBRATION,
    "notes": schema.NOTES,
}
"""The eager frames of a trace by name."""

LAZY_FRAMES = {
    "events": schema.EVENTS,
    "launch_attributes": schema.LAUNCH_ATTRIBUTES,
    "op_attributes": schema.OP_ATTRIBUTES,
}
"""The lazy ones."""
