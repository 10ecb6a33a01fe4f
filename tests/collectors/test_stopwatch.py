"""The stopwatch, by a clock that only moves when something is done."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest

from fgtrace_collectors.recorder import stopwatch
from fgtrace_collectors.recorder.stopwatch import LEAD_IN, Stopwatch

CALL_NS, WAIT_NS, FLUSH_NS = 1_000, 50, 700


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = [0]
    done: list[str] = []

    def step(name: str, lasts: int):
        def take() -> None:
            now[0] += lasts
            done.append(name)

        return take

    monkeypatch.setattr(stopwatch.time, "perf_counter_ns", lambda: now[0])
    device = SimpleNamespace(synchronize=step("wait", WAIT_NS), accelerator=True)
    flush = step("flush", FLUSH_NS)
    return SimpleNamespace(call=step("call", CALL_NS), device=device, done=done, flush=flush)


def test_throughput_waits_once_at_the_end(world: SimpleNamespace) -> None:
    timing = Stopwatch(world.call, world.device, None).batch("throughput", 7)
    assert timing == {"wall_ns": 7 * CALL_NS + WAIT_NS, "enqueue_ns": 7 * CALL_NS}


def test_latency_waits_after_every_call(world: SimpleNamespace) -> None:
    timing = Stopwatch(world.call, world.device, None).batch("latency", 7)
    assert timing == {"wall_ns": 7 * (CALL_NS + WAIT_NS), "enqueue_ns": 7 * CALL_NS}


def test_a_cold_batch_flushes_before_every_call_and_does_not_time_it(
    world: SimpleNamespace,
) -> None:
    timing = Stopwatch(world.call, world.device, world.flush).batch("latency", 3)
    assert timing["wall_ns"] == 3 * (CALL_NS + WAIT_NS)
    timed = world.done[LEAD_IN:]
    assert timed == ["flush", "wait", "call", "wait"] * 3


def test_the_lead_in_is_not_timed_and_the_queue_is_empty_when_timing_starts(
    world: SimpleNamespace,
) -> None:
    Stopwatch(world.call, world.device, None).batch("throughput", 1)
    assert world.done == ["call"] * LEAD_IN + ["wait", "call", "wait"]


@pytest.mark.parametrize("mode", ["throughput", "latency"])
def test_the_garbage_collector_rests_during_a_batch_only(world: SimpleNamespace, mode: str) -> None:
    seen: list[bool] = []
    Stopwatch(lambda: seen.append(gc.isenabled()), world.device, None).batch(mode, 3)
    assert not any(seen)
    assert gc.isenabled()


def test_warming_by_time_lasts_at_least_so_long(world: SimpleNamespace) -> None:
    Stopwatch(world.call, world.device, None).warm_up(0.0001, None)
    assert world.done.count("call") * CALL_NS + world.done.count("wait") * WAIT_NS >= 100_000


def test_warming_by_count_makes_so_many_calls(world: SimpleNamespace) -> None:
    call_ns = Stopwatch(world.call, world.device, None).warm_up(None, 50)
    assert world.done.count("call") >= 50
    assert call_ns == pytest.approx(CALL_NS, abs=WAIT_NS)
