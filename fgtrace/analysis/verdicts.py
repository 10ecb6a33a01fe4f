"""Verdicts: whether two recordings differ by more than chance, and what could have been seen.

A value is the mean over processes of the median over their calls. How far it would move in another
recording is found by resampling: processes, then blocks of consecutive calls within each, which
keeps together what neighbours have in common. Of few processes the percentiles of what is drawn
reach nowhere near 99 %, so that the interval is Student's, with the standard error of the draws and
the degrees of freedom of Welch's test.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import ceil, isqrt, sqrt
from statistics import fmean, median

import polars as pl

from fgtrace.analysis.student import quantile, two_sided

LEVEL = 0.99
"""Of intervals: what is called faster or slower has none that reaches 0."""

FALSE = 0.05
"""Of all that is called faster or slower in a diff, at most so much is expected to be neither."""

MARGIN = 0.02
"""A difference of at most this part of the larger side is none that matters."""

CALLS = 5
"""With fewer calls on a side nothing is said of chance."""

DRAWS = 400
"""A standard error from so many is within 4 % of that from all."""

VERDICT = pl.Enum(["faster", "slower", "unchanged", "uncertain"])


@dataclass(frozen=True)
class Estimate:
    """A side's value, what was drawn of it, and the degrees of freedom of its error."""

    value: float
    draws: pl.Series
    freedom: float


class Resampling:
    """Draws from one side: the same for each of its rows, other ones for other content."""

    def __init__(self, sizes: Sequence[int], content: object, paired: object = None) -> None:
        """Draw for processes with so many calls; `content` seeds, by its representation.

        Sides that were recorded together, process by process, share what is `paired`: the same
        processes of both are drawn.
        """
        generator = _generator(content)
        choosing = generator if paired is None else _generator(paired)
        self._sizes = [size for size in sizes if size]
        self._within = ceil(DRAWS / len(self._sizes)) if self._sizes else 0
        self._blocks = [self._block_draws(size, generator) for size in self._sizes]
        count = len(self._sizes)
        chosen = [choosing.choices(range(count), k=count) for _ in range(DRAWS)] if count else []
        self._processes = pl.Series(
            [
                process * self._within + generator.randrange(self._within)
                for processes in chosen
                for process in processes
            ],
            dtype=pl.UInt32,
        )

    @property
    def calls(self) -> int:
        """How many values a row has."""
        return sum(self._sizes)

    @property
    def processes(self) -> int:
        """How many processes have any."""
        return len(self._sizes)

    def medians(self, values: Sequence[float]) -> list[float]:
        """Take the median of each process."""
        ends = list(accumulate(self._sizes))
        starts = [0, *ends[:-1]]
        return [median(values[start:end]) for start, end in zip(starts, ends, strict=True)]

    def estimate(self, values: Sequence[float]) -> Estimate:
        """Estimate from the values of a row, process after process, in the order of their calls."""
        rest = pl.Series(values, dtype=pl.Float64)
        drawn = []
        for size, draws in zip(self._sizes, self._blocks, strict=True):
            own, rest = rest.head(size), rest.slice(size)
            drawn.append(own.gather(draws).reshape((self._within, size)).arr.median())
        pool, value = pl.concat(drawn), fmean(self.medians(values))
        if self.processes == 1:
            freedom = max(ceil(self.calls / isqrt(self.calls)) - 1, 1)
            return Estimate(value, pool, freedom)
        means = pool.gather(self._processes).reshape((DRAWS, self.processes)).arr.mean()
        # Drawn with replacement, a few differ less than those that they stand for.
        widened = sqrt(self.processes / (self.processes - 1))
        return Estimate(value, value + (means - value) * widened, self.processes - 1)

    def _block_draws(self, size: int, generator: random.Random) -> pl.Series:
        length = isqrt(size)
        starts = range(size - length + 1)
        places = []
        for _ in range(self._within):
            drawn = generator.choices(starts, k=ceil(size / length))
            places += [start + step for start in drawn for step in range(length)][:size]
        return pl.Series(places, dtype=pl.UInt32)


@dataclass(frozen=True)
class Difference:
    """Two sides of one row."""

    a: Estimate
    b: Estimate
    same: bool = False
    """The values are the same, one by one: two readings of one recording."""
    paired: bool = False
    """The same processes were drawn of both sides."""
    may_be_called: bool = True
    """Whether a difference may be called real at all."""

    @cached_property
    def error(self) -> float:
        """The standard error of the difference."""
        if self.same:
            return 0.0
        if self.paired:
            return spread_of(self.b.draws - self.a.draws)
        return sqrt(spread_of(self.a.draws) ** 2 + spread_of(self.b.draws) ** 2)

    @cached_property
    def freedom(self) -> float:
        """Its degrees of freedom: of processes, of Welch's test where they are not pairs."""
        a, b = spread_of(self.a.draws) ** 2, spread_of(self.b.draws) ** 2
        if self.paired or a + b == 0:
            return min(self.a.freedom, self.b.freedom)
        return (a + b) ** 2 / (a * a / self.a.freedom + b * b / self.b.freedom)

    @property
    def chance(self) -> float:
        """How often chance alone makes a difference as large."""
        delta = self.b.value - self.a.value
        if self.error == 0:
            return float(delta == 0)
        return two_sided(delta / self.error, self.freedom)


def spread_of(draws: pl.Series) -> float:
    """Give the standard deviation of what was drawn."""
    deviation = draws.std()
    assert isinstance(deviation, float)
    return deviation


@dataclass(frozen=True)
class Judgement:
    """What may be said of a difference, b less a."""

    low: float
    high: float
    verdict: str
    """One of VERDICT."""
    detectable: float
    """The smallest difference that would have been called faster or slower."""


def judged(differences: Sequence[Difference], margin: float = MARGIN) -> list[Judgement]:
    """Judge differences together, since of many some are large by chance.

    One is real where its interval does not reach 0, and it is among those that the procedure of
    Benjamini and Hochberg (1995) finds at a rate of false discoveries of FALSE.
    """
    chances = [one.chance for one in differences]
    limit, next_limit = _limits(chances)
    return [
        _judgement(one, chance <= limit, margin, next_limit)
        for one, chance in zip(differences, chances, strict=True)
    ]


def _limits(chances: Sequence[float]) -> tuple[float, float]:
    # Up to which chance differences are real, and up to which one more would be.
    count = max(len(chances), 1)
    real = max(
        (rank for rank, one in enumerate(sorted(chances), 1) if one <= FALSE * rank / count),
        default=0,
    )
    limit = FALSE * real / count if real else -1.0
    return min(limit, 1 - LEVEL), min(FALSE * min(real + 1, count) / count, 1 - LEVEL)


def _judgement(one: Difference, real: bool, margin: float, limit: float) -> Judgement:
    delta = one.b.value - one.a.value
    reach = quantile(1 - LEVEL, one.freedom) * one.error
    matters = margin * max(abs(one.a.value), abs(one.b.value))
    low, high = delta - reach, delta + reach
    if one.same or (one.may_be_called and -matters <= low and high <= matters):
        verdict = "unchanged"
    elif one.may_be_called and real and abs(delta) > matters:
        verdict = "faster" if delta < 0 else "slower"
    else:
        verdict = "uncertain"
    detectable = max(matters, quantile(limit, one.freedom) * one.error)
    return Judgement(low, high, verdict, detectable)


def _generator(content: object) -> random.Random:
    digest = hashlib.blake2b(repr(content).encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest))
