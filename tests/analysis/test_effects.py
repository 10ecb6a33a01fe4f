import json
import random
import re

import polars as pl
import pytest

from fgtrace.analysis.drift import speed_notes
from fgtrace.analysis.effects import EFFECTS, effects_report
from fgtrace.frames import schema
from fgtrace.opening import open_trace

VARIANTS = (
    "readback=1,index_check=1",
    "readback=1,index_check=0",
    "readback=0,index_check=1",
    "readback=0,index_check=0",
)


def samples(batches, **more):
    """Batches as (variant, nanoseconds of one call)."""
    rows = [
        {
            "case": "c",
            "route": "r",
            "variant": variant,
            "generation": 0,
            "process": 1,
            "turn": turn,
            "mode": "throughput",
            "profiler": "none",
            "calls": 10,
            "wall_ns": round(10 * call),
            "enqueue_ns": 1,
            **more,
        }
        for turn, (variant, call) in enumerate(batches)
    ]
    return pl.DataFrame(rows, schema=schema.SAMPLES)


@pytest.fixture
def with_samples(trace):
    opened = open_trace(trace.range("call", 0, 10).write())
    return lambda frame: opened.having(samples=frame)


def rounds(number, moods=None, factor=1):
    """Readback 10 us, check 40 us, 5 us less together, on a base of 50 us and a wandering host."""
    dice = random.Random(7)
    made = []
    for one in range(number):
        mood = (moods[one] if moods else dice.uniform(1, 1.5)) * factor
        costs = {VARIANTS[0]: 95, VARIANTS[1]: 60, VARIANTS[2]: 90, VARIANTS[3]: 50}
        made += [(name, costs[name] * 1000 * mood) for name in dice.sample(VARIANTS, 4)]
    return made


def effects(trace):
    rows = effects_report(trace)
    assert rows.schema == EFFECTS
    return {
        (kind, part, given): effect
        for kind, part, given, effect in rows.select("kind", "part", "given", "effect_ns").rows()
    }


def test_effects_are_differences_within_a_round(with_samples):
    found = effects(with_samples(samples(rounds(9, moods=[1.0] * 9))))
    assert found == {
        ("main", "readback", None): 7500,
        ("main", "index_check", None): 37_500,
        ("simple", "readback", "index_check=1"): 5000,
        ("simple", "readback", "index_check=0"): 10_000,
        ("simple", "index_check", "readback=1"): 35_000,
        ("simple", "index_check", "readback=0"): 40_000,
        ("interaction", "readback x index_check", None): -5000,
    }


def test_a_host_that_wanders_between_rounds_does_not_hide_an_effect(with_samples):
    rows = effects_report(with_samples(samples(rounds(60))))
    main = rows.row(0, named=True)
    assert main["interval_low_ns"] > 0
    assert main["rounds"] == 60


def test_a_round_that_lacks_a_variant_is_left_out(with_samples):
    assert effects_report(with_samples(samples(rounds(9)[:-1])))["rounds"].unique().to_list() == [8]


def test_batches_of_a_process_that_was_profiled_do_not_count(with_samples):
    profiled = samples(rounds(9), process=2).with_columns(profiler=pl.lit("kineto"))
    together = pl.concat([samples(rounds(9)), profiled])
    assert effects_report(with_samples(together))["rounds"].unique().to_list() == [9]


def test_all_times_twice_as_long_are_twice_the_effect(with_samples):
    once, twice = (effects(with_samples(samples(rounds(20, factor=by)))) for by in (1, 2))
    for key, effect in once.items():
        assert twice[key] == pytest.approx(2 * effect, abs=2)


def test_one_part_alone_has_a_main_effect_only(with_samples):
    batches = [(f"readback={on}", 50_000 + 9000 * on) for _ in range(6) for on in (0, 1)]
    assert effects(with_samples(samples(batches))) == {("main", "readback", None): 9000}


def test_without_a_factorial_there_are_no_rows(with_samples):
    assert effects_report(with_samples(samples([(None, 50_000)] * 9))).is_empty()


