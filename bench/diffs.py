"""How long it takes to compare two traces after loading, by each grouping, in seconds.

    python bench/diffs.py A B

Each grouping has the traces opened anew, so that none uses what another collected.
"""

from __future__ import annotations

import platform
import sys
import time

import polars as pl

import fgtrace
from fgtrace.analysis.diff import Asked, diff
from fgtrace.analysis.diff_tree import aligned_trees, nodes
from fgtrace.analysis.measured import Measure
from fgtrace.analysis.sides import pairs


def main(a: str, b: str) -> None:
    """Print a line a grouping, and one of the trees alone."""
    print(f"Python {platform.python_version()}, polars {pl.__version__}")
    for path in (a, b):
        events = fgtrace.open(path).events.select(pl.len()).collect().item()
        print(f"{path}: {events:,} events")
    for by in ("phase", "kernel", "op", "tree"):
        sides = fgtrace.open(a), fgtrace.open(b)
        started = time.perf_counter()
        rows = diff(*sides, Asked(by=by)).rows.height
        print(f"  diff --by {by:7} {time.perf_counter() - started:6.2f} s  {rows:>7,} rows")
    sides = fgtrace.open(a), fgtrace.open(b)
    found, _ = pairs(*sides, whole=False)
    started = time.perf_counter()
    for pair in found:
        trees = [
            nodes(trace, Measure(), calls) for trace, calls in zip(sides, pair.calls, strict=True)
        ]
        made = time.perf_counter()
        places = aligned_trees(trees[0], trees[1]).places.height
        print(
            f"  trees {made - started:.2f} s, aligned {time.perf_counter() - made:.2f} s: "
            f"{trees[0].height:,} and {trees[1].height:,} nodes in {places:,} places"
        )
        started = time.perf_counter()


if __name__ == "__main__":
    main(*sys.argv[1:])
