"""Sweeps: the same case at several sizes, and at which of them which route is faster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import exp, log

import polars as pl

from fgtrace.analysis.matrix import matrix_report
from fgtrace.analysis.pairs import pairs_report
from fgtrace.frames.trace import Trace

SIZES = pl.Schema(
    {
        "case": pl.String(),  # without its size
        "fixed": pl.String(),  # the other parameters that were swept, as `cols=8`; null: none
        "parameter": pl.String(),
        "size": pl.Int64(),
        "route": pl.String(),
        "throughput_ns": pl.Int64(),  # as in the matrix, with its interval
        "throughput_low_ns": pl.Int64(),
        "throughput_high_ns": pl.Int64(),
        "device_time_ns": pl.Int64(),
        "fastest": pl.Boolean(),  # no other route of the case and size is known to be faster
    }
)

CROSSOVERS = pl.Schema(
    {
        "case": pl.String(),
        "fixed": pl.String(),
        "parameter": pl.String(),
        "before": pl.String(),  # the route that is faster at size_before, the larger of these
        "after": pl.String(),  # the one that is at size_after, the next size with a verdict
        "size_before": pl.Int64(),
        "size_after": pl.Int64(),
        "size": pl.Int64(),  # about where they cross
    }
)

_SIZED = re.compile(r"(.+)\[(\w+=\d+(?:,\w+=\d+)*)\]")
_POINT = ("case", "fixed", "parameter", "size")


def unsized(case: str) -> str:
    """Give the name of a case without its size: `repeat` of `repeat[rows=64]`."""
    found = _SIZED.fullmatch(case)
    return case if found is None else found[1]


def sizes_report(trace: Trace) -> pl.DataFrame:
    """Make a row a case, swept parameter, size and route, in the order of these."""
    points = _points(trace)
    slower = pl.concat(
        [
            pairs_report(trace).filter(verdict=verdict).select(sized="case", route=route)
            for verdict, route in (("slower", "route_b"), ("faster", "route_a"))
        ]
    )
    return (
        matrix_report(trace)
        .rename({"case": "sized"})
        .join(points, on="sized")
        .join(slower.unique().with_columns(fastest=False), on=["sized", "route"], how="left")
        .with_columns(
            fastest=pl.when(pl.col("throughput_ns").is_not_null()).then(
                pl.col("fastest").fill_null(True)
            )
        )
        .sort("case", "parameter", "fixed", "size", "route")
        .select(SIZES.names())
        .cast(SIZES)
    )


def crossovers(trace: Trace) -> pl.DataFrame:
    """Find where one route overtakes another: both orders have a verdict, at the nearest sizes.

    Between two sizes the logarithm of each time is taken to be straight over that of the size.
    """
    pairs = pairs_report(trace).rename({"case": "sized"}).join(_points(trace), on="sized")
    lines = pairs.sort(_POINT).partition_by(
        "case", "fixed", "parameter", "route_a", "route_b", maintain_order=True
    )
    rows = [row for line in lines for row in _crossings(line)]
    return pl.DataFrame(rows, schema=CROSSOVERS, orient="row")


def _points(trace: Trace) -> pl.DataFrame:
    """Make a row a case of a sweep and parameter of its size."""
    rows = []
    for sized in trace.samples["case"].drop_nulls().unique().sort():
        found = _SIZED.fullmatch(sized)
        parameters = found[2].split(",") if found is not None else []
        for one in parameters:
            name, size = one.split("=")
            fixed = ",".join(other for other in parameters if other != one) or None
            rows.append((sized, unsized(sized), fixed, name, int(size)))
    return pl.DataFrame(
        rows,
        schema={"sized": pl.String(), **{name: SIZES[name] for name in _POINT}},
        orient="row",
    )


def _crossings(line: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    points = list(line.iter_rows(named=True))
    decided = [
        (place, point["verdict"] == "faster")
        for place, point in enumerate(points)
        if point["verdict"] in ("faster", "slower")
    ]
    for (first, b_was), (last, b_is) in pairwise(decided):
        if b_was == b_is:
            continue
        point = points[first]
        a, b = point["route_a"], point["route_b"]
        before, after = (b, a) if b_was else (a, b)
        yield (
            *(point[name] for name in ("case", "fixed", "parameter")),
            before,
            after,
            point["size"],
            points[last]["size"],
            _crossing([(one["size"], one["ratio"]) for one in points[first : last + 1]]),
        )


def _crossing(ratios: list[tuple[int, float]]) -> int:
    """Give the size at which the ratio is 1 for the first time."""
    for (size, ratio), (next_size, next_ratio) in pairwise(ratios):
        if (ratio > 1) != (next_ratio > 1):
            part = log(ratio) / (log(ratio) - log(next_ratio))
            return round(exp(log(size) + part * (log(next_size) - log(size))))
    raise AssertionError("the ends are on both sides of 1")
