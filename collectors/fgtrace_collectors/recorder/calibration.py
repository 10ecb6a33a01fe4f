"""Time tight loops with and without the profiler: what an event costs, and how late a wait wakes.

| loop | one iteration |
|---|---|
| `nothing` | the loop itself |
| `frame` | call a Python function that does nothing |
| `range` | enter and leave a named range |
| `operator` | one operator that starts no device work |
| `launch` | one operator that launches one kernel of one element; one wait after the loop |
| `wait_idle` | synchronise with an idle device |
| `launch_wait` | launch, then synchronise |
| `read_idle` | copy one element to the host, with an idle device |
| `launch_read` | launch, then copy its one element to the host |
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List

from fgtrace_collectors.recorder.devices import Device
from fgtrace_collectors.recorder.profiling import options

ITERATIONS = 100
REPEATS = 3


def calibrate(device: Device, profiler: str) -> List[Dict[str, Any]]:
    """Time every loop, without a profiler ("none") or under one ("kineto", "kineto+stacks").

    Gives rows of the `calibration` frame (loop, iterations, wall_ns). A process that has had a
    profiler in it can give no "none" any more: it stays slower.
    """
    loops = _loops(device)
    if profiler == "none":
        return _timed(loops, device)
    with device.torch.profiler.profile(activities=device.activities(), **options(profiler)):
        return _timed(loops, device)


def attach(device: Device, profiler: str) -> None:
    """Start and stop the profiler once, so that no later use pays for its first start."""
    with device.torch.profiler.profile(activities=device.activities(), **options(profiler)):
        pass


def _timed(loops: Dict[str, Callable[[], None]], device: Device) -> List[Dict[str, Any]]:
    rows = []
    for loop in loops.values():
        loop()
    for _ in range(REPEATS):
        for name, loop in loops.items():
            device.synchronize()
            start = time.perf_counter_ns()
            loop()
            device.synchronize()
            wall_ns = time.perf_counter_ns() - start
            rows.append({"loop": name, "iterations": ITERATIONS, "wall_ns": wall_ns})
    return rows


def _loops(device: Device) -> Dict[str, Callable[[], None]]:
    torch = device.torch
    one = torch.zeros(1, dtype=torch.int64, device=device.name)
    ranges = torch.profiler.record_function

    def one_range() -> None:
        with ranges("fgtrace::calibration"):
            pass

    def nothing() -> None:
        pass

    def frame() -> None:
        nothing()

    def launch_wait() -> None:
        one.add_(1)
        device.synchronize()

    def launch_read() -> None:
        one.add_(1)
        one.item()

    steps: Dict[str, Callable[[], Any]] = {
        "nothing": nothing,
        "frame": frame,
        "range": one_range,
        "operator": one.detach,
    }
    if device.accelerator:
        steps.update(
            launch=lambda: one.add_(1),
            wait_idle=device.synchronize,
            launch_wait=launch_wait,
            read_idle=one.item,
            launch_read=launch_read,
        )
    return {name: _repeat(step) for name, step in steps.items()}


def _repeat(step: Callable[[], Any]) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(ITERATIONS):
            step()

    return loop
