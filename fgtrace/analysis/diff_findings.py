"""What stands out between two recordings, in sentences, the largest difference first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from fgtrace.analysis.pieces import LEFTOVERS, OTHER
from fgtrace.units import count, duration, interval

CHANGES = pl.Schema(
    {
        "rule": pl.String(),  # one of KINDS_OF_CHANGE
        "case": pl.String(),
        "route": pl.String(),
        "sentence": pl.String(),
        "delta_ns": pl.Int64(),  # a call, b less a; null where a count changed
        "verdict": pl.String(),  # of that; null where nothing can be said of chance
        # The rows behind it, by what their columns have.
        "evidence": pl.Struct({"level": pl.String(), "name": pl.String(), "metric": pl.String()}),
    }
)

KINDS_OF_CHANGE = {
    "phase-gone": "a part of the call that only the base has",
    "phase-new": "a part of the call that only the new recording has",
    "phase-changed": "a part of the call takes another time",
    "operator-changed": "an operator takes the host another time",
    "kernel-changed": "a kernel, copy or fill takes another time, or runs another number of times",
    "readbacks-changed": "another number of readbacks a call",
    "launches-changed": "another number of launches a call",
}
"""The kinds of findings."""

SHARE = 0.01
"""Of the whole call: without a verdict, a difference of less is not told."""

ALIKE = 0.01
"""Operators whose differences are so near to each other are one inside the other."""

LONGEST = 80
"""Characters of a name in a sentence."""

_LEFT_OVER = (*LEFTOVERS.values(), OTHER)
_REAL = ("faster", "slower")


def changes_report(comparison: pl.DataFrame) -> pl.DataFrame:
    """Make a row a change of a COMPARISON, the largest first, those of counts last.

    A time changed where it has a verdict that says so or, where nothing can be said of chance, by
    SHARE of the whole call.
    """
    rows = comparison.with_columns(delta=pl.col("b") - pl.col("a"))
    found = [*_phases(rows), *_operators(rows), *_kernels(rows), *_counts(rows)]
    report = pl.DataFrame(found, schema=CHANGES, orient="row")
    if rows.select("case", "route").n_unique() > 1:
        of = pl.concat_str("case", "route", separator=" by ", ignore_nulls=True)
        told = pl.concat_str(of, "sentence", separator=": ")
        report = report.with_columns(sentence=pl.when(of != "").then(told).otherwise("sentence"))
    return (
        report.with_row_index("order")
        .sort(pl.col("delta_ns").abs(), "order", descending=[True, False], nulls_last=True)
        .drop("order")
    )


def _phases(rows: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    phases = rows.filter(pl.col("level") == "phase", ~pl.col("name").is_in(_LEFT_OVER))
    key = ["case", "route", "name"]
    sides = phases.group_by(key, maintain_order=True).agg(pl.col("in_a", "in_b").any())
    for case, route, name, in_a, in_b in sides.iter_rows():
        own = phases.filter(
            pl.col("name") == name,
            pl.col("case").eq_missing(pl.lit(case, pl.String)),
            pl.col("route").eq_missing(pl.lit(route, pl.String)),
        )
        metrics = {row["metric"]: row for row in own.iter_rows(named=True)}
        if in_a and in_b:
            yield from _changed_phase(metrics)
            continue
        rule, side = ("phase-gone", "a") if in_a else ("phase-new", "b")
        host = metrics.get("host_time") or metrics["device_time"]
        sentence = f"{name} is in {side.upper()} only: {_priced(metrics, side)} a call."
        yield _finding(rule, host, sentence)


def _priced(metrics: dict[str, dict[str, Any]], side: str) -> str:
    told = []
    for metric, what in (("readback_count", "readback"), ("kernel_count", "kernel")):
        number = metrics.get(metric, {}).get(side)
        if number:
            told.append(f"{count(int(number))} {what}{'' if number == 1 else 's'}")
    for metric, text in (
        ("device_time", "{} on the device"),
        ("host_time", "{} of the host"),
        ("waiting_time", "of that {} waiting"),
    ):
        value = metrics.get(metric, {}).get(side)
        if value:
            told.append(text.format(duration(round(value))))
    return ", ".join(told) or "nothing"


def _changed_phase(metrics: dict[str, dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for metric, where in (("device_time", "the device"), ("host_time", "the host")):
        row = metrics.get(metric)
        if row is not None and row["verdict"] in _REAL:
            sentence = f"{row['name']} takes {where} {_times(row)}."
            yield _finding("phase-changed", row, sentence)


def _operators(rows: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    ops = rows.filter(level="op", kind="op", metric="host_time")
    counts = rows.filter(level="op", kind="op", metric="count").select(
        "case", "route", "name", count_a="a", count_b="b"
    )
    told: list[dict[str, Any]] = []
    # The outer one of two that are inside each other takes longer.
    for row in (
        _large(rows, ops)
        .join(counts, on=["case", "route", "name"], how="left", nulls_equal=True)
        .sort(pl.max_horizontal("a", "b"), "name", descending=[True, False])
        .iter_rows(named=True)
    ):
        if any(_inside(row, other) for other in told):
            continue
        told.append(row)
        yield _finding("operator-changed", row, f"{_changed(row, 'call')}.")


def _inside(row: dict[str, Any], other: dict[str, Any]) -> bool:
    same = all(row[name] == other[name] for name in ("case", "route", "count_a", "count_b"))
    return same and abs(row["delta"] - other["delta"]) <= ALIKE * abs(other["delta"])


def _kernels(rows: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    key = ["case", "route", "name", "kind"]
    kernels = rows.filter(level="kernel", metric="device_time")
    counts = rows.filter(level="kernel", metric="count").select(*key, count_a="a", count_b="b")
    found = _large(rows, kernels).join(counts, on=key, how="left", nulls_equal=True)
    for row in found.iter_rows(named=True):
        yield _finding("kernel-changed", row, f"{_changed(row, 'run')}.")


def _counts(rows: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    for metric, rule, what in (
        ("readback_count", "readbacks-changed", "Readbacks"),
        ("launch_count", "launches-changed", "Launches"),
    ):
        changed = rows.filter(pl.col("delta") != 0, level="call", metric=metric)
        for row in changed.iter_rows(named=True):
            a, b = (count(int(row[side])) for side in ("a", "b"))
            sentence = f"{what} a call: {a} in A, {b} in B."
            yield _finding(rule, row, sentence)


def _large(rows: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """Select the times that changed."""
    whole = rows.filter(level="call").select(
        "case", "route", "metric", whole=pl.max_horizontal("a", "b")
    )
    large = (pl.col("delta").abs() >= SHARE * pl.col("whole")).fill_null(True)
    return chosen.join(whole, on=["case", "route", "metric"], how="left", nulls_equal=True).filter(
        pl.col("verdict").cast(pl.String).is_in(_REAL).fill_null(False)
        | (pl.col("verdict").is_null() & large & (pl.col("delta") != 0))
    )


def _finding(rule: str, row: dict[str, Any], sentence: str) -> tuple[Any, ...]:
    is_time = row["unit"] == "ns"
    evidence = {name: row[name] for name in ("level", "name", "metric")}
    delta = round(row["delta"]) if is_time and row["delta"] is not None else None
    verdict = row["verdict"] if is_time else None
    return rule, row["case"], row["route"], sentence, delta, verdict, evidence


def _changed(row: dict[str, Any], what: str) -> str:
    """Say how often a name is there on each side, and what it takes."""
    name, a, b = _short(row["name"]), row["count_a"], row["count_b"]
    for side, here, there, time in (("A", a, b, row["a"]), ("B", b, a, row["b"])):
        if here and not there:
            return f"{name} is in {side} only: {_number(here, what)}, {duration(round(time))}"
    if a == b:
        how_often = f", {_number(a, what)}," if a else ""
    else:
        how_often = f", {_number(a, what)} in A and {count(int(b))} in B,"
    return f"{name}{how_often} takes {_times(row)}"


def _number(number: float, what: str) -> str:
    return f"{count(int(number))} {what}{'' if number == 1 else 's'}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _times(row: dict[str, Any]) -> str:
    told = f"{duration(round(row['a']))} in A and {duration(round(row['b']))} in B"
    if row["verdict"] is None:
        return told
    return f"{told}: {row['verdict']} by {interval(*_by_how_much(row))}"


def _by_how_much(row: dict[str, Any]) -> tuple[int, int]:
    ends = sorted(abs(round(row[end])) for end in ("low", "high"))
    return ends[0], ends[1]
