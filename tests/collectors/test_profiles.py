"""The profile's stage: in which order each process is asked for what."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

from fgtrace_collectors.recorder import profiles
from fgtrace_collectors.recorder.plan import FOUNDING, QUICK, Protocol
from fgtrace_collectors.recorder.profiles import STACKED_CALLS, UNPROFILED_BATCHES, WARM_UP_SECONDS
from fgtrace_collectors.recorder.profiling import STACKS
from fgtrace_collectors.recorder.workload import variants

from .test_timing import CASES, ROUTES, FakeSession, live, session


def run(protocol: Protocol, generations: int = 1) -> FakeSession:
    one = session(protocol)
    one.recording.generations = generations
    profiles.profiles(one, live(one.recording.plan["log"], [route.name for route in ROUTES]))
    return one


def asked(one: FakeSession, route: str) -> list[str]:
    return [do for name, do, _, _ in one.recording.plan["log"] if name == route]


def test_unprofiled_batches_come_before_the_profiler_and_calibration_on_both_sides_of_it() -> None:
    expected = (
        ["prepare"] * len(CASES)
        + ["warm"] * len(CASES)
        + ["batch"] * len(CASES) * UNPROFILED_BATCHES
        + ["calibrate", "attach", "calibrate"]
        + ["profile"] * len(CASES)
        + ["release", "end"]
    )
    assert asked(run(QUICK), "a") == expected


def test_every_generation_has_a_profile_of_every_case_by_every_route() -> None:
    made = Counter(row["generation"] for row in run(QUICK, generations=3).recording.profiles)
    assert made == dict.fromkeys(range(3), len(CASES) * len(ROUTES))


def test_the_founding_rounds_share_one_profile() -> None:
    made = {row["generation"] for row in run(FOUNDING, generations=3).recording.profiles}
    assert made == {0}


def test_samples_say_whether_a_profiler_was_recording_and_how_many_calls_it_saw() -> None:
    one = run(replace(QUICK, profile_calls=17))
    found = Counter((row["profiler"], row["calls"]) for row in one.recording.samples)
    pairs = len(CASES) * len(ROUTES)
    assert found == {("none", 10): pairs * UNPROFILED_BATCHES, ("kineto", 17): pairs}


def test_calibration_says_whether_a_profiler_was_recording() -> None:
    found = Counter((row["route"], row["profiler"]) for row in run(QUICK).recording.calibration)
    assert found == {(r.name, p): 1 for r in ROUTES for p in ("none", "kineto")}


def test_a_cold_protocol_profiles_calls_one_by_one() -> None:
    one = run(replace(QUICK, cache="cold", batches=0, latency_batches=5))
    assert {row["mode"] for row in one.recording.samples} == {"latency"}


def test_the_warm_up_is_short_but_no_longer_than_the_protocols() -> None:
    one = run(QUICK)
    assert set(one.recording.plan["log"].warmed) == {WARM_UP_SECONDS}
    assert set(run(replace(QUICK, warmup_s=0.05)).recording.plan["log"].warmed) == {0.05}


def test_stacks_are_recorded_of_a_few_calls_by_a_profiler_of_their_own() -> None:
    one = session(QUICK)
    routes = live(one.recording.plan["log"], [route.name for route in ROUTES])
    profiles.stacks(one, routes)
    expected = ["prepare"] * len(CASES) + ["warm"] * len(CASES) + ["attach", "calibrate"]
    assert asked(one, "a") == expected + ["profile"] * len(CASES) + ["release", "end"]
    assert {row["calls"] for row in one.recording.samples} == {STACKED_CALLS}
    assert {row["profiler"] for row in one.recording.samples} == {STACKS}
    assert all(row["stacks"] for row in one.recording.profiles)
    assert one.recording.profiler_options == {}


def test_of_a_factorial_only_the_full_variant_is_profiled() -> None:
    one = session(QUICK)
    parts = ("readback", "check")
    made = variants(SimpleNamespace(name="first", operator="op"), "first", {}, parts)
    one = replace(one, workloads=tuple(made))
    one.recording.generations = 1
    profiles.profiles(one, live(one.recording.plan["log"], ["a"]))
    assert {row["variant"] for row in one.recording.samples} == {"readback=1,check=1"}
