"""How near predictions come to what was measured: a row a run, route and part, as Markdown.

    python bench/accuracy.py RUN.fgtrace…

The runs were collected with `--factorial`. A prediction sees the profile and the stopwatch's time
of the full variant, and none of the others; this script compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fgtrace
from fgtrace.analysis.attribution import attribution_report
from fgtrace.analysis.matrix import call_times
from fgtrace.units import duration, interval


def main(paths: list[str]) -> None:
    """Print the table."""
    print("| run | route | call | part | predicted | from, to | measured | 95 % | off by |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in paths:
        trace = fgtrace.open(path)
        calls = dict(call_times(trace).select("route", "throughput_ns").rows())
        for row in attribution_report(trace).drop_nulls("measured_ns").iter_rows(named=True):
            off = row["predicted_ns"] / row["measured_ns"] - 1
            cells = (
                Path(path).stem,
                row["route"],
                duration(calls[row["route"]]),
                row["part"],
                duration(row["predicted_ns"]),
                interval(row["predicted_low_ns"], row["predicted_high_ns"]),
                duration(row["measured_ns"]),
                interval(row["interval_low_ns"], row["interval_high_ns"]),
                f"{off:+.0%}",
            )
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
