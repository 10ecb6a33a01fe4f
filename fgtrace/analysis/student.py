"""Student's t distribution, whose tails say how sure a difference of a few processes is."""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, log, log1p

_TINY = 1e-300
_TERMS = 300
_CLOSE = 1e-12


def two_sided(t: float, freedom: float) -> float:
    """Give the probability of a value at least as far from 0 as `t`, in both directions.

    It is the regularised incomplete beta function at v / (v + t^2) of v / 2 and 1 / 2
    (Abramowitz and Stegun 26.7.1); `freedom`, v, need not be whole.
    """
    return _beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache
def quantile(both_tails: float, freedom: float) -> float:
    """Give the value beyond which, in both directions, lie `both_tails` of the distribution."""
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > both_tails:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > both_tails else (low, middle)
    return high


def _beta(a: float, b: float, x: float) -> float:
    # Regularised, by the continued fraction where that converges fast (26.5.8).
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    # Lentz's method, numerators in pairs.
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / _away(1 + numerator * d)
            c = _away(1 + numerator / c)
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value


def _away(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
