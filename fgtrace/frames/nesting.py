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
    tracks = ordered.group_by("track", "part", maintain_order=True).len()["len"]
    parents, depths, own = _scanned(
        ordered["start_ns"].to_list(), ordered["dur_ns"].to_list(), tracks.to_list()
    )
    place = pl.Series(parents, dtype=pl.Int64)
    ids = ordered["event_id"].gather(place.set(place < 0, None))
    nested = ordered.select(
        "event_id",
        depth=pl.Series(depths, dtype=pl.UInt32),
        parent_id=ids,
        own_ns=pl.Series(own, dtype=pl.Int64),
    )
    return events.join(nested, on="event_id", how="left", maintain_order="left")


def _scanned(
    starts: list[int], durations: list[int], tracks: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Give the place of each event's parent, -1 for none, its depth and its own time.

    `tracks` are the numbers of events of the threads, one after the other. Each is one pass with a
    stack of the open events. An open event that ends before this one does cannot be the innermost
    around any later event either: what it encloses from here on, this one encloses too.
    """
    parents: list[int] = []
    depths: list[int] = []
    own = [*durations, 0]  # the last is that of what is around none: place -1
    first = 0
    for length in tracks:
        # The first entry is never closed.
        ends, places = [_NEVER], [-1]
        for place in range(first, first + length):
            start = starts[place]
            while ends[-1] <= start:
                ends.pop()
                places.pop()
            duration = durations[place]
            end = start + duration
            while (crossed := ends[-1]) < end:
                ends.pop()
                own[places.pop()] -= crossed - start
                own[places[-1]] += crossed - start
            parent = places[-1]
            own[parent] -= duration
            parents.append(parent)
            depths.append(len(places) - 1)
            ends.append(end)
            places.append(place)
        first += length
    return parents, depths, own[:-1]
