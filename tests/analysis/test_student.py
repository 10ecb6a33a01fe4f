import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.student import quantile, two_sided


@pytest.mark.parametrize(
    ("freedom", "tails", "value"),
    [(1, 0.05, 12.706), (4, 0.01, 4.604), (8, 0.001, 5.041), (30, 0.05, 2.042), (120, 0.01, 2.617)],
)
def test_quantiles_are_those_of_the_printed_tables(freedom, tails, value):
    assert quantile(tails, freedom) == pytest.approx(value, abs=5e-4)


def test_one_degree_of_freedom_is_cauchys_distribution():
    assert two_sided(3.0, 1) == pytest.approx(1 - 2 * math.atan(3) / math.pi)


def test_many_degrees_of_freedom_are_the_normal_distribution():
    assert two_sided(1.96, 1e6) == pytest.approx(math.erfc(1.96 / math.sqrt(2)), rel=1e-4)


@given(st.floats(0, 1e6), st.floats(0.5, 1e4))
def test_tails_are_symmetric_and_probabilities(t, freedom):
    tail = two_sided(t, freedom)
    assert 0 <= tail <= 1
    assert tail == two_sided(-t, freedom)


@given(st.floats(1e-6, 0.9), st.floats(1, 500))
def test_the_quantile_is_the_inverse_of_the_tails(tails, freedom):
    assert two_sided(quantile(tails, freedom), freedom) == pytest.approx(tails, rel=1e-4)
