"""The columns of a trace file's events, as the file has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import Any

import polars as pl

from fgtrace.readers.events import Run
from fgtrace.readers.marks import Args, Complete, Mark, Timed
from fgtrace.readers.times import ImpreciseError, nanoseconds, nanoseconds_of_text

PYTHON = "python_function"
"""The category of whose arguments nothing is taken; with Python stacks most events are of it."""

ATTRIBUTES = pl.Schema(
    {
        "place": pl.UInt32(),
        "grid": pl.List(pl.Int64()),
        "block": pl.List(pl.Int64()),
        "registers": pl.Int64(),
        "shared_bytes": pl.Int64(),
    }
)
"""How kernels were launched, by their place in the file."""


Group = tuple[type[Timed], bool]
"""A phase, and whether the category is `PYTHON`."""


@dataclass
class Columns:
    """Some events as columns. Frames have only the columns that their events can have."""

    rows: dict[Group, pl.DataFrame] = field(default_factory=dict)
    attributes: list[pl.DataFrame] = field(default_factory=list)
    phases: Counter[str] = field(default_factory=Counter)
    """How many marks there were of each phase, those without a row too."""


def columns_of(run: Run[Mark], first: int) -> Columns:
    """Take the columns of marks, of which the first has the place `first` in the file.

    Rows have `place`, `source_category`, `name`, `process`, `thread`, `start_ns`; those of
    `Complete` marks have `dur_ns`; those with arguments have `device`, `stream`, `correlation`,
    `external_id`, `bytes` and `copy_argument`.
    """
    types = list(map(type, run.events))
    columns = Columns()
    for kind in set(types):
        at = pl.Series([found is kind for found in types], dtype=pl.Boolean).arg_true()
        columns.phases[kind.phase()] += len(at)
        if not issubclass(kind, Timed):
            continue
        marks = _gathered(run.events, at)
        category = _texts([mark.cat for mark in marks])
        bare = (category == PYTHON).fill_null(False)
        for without in bare.unique():
            chosen = bare == without
            some = marks if chosen.all() else _gathered(marks, chosen.arg_true())
            places = at.filter(chosen)
            rows = {
                "place": (places + first).cast(pl.UInt32),
                "source_category": category.filter(chosen),
                **_columns(some),
                "start_ns": _times([mark.ts for mark in some], run, places, "ts"),
            }
            if issubclass(kind, Complete):
                rows["dur_ns"] = _times([mark.dur for mark in some], run, places, "dur")
            if not without:
                args = [mark.args if type(mark.args) is Args else _NO_ARGS for mark in some]
                rows |= _argument_columns(args)
                columns.attributes.append(_attributes(rows["place"], args))
            columns.rows[kind, without] = pl.DataFrame(rows)
    return columns


_NO_ARGS = Args()

_FINER = re.compile(rb'"(?:ts|dur)"\s*:\s*"?-?\d+\.\d{4}')
"""Times with more digits than nanoseconds have, which large floats do not show."""

_SAMPLE = 64 << 10
"""Bytes that are searched for them; who writes such times writes them everywhere."""


def _gathered(marks: Sequence[Any], at: pl.Series) -> Sequence[Any]:
    return marks if len(at) == len(marks) else [marks[place] for place in at.to_list()]


def _columns(marks: Sequence[Timed]) -> dict[str, pl.Series]:
    return {
        "name": _texts([mark.name for mark in marks]),
        "process": _labels([mark.pid for mark in marks]),
        "thread": _labels([mark.tid for mark in marks]),
    }


def _times(values: Sequence[Any], run: Run[Mark], at: pl.Series, name: str) -> pl.Series:
    if not _FINER.search(run.text, 0, _SAMPLE):
        try:
            return nanoseconds(values)
        except ImpreciseError:
            pass
    times = _gathered(run.times, at)
    return nanoseconds_of_text([bytes(getattr(text, name)).decode() for text in times])


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


def _attributes(places: pl.Series, args: Sequence[Args]) -> pl.DataFrame:
    has_some = [arg.grid is not None or arg.registers is not None for arg in args]
    found = list(compress(args, has_some))
    return pl.DataFrame(
        {
            "place": places.filter(pl.Series(has_some, dtype=pl.Boolean)),
            "grid": _sizes([arg.grid for arg in found]),
            "block": _sizes([arg.block for arg in found]),
            "registers": _numbers([arg.registers for arg in found]),
            "shared_bytes": _numbers([arg.shared_bytes for arg in found]),
        },
        schema=ATTRIBUTES,
    )


def _texts(values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(values, dtype=pl.String, strict=True)
    except TypeError:
        return pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)


def _labels(values: Sequence[Any]) -> pl.Series:
    """Make text of numbers and words."""
    try:
        return pl.Series(values, dtype=pl.Int64, strict=True).cast(pl.String)
    except (TypeError, OverflowError):
        return pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)


def _integers(values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(values, dtype=pl.Int64, strict=True)
    except (TypeError, OverflowError):
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
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def _numbers(values: Sequence[Any]) -> pl.Series:
    # Text is not taken: a tracer that writes these as text was seen to make them up.
    return pl.Series([_integer(v) if type(v) is int else None for v in values], dtype=pl.Int64)


def _sizes(values: Sequence[Any]) -> pl.Series:
    """Make lists of three whole numbers; what is none is null."""
    # A series of lists takes 9 us a list to make, one of numbers much less.
    fits = [type(value) is list and len(value) == 3 for value in values]
    try:
        flat = pl.Series(chain.from_iterable(compress(values, fits)), dtype=pl.Int64, strict=True)
    except (TypeError, OverflowError):
        return _sizes([value if _are_integers(value) else None for value in values])
    sizes = flat.reshape((-1, 3)).cast(pl.List(pl.Int64))
    if all(fits):
        return sizes
    fitting = pl.Series(fits, dtype=pl.Boolean)
    return sizes.gather(pl.select(pl.when(fitting).then(fitting.cum_sum() - 1)).to_series())


def _are_integers(value: Any) -> bool:
    return type(value) is list and all(
        type(number) is int and -(2**63) <= number < 2**63 for number in value
    )
