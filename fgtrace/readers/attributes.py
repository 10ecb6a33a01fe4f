"""How kernels were launched and what operators were called with: read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, compress
from typing import Any, TypeVar

import msgspec
import polars as pl

from fgtrace.frames.schema import LAUNCH_ATTRIBUTES, OP_ATTRIBUTES
from fgtrace.readers.events import EventStream
from fgtrace.readers.inputs import Input
from fgtrace.readers.numbers import whole


class _Launch(msgspec.Struct, gc=False):
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared_bytes: Any = msgspec.field(default=None, name="shared memory")


class _Launched(msgspec.Struct, gc=False):
    ph: Any = None
    args: _Launch | list[Any] | str | int | float | bool | None = None


_NOTHING = msgspec.Raw()


class _Call(msgspec.Struct, gc=False):
    input_shapes: msgspec.Raw = msgspec.field(default=_NOTHING, name="Input Dims")
    old_input_shapes: msgspec.Raw = msgspec.field(default=_NOTHING, name="Input dims")
    input_types: msgspec.Raw = msgspec.field(default=_NOTHING, name="Input type")
    input_strides: msgspec.Raw = msgspec.field(default=_NOTHING, name="Input Strides")
    concrete_inputs: msgspec.Raw = msgspec.field(default=_NOTHING, name="Concrete Inputs")
    call_site: Any = msgspec.field(default=None, name="Call stack")


class _Called(msgspec.Struct, gc=False):
    ph: Any = None
    args: _Call | list[Any] | str | int | float | bool | None = None


Mark = TypeVar("Mark", _Launched, _Called)


def read_launches(source: Input, places: pl.DataFrame) -> pl.DataFrame:
    """Read `LAUNCH_ATTRIBUTES`; `places` has the `place` and `event_id` of every kernel, sorted."""
    return _read(source, places, _Launched, _launches, LAUNCH_ATTRIBUTES)


def read_calls(source: Input, places: pl.DataFrame) -> pl.DataFrame:
    """Read `OP_ATTRIBUTES`; `places` has the `place` and `event_id` of every operator, sorted."""
    return _read(source, places, _Called, _calls, OP_ATTRIBUTES)


def _read(
    source: Input,
    places: pl.DataFrame,
    mark: type[Mark],
    columns: Callable[[list[Any]], dict[str, pl.Series]],
    schema: pl.Schema,
) -> pl.DataFrame:
    frames = [schema.to_frame()]
    place_of = places["place"]
    first = 0
    for run in EventStream[Mark](source, mark, mark):
        end = first + len(run.events)
        here = places[place_of.search_sorted(first) : place_of.search_sorted(end)]
        args = [run.events[place - first].args for place in here["place"].to_list()]
        taken = [arg if isinstance(arg, msgspec.Struct) else None for arg in args]
        found = [arg is not None for arg in taken]
        rows = here.filter(pl.Series(found, dtype=pl.Boolean)).select("event_id")
        frames.append(
            rows.with_columns(**columns(list(compress(taken, found))))
            .filter(pl.any_horizontal(pl.exclude("event_id").is_not_null()))
            .cast(schema, strict=False)
        )
        first = end
    return pl.concat(frames).sort("event_id")


def _launches(args: list[_Launch]) -> dict[str, pl.Series]:
    return {
        "grid": _sizes([arg.grid for arg in args]),
        "block": _sizes([arg.block for arg in args]),
        "registers": _numbers([arg.registers for arg in args]),
        "shared_bytes": _numbers([arg.shared_bytes for arg in args]),
    }


def _calls(args: list[_Call]) -> dict[str, pl.Series]:
    shapes = [max(arg.input_shapes, arg.old_input_shapes, key=len) for arg in args]
    return {
        "input_shapes": _json(shapes),
        "input_types": _json([arg.input_types for arg in args]),
        "input_strides": _json([arg.input_strides for arg in args]),
        "concrete_inputs": _json([arg.concrete_inputs for arg in args]),
        "call_site": pl.Series(
            [site if type(site := arg.call_site) is str else None for arg in args],
            dtype=pl.String,
        ),
    }


def _json(values: Sequence[msgspec.Raw]) -> pl.Series:
    texts = [bytes(value).decode(errors="replace") or None for value in values]
    return pl.Series(texts, dtype=pl.String)


def _numbers(values: Sequence[Any]) -> pl.Series:
    # Text is not taken: a tracer that writes these as text was seen to make them up.
    return pl.Series(list(map(whole, values)), dtype=pl.Int64)


def _sizes(values: Sequence[Any]) -> pl.Series:
    """Make lists of three whole numbers; what is none is null."""
    # A series of lists takes 9 us a list to make, one of numbers much less.
    fits = [
        type(value) is list and len(value) == 3 and None not in map(whole, value)
        for value in values
    ]
    flat = pl.Series(list(chain.from_iterable(compress(values, fits))), dtype=pl.Int64)
    sizes = flat.reshape((-1, 3)).cast(pl.List(pl.Int64))
    fitting = pl.Series(fits, dtype=pl.Boolean)
    return sizes.gather(pl.select(pl.when(fitting).then(fitting.cum_sum() - 1)).to_series())
