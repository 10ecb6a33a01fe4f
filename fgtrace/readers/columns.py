"""The columns of a trace file's events, as the file has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import polars as pl

from fgtrace.readers.events import Run
from fgtrace.readers.marks import UNDERSTOOD, AnyMark, Args, Complete, Timed, Unknown, Value
from fgtrace.readers.numbers import whole
from fgtrace.readers.times import ImpreciseError, nanoseconds, nanoseconds_of_text

PYTHON = "python_function"
"""The category of whose arguments nothing is taken; with Python stacks most events are of it."""

Group = tuple[type[Timed], bool]
"""A phase, and whether the category is `PYTHON`."""


@dataclass
class Columns:
    """Some events as columns. Frames have only the columns that their events can have."""

    rows: dict[Group, pl.DataFrame] = field(default_factory=dict)
    phases: Counter[str] = field(default_factory=Counter)
    """How many marks there were of each phase, those without a row too."""


def columns_of(run: Run[AnyMark], first: int) -> Columns:
    """Take the columns of marks, of which the first has the place `first` in the file.

    Rows have `place`, `source_category`, `name`, `process`, `thread`, `start_ns`; those of
    `Complete` marks have `dur_ns`; those with arguments have `device`, `stream`, `correlation`,
    `external_id`, `bytes` and `copy_argument`.
    """
    types = list(map(type, run.events))
    columns = Columns()
    for kind in dict.fromkeys(types):
        if kind is Unknown:
            # Where the phase is a known one, it was another one before.
            columns.phases.update(
                f"{phase}, twice" if phase in UNDERSTOOD else phase
                for phase in (str(_text(mark.ph)) for mark in run.events if type(mark) is Unknown)
            )
            continue
        columns.phases[str(kind().ph)] += types.count(kind)
        if not issubclass(kind, Timed):
            continue
        marks, at = _chosen(run.events, None, [found is kind for found in types])
        category = _texts([mark.cat for mark in marks])
        is_python = (category == PYTHON).fill_null(False)
        for python in is_python.unique():
            chosen = is_python == python
            some, places = _chosen(marks, at, chosen.to_list())
            rows = {
                "place": (places + first).cast(pl.UInt32),
                "source_category": category.filter(chosen),
                **_columns(some),
                "start_ns": _times([mark.ts for mark in some], run, places, "ts"),
            }
            if issubclass(kind, Complete):
                rows["dur_ns"] = _times([mark.dur for mark in some], run, places, "dur")
            if not python:
                args = [mark.args if type(mark.args) is Args else _NO_ARGS for mark in some]
                rows |= _argument_columns(args)
            columns.rows[kind, python] = pl.DataFrame(rows)
    return columns


_NO_ARGS = Args()

_FINER = re.compile(rb'"(?:ts|dur)"\s*:\s*"?-?\d+\.\d{4}')
"""Times with more digits than nanoseconds have, which large floats do not show."""

_SAMPLE = 64 << 10
"""Bytes that are searched for them; who writes such times writes them everywhere."""


def _chosen(
    marks: Sequence[Any], places: pl.Series | None, wanted: list[bool]
) -> tuple[Sequence[Any], pl.Series]:
    """Choose marks; `places` are theirs, or None where they are all there are."""
    at = pl.Series(wanted, dtype=pl.Boolean).arg_true()
    chosen = marks if len(at) == len(marks) else list(compress(marks, wanted))
    return chosen, at if places is None else places.gather(at)


def _columns(marks: Sequence[Timed]) -> dict[str, pl.Series]:
    return {
        "name": _texts([mark.name for mark in marks]),
        "process": _labels([mark.pid for mark in marks]),
        "thread": _labels([mark.tid for mark in marks]),
    }


def _times(values: Sequence[Any], run: Run[AnyMark], at: pl.Series, name: str) -> pl.Series:
    if not _FINER.search(run.text, 0, _SAMPLE):
        try:
            return nanoseconds(values)
        except ImpreciseError:
            pass
    times = [getattr(run.times[place], name) for place in at.to_list()]
    return nanoseconds_of_text([bytes(time).decode() for time in times])


def _argument_columns(args: Sequence[Args]) -> dict[str, pl.Series]:
    external = [arg.external_id for arg in args]
    old = [arg.old_external_id for arg in args]
    if any(old):
        external = [o if e is None else e for e, o in zip(external, old, strict=True)]
    return {
        "device": _integers([arg.device for arg in args]),
        "stream": _integers([arg.stream for arg in args]),
        "correlation": _integers([arg.correlation for arg in args]),
        "external_id": _integers(external),
        "bytes": _integers([arg.bytes for arg in args]),
        "copy_argument": _texts([arg.kind for arg in args]),
    }


def _texts(values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(values, dtype=pl.String, strict=True)
    except (TypeError, OverflowError, ValueError):
        return pl.Series(list(map(_text, values)), dtype=pl.String)


def _text(value: Value) -> str | None:
    return str(value) if isinstance(value, (str, int, float)) else None


def _labels(values: Sequence[Any]) -> pl.Series:
    """Make categories of numbers and words."""
    try:
        numbers = pl.Series(values, dtype=pl.Int64, strict=True)
    except (TypeError, OverflowError, ValueError):
        return pl.Series(list(map(_text, values)), dtype=pl.String).cast(pl.Categorical)
    # They are few, and making text of each takes as long as reading it did.
    distinct = numbers.unique()
    return numbers.replace_strict(distinct, distinct.cast(pl.String).cast(pl.Categorical))


def _integers(values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(values, dtype=pl.Int64, strict=True)
    except (TypeError, OverflowError, ValueError):
        return pl.Series([_integer(value) for value in values], dtype=pl.Int64)


def _integer(value: Any) -> int | None:
    if type(value) is str:
        # "7", "0x0", "stream 7"
        words = value.split()
        try:
            value = int(words[-1], 0) if words else None
        except ValueError:
            return None
    elif type(value) is float and value.is_integer():
        value = int(value)
    return whole(value)
