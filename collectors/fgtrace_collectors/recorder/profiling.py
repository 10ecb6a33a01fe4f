"""Record calls under torch.profiler, apart from every timing."""

from __future__ import annotations

import time
from typing import Any, Callable, ContextManager, Dict

from fgtrace_collectors.recorder.stopwatch import Stopwatch, collector_off

OPTIONS = {"record_shapes": False, "with_stack": False, "profile_memory": False}
"""What torch.profiler is told; shapes and stacks would change the host times recorded."""

STACKS = "kineto+stacks"
"""The profiler that records Python's stacks too, in a process of its own."""


def options(profiler: str) -> Dict[str, bool]:
    """Give torch.profiler's options for `kineto` or STACKS."""
    return {**OPTIONS, "with_stack": profiler == STACKS}


WARM_UP_CALLS = 5
"""Calls under the profiler before the recorded ones: its first events are slow, or lost."""


def profile_calls(
    stopwatch: Stopwatch,
    label: str,
    calls: int,
    path: str,
    profiler_name: str,
    record_phases: Callable[[Callable[[str], ContextManager[Any]]], ContextManager[Any]],
) -> Dict[str, int]:
    """Record `calls` calls into a Kineto file, each in the range `fgtrace::call::LABEL::INDEX`.

    Gives the nanoseconds of the recorded calls by the host's clock, as `Stopwatch.batch` does.
    """
    device, call = stopwatch.device, stopwatch.call
    profiler = device.torch.profiler
    ranges = profiler.record_function

    def export(finished: Any) -> None:
        # The profiler drops its events when a cycle ends, so this is the only moment to write them.
        finished.export_chrome_trace(path)

    with (
        record_phases(ranges),
        profiler.profile(
            activities=device.activities(),
            schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
            on_trace_ready=export,
            **options(profiler_name),
        ) as session,
    ):
        for index in range(min(WARM_UP_CALLS, calls)):
            with ranges(f"warm-up::{label}::{index}"):
                call()
        device.synchronize()
        session.step()
        with collector_off():
            start = time.perf_counter_ns()
            for index in range(calls):
                stopwatch.flush()
                with ranges(f"fgtrace::call::{label}::{index}"):
                    call()
            enqueued = time.perf_counter_ns()
            # Device work that is unfinished when the session stops may be lost.
            device.synchronize()
            ended = time.perf_counter_ns()
        session.step()
    return {"wall_ns": ended - start, "enqueue_ns": enqueued - start}
