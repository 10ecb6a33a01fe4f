"""Sweeps: one case, recorded at several sizes as a case a size."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

SWEEPS = pl.Schema(
    {
        "point": pl.String(),  # the case as it was recorded: NAME[rows=64,cols=8]
        "case": pl.String(),  # NAME
        "parameters": pl.String(),  # the other swept ones, as cols=8; null where there are none
        "parameter": pl.String(),  # rows
        "size": pl.Int64(),  # the value of `parameter`
    }
)

_POINT = re.compile(r"(.+)\[([^\[\]]*=[^\[\]]*)\]")


_NUMBERS = pl.col("case").str.extract_all(r"[0-9]+")

IN_ORDER = (
    pl.col("case").str.replace(r"\[[^\[\]]*=[^\[\]]*\]$", ""),
    _NUMBERS.list.eval(pl.element().str.zfill(20)).list.join(","),
    pl.col("case"),
)
"""What cases are sorted by: their names, then their sizes, the smallest first."""


def unsized(case: str) -> str:
    """Give the name of a case without the sizes at which a sweep recorded it."""
    found = _POINT.fullmatch(case)
    return found[1] if found else case


def sweeps(parameters: Mapping[str, Mapping[str, int]]) -> pl.DataFrame:
    """Find the sweeps in the parameters of cases: a row a case and parameter, the smallest first.

    Where a parameter has one size only, nothing changes along it, and there is no row.
    """
    rows = []
    for point, values in parameters.items():
        if found := _POINT.fullmatch(point):
            names = [one.partition("=")[0] for one in found[2].split(",")]
            swept = {name: values[name] for name in names if name in values}
            for name, size in swept.items():
                others = [(other, at) for other, at in swept.items() if other != name]
                rows.append((found[1], name, others, size, point))
    made = [
        (point, case, ",".join(f"{other}={at}" for other, at in others) or None, name, size)
        for case, name, others, size, point in sorted(rows)
    ]
    along = ("case", "parameters", "parameter")
    return pl.DataFrame(made, schema=SWEEPS, orient="row").filter(
        pl.col("size").n_unique().over(along) > 1
    )
