"""The order of batches: routes in seeded turns, one child at a time; budgets; founding order."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fgtrace_collectors.recorder import timing
from fgtrace_collectors.recorder.children import LiveRoute
from fgtrace_collectors.recorder.plan import FOUNDING, QUICK, Plan, PlannedRoute, Protocol
from fgtrace_collectors.recorder.recording import Recording
from fgtrace_collectors.recorder.session import Session
from fgtrace_collectors.recorder.workload import Workload, variants

CASES = tuple(Workload(name, name, "op", {}) for name in ("first", "second"))
ROUTES = tuple(PlannedRoute(name) for name in ("a", "b", "c"))


class Log(list[tuple[Any, ...]]):
    """What the children were asked, in order; and the seconds of their warm-ups."""

    def __init__(self) -> None:
        super().__init__()
        self.warmed: list[float] = []


class FakeChild:
    """Answers like a child, at once, and writes down what it was asked."""

    def __init__(self, name: str, log: Log, compilations: int = 0) -> None:
        self.name = name
        self.log = log
        self.compilations = compilations
        self.last: dict[str, Any] = {}

    def ask(self, do: str, **request: Any) -> None:
        self.last = {"do": do, **request}
        self.log.append((self.name, do, request.get("key"), request.get("mode")))
        if do == "warm":
            self.log.warmed.append(request["seconds"])

    def answer(self, timeout: float | None = None) -> dict[str, Any]:
        return {
            "prepare": {"result": "ok", "modules": {}},
            "warm": {"call_ns": 1_000_000 if self.name == "c" else 10_000},
            "batch": {
                "wall_ns": 5,
                "enqueue_ns": 4,
                "compilations": self.compilations,
                "tunings": None,
            },
            "calibrate": {"rows": [{"loop": "range", "iterations": 1, "wall_ns": 1}]},
            "attach": {},
            "profile": {"wall_ns": 9, "enqueue_ns": 8, "options": {}},
            "facts": {"environment": {"route": self.name}, "rules": {"tracing": "none"}},
        }[self.last["do"]]

    def request(self, do: str, **request: Any) -> dict[str, Any]:
        self.ask(do, **request)
        return self.answer()

    def release(self) -> None:
        self.log.append((self.name, "release", None, None))

    def end(self) -> None:
        self.log.append((self.name, "end", None, None))


class FakeSession(Session):
    """A session whose children are fakes."""

    def children(self, name: str, routes: Any = None) -> Any:
        @contextmanager
        def fresh() -> Any:
            chosen = self.routes if routes is None else routes
            yield live(self.recording.plan["log"], [route.name for route in chosen])

        return fresh()


def live(log: Any, names: list[str], compilations: int = 0) -> list[LiveRoute]:
    return [
        LiveRoute(PlannedRoute(name), FakeChild(name, log, compilations), {"process": index})  # type: ignore[arg-type]
        for index, name in enumerate(names)
    ]


def session(protocol: Protocol, seed: int = 1) -> FakeSession:
    registry = SimpleNamespace(route=lambda name: SimpleNamespace(operators={"op": ""}))
    recording = Recording(plan={"log": Log()}, started="")
    recording.parameters = {case.name: {} for case in CASES}
    return FakeSession(
        plan=Plan(cases=(), routes=ROUTES, protocol=protocol, seed=seed),
        protocol=protocol,
        registry=registry,  # type: ignore[arg-type]
        workloads=CASES,
        routes=ROUTES,
        launcher=SimpleNamespace(folder=Path()),  # type: ignore[arg-type]
        recording=recording,
        progress=lambda text: None,
        calls={},
    )


def run(protocol: Protocol, seed: int = 1, compilations: int = 0) -> FakeSession:
    one = session(protocol, seed)
    names = [route.name for route in ROUTES]
    if protocol.interleaved:
        timing.interleaved(one, live(one.recording.plan["log"], names, compilations))
    else:
        timing.one_after_the_other(one)
    return one


def order(one: FakeSession, mode: str = "throughput") -> list[tuple[str, str]]:
    return [(row["case"], row["route"]) for row in one.recording.samples if row["mode"] == mode]


def test_every_route_gets_every_round_of_every_case() -> None:
    counts = Counter(order(run(QUICK)))
    assert set(counts.values()) == {QUICK.batches}
    assert len(counts) == len(CASES) * len(ROUTES)


def test_the_routes_of_a_case_are_timed_side_by_side_in_every_round() -> None:
    turns = order(run(replace(QUICK, latency_batches=0)))
    for start in range(0, len(turns), len(ROUTES)):
        together = turns[start : start + len(ROUTES)]
        assert len({case for case, _ in together}) == 1
        assert {route for _, route in together} == {route.name for route in ROUTES}


def test_the_order_is_random_and_the_seed_decides_it() -> None:
    first = order(run(QUICK, seed=1))
    assert first == order(run(QUICK, seed=1))
    assert first != order(run(QUICK, seed=2))
    rounds = {tuple(first[start : start + 3]) for start in range(0, len(first), 3)}
    assert len(rounds) > len(CASES)


def test_generations_have_orders_of_their_own() -> None:
    one = run(replace(QUICK, generations=2))
    by_generation = [
        [(row["case"], row["route"]) for row in one.recording.samples if row["generation"] == g]
        for g in (0, 1)
    ]
    assert by_generation[0] != by_generation[1]
    assert sorted(by_generation[0]) == sorted(by_generation[1])


def test_turns_are_numbered_in_the_order_of_the_batches() -> None:
    turns = [row["turn"] for row in run(QUICK).recording.samples]
    assert turns == list(range(len(turns)))


def test_the_slowest_route_decides_how_many_calls_all_routes_make() -> None:
    assert {row["calls"] for row in run(QUICK).recording.samples} == {10}  # 10 ms by 1 ms a call


def test_all_routes_are_warm_before_the_first_batch() -> None:
    asked = [do for _, do, _, _ in run(QUICK).recording.plan["log"]]
    assert asked.index("batch") > max(i for i, do in enumerate(asked) if do == "warm")


def test_a_budget_adds_generations_while_one_more_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(timing.time, "monotonic", lambda: float(next(clock)))
    without = run(replace(QUICK, generations=2)).recording.generations
    monkeypatch.setattr(timing.time, "monotonic", lambda: float(next(clock)))
    more = run(replace(QUICK, generations=2, budget_s=150.0)).recording.generations
    assert without == 2
    assert 2 < more < 15


def test_the_founding_orders_are_rotated_by_one() -> None:
    one = run(replace(FOUNDING, batches=1))
    seen = [row["route"] for row in one.recording.samples if row["case"] == "first"]
    assert "".join(seen) == "abc" + "cab" + "bca"
    assert one.recording.generations == 3


def test_a_founding_round_has_a_fresh_process_a_route() -> None:
    log = run(FOUNDING).recording.plan["log"]
    prepared = Counter(name for name, do, _, _ in log if do == "prepare")
    assert prepared == dict.fromkeys("abc", 3 * len(CASES))


def test_compilations_inside_batches_are_counted_and_told() -> None:
    recording = run(QUICK, compilations=1).recording
    kinds = {note["kind"] for note in recording.notes}
    assert kinds == {"measured-compilation"}
    told = {
        row["value"] for row in recording.witnesses if row["witness"].startswith("compilations")
    }
    assert told == {str(QUICK.batches + QUICK.latency_batches)}
    unknown = {row["value"] for row in recording.witnesses if row["witness"].startswith("tunings")}
    assert unknown == {"unknown"}


def test_a_sound_recording_says_zero_compilations_and_no_note() -> None:
    recording = run(QUICK).recording
    assert not recording.notes
    told = {
        row["value"] for row in recording.witnesses if row["witness"].startswith("compilations")
    }
    assert told == {"0"}


def test_a_sample_keeps_what_the_child_measured() -> None:
    (timing_,) = {(row["wall_ns"], row["enqueue_ns"]) for row in run(QUICK).recording.samples}
    assert timing_ == (5, 4)


def test_fewer_latency_batches_are_spread_over_all_rounds() -> None:
    protocol = replace(QUICK, batches=20, latency_batches=5)
    rows = run(protocol).recording.samples
    first, last = (
        [row["turn"] for row in rows if row["mode"] == mode][-1]
        for mode in ("latency", "throughput")
    )
    assert Counter(order(run(protocol), "latency")) == dict.fromkeys(set(order(run(protocol))), 5)
    assert first > 0.9 * last


def test_the_first_generation_settles_the_calls_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    one = session(replace(QUICK, generations=3))
    log = one.recording.plan["log"]
    timing.interleaved(one, live(log, ["a", "b"]))  # without c, the slow one
    assert {row["calls"] for row in one.recording.samples} == {500}


def test_a_case_of_slow_calls_has_batches_of_one() -> None:
    assert session(QUICK)._calls(200_000_000) == 1
    assert session(QUICK)._calls(5_000_000) == 10
    assert session(QUICK)._calls(100_000) == 100
    assert session(QUICK)._calls(10) == 500


def test_the_children_of_a_generation_are_gone_before_the_next_ones_work() -> None:
    log = run(replace(QUICK, generations=2)).recording.plan["log"]
    ends = [index for index, (_, do, _, _) in enumerate(log) if do == "end"]
    prepared = [index for index, (_, do, _, _) in enumerate(log) if do == "prepare"]
    assert len(ends) == len(ROUTES)
    assert prepared[0] < ends[0] < ends[-1] < prepared[-1]


def test_the_order_of_the_cases_is_random_too() -> None:
    first = [case for case, route in order(run(QUICK)) if route == "a"]
    assert first.count("first") == first.count("second")
    assert len(set(zip(first[::2], first[1::2], strict=True))) == 2


def test_clocks_are_read_in_the_middle_of_each_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, int]] = []
    monkeypatch.setattr(
        FakeSession,
        "read_clocks",
        lambda self, when: read.append((when, len(self.recording.samples))),
    )
    total = len(run(replace(QUICK, generations=2)).recording.samples)
    assert [when for when, _ in read] == ["during", "during"]
    assert 0 < read[0][1] < total / 2 < read[1][1] < total


def test_a_budget_leaves_room_for_a_whole_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 10))  # a reading every 10 s: three a generation
    monkeypatch.setattr(timing.time, "monotonic", lambda: float(next(clock)))
    one = run(replace(QUICK, generations=1, budget_s=35.0))
    assert one.recording.generations == 1


def test_the_variants_of_a_factorial_take_turns_in_every_round() -> None:
    case = SimpleNamespace(name="first", operator="op")
    one = replace(
        session(replace(QUICK, batches=4)),
        workloads=tuple(variants(case, case.name, {}, ("x", "y"))),
    )
    timing.interleaved(one, live(one.recording.plan["log"], ["a"]))
    order = [row["variant"] for row in one.recording.samples if row["mode"] == "throughput"]
    rounds = [order[place : place + 4] for place in range(0, 16, 4)]
    assert all(len(set(variants_)) == 4 for variants_ in rounds)
    assert len({tuple(variants_) for variants_ in rounds}) > 1
