import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.spread import Spread, spread

BATCHES = st.lists(st.integers(min_value=1, max_value=10**9).map(float), max_size=12)
GENERATIONS = st.lists(BATCHES, max_size=5)


def drawn(generations: int, batches: int, between: float, within: float, seed: int = 7):
    generator = random.Random(seed)
    return [
        [level + generator.gauss(0, within) for _ in range(batches)]
        for level in (generator.gauss(1000, between) for _ in range(generations))
    ]


@given(GENERATIONS)
def test_the_same_batches_give_the_same_interval(generations):
    assert spread(generations, 0.95) == spread(generations, 0.95)


@given(GENERATIONS, st.sampled_from([2, 1000]))
def test_another_unit_gives_the_same_interval_in_that_unit(generations, scale):
    scaled = spread([[scale * value for value in batches] for batches in generations], 0.95)
    plain = spread(generations, 0.95)
    if plain is None:
        assert scaled is None
        return
    assert scaled.value == pytest.approx(scale * plain.value)
    if plain.low is None:
        assert scaled.low is scaled.high is None
    else:
        assert (scaled.low, scaled.high) == pytest.approx((scale * plain.low, scale * plain.high))


@given(GENERATIONS, st.sampled_from([0.5, 0.95, 0.99]))
def test_the_interval_contains_its_value_and_stays_within_what_was_measured(generations, level):
    measured = [value for batches in generations for value in batches]
    found = spread(generations, level)
    if found is not None and found.low is not None:
        assert min(measured) <= found.low <= found.value <= found.high <= max(measured)


def test_a_value_beside_its_percentiles_is_still_in_its_interval():
    batches = [50.0, 51.0, 3.0, 1.0, 51.0, 1.0, 1.0, 100.0, 50.0]
    found = spread([batches], 0.5)
    assert found.low <= 50 == found.value == found.high


@given(GENERATIONS)
def test_the_order_of_the_generations_means_nothing(generations):
    assert spread(generations, 0.95) == spread(generations[::-1], 0.95)


def test_the_value_is_the_median_over_generations_of_the_median_within():
    # The median of all eight would be 4.5.
    assert spread([[1, 2, 3, 4, 5], [10, 11], [7]], 0.95).value == 7


def test_nothing_measured_has_no_spread():
    assert spread([], 0.95) is None
    assert spread([[], []], 0.95) is None


def test_one_value_has_no_interval():
    assert spread([[41.5]], 0.95) == Spread(41.5, None, None)


def test_one_value_a_generation_is_resampled_over_generations():
    found = spread([[10.0], [20.0], [30.0]], 0.95)
    assert (found.low, found.value, found.high) == (10.0, 20.0, 30.0)


def test_generations_that_differ_widen_the_interval_however_steady_each_is():
    steady = spread(drawn(6, 40, between=0, within=5), 0.95)
    moody = spread(drawn(6, 40, between=50, within=5), 0.95)
    assert moody.high - moody.low > 5 * (steady.high - steady.low)


def test_moods_of_the_host_that_last_over_batches_widen_the_interval():
    generator = random.Random(3)
    values = sorted(generator.gauss(1000, 30) for _ in range(100))
    # The same values: once with slow and fast ones mixed, once in slow and fast stretches.
    mixed = generator.sample(values, 100)
    stretches = [value for start in range(10) for value in values[start * 10 : start * 10 + 10]]
    narrow, wide = spread([mixed], 0.95), spread([stretches], 0.95)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_a_higher_level_gives_a_wider_interval():
    generations = drawn(8, 20, between=20, within=20)
    narrow, wide = spread(generations, 0.8), spread(generations, 0.99)
    assert wide.low < narrow.low
    assert wide.high > narrow.high


@pytest.mark.parametrize(("generations", "covers"), [(6, 0.88), (12, 0.9), (1, 0.9)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(generations, covers):
    between = 0 if generations == 1 else 20
    hits = 0
    for seed in range(200):
        found = spread(drawn(generations, 10 if between else 60, between, 20, seed), 0.95)
        hits += found.low <= 1000 <= found.high
    assert covers <= hits / 200 <= 0.995


def test_a_matrix_of_four_cases_and_routes_is_resampled_in_seconds():
    generations = drawn(6, 40, between=20, within=20)
    start = time.process_time()
    for _ in range(4 * 4 * 3):
        spread(generations, 0.95)
    assert time.process_time() - start < 1.5
