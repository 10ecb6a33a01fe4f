"""What recording an event costs the host: the profiler's share of a profiled call.

A profile makes the host slower, and unevenly: each recorded event costs something, waiting does
not. The costs are told apart by loops that a collector times with and without the profiler
(`fgtrace_collectors.recorder.calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import polars as pl

from fgtrace.analysis.names import matching
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace


@dataclass(frozen=True)
class EventCosts:
    """Nanoseconds of the host that one recorded event costs."""

    range_ns: float
    """A named range: all of it, since an unprofiled call has none."""
    operator_ns: float
    launch_ns: float
    """A launch of a kernel or a graph, with the record of its device work."""
    copy_ns: float
    """A copy or a fill, the same."""
    wait_ns: float
    """A synchronise call."""


H200 = EventCosts(range_ns=7545, operator_ns=1216, launch_ns=2409, copy_ns=907, wait_ns=1347)
"""Where a recording has no calibration: those of `samples/h200.fgtrace` (a test recomputes them).

Another host has others; what a prediction takes of them is how they stand to each other, since one
factor on all of them is fitted to the recording's own call time.
"""

_OPERATORS_OF_A_READ = 2  # aten::item and aten::_local_scalar_dense


def event_costs(trace: Trace) -> EventCosts | None:
    """Take the costs from a trace's calibration; None where it has none, or not every loop.

    Of each loop the shortest time counts, over all processes: the one that the host's moods
    disturbed least. What a loop costs without its body is taken off.
    """
    rows = trace.calibration.group_by("profiler", "loop").agg(
        shortest=(pl.col("wall_ns") / pl.col("iterations")).min()
    )
    times = {(profiler, loop): time for profiler, loop, time in rows.iter_rows()}

    def taken(profiler: str, loop: str) -> float:
        return float(times[profiler, loop] - times[profiler, "nothing"])

    def added(loop: str) -> float:
        return taken("kineto", loop) - taken("none", loop)

    try:
        operator, wait = added("operator"), added("wait_idle")
        costs = EventCosts(
            range_ns=taken("kineto", "range"),
            operator_ns=operator,
            launch_ns=added("launch") - operator,
            copy_ns=added("read_idle") - _OPERATORS_OF_A_READ * operator - wait,
            wait_ns=wait,
        )
    except KeyError:
        return None
    return EventCosts(*(max(0.0, getattr(costs, field.name)) for field in fields(costs)))
