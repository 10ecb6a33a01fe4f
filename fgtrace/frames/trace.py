"""A trace: one recording as frames and provenance, frozen once read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from fgtrace.frames import schema
from fgtrace.frames.provenance import Provenance

_DEVICE_WORK = (
    "event_id",
    "part",
    "kind",
    "name",
    "start_ns",
    "dur_ns",
    "device",
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

    def _collected(self, kinds: tuple[str, ...], columns: tuple[str, ...]) -> pl.DataFrame:
        return self.events.filter(pl.col("kind").is_in(kinds)).select(columns).collect()

    def having(self, **fields: Any) -> Trace:
        """Give the trace with other fields; what was collected of its events stays collected."""
        other = replace(self, **fields)
        if other.events is self.events:
            vars(other).update((name, vars(self)[name]) for name in COLLECTED if name in vars(self))
        return other


COLLECTED = ("device_work", "api_calls", "ranges")
"""The frames that a trace collects of its events once, when they are asked for."""

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
