"""Which of some events is around events of the host."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.nesting import nest
from fgtrace.frames.trace import Trace

THREAD = ("part", "process", "thread")

INTERVAL = ("event_id", "kind", *THREAD, "start_ns", "dur_ns")
"""What tells which event is around another."""

TRACK = (pl.col("part"), pl.col("process", "thread").to_physical().fill_null(2**32 - 1))
"""`THREAD` as numbers, to join by: one that the file leaves out is one of its own."""


def around(trace: Trace, kind: str, host_events: pl.DataFrame) -> pl.Series:
    """Find the innermost event of a kind around each host event, as `around_in` does."""
    outer = trace.events.filter(pl.col("kind") == kind).select(INTERVAL).collect()
    return around_in(outer, host_events)


def around_in(outer: pl.DataFrame, host_events: pl.DataFrame) -> pl.Series:
    """Find the innermost event of `outer` around each host event, on the same thread.

    Both are in order of `event_id`, and no event is in both. The result, `outer_id`, has a value
    for each host event: null where there is none, or where one of them has no duration.
    """
    outer = nest(_eventful(outer.select(INTERVAL), host_events))
    ids, ends = outer["event_id"], outer["start_ns"] + outer["dur_ns"]
    parents = ids.search_sorted(outer["parent_id"]).set(outer["parent_id"].is_null(), None)
    # The last that began before an event is the innermost around it, or one around that one is.
    rows = (
        host_events.lazy()
        .select(
            "event_id",
            *TRACK,
            start="start_ns",
            end=pl.col("start_ns") + pl.col("dur_ns"),
            place=pl.int_range(pl.len()),
        )
        .drop_nulls("end")
        .join_asof(
            outer.lazy().select("event_id", *TRACK, at=pl.int_range(pl.len())),
            on="event_id",
            by=THREAD,
            check_sortedness=False,
        )
        .select("place", "start", "end", "at")
        .drop_nulls("at")
        .collect()
    )
    found = [pl.DataFrame(schema={"place": pl.Int64, "outer_id": pl.UInt32})]
    while not rows.is_empty():
        reached = ends.gather(rows["at"])
        fits = (reached >= rows["end"]) & (reached > rows["start"])
        fitting = rows.filter(fits)
        found.append(fitting.select("place", outer_id=ids.gather(fitting["at"])))
        rows = rows.filter(~fits)
        rows = rows.with_columns(at=parents.gather(rows["at"])).drop_nulls("at")
    outers = pl.concat(found)
    none = pl.repeat(None, host_events.height, dtype=pl.UInt32, eager=True)
    return none.scatter(outers["place"], outers["outer_id"]).alias("outer_id")


def _eventful(outer: pl.DataFrame, inner: pl.DataFrame) -> pl.DataFrame:
    # One during which no event starts, of whichever thread, is around none. Most are like that.
    starts = inner["start_ns"].sort()
    outer = outer.drop_nulls("dur_ns")
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
