"""Crossovers: between which sizes of a sweep another route becomes the faster one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import Any

import polars as pl

from fgtrace.analysis.matrix_by_pair import FASTER, matrix_by_pair_report
from fgtrace.analysis.sweeps import sweeps
from fgtrace.frames.trace import Trace

_ALONG = ("case", "parameters", "parameter", "route_a", "route_b")


@dataclass(frozen=True)
class Crossover:
    """Two routes of a sweep, of which one is surely faster at a size and the other at a larger."""

    case: str
    """Without its sizes."""
    sentence: str
    batches: int
    """Of both routes at both sizes."""


def crossovers(trace: Trace) -> Iterator[Crossover]:
    """Find where the order of two routes turns around, by the verdicts of the matrix by pair.

    Between the two sizes nothing is sure. Where no size was recorded there, the routes cross where
    straight lines through their times do, by the logarithms of time and size.
    """
    swept = sweeps(trace.provenance.parameters)
    if swept.is_empty():
        return
    pairs = matrix_by_pair_report(trace).filter(pl.col("ratio") > 0)
    judged = swept.join(
        pairs.rename({"case": "point"}).with_columns(faster=FASTER),
        on="point",
        maintain_order="left_right",
    )
    for sizes in judged.partition_by(_ALONG, maintain_order=True):
        sure = sizes.with_row_index("place").drop_nulls("faster")
        for before, after in pairwise(sure.iter_rows(named=True)):
            if before["faster"] != after["faster"]:
                batches = 2 * (before["rounds"] + after["rounds"])
                yield Crossover(before["case"], _sentence(sizes, before, after), batches)


def _sentence(sizes: pl.DataFrame, before: dict[str, Any], after: dict[str, Any]) -> str:
    case, name, parameters = (before[one] for one in ("case", "parameter", "parameters"))
    what = f"{case} at {parameters}" if parameters else case
    smaller, larger = before["size"], after["size"]
    faster_before, faster_after = before["faster"], after["faster"]
    up_to, start, on = "at", "at", ""
    if _always(sizes.filter(pl.col("size") <= smaller), faster_before):
        up_to = "up to"
    if _always(sizes.filter(pl.col("size") >= larger), faster_after):
        start, on = "from", " on"
    near = _near(before, after)
    cross = "somewhere between" if near is None else f"near {name}={near}"
    return (
        f"{what}: {faster_before} is faster {up_to} {name}={smaller}, {faster_after} {start} "
        f"{name}={larger}{on}; they cross {cross}."
    )


def _always(sizes: pl.DataFrame, route: str) -> bool:
    return sizes.height > 1 and set(sizes["faster"]) == {route}


def _near(before: dict[str, Any], after: dict[str, Any]) -> int | None:
    """Interpolate between neighbours, to two digits."""
    smaller, larger = before["size"], after["size"]
    if after["place"] > before["place"] + 1 or smaller <= 0:
        return None
    # How far the lines are apart at both ends, with opposite signs.
    one, other = log(before["ratio"]), log(after["ratio"])
    crossing = smaller * exp(log(larger / smaller) * one / (one - other))
    return int(min(max(round(float(f"{crossing:.2g}")), smaller), larger))
