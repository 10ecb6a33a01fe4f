"""What recording an event costs the host: the profiler's share of a profiled call.

A profile makes the host slower, and unevenly: each recorded event costs something, waiting does
not. The costs are told apart by loops that a collector times with and without the profiler
(`fgtrace_collectors.recorder.calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import polars as pl

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
    frame_ns: float | None = None
    """A Python function, where stacks are recorded; None where that was not timed."""


H200 = EventCosts(range_ns=7545, operator_ns=1216, launch_ns=2409, copy_ns=907, wait_ns=1347)
"""Where a recording has no calibration: those of `samples/h200.fgtrace` (a test recomputes them).

Another host has others: they are taken in launch latencies, see `in_launch_latencies`.
"""

H200_LAUNCH_NS = 2230
"""From the end of a launch to the start of its kernel on an idle stream, on the same machine."""

STACKS = "kineto+stacks"
"""The profiler of calibration loops that were timed while stacks were recorded."""

SAME_SPEED = 1.25
"""Times that one empty loop may be as slow as the other: a host's slow mood makes it 1.5 to 1.9."""

_OPERATORS_OF_A_READ = 2  # aten::item and aten::_local_scalar_dense


def in_launch_latencies(costs: EventCosts, launch_ns: float) -> EventCosts:
    """Take the costs to a machine whose launches take `launch_ns` to begin; 0: not known."""
    ratio = launch_ns / H200_LAUNCH_NS if launch_ns > 0 else 1.0
    told = {field.name: getattr(costs, field.name) for field in fields(costs)}
    return EventCosts(**{name: cost and cost * ratio for name, cost in told.items()})


def event_costs(trace: Trace) -> EventCosts | None:
    """Take the costs from a trace's calibration; None where there is none that can be used.

    Of each loop the shortest time counts, over all processes: the one that the host's moods
    disturbed least. What a loop costs without its body is taken off. An empty loop costs the same
    with and without a profiler: where it did not, the host's speed changed in between, and the
    difference of the others is none of the profiler's.
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
        launch = added("launch") - operator
        copy = added("read_idle") - _OPERATORS_OF_A_READ * operator - wait
        costs = EventCosts(
            range_ns=max(0.0, taken("kineto", "range")),
            operator_ns=max(0.0, operator),
            launch_ns=max(0.0, launch),
            copy_ns=max(0.0, copy),
            wait_ns=max(0.0, wait),
        )
    except KeyError:
        return None
    empty = [times[profiler, "nothing"] for profiler in ("none", "kineto")]
    if max(empty) > SAME_SPEED * min(empty):
        return None
    if (STACKS, "frame") not in times or ("none", "frame") not in times:
        return costs
    return replace(costs, frame_ns=max(0.0, taken(STACKS, "frame") - taken("none", "frame")))
