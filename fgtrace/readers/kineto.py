"""torch.profiler's Kineto traces: Chrome-trace JSON of any size, age and device, damaged or not."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from fgtrace.frames.schema import LAUNCH_ATTRIBUTES, OP_ATTRIBUTES
from fgtrace.readers.attributes import read_calls, read_launches
from fgtrace.readers.events import EventStream
from fgtrace.readers.gathering import Gathering
from fgtrace.readers.inputs import Input, open_input, state_of, unreadable
from fgtrace.readers.marks import MARKS, AnyMark, Unknown
from fgtrace.readers.metadata import read_metadata
from fgtrace.readers.recorded import Recorded


def read_kineto(source: Input, *, path: Path | None = None, raw_times: bool = False) -> Recorded:
    """Read one file that `torch.profiler` exported.

    What is damaged is repaired or left out event by event, and noted. `raw_times` keeps times
    that cannot be (`fgtrace.readers.clocks`). `path` is where the file is read again when the
    attributes of launches or operators are asked for; without one they are empty.
    """
    stream = EventStream[AnyMark](source, MARKS, Unknown)
    gathering = Gathering(raw_times=raw_times)
    with _no_collection():
        for run in stream:
            gathering.add(run)
    recorded = gathering.recorded(
        list(map(read_metadata, stream.metadata)),
        stray=stream.stray,
        cut_off=stream.cut_off,
    )
    if path is None:
        return recorded
    attributes = attributes_when_asked(path, source.state, recorded.places)
    return replace(
        recorded, launch_attributes=attributes.of_launches, op_attributes=attributes.of_operators
    )


class Attributes(NamedTuple):
    """What is read when it is collected: `LAUNCH_ATTRIBUTES` and `OP_ATTRIBUTES`."""

    of_launches: pl.LazyFrame
    of_operators: pl.LazyFrame


def attributes_when_asked(path: Path, state: tuple[int, int], places: pl.LazyFrame) -> Attributes:
    """Give the attributes of a file's launches and operators; the file is read when they are.

    `places` says which event is where (`Recorded.places`) in the file that had that `file_state`.
    If it has another one by then, that is an error of the kind `changed`.
    """
    return Attributes(
        _when_asked(path, state, places, "kernel", read_launches, LAUNCH_ATTRIBUTES),
        _when_asked(path, state, places, "op", read_calls, OP_ATTRIBUTES),
    )


def _when_asked(
    path: Path,
    state: tuple[int, int],
    places: pl.LazyFrame,
    kind: str,
    read_attributes: Callable[[Input, pl.DataFrame], pl.DataFrame],
    schema: pl.Schema,
) -> pl.LazyFrame:
    def read() -> pl.DataFrame:
        if file_state(path) != state:
            raise unreadable(
                f"{path} is no longer the file that was read",
                hint="open it again",
                kind="changed",
            )
        of_kind = places.filter(pl.col("kind") == kind).select("place", "event_id").sort("place")
        with open_input(path) as source, _no_collection():
            return read_attributes(source, of_kind.collect())

    return pl.defer(read, schema=schema)


def file_state(path: Path) -> tuple[int, int]:
    """Give the `state_of` a file; zeros where there is none."""
    try:
        return state_of(path.stat())
    except OSError:
        return 0, 0


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking at events, none of which can be in a cycle."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
