"""Intervals that may overlap: the time that they cover, and which lie in which."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def union_length(events: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Add up the time that the intervals of each group cover, overlaps counted once.

    The result has the columns of `by` and `busy_ns`, sorted by them. Intervals without a start or
    a duration, and groups without an interval, have no part in it.
    """
    return (
        _pieces(events.lazy(), by).group_by(by).agg(busy_ns=pl.col("length_ns").sum()).sort(by)
    ).collect()


def covered_length(windows: pl.DataFrame, events: pl.DataFrame, by: Sequence[str]) -> pl.Series:
    """Say how much of each window the intervals of its group cover, overlaps counted once.

    A value a window, in their order: 0 where its group has no interval, null where it has no
    duration.
    """
    length = pl.col("length_ns")
    pieces = (
        _pieces(events.lazy(), by)
        .filter(length > 0)
        .with_columns(before_ns=length.cum_sum().over(by, order_by="begin_ns") - length)
        .sort("begin_ns")
    )
    place = pl.int_range(pl.len()).alias("place")
    # What is covered within a window is what is covered up to its end less that up to its start.
    start, end = (
        windows.lazy()
        .select(*by, place, at_ns=at)
        .sort("at_ns")
        .join_asof(pieces, left_on="at_ns", right_on="begin_ns", by=by, check_sortedness=False)
        .sort("place")
        .select(
            covered_ns=pl.col("before_ns").fill_null(0)
            + pl.min_horizontal(pl.col("at_ns") - pl.col("begin_ns"), length).fill_null(0)
        )
        .collect()["covered_ns"]
        for at in (pl.col("start_ns"), pl.col("start_ns") + pl.col("dur_ns").fill_null(0))
    )
    known = windows["dur_ns"].is_not_null()
    return (end - start).set(~known, None).alias("covered_ns")


def outermost(events: pl.DataFrame) -> pl.DataFrame:
    """Select the host events that lie in none of the others; of equal intervals, the first.

    They are in order of `event_id`. One without a duration lies in none, and none lies in it.
    """
    # One that an earlier start encloses ends no later than the furthest of the ends so far.
    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("dur_ns").fill_null(0)
    furthest = end.cum_max().shift(1).over("part", "process", "thread")
    enclosed = (furthest >= start + pl.col("dur_ns")) & (furthest > start)
    return events.filter(~enclosed.fill_null(False))


def _pieces(events: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    # Sorted by start, an interval adds what lies beyond the furthest end so far.
    furthest = pl.col("end_ns").cum_max().shift(1).over(by)
    begin = pl.max_horizontal("start_ns", furthest)
    return (
        events.filter(pl.col("dur_ns") >= 0, pl.col("start_ns").is_not_null())
        .select(*by, "start_ns", end_ns=pl.col("start_ns") + pl.col("dur_ns"))
        .sort("start_ns")
        .select(*by, begin_ns=begin, length_ns=(pl.col("end_ns") - begin).clip(lower_bound=0))
    )
