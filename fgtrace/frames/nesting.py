"""Which event encloses which, on each thread of the host."""

from __future__ import annotations

import polars as pl

HOST = ("op", "runtime", "driver", "range", "python", "overhead", "memory")
"""The kinds that happen on a thread of the host and can lie inside each other."""


def nest(events: pl.DataFrame) -> pl.DataFrame:
    """Add `depth` and `parent_id` of host events, from the intervals on their thread.

    `parent_id` (UInt32) is the `event_id` of the innermost enclosing event, `depth` (UInt16) the
    number of those around. Events that cross each other enclose neither; other kinds have nulls.
    """
    host = events.filter(pl.col("kind").is_in(HOST))
    nested = _innermost(host.select(*_INTERVAL, wanted=True, encloses=True))
    return events.join(
        nested.rename({"outer_id": "parent_id"}), on="event_id", how="left", maintain_order="left"
    )


def innermost(inner: pl.DataFrame, outer: pl.DataFrame) -> pl.DataFrame:
    """Find the innermost event of `outer` around each event of `inner`, on the same thread.

    Both have the columns of `events`. The result has a row for each event of `inner`, in its
    order: `event_id`, `outer_id` (null where there is none) and `depth`, the length of the chain
    of enclosing events. Of two equal intervals the one with the smaller `event_id` is the outer
    one; no event encloses itself, nor one that starts where it ends.
    """
    rows = (
        pl.concat(
            [
                outer.select(*_INTERVAL, wanted=False, encloses=True),
                inner.select(*_INTERVAL, wanted=True, encloses=False),
            ]
        )
        .group_by("event_id")
        .agg(pl.col(_INTERVAL[1:]).first(), pl.col("wanted", "encloses").any())
    )
    return inner.select("event_id").join(
        _innermost(rows), on="event_id", how="left", maintain_order="left"
    )


_INTERVAL = ("event_id", "part", "process", "thread", "start_ns", "dur_ns")
_NEVER = 2**63


def _innermost(rows: pl.DataFrame) -> pl.DataFrame:
    # Events are numbered by start, longest first, part after part, so that their numbers and one
    # more key are all that is to be sorted by.
    process, thread = (
        pl.col(name).to_physical().fill_null(2**32 - 1).cast(pl.UInt64)
        for name in ("process", "thread")
    )
    ordered = (
        rows.filter(pl.col("dur_ns").is_not_null())
        .select(
            "event_id",
            "part",
            "start_ns",
            "wanted",
            "encloses",
            end_ns=pl.col("start_ns") + pl.col("dur_ns"),
            track=process * 2**32 + thread,
        )
        .sort("event_id")
        .sort("track", maintain_order=True)
    )
    outers: list[int | None] = []
    depths: list[int] = []
    for track in ordered.partition_by("track", "part", maintain_order=True):
        _scan(track, outers, depths)
    return (
        ordered.select(
            "event_id",
            "wanted",
            outer_id=pl.Series(outers, dtype=pl.UInt32),
            depth=pl.Series(depths, dtype=pl.UInt16),
        )
        .filter("wanted")
        .drop("wanted")
    )


def _scan(track: pl.DataFrame, outers: list[int | None], depths: list[int]) -> None:
    """Append the innermost event around each event of one thread, and how many are around it.

    One pass with a stack of the open events. An open event that ends before this one does cannot
    be the innermost around any later event either: what it encloses from here on, this one
    encloses too.
    """
    # The first entry is never closed.
    open_ids: list[int | None] = [None]
    open_ends = [_NEVER]
    columns = ("event_id", "start_ns", "end_ns", "encloses")
    for event_id, start, end, encloses in zip(
        *(track[name].to_list() for name in columns), strict=True
    ):
        while open_ends[-1] <= start:
            open_ends.pop()
            open_ids.pop()
        if open_ends[-1] >= end:
            outers.append(open_ids[-1])
            depths.append(len(open_ids) - 1)
        else:
            at = len(open_ids) - 1
            while open_ends[at] < end:
                at -= 1
            outers.append(open_ids[at])
            depths.append(at)
            if encloses:
                del open_ends[at + 1 :], open_ids[at + 1 :]
        if encloses:
            open_ends.append(end)
            open_ids.append(event_id)
