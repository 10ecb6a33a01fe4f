"""The routes of a run against each other, by the stopwatch: what one takes more than another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import polars as pl

from fgtrace.analysis.comparing import Batches, Compared, compared
from fgtrace.analysis.stopwatch import batches, full_variants, undisturbed
from fgtrace.analysis.verdicts import VERDICT
from fgtrace.frames.trace import Trace

PAIRS = pl.Schema(
    {
        "case": pl.String(),
        "route_a": pl.String(),  # aten, else the first by name
        "route_b": pl.String(),
        "a_ns": pl.Int64(),  # a call: the mean over generations of the median over batches
        "b_ns": pl.Int64(),
        "effect_ns": pl.Int64(),  # b less a
        # Its interval, as in a diff; null with fewer than five batches a route.
        "interval_low_ns": pl.Int64(),
        "interval_high_ns": pl.Int64(),
        "ratio": pl.Float64(),  # b over a
        "generations": pl.Int64(),  # that both have; with one, nothing is faster or slower
        "batches": pl.Int64(),  # of mode throughput, of the one that has fewer
        "verdict": VERDICT,  # of b; null where there is no interval
        "detectable_ns": pl.Int64(),  # the smallest effect that would have got a verdict
    }
)


def pairs_report(trace: Trace) -> pl.DataFrame:
    """Make a row a case and pair of its routes, in the order of their names, but `aten` first.

    Routes of a run alternate, so that their generations are drawn together.
    """
    return trace.once("pairs", lambda: _pairs_report(trace))


def _pairs_report(trace: Trace) -> pl.DataFrame:
    timed = undisturbed(batches(full_variants(trace.samples)))
    of_case = (
        timed.group_by("case", "route", "generation", maintain_order=True)
        .agg("call_ns")
        .partition_by("case", maintain_order=True, as_dict=True)
    )
    sides = [
        (case, *pair) for (case,), measured in sorted(of_case.items()) for pair in _pairs(measured)
    ]
    rows = compared((Compared(case, None, a, b) for case, _, _, a, b in sides), "call")
    routes = pl.DataFrame(
        [
            (one, other, min(len(a.generations), len(b.generations)), min(map(_count, (a, b))))
            for _, one, other, a, b in sides
        ],
        schema={name: PAIRS[name] for name in ("route_a", "route_b", "generations", "batches")},
        orient="row",
    )
    return (
        rows.select(
            "case",
            "verdict",
            pl.col("a", "b").round().name.suffix("_ns"),
            effect_ns=(pl.col("b") - pl.col("a")).round(),
            interval_low_ns=pl.col("low").round(),
            interval_high_ns=pl.col("high").round(),
            ratio=pl.col("b") / pl.col("a"),
            detectable_ns=pl.col("detectable").round(),
        )
        .hstack(routes)
        .select(PAIRS.names())
        .cast(PAIRS)
    )


def _pairs(measured: pl.DataFrame) -> Iterator[tuple[str, str, Batches, Batches]]:
    of_route = measured.partition_by("route", as_dict=True)
    for one, other in combinations(sorted(of_route, key=lambda key: (key != ("aten",), key)), 2):
        a, b = of_route[one], of_route[other]
        generations = a["generation"].to_list()
        together = generations if generations == b["generation"].to_list() else None
        yield (
            one[0],
            other[0],
            Batches(a["call_ns"].to_list(), together),
            Batches(b["call_ns"].to_list(), together),
        )


def _count(side: Batches) -> int:
    return sum(map(len, side.generations))