def test_variants_of_other_parts_are_no_factorial(with_samples):
    batches = [(variant, 50_000) for _ in range(6) for variant in ("readback=1", "index_check=1")]
    assert effects_report(with_samples(samples(batches))).is_empty()


@pytest.fixture(scope="module")
def stopwatch(shared):
    found = json.loads((shared / "traces/h200/factorial_stopwatch.json").read_text())["samples"]
    return samples(
        (
            f"readback={one['readback']},index_check={one['index_check']}",
            one["wall_ns"] / one["calls"],
        )
        for one in found
    )


def test_the_recorded_factorial_has_the_effects_that_are_known(with_samples, stopwatch):
    found = effects(with_samples(stopwatch))
    assert found["main", "readback", None] == pytest.approx(12_800, abs=50)
    assert found["main", "index_check", None] == pytest.approx(40_700, abs=50)
    # Of the medians of all rounds the differences are 12.0 and 39.8 us; paired within rounds, more.
    medians = dict(stopwatch.group_by("variant").agg((pl.col("wall_ns") / 10).median()).rows())
    full = medians[VARIANTS[0]]
    assert full - medians[VARIANTS[2]] == pytest.approx(12_000, abs=50)
    assert full - medians[VARIANTS[1]] == pytest.approx(39_800, abs=50)
    assert found["simple", "readback", "index_check=1"] == pytest.approx(12_000, rel=0.05)
    assert found["simple", "index_check", "readback=1"] == pytest.approx(39_800, rel=0.05)


def test_the_intervals_of_the_recorded_factorial_have_the_effects_in_them(with_samples, stopwatch):
    rows = effects_report(with_samples(stopwatch))
    ends = {
        (kind, part, given): (low, high)
        for _, _, kind, part, given, _, low, high, _, _ in rows.rows()
    }
    # Not the readback's simple one: 12.0 us is a difference of medians, not a median within rounds.
    for key, known in {
        ("main", "readback", None): 12_800,
        ("main", "index_check", None): 40_700,
        ("simple", "index_check", "readback=1"): 39_800,
    }.items():
        low, high = ends[key]
        assert low <= known <= high


def series(times):
    return samples([(None, time) for time in times])


def noisy(dice, length=200):
    """Stationary times: neighbours are alike, and one in twenty takes twice as long."""
    mood, times = 0.0, []
    for _ in range(length):
        mood = 0.7 * mood + dice.gauss(0, 0.05)
        times.append(50_000 * (1 + mood) * (2 if dice.random() < 0.05 else 1))
    return times


def test_a_steady_host_is_not_said_to_change():
    dice = random.Random(3)
    alarms = sum(bool(speed_notes(series(noisy(dice)))) for _ in range(200))
    assert alarms <= 2


@pytest.mark.parametrize("place", [0.3, 0.5, 0.7])
def test_a_jump_of_the_hosts_speed_is_told_with_figures(place):
    dice = random.Random(5)
    times = [50_000 * dice.gauss(1, 0.03) * (1.3 if n > place * 200 else 1) for n in range(200)]
    (note,) = speed_notes(series(times))
    assert note.kind == "host-speed-jump"
    assert re.search(r"took 50\.\d and then 6[45]\.\d us", note.message)


def test_a_trend_of_a_fifth_is_told_too():
    dice = random.Random(5)
    times = [50_000 * dice.gauss(1, 0.05) * (1 + 0.2 * n / 199) for n in range(200)]
    (note,) = speed_notes(series(times))
    assert note.kind in ("host-speed-drift", "host-speed-jump")


def test_routes_of_other_speeds_are_no_change(with_samples):
    fast, slow = series([10_000] * 120), series([90_000] * 120)
    both = pl.concat([fast, slow.with_columns(route=pl.lit("slow"))])
    assert speed_notes(both.with_columns(turn=pl.int_range(240, dtype=pl.UInt32))) == []


def test_too_few_batches_tell_nothing():
    assert speed_notes(series([50_000] * 90 + [90_000] * 90)) == []
