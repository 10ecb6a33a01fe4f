"""Time covered by intervals that may overlap."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def union_length(events: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Add up the time that the intervals of each group cover, overlaps counted once.

    The result has the columns of `by` and `busy_ns`, sorted by them. Intervals without a duration,
    and groups without an interval, have no part in it.
    """
    end = pl.col("start_ns") + pl.col("dur_ns")
    # Sorted by start, an interval adds what lies beyond the furthest end so far.
    covered = pl.col("furthest_ns").shift(1).over(by, order_by=["start_ns", "end_ns"])
    begin = pl.max_horizontal("start_ns", covered)
    return (
        events.lazy()
        .filter(pl.col("dur_ns") >= 0)
        .select(*by, "start_ns", end_ns=end)
        .with_columns(
            furthest_ns=pl.col("end_ns").cum_max().over(by, order_by=["start_ns", "end_ns"])
        )
        .with_columns(added_ns=(pl.col("end_ns") - begin).clip(lower_bound=0))
        .group_by(by)
        .agg(busy_ns=pl.col("added_ns").sum())
        .sort(by)
        .collect()
    )
