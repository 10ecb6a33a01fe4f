"""Begin and end marks joined to events."""

from __future__ import annotations

import polars as pl

from fgtrace.readers.kinds import TYPED

_TRACK = ["part", "process", "thread"]


def paired(begins: list[pl.DataFrame], ends: list[pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Make an event of each begin mark; count the end marks that close none.

    An end closes the last mark of its thread that is open. A mark that nothing closes has no
    duration. The frames have columns of `TYPED`.
    """
    marks = pl.concat(
        [
            *(frame.with_columns(begins=pl.lit(True)) for frame in begins),
            *(frame.with_columns(begins=pl.lit(False)) for frame in ends),
        ],
        how="diagonal",
    )
    level = pl.when("begins").then(1).otherwise(-1).cum_sum().over(_TRACK)
    lowest = pl.min_horizontal(level.cum_min().over(_TRACK), 0)
    sinks = pl.col("lowest") < pl.col("lowest").shift(1, fill_value=0).over(_TRACK)
    ordered = (
        marks.sort("part", "start_ns", "place")
        .with_columns(order=pl.int_range(pl.len()), lowest=lowest, level=level - lowest)
        .with_columns(stray=~pl.col("begins") & sinks)
    )
    closing = ordered.filter(~pl.col("begins"), ~pl.col("stray")).select(
        *_TRACK, "order", level=pl.col("level") + 1, end_ns="start_ns"
    )
    events = (
        ordered.filter("begins")
        .join_asof(
            closing, on="order", by=[*_TRACK, "level"], strategy="forward", check_sortedness=False
        )
        .with_columns(dur_ns=pl.col("end_ns") - pl.col("start_ns"))
    )
    return events.select(TYPED.names()), int(ordered["stray"].sum())
