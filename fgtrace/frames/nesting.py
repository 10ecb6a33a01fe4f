"""Which event encloses which, on each thread of the host."""

from __future__ import annotations

import polars as pl

HOST = ("op", "runtime", "driver", "range", "python", "overhead", "memory")
"""The kinds that happen on a thread of the host and can lie inside each other."""

_NEVER = 2**63


def nest(events: pl.DataFrame) -> pl.DataFrame:
    """Add `depth` and `parent_id` of host events, from the intervals on their thread.

    `parent_id` (UInt32) is the `event_id` of the innermost enclosing event, `depth` (UInt32) the
    number of those around. Events that cross each other enclose neither. Of two equal intervals the
    one with the smaller `event_id` is the outer one; no event encloses one that starts where it
    ends. Other kinds, and events without a duration, have nulls.

    `events` has `event_id`, `kind`, `part`, `process`, `thread`, `start_ns` and `dur_ns`.
    """
    # Events are numbered by start, longest first, part after part, so that their numbers and one
    # more key are all that is to be sorted by.
    process, thread = (
        pl.col(name).to_physical().fill_null(2**32 - 1).cast(pl.UInt64)
        for name in ("process", "thread")
    )
    ordered = (
        events.filter(pl.col("kind").is_in(HOST), pl.col("dur_ns").is_not_null())
        .select(
            "event_id",
            "part",
            "start_ns",
            end_ns=pl.col("start_ns") + pl.col("dur_ns"),
            track=process * 2**32 + thread,
        )
        .sort("event_id")
        .sort("track", maintain_order=True)
    )
    parents: list[int | None] = []
    depths: list[int] = []
    for track in ordered.partition_by("track", "part", maintain_order=True):
        _scan(track, parents, depths)
    nested = ordered.select(
        "event_id",
        depth=pl.Series(depths, dtype=pl.UInt32),
        parent_id=pl.Series(parents, dtype=pl.UInt32),
    )
    return events.join(nested, on="event_id", how="left", maintain_order="left")


def _scan(track: pl.DataFrame, parents: list[int | None], depths: list[int]) -> None:
    """Append the innermost event around each event of one thread, and how many are around it.

    One pass with a stack of the open events. An open event that ends before this one does cannot
    be the innermost around any later event either: what it encloses from here on, this one
    encloses too.
    """
    # The first entry is never closed.
    open_ids: list[int | None] = [None]
    open_ends = [_NEVER]
    columns = (track[name].to_list() for name in ("event_id", "start_ns", "end_ns"))
    for event_id, start, end in zip(*columns, strict=True):
        while open_ends[-1] <= start:
            open_ends.pop()
            open_ids.pop()
        while open_ends[-1] < end:
            open_ends.pop()
            open_ids.pop()
        parents.append(open_ids[-1])
        depths.append(len(open_ids) - 1)
        open_ends.append(end)
        open_ids.append(event_id)
