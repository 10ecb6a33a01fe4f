"""The matrix by pair: which of two routes is faster for a case, by how much, and how surely."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from fgtrace.analysis.comparing import Batches, Compared, compared
from fgtrace.analysis.stopwatch import by_generation
from fgtrace.analysis.sweeps import IN_ORDER
from fgtrace.analysis.verdicts import VERDICT
from fgtrace.frames.trace import Trace

BASE = "aten"
"""The route that others are compared with, where a case has it."""

MATRIX_BY_PAIR = pl.Schema(
    {
        "case": pl.String(),
        "route_a": pl.String(),  # BASE where it is one of the two, else the first by name
        "route_b": pl.String(),
        "a_ns": pl.Int64(),  # a call, back to back: the mean over generations of the median within
        "b_ns": pl.Int64(),
        "effect_ns": pl.Int64(),  # b less a
        "interval_low_ns": pl.Int64(),  # null with fewer than five batches a route
        "interval_high_ns": pl.Int64(),
        "ratio": pl.Float64(),  # b over a
        "generations": pl.Int64(),  # in which both were timed
        "rounds": pl.Int64(),  # batches a route in these
        "verdict": VERDICT,  # what b is, compared with a; null where there is no interval
        "detectable_ns": pl.Int64(),  # the smallest difference that would have got a verdict
    }
)


FASTER = (
    pl.when(pl.col("verdict") == "faster")
    .then("route_b")
    .when(pl.col("verdict") == "slower")
    .then("route_a")
)
"""The faster route of a pair; null where that is not sure."""


def matrix_by_pair_report(trace: Trace) -> pl.DataFrame:
    """Make a row a case and pair of routes that the stopwatch timed in the same generations.

    A run's routes take turns, so each generation is drawn for both at once. All rows are judged
    together, as those of a diff are.
    """
    timed = by_generation(trace.samples).sort(
        *IN_ORDER, pl.col("route") != BASE, "route", "generation", nulls_last=True
    )
    joined = (
        a.join(b, on="generation", suffix="_b", maintain_order="left")
        for of_case in timed.partition_by("case", maintain_order=True)
        for a, b in combinations(of_case.partition_by("route", maintain_order=True), 2)
    )
    made = (trace.provenance.created, trace.provenance.command)
    told, pairs = [], []
    for both in joined:
        if both.is_empty():
            continue
        together = (*made, both["generation"].to_list())
        a, b = (both[side].to_list() for side in ("call_ns", "call_ns_b"))
        case, route_a, route_b = both.select("case", "route", "route_b").row(0)
        told.append((case, route_a, route_b, both.height, min(sum(map(len, a)), sum(map(len, b)))))
        pairs.append(Compared(case, None, Batches(a, together), Batches(b, together)))
    judged = compared(pairs, "call").select(
        "verdict",
        a_ns="a",
        b_ns="b",
        effect_ns=pl.col("b") - pl.col("a"),
        interval_low_ns="low",
        interval_high_ns="high",
        ratio=pl.when(pl.col("a") > 0).then(pl.col("b") / pl.col("a")),
        detectable_ns="detectable",
    )
    return (
        pl.DataFrame(told, schema={name: MATRIX_BY_PAIR[name] for name in _TOLD}, orient="row")
        .hstack(judged)
        .with_columns(pl.col("^.*_ns$").round())
        .select(MATRIX_BY_PAIR.names())
        .cast(MATRIX_BY_PAIR)
    )


_TOLD = ("case", "route_a", "route_b", "generations", "rounds")
