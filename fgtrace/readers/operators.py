"""Shapes, types and call sites of operators: read on their own, when they are asked for."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from fgtrace.frames.schema import OP_ATTRIBUTES
from fgtrace.readers.events import EventStream
from fgtrace.readers.inputs import Input


class _Args(msgspec.Struct, gc=False):
    input_shapes: msgspec.Raw | None = msgspec.field(default=None, name="Input Dims")
    old_input_shapes: msgspec.Raw | None = msgspec.field(default=None, name="Input dims")
    input_types: msgspec.Raw | None = msgspec.field(default=None, name="Input type")
    input_strides: msgspec.Raw | None = msgspec.field(default=None, name="Input Strides")
    concrete_inputs: msgspec.Raw | None = msgspec.field(default=None, name="Concrete Inputs")
    call_site: Any = msgspec.field(default=None, name="Call stack")


class _Mark(msgspec.Struct, gc=False):
    ph: str
    args: _Args | list[Any] | str | int | float | bool | None = None


_COLUMNS = OP_ATTRIBUTES.names()[1:]


def read_operators(source: Input, places: pl.LazyFrame) -> pl.DataFrame:
    """Read the attributes of every event that has some; `places` says which event is where."""
    rows: list[tuple[Any, ...]] = []
    frames = []
    first = 0
    for run in EventStream[_Mark](source, _Mark):
        rows = [
            (place, *values)
            for place, event in enumerate(run.events, first)
            if type(event.args) is _Args and any(values := _values(event.args))
        ]
        first += len(run.events)
        schema = {"place": pl.UInt32, **dict.fromkeys(_COLUMNS, pl.String)}
        frames.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return (
        pl.concat(frames)
        .join(places.collect(), on="place")
        .sort("event_id")
        .select(OP_ATTRIBUTES.names())
    )


def _values(args: _Args) -> tuple[str | None, ...]:
    shapes = args.input_shapes or args.old_input_shapes
    raw = (shapes, args.input_types, args.input_strides, args.concrete_inputs)
    site = args.call_site if isinstance(args.call_site, str) else None
    return (*(None if text is None else bytes(text).decode() for text in raw), site or None)
