"""Begin and end marks joined to events."""

from __future__ import annotations

import polars as pl


def paired(begins: list[pl.DataFrame], ends: list[pl.DataFrame]) -> tuple[pl.DataFrame, int]:
    """Make an event of each begin mark; count the end marks that close none.

    An end closes the last mark of its process and thread that is open. A mark that nothing closes
    has no duration. The frames have `part` and what `fgtrace.readers.columns` takes of marks, as
    the file has it: an end need not have more than its place and time.
    """
    marks = pl.concat(
        [
            *(frame.with_columns(begins=pl.lit(True)) for frame in begins),
            *(frame.with_columns(begins=pl.lit(False)) for frame in ends),
        ],
        how="diagonal",
    ).sort("part", "process", "thread", "start_ns", "place")
    marks = marks.with_columns(
        track=pl.struct("part", "process", "thread").rle_id(), order=pl.int_range(pl.len())
    )
    level = pl.when("begins").then(1).otherwise(-1).cum_sum().over("track")
    lowest = pl.min_horizontal(level.cum_min().over("track"), 0)
    sinks = pl.col("lowest") < pl.col("lowest").shift(1, fill_value=0).over("track")
    marks = marks.with_columns(lowest=lowest, level=level - lowest).with_columns(
        stray=~pl.col("begins") & sinks
    )
    closing = marks.filter(~pl.col("begins"), ~pl.col("stray")).select(
        "track", "order", level=pl.col("level") + 1, end_ns="start_ns"
    )
    events = (
        marks.filter("begins")
        .join_asof(
            closing, on="order", by=["track", "level"], strategy="forward", check_sortedness=False
        )
        .with_columns(dur_ns=pl.col("end_ns") - pl.col("start_ns"))
    )
    helping = ("begins", "track", "order", "lowest", "level", "stray", "end_ns")
    return events.drop(helping), int(marks["stray"].sum())
