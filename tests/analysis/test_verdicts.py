import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.verdicts import (
    Difference,
    Estimate,
    Resampling,
    judged,
    spread_of,
)


def processes(mean, *, count=5, calls=40, between=1.0, within=3.0, seed=0):
    """The values of processes that differ from each other, one after the other."""
    generator = random.Random(f"{seed} {mean}")
    return [
        round(generator.gauss(middle, within))
        for middle in [generator.gauss(mean, between) for _ in range(count)]
        for _ in range(calls)
    ]


def difference(a, b, sizes=(40,) * 5, **more):
    sides = [Resampling(sizes, side).estimate(side) for side in (a, b)]
    return Difference(*sides, same=a == b, **more)


def test_the_value_is_the_mean_over_processes_of_the_median_over_their_calls():
    values = [1, 2, 30, 5, 6, 7, 100, 100, 100]
    assert Resampling([3, 3, 3], values).estimate(values).value == (2 + 6 + 100) / 3


def test_processes_that_differ_make_a_wider_error_than_their_calls_do():
    apart = processes(1000, between=50)
    near = processes(1000, between=0)
    errors = [spread_of(Resampling([40] * 5, side).estimate(side).draws) for side in (apart, near)]
    assert errors[0] > 5 * errors[1]


def test_a_difference_beyond_the_margin_and_chance_is_called():
    (slower,) = judged([difference(processes(1000), processes(1100))])
    assert slower.verdict == "slower"
    assert 0 < slower.low < slower.high


def test_a_real_difference_within_the_margin_is_unchanged():
    (same,) = judged([difference(processes(1000), processes(1010))])
    assert same.verdict == "unchanged"
    (called,) = judged([difference(processes(1000), processes(1010))], margin=0.002)
    assert called.verdict == "slower"


def test_noise_is_uncertain_and_says_what_could_have_been_seen():
    noisy = [processes(1000, between=200, seed=seed) for seed in (1, 2)]
    (judgement,) = judged([difference(*noisy)])
    assert judgement.verdict == "uncertain"
    assert judgement.detectable > 200


def test_what_may_not_be_called_is_uncertain_at_best_however_large():
    (judgement,) = judged([difference(processes(1000), processes(2000), may_be_called=False)])
    assert judgement.verdict == "uncertain"
    (near,) = judged([difference(processes(1000), processes(1001), may_be_called=False)])
    assert near.verdict == "uncertain"


def test_one_process_is_judged_by_blocks_of_its_calls():
    sizes = (100,)
    a = processes(1000, count=1, calls=100)
    b = processes(1100, count=1, calls=100)
    (judgement,) = judged([difference(a, b, sizes)])
    assert judgement.verdict == "slower"


def test_among_many_rows_what_alone_would_be_called_is_not():
    # A chance of 0.5 %: enough alone, and expected of one row in two hundred.
    draws = pl.Series([990.0, 1010.0])
    a = Estimate(1000.0, draws, 1e6)
    row = Difference(a, Estimate(1000.0 + 2.81 * 20, draws, 1e6))
    same = Difference(a, Estimate(1000.0, draws, 1e6))
    assert judged([row])[0].verdict == "slower"
    assert judged([row, *[same] * 200])[0].verdict == "uncertain"


def test_readings_of_one_recording_are_unchanged_to_the_nanosecond():
    values = processes(1000)
    (judgement,) = judged([difference(values, values)])
    assert (judgement.low, judgement.high, judgement.verdict) == (0, 0, "unchanged")


def test_values_without_any_spread_are_called_without_doubt():
    (judgement,) = judged([difference([1000] * 200, [1100] * 200)])
    assert (judgement.low, judgement.high, judgement.verdict) == (100, 100, "slower")


values = st.lists(st.integers(0, 10**6), min_size=10, max_size=10)


@given(st.lists(st.tuples(values, values), min_size=1, max_size=4))
def test_the_other_way_round_is_the_negative(rows):
    sizes = (5, 5)
    a, b = ([list(side) for side in column] for column in zip(*rows, strict=True))
    sides = [Resampling(sizes, side) for side in (a, b)]
    there = [
        Difference(sides[0].estimate(x), sides[1].estimate(y), same=x == y)
        for x, y in zip(a, b, strict=True)
    ]
    back = [Difference(one.b, one.a, same=one.same) for one in there]
    opposite = {"faster": "slower", "slower": "faster"}
    for one, other in zip(judged(there), judged(back), strict=True):
        assert other.low == pytest.approx(-one.high)
        assert other.high == pytest.approx(-one.low)
        assert other.verdict == opposite.get(one.verdict, one.verdict)
        assert other.detectable == one.detectable


@given(st.integers(0, 2**32))
def test_the_same_content_is_drawn_the_same(seed):
    values = processes(1000, seed=seed)
    estimates = [Resampling([40] * 5, values).estimate(values) for _ in range(2)]
    assert estimates[0].draws.equals(estimates[1].draws)


def test_what_processes_of_both_sides_share_is_no_doubt_of_their_difference():
    moods = [1000, 1400, 900, 1700, 1200]
    generator = random.Random(7)
    a, b = (
        [round(generator.gauss(mood + more, 5)) for mood in moods for _ in range(40)]
        for more in (0, 100)
    )
    apart = difference(a, b)
    together = [Resampling([40] * 5, side, "one run").estimate(side) for side in (a, b)]
    (paired,) = judged([Difference(*together, paired=True)])
    assert judged([apart])[0].verdict == "uncertain"
    assert paired.verdict == "slower"
    assert 90 < paired.low < 100 < paired.high < 110
