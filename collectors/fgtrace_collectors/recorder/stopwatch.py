"""Time batches of calls by the host's clock, with nothing else going on in the process."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Optional

from fgtrace_collectors.recorder.devices import Device

LEAD_IN = 2
"""Untimed calls before a batch: other cases and routes ran since the last one."""

PROBES = 5
PROBE_CALLS = 3

Call = Callable[[], Any]


class Stopwatch:
    """Times batches of one call on one device.

    The garbage collector is off during a batch, as in `timeit`. Every method gives integer
    nanoseconds of the whole batch: `wall_ns`, with the final wait, and `enqueue_ns`, until the last
    call returned.
    """

    def __init__(self, call: Call, device: Device, flush: Optional[Callable[[], Any]]) -> None:
        self.call = call
        self.device = device
        self._flush = flush
        self._captured: Any = None
        self._captured_output: Any = None

    def batch(self, mode: str, calls: int) -> Dict[str, int]:
        """Time one batch; `mode` is throughput, latency or graph."""
        timed = {"throughput": self._throughput, "latency": self._latency, "graph": self._graph}
        with collector_off():
            return timed[mode](calls)

    def flush(self) -> None:
        """Throw the inputs out of the device's last-level cache, where the protocol is cold."""
        if self._flush is not None:
            self._flush()

    def _throughput(self, calls: int) -> Dict[str, int]:
        call, synchronize = self.call, self.device.synchronize
        for _ in range(LEAD_IN):
            call()
        synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        enqueued = time.perf_counter_ns()
        synchronize()
        return {"wall_ns": time.perf_counter_ns() - start, "enqueue_ns": enqueued - start}

    def _latency(self, calls: int) -> Dict[str, int]:
        call, synchronize = self.call, self.device.synchronize
        for _ in range(LEAD_IN):
            call()
        wall = enqueue = 0
        for _ in range(calls):
            self.flush()
            synchronize()
            start = time.perf_counter_ns()
            call()
            enqueued = time.perf_counter_ns()
            synchronize()
            wall += time.perf_counter_ns() - start
            enqueue += enqueued - start
        return {"wall_ns": wall, "enqueue_ns": enqueue}

    def _graph(self, calls: int) -> Dict[str, int]:
        if self._captured is None:
            self._captured = self._capture()
        graph = self._captured
        graph.replay()
        self.device.synchronize()
        start = time.perf_counter_ns()
        for _ in range(calls):
            graph.replay()
        enqueued = time.perf_counter_ns()
        self.device.synchronize()
        return {"wall_ns": time.perf_counter_ns() - start, "enqueue_ns": enqueued - start}

    def _capture(self) -> Any:
        cuda = self.device.torch.cuda
        with cuda.stream(cuda.Stream()):
            self.call()
        self.device.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            # The graph writes into this memory at every replay.
            self._captured_output = self.call()
        return graph

    def warm_up(self, seconds: Optional[float], calls: Optional[int]) -> int:
        """Call until warm, by time or by count; give the nanoseconds that a call takes then."""
        deadline = time.perf_counter_ns() + int((seconds or 0.0) * 1e9)
        done = 0
        while done < (calls or 0) or time.perf_counter_ns() < deadline:
            self.call()
            done += 1
            if done % 8 == 0:
                # An unbounded queue would only be filled here, and emptied later.
                self.device.synchronize()
        self.device.synchronize()
        probes = [self.batch("throughput", PROBE_CALLS)["wall_ns"] for _ in range(PROBES)]
        return sorted(probes)[PROBES // 2] // PROBE_CALLS


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the garbage collector from running, as `timeit` does."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def make_flush(device: Device) -> Callable[[], Any]:
    """Make the function that throws everything out of the device's last-level cache."""
    facts = device.facts().get("properties", {})
    size = 2 * int(facts.get("L2_cache_size") or 128 * 1024 * 1024)
    buffer = device.torch.empty(size // 4, dtype=device.torch.int32, device=device.name)
    return buffer.zero_  # type: ignore[no-any-return]
