"""How long every report of a trace takes after loading: a row a report, seconds and rows.

    python bench/reports.py TRACE…

Each trace is opened once; what one report collects of its events the next ones use.
"""

from __future__ import annotations

import sys
import time

import fgtrace
from fgtrace.views.reports import REPORTS, report_of


def main(paths: list[str]) -> None:
    """Print the tables."""
    for path in paths:
        began = time.perf_counter()
        trace = fgtrace.open(path)
        loaded = time.perf_counter()
        print(f"{trace.source}: loaded in {loaded - began:.2f} s")
        for report in REPORTS:
            started = time.perf_counter()
            report_of(report, trace)
            print(f"  {report:12} {time.perf_counter() - started:6.3f} s")
        print(f"  {'all':12} {time.perf_counter() - loaded:6.3f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
