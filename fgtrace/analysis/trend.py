"""How times go on over several recordings, each compared with the first."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

TREND = pl.Schema(
    {
        "case": pl.String(),
        "route": pl.String(),
        "path": pl.String(),
        "name": pl.String(),
        "depth": pl.Int64(),
        "kind": pl.String(),
        "time": pl.String(),
        "times_ns": pl.List(pl.Int64()),  # of the base, then of each; null: not compared
        "verdicts": pl.List(pl.String()),  # of each against the base
        # rising, falling: every one the same way, and the last is slower or faster than the base;
        # flat: all are unchanged; changing: some are slower or faster. Null: none can be told.
        "trend": pl.String(),
    }
)

_ROW = ("case", "route", "path", "name", "kind", "time")


def trend_report(rows: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Make a row for each row that any DIFF against one base has, in their order."""
    each = [
        one.with_columns(recording=place, order=pl.int_range(pl.len()))
        for place, one in enumerate(rows)
    ]
    places = pl.DataFrame({"recording": range(len(rows))}, schema={"recording": pl.Int32})
    found = pl.concat(each).with_columns(pl.col("recording").cast(pl.Int32))
    keys = found.group_by(_ROW).agg(
        pl.struct("recording", "order").min().alias("first"),
        pl.col("time_a_ns", "depth").first(),
    )
    grid = keys.join(places, how="cross").join(
        found.select(*_ROW, "recording", "time_b_ns", "verdict"),
        on=[*_ROW, "recording"],
        how="left",
        nulls_equal=True,
    )
    verdict = pl.col("verdict").cast(pl.String)
    steps = pl.concat_list(pl.col("time_a_ns").first(), pl.col("time_b_ns").implode())
    return (
        grid.sort("first", "recording")
        .group_by(*_ROW, maintain_order=True)
        .agg(pl.col("depth").first(), times_ns=steps.first(), verdicts=verdict)
        .with_columns(trend=_trend())
        .select(TREND.names())
        .cast(TREND)
    )


def _trend() -> pl.Expr:
    steps = pl.col("times_ns").list.diff(null_behavior="drop")
    last = pl.col("verdicts").list.last()
    one = pl.element()
    real = pl.col("verdicts").list.eval(one.is_in(("faster", "slower"))).list.any()
    return (
        pl.when((last == "slower") & steps.list.eval(one >= 0).list.all())
        .then(pl.lit("rising"))
        .when((last == "faster") & steps.list.eval(one <= 0).list.all())
        .then(pl.lit("falling"))
        .when(real)
        .then(pl.lit("changing"))
        .when(pl.col("verdicts").list.eval((one == "unchanged").fill_null(False)).list.all())
        .then(pl.lit("flat"))
    )
