"""Which event encloses which, on each thread of the host."""

from __future__ import annotations

import polars as pl

HOST = ("op", "runtime", "driver", "range", "python", "overhead", "memory")
"""The kinds that happen on a thread of the host and can lie inside each other."""


def nest(events: pl.DataFrame, around: pl.DataFrame | None = None) -> pl.DataFrame:
    """Fill `depth` and `parent_id` of host events from the intervals on their thread.

    The parent is the innermost enclosing event. Events that cross each other enclose neither.
    `around` are events that begin earlier and may enclose some of these.
    """
    host = events.filter(pl.col("kind").is_in(HOST))
    rows = host.select(*_INTERVAL, wanted=True, encloses=True)
    if around is not None:
        rows = pl.concat([around.select(*_INTERVAL, wanted=False, encloses=True), rows])
    nested = _innermost(rows).rename({"outer_id": "parent_id"})
    return events.drop("depth", "parent_id", strict=False).join(
        nested, on="event_id", how="left", maintain_order="left"
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


def _innermost(rows: pl.DataFrame) -> pl.DataFrame:
    ordered = (
        rows.filter(pl.col("dur_ns").is_not_null())
        .with_columns(pl.col("process", "thread").to_physical())
        .sort(
            "part",
            "process",
            "thread",
            "start_ns",
            "dur_ns",
            "event_id",
            descending=[False, False, False, False, True, False],
        )
        .with_columns(track=pl.struct("part", "process", "thread").rle_id())
    )
    return _scan(
        ordered["event_id"].to_list(),
        ordered["track"].to_list(),
        ordered["start_ns"].to_list(),
        (ordered["start_ns"] + ordered["dur_ns"]).to_list(),
        ordered["wanted"].to_list(),
        ordered["encloses"].to_list(),
    )


def _scan(
    ids: list[int],
    tracks: list[int],
    starts: list[int],
    ends: list[int],
    wanted: list[bool],
    encloses: list[bool],
) -> pl.DataFrame:
    # One pass with a stack of the open events. An open event that ends before this one does cannot
    # be the innermost around any later event either: what it encloses from here on, this one
    # encloses too.
    found: list[int] = []
    parents: list[int | None] = []
    depths: list[int] = []
    open_ids: list[int] = []
    open_ends: list[int] = []
    track = -1
    for row, event_id in enumerate(ids):
        if tracks[row] != track:
            track = tracks[row]
            open_ids.clear()
            open_ends.clear()
        start, end = starts[row], ends[row]
        while open_ends and open_ends[-1] <= start:
            open_ids.pop()
            open_ends.pop()
        at = len(open_ids)
        while at and open_ends[at - 1] < end:
            at -= 1
        if wanted[row]:
            found.append(event_id)
            parents.append(open_ids[at - 1] if at else None)
            depths.append(at)
        if encloses[row]:
            del open_ids[at:], open_ends[at:]
            open_ids.append(event_id)
            open_ends.append(end)
    return pl.DataFrame(
        {"event_id": found, "outer_id": parents, "depth": depths},
        schema={"event_id": pl.UInt32, "outer_id": pl.UInt32, "depth": pl.UInt16},
    )
