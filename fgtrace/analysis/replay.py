"""Replay recorded calls: the host in order, device work in order on its stream, waits as edges.

A call is a list of steps: host time, then something that device and host have to do with each
other: a launch, a wait, a copy that blocks. Device work starts when its launch has returned and
some latency is over, and when the work before it on its stream is done. A wait ends when the
device is done, and some latency later. So a call can be replayed without a part, with the host
faster, with many calls back to back: what the host does no longer wait for, the device still has to
do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal

import polars as pl

FLOOR = 0.05
"""Of a recorded piece of host time, what stays at least: however much of it was the profiler's."""

Kind = Literal["launch", "wait", "blocking copy", "end"]


@dataclass(frozen=True)
class Latencies:
    """How late device and host hear of each other, in nanoseconds."""

    launch_ns: float
    """From the end of a launch to the start of the work, on an idle stream."""
    copy_ns: float
    """The same of copies and fills; of a copy that blocks, from the start of its call."""
    queued_ns: float
    """From the end of work to the start of the next, which was queued behind it."""
    wake_ns: float
    """From the end of the work that is waited for to the end of the wait."""


@dataclass(frozen=True)
class Step:
    """Host time, and what happens after it."""

    run: int
    """Where the host's time is in what `host_times` gives."""
    kind: Kind
    works: tuple[tuple[int, int, float], ...] = ()
    """Of a launch: stream, duration and latency of each piece of work."""
    streams: tuple[int, ...] = ()
    """Of a wait: the streams waited for; none are all."""


@dataclass(frozen=True)
class Program:
    """The calls of one case and route, ready to be replayed.

    `pieces` has a row a piece of host time between two boundaries of events: `run`, the step that
    it belongs to, `recorded_ns`, `cost_ns`, the profiler's share of it before it is scaled, and
    `calibrated`, where that share was measured in just this place, and is not scaled up.
    """

    calls: tuple[tuple[Step, ...], ...]
    pieces: pl.DataFrame
    latencies: Latencies

    @property
    def most_scale(self) -> float:
        """The scale from which on nothing but FLOOR is left of the host's time."""
        share = (1 - FLOOR) * pl.col("recorded_ns") / pl.col("cost_ns")
        most = self.pieces.filter(pl.col("cost_ns") > 0).select(share.max()).item()
        return 1.0 if most is None else float(most)

    def host_times(self, scale: float) -> list[float]:
        """Give the host time of each run when `scale` times the profiler's share is taken off."""
        recorded = pl.col("recorded_ns")
        scaled = pl.when("calibrated").then(min(scale, 1.0)).otherwise(scale)
        left = pl.max_horizontal(recorded * FLOOR, recorded - scaled * pl.col("cost_ns"))
        runs = max((step.run for call in self.calls for step in call), default=-1) + 1
        times = [0.0] * runs
        for run, time in self.pieces.group_by("run").agg(left.sum()).iter_rows():
            times[run] = time
        return times


@dataclass(frozen=True)
class Replay:
    """What many calls back to back take."""

    call_times_ns: list[float]
    """From the end of one call to the end of the next; without the first ones, which ramp up."""
    waiting_ns: float
    """A call, on average: the host in waits."""
    device_ns: float
    """A call, on average: the device busy, streams added up."""

    @property
    def call_ns(self) -> float:
        """The median time a call."""
        return median(self.call_times_ns)

    @property
    def bound(self) -> str:
        """What has to become faster for the call to."""
        if self.device_ns >= 0.9 * self.call_ns:
            return "device"
        return "host and device in turns" if self.waiting_ns >= 0.1 * self.call_ns else "host"


RAMP = 5
"""Calls until the host and the device have found their distance."""

FEWEST_REPLAYED = 25


def replay(program: Program, scale: float) -> Replay:
    """Replay the calls of a program back to back, over again where they are few."""
    times = program.host_times(scale)
    late = program.latencies
    now = waiting = device = 0.0
    free: dict[int, float] = {}
    ends = []
    rounds = -(-FEWEST_REPLAYED // len(program.calls))
    for call in program.calls * rounds:
        for step in call:
            now += times[step.run]
            for stream, duration, latency in step.works:
                start = now + latency
                if stream in free:
                    start = max(start, free[stream] + late.queued_ns)
                free[stream] = start + duration
                device += duration
            if step.kind in ("wait", "blocking copy"):
                waited_for = step.streams or tuple(free)
                done = max((free.get(stream, now) for stream in waited_for), default=now)
                woken = max(now, done + late.wake_ns)
                waiting += woken - now
                now = woken
        ends.append(max(now, *free.values()) if free else now)
    steps = [after - before for before, after in pairwise(ends)]
    return Replay(steps[RAMP - 1 :], waiting / len(ends), device / len(ends))


def fitted(program: Program, call_ns: float) -> float | None:
    """Find the scale of the profiler's share at which the replayed call takes `call_ns`.

    None where no scale does: the device's work alone takes longer, or the recorded call is shorter.
    """
    low, high = 0.0, program.most_scale
    if not replay(program, high).call_ns <= call_ns <= replay(program, low).call_ns:
        return None
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        if replay(program, middle).call_ns > call_ns:
            low = middle
        else:
            high = middle
    return (low + high) / 2
