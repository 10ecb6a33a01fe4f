"""Times of device work that cannot be, and what is made of them."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.notes import Note
from fgtrace.units import printable

RAW_TIMES = "--raw-times"

TIMED = ("place", "part", "name", "start_ns", "dur_ns", "device", "stream", "correlation")
"""What the rules look at."""

_FAR_NS = 60_000_000_000
_OVERLAP_NS = 1_000_000
_ENOUGH = 2
_LOOK_AHEAD = 8
"""Rows after one among which those inside of it are counted."""


def corrected_times(device: pl.DataFrame, host: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Find the impossible times among device work, by these rules in this order.

    - zero-timestamp: start and duration are 0, as in a record that was never filled in. Both
      become null.
    - clock-outlier: a start over a minute outside of the time in which anything happened on the
      host or, in a part without host events, of up to 1 % of the rows that lie a minute and ten
      times the length of the rest away from it. Both times become null. Where it is more than half
      of a part's rows, they stay, since they can be compared with each other.
    - impossible-duration: on one stream, two or more later launches' work began and ended inside
      of a row, and it reaches over a millisecond into the first of them. It ends where that began.

    `device` has the columns of `TIMED`, `host` has `part`, `first_ns` and `last_ns`. The result
    has `place`, `start_ns` and `dur_ns` of the rows whose times are replaced.
    """
    zero = device.filter(pl.col("start_ns") == 0, pl.col("dur_ns") == 0)
    rest = _without(device, zero)
    far, apart = _far(rest, host)
    cut = _cut(_without(rest, far))
    notes = [
        *_note("zero-timestamp", zero, "device events without times, because both are 0"),
        *_note("clock-outlier", far, "device events without times, because their clock is another"),
        *_note("clock-outlier", apart, "device events on another clock than all of the host"),
        *_note(
            "impossible-duration",
            cut,
            "device events cut where the stream's next work began, because later work ended inside "
            "of them",
        ),
    ]
    lost = pl.concat([zero, far]).select(
        "place", start_ns=pl.lit(None, pl.Int64), dur_ns=pl.lit(None, pl.Int64)
    )
    return pl.concat([lost, cut.select("place", "start_ns", dur_ns="cut_ns")]), notes


def _without(device: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    return device if rows.is_empty() else device.join(rows, on="place", how="anti")


def _note(kind: str, rows: pl.DataFrame, what: str) -> list[Note]:
    if rows.is_empty():
        return []
    first = rows.sort("place").row(0, named=True)
    where = f"the first is {printable(first['name'])} on stream {first['stream']}"
    return [Note("warning", kind, rows.height, f"{what}: {rows.height}; {where}", RAW_TIMES)]


def _far(device: pl.DataFrame, host: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Find the rows whose clock is another, and those of parts where that is so for most rows."""
    start = pl.col("start_ns")
    outside = (start < pl.col("first_ns") - _FAR_NS) | (start > pl.col("last_ns") + _FAR_NS)
    far, apart = [device.clear()], [device.clear()]
    # Each part has its own clock.
    for of_part in device.partition_by("part"):
        span = host.filter(pl.col("part") == of_part["part"][0])
        if span.is_empty():
            far.append(_far_from_the_rest(of_part))
            continue
        found = of_part.lazy().join(span.lazy(), on="part").filter(outside)
        rows = found.select(device.columns).collect()
        (apart if 2 * rows.height > of_part.height else far).append(rows)
    return pl.concat(far), pl.concat(apart)


def _far_from_the_rest(device: pl.DataFrame) -> pl.DataFrame:
    start = pl.col("start_ns")
    few = max(device.height // 100, 1)
    if device.height <= 2 * few:
        return device.clear()
    starts = device["start_ns"].sort()
    earliest = starts[few] - max(_FAR_NS, 10 * (starts[-1] - starts[few]))
    latest = starts[-few - 1] + max(_FAR_NS, 10 * (starts[-few - 1] - starts[0]))
    return device.filter((start < earliest) | (start > latest))


def _cut(device: pl.DataFrame) -> pl.DataFrame:
    """Find the rows that later work of their stream ended inside of, with `cut_ns`."""
    columns = ["place", "name", "part", "device", "stream", "correlation", "start_ns"]
    stream = ["part", "device", "stream"]
    long = device.filter(pl.col("dur_ns") > _OVERLAP_NS).select(stream).unique()
    ordered = (
        device.join(long, on=stream, how="semi", nulls_equal=True)
        .filter(pl.col("dur_ns").is_not_null())
        .select(*columns, end_ns=pl.col("start_ns") + pl.col("dur_ns"))
        .sort(
            "part",
            "device",
            "stream",
            "start_ns",
            "end_ns",
            "place",
            descending=[*[False] * 4, True, False],
        )
        .with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
    )
    after = pl.col("start_ns").shift(-1)
    rows = ordered.with_columns(cut_ns=after - pl.col("start_ns")).filter(
        after > pl.col("start_ns"), pl.col("end_ns") - after > _OVERLAP_NS
    )
    if rows.is_empty():
        return rows
    last = ordered.height - 1
    inside = pl.repeat(0, rows.height, dtype=pl.UInt32, eager=True)
    for ahead in range(1, _LOOK_AHEAD + 1):
        exists = rows["row"] + ahead <= last
        later = ordered[(rows["row"] + ahead).clip(upper_bound=last)]
        same = (
            rows["part"].eq_missing(later["part"])
            & rows["device"].eq_missing(later["device"])
            & rows["stream"].eq_missing(later["stream"])
        )
        # A graph's kernels may really run beside each other.
        other = rows["correlation"].ne_missing(later["correlation"])
        inside += (exists & same & other & (later["end_ns"] <= rows["end_ns"])).cast(pl.UInt32)
    return rows.filter(inside >= _ENOUGH)
