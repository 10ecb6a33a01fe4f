"""Gates: whether what changed between two recordings is what a run must not do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any, Literal

import polars as pl

from fgtrace.analysis.gate_language import Gate, nearest, pattern_of
from fgtrace.units import change, count, duration, printable

MEASURES = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,  # null where calls name none
        "level": pl.String,  # call, phase, kernel, op
        "name": pl.String,  # null at level call
        "metric": pl.String,  # one of gate_language.METRICS
        "unit": pl.String,  # ns, count
        # The base and the new one. Null on one side: not there, which is 0 of everything. Null on
        # both: it cannot be known.
        "a": pl.Float64,
        "b": pl.Float64,
        "low": pl.Float64,  # the ends of the interval of b - a; of counts both are b - a
        "high": pl.Float64,
        "b_low": pl.Float64,  # the ends of the interval of b
        "b_high": pl.Float64,
        "why": pl.String,  # why there is no interval; null where there is one
    }
)

Outcome = Literal["passed", "failed", "matched-nothing", "undecided", "partial"]

_PARTIAL = (
    "not judged: a recording is only there in part, and what it lacks would pass for gone; "
    "--allow-partial judges what could be read"
)


@dataclass(frozen=True)
class Judged:
    """What became of a gate. Only `passed` lets a run through."""

    gate: str
    outcome: Outcome
    sentence: str
    rows: tuple[str, ...] = ()
    """The rows that failed, or could not be decided, in sentences; the worst first."""


def judge(
    gates: Sequence[Gate], measures: pl.DataFrame, *, partial: bool, allow_partial: bool
) -> list[Judged]:
    """Judge each gate by MEASURES, in the order of the gates.

    A gate fails where its comparison is true of a row, for every value in the row's interval. Where
    it is true of some of them only, nothing is proven, and the gate passes and says so. A time
    without an interval is undecided.
    """
    if partial and not allow_partial:
        return [Judged(str(gate), "partial", _PARTIAL) for gate in gates]
    return [_judged(gate, measures) for gate in gates]


def _judged(gate: Gate, measures: pl.DataFrame) -> Judged:
    rows = measures.filter(_selected(gate), pl.col("metric") == gate.metric)
    if rows.is_empty():
        return Judged(str(gate), "matched-nothing", _nothing(gate, measures))
    worst_last = gate.operator in ("<", "<=")
    rows = _states(_compared(rows, gate), gate).sort(
        "value", "case", "route", "name", descending=[not worst_last, False, False, False]
    )
    found = {
        state: [_row(row, gate) for row in rows.filter(state=state).iter_rows(named=True)]
        for state in ("true", "unknown", "open", "false")
    }
    total, failed, unknown, unproven = rows.height, found["true"], found["unknown"], found["open"]
    if failed:
        more = f"; {len(unknown)} more cannot be decided" if unknown else ""
        sentence = f"{_of(failed, total, 'true')}{more}"
        return Judged(str(gate), "failed", sentence, tuple(failed))
    if unknown:
        sentence = _of(unknown, total, "not decided")
        return Judged(str(gate), "undecided", sentence, tuple(unknown))
    if unproven:
        return Judged(str(gate), "passed", _of(unproven, total, "not proven"))
    return Judged(str(gate), "passed", _of(found["false"], total, "not true"))


def _selected(gate: Gate) -> pl.Expr:
    chosen = (("case", gate.case), ("route", gate.route), ("name", gate.name))
    return pl.all_horizontal(
        pl.col("level") == gate.level,
        *(
            pl.col(column).str.contains(_regex(pattern))
            for column, pattern in chosen
            if pattern is not None
        ),
    )


def _regex(pattern: str) -> str:
    wild = {"*": ".*", "?": "."}
    pieces = re.findall(r"\\.|.", pattern)
    return f"(?s)^{''.join(wild.get(one) or pl.escape_regex(one[-1]) for one in pieces)}$"


def _compared(rows: pl.DataFrame, gate: Gate) -> pl.DataFrame:
    """Add what is compared, `value`, and the ends of its interval, `from` and `to`.

    They are in the unit of the gate's threshold: percent, nanoseconds, or a number.
    """
    a, b = pl.col("a").fill_null(0), pl.col("b").fill_null(0)
    value = b - a if gate.signed else b
    columns = {"value": value, "from": _end(gate, value, "low"), "to": _end(gate, value, "high")}
    if gate.unit == "%":
        columns = {name: _percent(column, a) for name, column in columns.items()}
    known = pl.col("a").is_not_null() | pl.col("b").is_not_null()
    return rows.with_columns(
        pl.when(known).then(each).alias(name) for name, each in columns.items()
    )


def _end(gate: Gate, value: pl.Expr, end: str) -> pl.Expr:
    """Give an end of the interval of what is compared; null where chance is not known."""
    new, gone = pl.col("a").is_null(), pl.col("b").is_null()
    if not gate.of_time:
        return value
    if not gate.signed:
        return pl.when(gone).then(value).otherwise(f"b_{end}")
    if gate.unit == "%":
        # All of what is new is growth, and all of what is gone is lost, however long it took.
        return pl.when(new | gone).then(value).otherwise(end)
    return pl.coalesce(end, pl.when(new).then(f"b_{end}"), pl.when(gone).then(value))


def _percent(difference: pl.Expr, base: pl.Expr) -> pl.Expr:
    # Any growth from nothing is infinite, and nothing that stays nothing has not changed.
    return (
        pl.when(base > 0)
        .then(100 * difference / base)
        .when(difference > 0)
        .then(float("inf"))
        .when(difference < 0)
        .then(float("-inf"))
        .when(difference == 0)
        .then(0.0)
    )


def _states(rows: pl.DataFrame, gate: Gate) -> pl.DataFrame:
    """Add `state`: whether the comparison is true, false, open, or unknown."""
    low, high, threshold = pl.col("from"), pl.col("to"), gate.threshold
    # True of all values in the interval; of none.
    ends = {
        ">": (low > threshold, high <= threshold),
        ">=": (low >= threshold, high < threshold),
        "<": (high < threshold, low >= threshold),
        "<=": (high <= threshold, low > threshold),
        "==": (low == threshold, low != threshold),
        "!=": (low != threshold, low == threshold),
    }
    all_of_it, none_of_it = ends[gate.operator]
    return rows.with_columns(
        state=pl.when(low.is_null() | high.is_null())
        .then(pl.lit("unknown"))
        .when(all_of_it)
        .then(pl.lit("true"))
        .when(none_of_it)
        .then(pl.lit("false"))
        .otherwise(pl.lit("open"))
    )


def _of(rows: list[str], total: int, what: str) -> str:
    return (
        f"{what} of {len(rows)} of {total} rows: {rows[0]}" if total > 1 else f"{what}: {rows[0]}"
    )


def _row(row: dict[str, Any], gate: Gate) -> str:
    """Say which row it is, what it was and is, and the change with its interval."""
    named = f"{row['level']} {printable(row['name'])}" if row["name"] is not None else None
    of_call = [printable(row[one]) for one in ("case", "route") if row[one] is not None]
    place = ", ".join([*of_call, *([named] if named else [])]) or "the whole recording"
    was = "not there" if row["a"] is None else _amount(row["a"], gate)
    now = "gone" if row["b"] is None else _amount(row["b"], gate)
    known = row["a"] is not None or row["b"] is not None
    text = f"{place}: {gate.metric} {f'was {was}, is {now}' if known else 'is not known'}"
    if row["state"] == "unknown":
        why = row["why"]
        return f"{text}; {'it has no interval' if why is None else printable(why)}"
    if gate.signed:
        new = row["a"] is None and isinf(row["value"])
        text += ": new" if new else f": {_change(row['value'], gate)}"
    if row["from"] != row["to"]:
        show = _change if gate.signed else _amount
        text += f", between {show(row['from'], gate)} and {show(row['to'], gate)}"
    return text


def _amount(value: float, gate: Gate) -> str:
    if gate.of_time:
        return duration(round(value))
    return count(int(value)) if value == int(value) else f"{value:g}"


def _change(value: float, gate: Gate) -> str:
    if gate.unit == "%":
        return "+∞ %" if isinf(value) else change(value / 100)
    return f"{'+' if value > 0 else ''}{_amount(value, gate)}"


def _nothing(gate: Gate, measures: pl.DataFrame) -> str:
    """Say why no row is meant, with the names that there are."""
    rows = measures.filter(pl.col("level") == gate.level)
    if rows.is_empty():
        return f"neither recording has a {gate.level} that was compared"
    for what, column, pattern in (
        ("case", "case", gate.case),
        ("route", "route", gate.route),
        (gate.level, "name", gate.name),
    ):
        names = rows[column].drop_nulls().unique().sort()
        if pattern is None or names.str.contains(_regex(pattern)).any():
            continue
        if names.is_empty():
            return f"there is no {what} {pattern}: calls name none"
        known = [pattern_of(name) for name in names]
        return f"there is no {what} {pattern}; {nearest(pattern, known, most=5)}"
    rows = rows.filter(_selected(gate))
    if rows.is_empty():
        return f"each selector matches something, but no {gate.level} matches all of them"
    metrics = rows["metric"].unique().sort().to_list()
    return f"nobody recorded {gate.metric} there, only {', '.join(metrics)}"
