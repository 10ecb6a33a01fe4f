"""The matrix by size: what each route of a sweep took at each size, and from where on it wins."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.matrix import matrix_report
from fgtrace.analysis.matrix_by_pair import FASTER, matrix_by_pair_report
from fgtrace.analysis.sweeps import sweeps
from fgtrace.frames.trace import Trace

MATRIX_BY_SIZE = pl.Schema(
    {
        "case": pl.String(),  # without its sizes
        "parameters": pl.String(),  # the other swept ones, as cols=8; null where there are none
        "parameter": pl.String(),  # the one whose sizes follow each other
        "size": pl.Int64(),
        "route": pl.String(),
        "throughput_ns": pl.Int64(),  # as in the matrix, like the rest
        "throughput_low_ns": pl.Int64(),
        "throughput_high_ns": pl.Int64(),
        "device_time_ns": pl.Int64(),
        "fastest": pl.Boolean(),  # surely faster than each other route: by the matrix by pair
    }
)


def matrix_by_size_report(trace: Trace) -> pl.DataFrame:
    """Make a row a case, swept parameter, size and route, the smallest size first.

    Where two parameters were swept, each size of one has its rows for each size of the other.
    """
    faster = matrix_by_pair_report(trace).select(point="case", route=FASTER).drop_nulls("route")
    wins = faster.group_by("point", "route").agg(wins=pl.len())
    others = pl.col("throughput_ns").count().over("point") - 1
    routes = (
        matrix_report(trace)
        .rename({"case": "point"})
        .join(wins, on=("point", "route"), how="left", maintain_order="left")
        .with_columns(fastest=(pl.col("wins") == others).fill_null(False))
    )
    return (
        sweeps(trace.provenance.parameters)
        .join(routes, on="point", maintain_order="left_right")
        .select(MATRIX_BY_SIZE.names())
        .cast(MATRIX_BY_SIZE)
    )
