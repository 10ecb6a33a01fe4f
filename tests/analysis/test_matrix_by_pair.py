import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fgtrace
from fgtrace.analysis.comparing import Batches, Compared, compared
from fgtrace.analysis.diff import diff
from fgtrace.analysis.matrix_by_pair import MATRIX_BY_PAIR, matrix_by_pair_report
from fgtrace.analysis.sides import narrowed

SAMPLE = Path(__file__).parents[2] / "samples/h200.fgtrace"

TURNED = {"faster": "slower", "slower": "faster"}


def moody(factor=1.0, *, generations=6, batches=10, seed=0, moods=7):
    """Batches of a call of 50 us times `factor`, on a host whose moods differ by half."""
    mood, noise = random.Random(moods), random.Random(f"{seed} {factor}")
    of_generations = [mood.uniform(1, 1.5) for _ in range(generations)]
    return [
        [50_000 * factor * one * noise.gauss(1, 0.02) for _ in range(batches)]
        for one in of_generations
    ]


def pairs(trace):
    rows = matrix_by_pair_report(trace)
    assert rows.schema == MATRIX_BY_PAIR
    return rows


def only(trace):
    (row,) = pairs(trace).rows(named=True)
    return row


def test_a_run_of_one_route_has_no_pairs(timed):
    assert pairs(timed({})).is_empty()
    assert pairs(timed({("c", "aten"): moody(), ("d", "triton"): moody()})).is_empty()


def test_each_pair_of_a_case_is_a_row_and_aten_is_the_base_where_it_is_there(timed):
    routes = ("zeta", "aten", "alpha")
    found = pairs(timed({(case, route): moody() for case in "dc" for route in routes}))
    of_case = [("aten", "alpha"), ("aten", "zeta"), ("alpha", "zeta")]
    expected = [(case, *pair) for case in "cd" for pair in of_case]
    assert found.select("case", "route_a", "route_b").rows() == expected


def generations(number):
    five = st.lists(st.integers(1, 10**6), min_size=5, max_size=5)
    return st.lists(five, min_size=number, max_size=number)


TWO_ROUTES = st.integers(1, 3).flatmap(lambda n: st.tuples(generations(n), generations(n)))


@settings(max_examples=40)
@given(TWO_ROUTES)
def test_a_pair_is_what_the_comparison_of_both_routes_says_either_way_round(timed, routes):
    a, b = routes
    there = only(timed({("c", "r"): a, ("c", "s"): b}))
    back = only(timed({("c", "s"): a, ("c", "r"): b}))
    together = (None, (), list(range(len(a))))
    sides = [Batches([list(map(float, one)) for one in side], together) for side in routes]
    for row, (one, other) in ((there, sides), (back, sides[::-1])):
        (expected,) = compared([Compared("c", None, one, other)], "call").rows(named=True)
        assert row["a_ns"] == pytest.approx(expected["a"], abs=1)
        assert row["effect_ns"] == pytest.approx(expected["b"] - expected["a"], abs=1)
        assert row["interval_low_ns"] == pytest.approx(expected["low"], abs=1)
        assert row["interval_high_ns"] == pytest.approx(expected["high"], abs=1)
        assert row["detectable_ns"] == pytest.approx(expected["detectable"], abs=1)
        assert row["verdict"] == expected["verdict"]
    assert back["effect_ns"] == pytest.approx(-there["effect_ns"], abs=1)
    assert back["verdict"] == TURNED.get(there["verdict"], there["verdict"])
    assert back["ratio"] == pytest.approx(1 / there["ratio"])


@pytest.mark.parametrize("factor", [1.001, 1.1, 5.0])
def test_with_one_generation_no_route_is_called_faster_or_slower(timed, factor):
    one = {"generations": 1}
    row = only(timed({("c", "aten"): moody(**one), ("c", "b"): moody(factor, **one)}))
    assert row["verdict"] == "uncertain"
    assert row["ratio"] == pytest.approx(factor, rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_six_generations_find_a_tenth_between_routes_under_moods_of_a_half(timed, seed):
    row = only(timed({("c", "aten"): moody(seed=seed), ("c", "b"): moody(1.1, seed=seed)}))
    assert row["verdict"] == "slower"
    assert row["ratio"] == pytest.approx(1.1, abs=0.02)
    assert row["interval_low_ns"] < row["effect_ns"] < row["interval_high_ns"]
    assert row["detectable_ns"] < row["effect_ns"]
    assert (row["generations"], row["rounds"]) == (6, 60)
    # Apart, the moods would hide it.
    other = moody(1.1, seed=seed, moods=8)
    assert only(timed({("c", "aten"): moody(seed=seed), ("c", "b"): other}))["verdict"] != "slower"


def test_routes_of_the_same_speed_are_not_told_apart(timed):
    same = {("c", f"r{number}"): moody(seed=number) for number in range(7)}
    assert not set(pairs(timed(same))["verdict"]) & {"faster", "slower"}


def test_with_fewer_than_five_batches_there_are_times_and_no_verdict(timed):
    few = {"generations": 2, "batches": 2}
    row = only(timed({("c", "a"): moody(**few), ("c", "b"): moody(3.0, **few)}))
    assert (row["interval_low_ns"], row["verdict"], row["detectable_ns"]) == (None, None, None)
    assert row["ratio"] == pytest.approx(3, abs=0.2)


def test_only_generations_in_which_both_were_timed_count(timed):
    a = moody()
    row = only(timed({("c", "a"): [*a[:5], [1.0] * 10], ("c", "b"): a[:5]}))
    assert (row["generations"], row["rounds"], row["effect_ns"]) == (5, 50, 0)
    apart = timed({("c", "a"): moody(), ("c", "b"): [[], *moody()]})
    first = pl.col("generation") == 0
    split = apart.samples.filter((pl.col("route") == "a") == first)
    assert pairs(apart.having(samples=split)).is_empty()


def test_of_a_factorial_the_call_with_every_part_counts(timed):
    trace = timed({("c", "a"): moody(), ("c", "b"): moody(1.1)})
    whole = trace.samples.with_columns(variant=pl.lit("readback=1"))
    part = trace.samples.with_columns(variant=pl.lit("readback=0"), wall_ns=pl.lit(1, pl.Int64))
    assert pairs(trace.having(samples=pl.concat([part, whole]))).equals(pairs(trace))


def test_the_samples_pairs_are_what_a_diff_of_two_routes_says():
    trace = fgtrace.open(SAMPLE)
    both = [narrowed(trace, [("route", route)]) for route in ("aten", "triton")]
    columns = ("interval_low_ns", "interval_high_ns")
    by_diff = diff(*both).rows.filter(kind="call", time="stopwatch").sort("case")
    found = pairs(trace)
    assert found.height == 4 * 6
    by_pair = found.filter(route_a="aten", route_b="triton")
    times = ("case", "a_ns", "b_ns", "effect_ns", *columns)
    renamed = by_diff.rename({"time_a_ns": "a_ns", "time_b_ns": "b_ns", "delta_ns": "effect_ns"})
    assert by_pair.select(times).equals(renamed.select(times))
    assert set(by_pair["verdict"]) == {"slower"}
