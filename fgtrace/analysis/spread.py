"""Intervals of medians from hierarchical resampling: generations, then blocks of their batches.

Batches of one process share its layout in memory and the host's mood, so they say little about
another process. Generations are therefore drawn first, with replacement; in each one drawn, blocks
of consecutive batches, which keeps what neighbours have in common together.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, isqrt
from statistics import median

import polars as pl

LEVEL = 0.95
"""The level where one row is read at a time; `diff`, which judges many at once, asks for more."""

RESAMPLES = 2000
"""At a level of 99 %, ten of them lie beyond each end."""


@dataclass(frozen=True)
class Spread:
    """A median and the ends of its interval; without ends where nothing can be resampled."""

    value: float
    low: float | None
    high: float | None


def spread(generations: Sequence[Sequence[float]], level: float) -> Spread | None:
    """Take the median over generations of the median within, with its percentile interval.

    The batches of a generation are in the order in which they were taken; the order of the
    generations means nothing. With one generation only blocks are resampled: the interval then
    says nothing about other processes. It never reaches beyond what was measured: with three
    generations it covers at most 75 %, with six 97 %, whatever the level. The same batches give
    the same interval, in any unit.
    """
    measured = sorted(list(batches) for batches in generations if batches)
    if not measured:
        return None
    value = median(median(batches) for batches in measured)
    if len(measured) == 1 and len(measured[0]) == 1:
        return Spread(value, None, None)
    generator = random.Random(_seed(measured))
    medians = _resampled_medians(measured, generator)
    tail = (1 - level) / 2
    low, high = _quantile(medians, tail), _quantile(medians, 1 - tail)
    # With few batches the percentiles can lie to one side of the value that they belong to.
    return Spread(value, min(low, value), max(high, value))


def spreads(
    measured: pl.DataFrame, by: Sequence[str], value: str, names: tuple[str, str, str]
) -> pl.DataFrame:
    """Take the spread of each group at LEVEL, rounded: the columns of `by`, and three of Int64.

    `measured` has `generation` too, and the values of each in the order in which they were taken.
    `names` are those of the median and of the ends of its interval.
    """
    generations = measured.group_by(*by, "generation", maintain_order=True).agg(value)
    groups = generations.group_by(by, maintain_order=True).agg(value)
    found = [spread(values, LEVEL) for values in groups[value].to_list()]
    columns = zip(names, ("value", "low", "high"), strict=True)
    return groups.select(by).with_columns(
        pl.Series(name, [getattr(one, end, None) for one in found], pl.Float64)
        .round()
        .cast(pl.Int64)
        for name, end in columns
    )


def _resampled_medians(measured: list[list[float]], generator: random.Random) -> list[float]:
    """Draw medians, sorted.

    Medians of resampled batches are drawn once, equally many a generation. To draw a generation
    and then one of its medians is to draw from all of them.
    """
    within = ceil(RESAMPLES / len(measured))
    pool = [drawn for batches in measured for drawn in _block_medians(batches, within, generator)]
    if len(measured) == 1:
        return sorted(pool)
    return sorted(median(generator.choices(pool, k=len(measured))) for _ in range(RESAMPLES))


def _block_medians(batches: list[float], times: int, generator: random.Random) -> list[float]:
    """Draw blocks until there are as many batches as before, and take their median."""
    length = isqrt(len(batches))
    blocks = [batches[start : start + length] for start in range(len(batches) - length + 1)]
    needed = ceil(len(batches) / length)
    return [
        median(list(chain.from_iterable(generator.choices(blocks, k=needed)))[: len(batches)])
        for _ in range(times)
    ]


def _quantile(ordered: list[float], part: float) -> float:
    return ordered[round(part * (len(ordered) - 1))]


def _seed(measured: list[list[float]]) -> int:
    """Hash the ranks of the values: they stay the same when the unit changes."""
    rank = {value: place for place, value in enumerate(sorted(set(chain.from_iterable(measured))))}
    ranks = [[rank[value] for value in batches] for batches in measured]
    return int.from_bytes(hashlib.blake2b(repr(ranks).encode(), digest_size=8).digest())
