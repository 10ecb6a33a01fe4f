"""Which event of a kind is around events of the host."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.nesting import innermost
from fgtrace.frames.trace import Trace

INTERVAL = ("event_id", "part", "process", "thread", "start_ns", "dur_ns")
"""What tells which event is around another."""


def around(trace: Trace, kind: str, host_events: pl.DataFrame) -> pl.Series:
    """Find the innermost event of a kind around each host event, on the same thread.

    An `event_id` for each, in their order; null where there is none.
    """
    of_kind = (
        trace.events.filter(pl.col("kind") == kind, pl.col("dur_ns").is_not_null())
        .select(INTERVAL)
        .collect()
    )
    return innermost(host_events, _eventful(of_kind, host_events))["outer_id"]


def _eventful(outer: pl.DataFrame, inner: pl.DataFrame) -> pl.DataFrame:
    # One during which no event starts, of whichever thread, is around none. Most are like that.
    starts = inner["start_ns"].sort()
    ends = outer["start_ns"] + outer["dur_ns"]
    begun = starts.search_sorted(outer["start_ns"], side="left")
    return outer.filter(starts.search_sorted(ends, side="left") > begun)


def names_of(trace: Trace, ids: pl.Series) -> pl.DataFrame:
    """Look up the names of some events: `event_id` and `name`, in order of the former."""
    wanted = ids.drop_nulls().unique()
    events = trace.events.select("event_id", "name")
    if wanted.is_empty():
        return events.clear().collect()
    return events.filter(pl.col("event_id").is_in(wanted.implode())).collect()
