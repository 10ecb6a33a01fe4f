"""Which event encloses which, on each thread of the host."""

from __future__ import annotations

import polars as pl

HOST = ("op", "runtime", "driver", "range", "python", "overhead", "memory")
"""The kinds that happen on a thread of the host and can lie inside each other."""

_NEVER = 2**63


def nest(events: pl.DataFrame) -> pl.DataFrame:
    """Add `depth`, `parent_id` and `own_ns` of host events, from the intervals on their thread.

    `parent_id` (UInt32) is the `event_id` of the innermost enclosing event, `depth` (UInt32) the
    number of those around, `own_ns` (Int64) the duration without what is inside, so that those of
    a thread add up to the time in any event. Events that cross each other enclose neither, and the
    time of both is the own time of the later one. Of two equal intervals the one with the smaller
    `event_id` is the outer one; no event encloses one that starts where it ends. Other kinds, and
    events without a duration, have nulls.

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
            "dur_ns",
            track=process * 2**32 + thread,
        )
        .sort("event_id")
        .sort("track", maintain_order=True)
    )
    nesting = _Nesting()
    for track in ordered.partition_by("track", "part", maintain_order=True):
        nesting.scan(track)
    nested = ordered.select(
        "event_id",
        depth=pl.Series(nesting.depths, dtype=pl.UInt32),
        parent_id=pl.Series(nesting.parents, dtype=pl.UInt32),
        own_ns=pl.Series(nesting.own, dtype=pl.Int64),
    )
    return events.join(nested, on="event_id", how="left", maintain_order="left")


class _Nesting:
    """What is found of each event, thread after thread."""

    def __init__(self) -> None:
        self.parents: list[int | None] = []
        self.depths: list[int] = []
        self.own: list[int] = []

    def scan(self, track: pl.DataFrame) -> None:
        """Append what is found of the events of one thread.

        One pass with a stack of the open events. An open event that ends before this one does
        cannot be the innermost around any later event either: what it encloses from here on, this
        one encloses too.
        """
        parents, depths = self.parents, self.depths
        # The first entry is never closed.
        open_ids: list[int | None] = [None]
        open_ends = [_NEVER]
        open_places = [-1]
        own = track["dur_ns"].to_list()
        own.append(0)  # of what is around none: place -1
        ids, starts = track["event_id"].to_list(), track["start_ns"].to_list()
        for place, (event_id, start) in enumerate(zip(ids, starts, strict=True)):
            while open_ends[-1] <= start:
                open_ends.pop()
                open_ids.pop()
                open_places.pop()
            duration = own[place]
            end = start + duration
            while (crossed := open_ends[-1]) < end:
                open_ends.pop()
                open_ids.pop()
                own[open_places.pop()] -= crossed - start
                own[open_places[-1]] += crossed - start
            own[open_places[-1]] -= duration
            parents.append(open_ids[-1])
            depths.append(len(open_ids) - 1)
            open_ends.append(end)
            open_ids.append(event_id)
            open_places.append(place)
        own.pop()
        self.own += own
