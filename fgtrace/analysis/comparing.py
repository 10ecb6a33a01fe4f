"""Comparing what two sides took: a row for each name and metric, with an interval and a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from statistics import fmean, median_low

import polars as pl

from fgtrace.analysis.measured import METRICS
from fgtrace.analysis.student import quantile
from fgtrace.analysis.verdicts import (
    CALLS,
    LEVEL,
    MARGIN,
    VERDICT,
    Difference,
    Estimate,
    Resampling,
    judged,
    spread_of,
)

COMPARISON = pl.Schema(
    {
        "case": pl.String(),
        "route": pl.String(),  # both, where they differ
        "level": pl.String(),  # call, phase, kernel, op, tree
        "name": pl.String(),
        "kind": pl.String(),
        "metric": pl.String(),
        "unit": pl.String(),  # ns, count
        "in_a": pl.Boolean(),  # in any call of the side
        "in_b": pl.Boolean(),
        "a": pl.Float64(),  # a call; null where it cannot be known
        "b": pl.Float64(),
        # Ends of the intervals of b less a, and of b: exact for counts, null where nothing can be
        # said of chance.
        "low": pl.Float64(),
        "high": pl.Float64(),
        "b_low": pl.Float64(),
        "b_high": pl.Float64(),
        "verdict": VERDICT,  # of a time; null where there is no interval
        "detectable": pl.Float64(),  # the smallest difference that would have got a verdict
        "why": pl.String(),  # why there is no interval
    }
)

CALL_TIME = "call_time"
"""The metric of the stopwatch: what a call takes without a profiler, back to back."""

Vectors = dict[tuple[str, str, str], list[float | None]]
"""The values of each name, kind and metric."""

_HOST = ("host_time", "waiting_time", CALL_TIME)
_KEY = ("name", "kind", "metric")

FEW_CALLS = f"fewer than {CALLS} calls a side"
UNKNOWN = "it was not recorded"
NO_VERDICTS = "what was recorded is not comparable"
ONE_PROCESS = "one process a side: host time differs between processes of the same code"


@dataclass(frozen=True)
class Calls:
    """Calls of one side, by process, and what was measured of them."""

    calls: pl.DataFrame
    """`call_id` and `part`, process after process."""
    measured: pl.DataFrame
    """MEASURED."""
    paired: object = None
    """Shared with the other side where processes of both were recorded together."""

    @cached_property
    def vectors(self) -> Vectors:
        """Give the values of each name, kind and metric: one a call, in order."""
        order = self.calls.select("call_id").with_row_index("place")
        rows = self.measured.join(order, on="call_id").sort(*_KEY, "place")
        lists = rows.group_by(_KEY, maintain_order=True).agg("place", "value")
        count = self.calls.height
        found = {}
        for name, kind, metric, places, values in lists.iter_rows():
            vector: list[float | None] = [0] * count
            for place, value in zip(places, values, strict=True):
                vector[place] = value
            found[name, kind, metric] = vector
        return found

    @cached_property
    def resampling(self) -> Resampling:
        """Draw processes and calls."""
        sizes = self.calls.group_by("part", maintain_order=True).len()["len"].to_list()
        return Resampling(sizes, sorted(self.vectors.items()), self.paired)


@dataclass(frozen=True)
class Batches:
    """The stopwatch's batches of one side: what a call took in each, by generation."""

    generations: Sequence[Sequence[float]]
    paired: object = None
    """Shared with the other side where generations of both were recorded together."""

    @cached_property
    def vectors(self) -> Vectors:
        """Give the values, one a batch, as the only metric of a call."""
        key = ("call", "call", CALL_TIME)
        return {key: list(chain.from_iterable(self.generations))} if self.generations else {}

    @cached_property
    def resampling(self) -> Resampling:
        """Draw generations and batches."""
        sizes = [len(one) for one in self.generations]
        return Resampling(sizes, self.generations, self.paired)


@dataclass(frozen=True)
class Compared:
    """A case, a route, and what both sides have of it."""

    case: str | None
    route: str | None
    a: Calls | Batches
    b: Calls | Batches


def compared(
    pairs: Iterable[Compared], level: str, *, margin: float = MARGIN, verdicts: bool = True
) -> pl.DataFrame:
    """Compare both sides of each pair: COMPARISON, of one level, whose rows are judged together.

    A name that a call lacks took no time in it. Without `verdicts` nothing is called faster,
    slower or unchanged.
    """
    rows = [
        _Row(pair, key) for pair in pairs for key in sorted({**pair.a.vectors, **pair.b.vectors})
    ]
    differences = [row.difference() for row in rows]
    judgements = iter(judged([one for one in differences if one is not None], margin))
    found = []
    for row, one in zip(rows, differences, strict=True):
        told = {"level": level, **row.told()}
        if one is not None:
            judgement = next(judgements)
            low, high = _ends(one.b)
            told |= {"a": one.a.value, "b": one.b.value, "b_low": low, "b_high": high}
            told |= {"low": judgement.low, "high": judgement.high}
            told |= {"detectable": judgement.detectable}
            called = one.same or one.may_be_called
            told["why"] = NO_VERDICTS if not verdicts else None if called else ONE_PROCESS
            if verdicts:
                told["verdict"] = judgement.verdict
        found.append(told)
    return pl.DataFrame(found, schema=COMPARISON)


class _Row:
    """A row to be made: one name and metric of a pair."""

    def __init__(self, pair: Compared, key: tuple[str, str, str]) -> None:
        self.pair = pair
        self.key = key
        self.sides = (pair.a, pair.b)
        self.values = [side.vectors.get(key, [0] * side.resampling.calls) for side in self.sides]

    def difference(self) -> Difference | None:
        """Estimate the difference; None where there are too few calls, or it is none of times."""
        draws = [side.resampling for side in self.sides]
        a, b = map(_known, self.values)
        few = min(one.calls for one in draws) < CALLS
        if a is None or b is None or few or self.unit != "ns":
            return None
        several = min(one.processes for one in draws) > 1
        return Difference(
            draws[0].estimate(a),
            draws[1].estimate(b),
            same=a == b,
            paired=self.sides[0].paired is not None,
            may_be_called=several or self.key[2] not in _HOST,
        )

    @property
    def unit(self) -> str:
        return METRICS.get(self.key[2], "ns")

    def told(self) -> dict[str, object]:
        """Say what is known without an estimate."""
        name, kind, metric = self.key
        values = [_known(one) for one in self.values]
        counted = self.unit == "count"
        draws = [side.resampling for side in self.sides]
        a, b = (
            None if one is None else median_low(one) if counted else fmean(drawn.medians(one))
            for one, drawn in zip(values, draws, strict=True)
        )
        told: dict[str, object] = {
            "case": self.pair.case,
            "route": self.pair.route,
            "name": name,
            "kind": kind,
            "metric": metric,
            "unit": self.unit,
            "in_a": self.key in self.sides[0].vectors,
            "in_b": self.key in self.sides[1].vectors,
            "a": a,
            "b": b,
        }
        if a is None or b is None:
            told["why"] = UNKNOWN
        elif counted:
            told |= {"low": b - a, "high": b - a, "b_low": b, "b_high": b}
        else:
            told["why"] = FEW_CALLS
        return told


def _known(values: Sequence[float | None]) -> list[float] | None:
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) and known else None


def _ends(one: Estimate) -> tuple[float, float]:
    reach = quantile(1 - LEVEL, one.freedom) * spread_of(one.draws)
    return one.value - reach, one.value + reach
