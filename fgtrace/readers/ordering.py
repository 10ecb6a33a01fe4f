"""Events in their order, numbered and nested, without all of them in memory at once."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import polars as pl

from fgtrace.frames.schema import EVENTS
from fgtrace.readers.kinds import TYPED

IN_MEMORY = 1_000_000
"""Rows up to which events stay in memory."""

_BATCH = 500_000
_SAMPLED = 64


NUMBERED = pl.Schema(
    {**{k: v for k, v in EVENTS.items() if k not in ("depth", "parent_id")}, "place": pl.UInt32()}
)


class Order:
    """Collects rows in the order of the file and gives them back in the order of time.

    Rows have columns of `TYPED`. What is too much for memory goes to files in a private
    temporary folder, which is removed when the process ends.
    """

    def __init__(self) -> None:
        self._kept: list[pl.DataFrame] = []
        self._spilled: list[_Spilled] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Take some rows of one part. All of them have a start."""
        if rows.is_empty():
            return
        self._kept.append(rows)
        if self._spilled or sum(kept.height for kept in self._kept) > IN_MEMORY:
            self._spilled += map(_spill, self._kept)
            self._kept.clear()

    def numbered(self, patches: Sequence[pl.DataFrame], rank: int | None) -> pl.LazyFrame:
        """Give the events, with the columns of `EVENTS` and their `place`.

        A patch has `place` and columns that replace those of the row; the order is that of the
        recorded times all the same.
        """
        written: list[Path] = []
        events = NUMBERED.to_frame()
        first = 0
        for batch in self._batches():
            numbers = pl.int_range(first, first + batch.height, dtype=pl.UInt32, eager=True)
            first += batch.height
            rows = _patched(batch.with_columns(event_id=numbers), patches)
            events = rows.with_columns(rank=pl.lit(rank, pl.Int32)).select(NUMBERED.names())
            if self._spilled:
                written.append(_scratch_file())
                events.write_ipc(written[-1])
        for spilled in self._spilled:
            spilled.path.unlink()
        return pl.scan_ipc(written, glob=False) if written else events.lazy()

    def _batches(self) -> Iterator[pl.DataFrame]:
        """Give the rows in order, so many at once as fit well into memory."""
        if self._kept:
            yield _ordered(self._kept)
        for part in sorted({spilled.part for spilled in self._spilled}):
            files = [spilled for spilled in self._spilled if spilled.part == part]
            starts = pl.concat([spilled.starts for spilled in files]).sort()
            bounds = starts.gather_every(_BATCH // _SAMPLED, 1).unique().to_list()
            for low, high in pairwise([_FIRST, *bounds, None]):
                inside = pl.col("start_ns") >= low
                if high is not None:
                    inside &= pl.col("start_ns") < high
                rows = [
                    pl.scan_ipc(file.path, glob=False).filter(inside).collect()
                    for file in files
                    if file.latest >= low and (high is None or file.earliest < high)
                ]
                if rows:
                    yield _ordered(rows)


_FIRST = -(2**63)


@dataclass(frozen=True)
class _Spilled:
    """Rows in a file."""

    path: Path
    part: int
    earliest: int
    latest: int
    starts: pl.Series
    """One in so many, which tells how they are spread over time."""


def _spill(rows: pl.DataFrame) -> _Spilled:
    starts = rows["start_ns"]
    path = _scratch_file()
    rows.write_ipc(path)
    earliest, latest = rows.select(first=starts.min(), last=starts.max()).row(0)
    return _Spilled(path, rows["part"][0], earliest, latest, starts.gather_every(_SAMPLED))


def _ordered(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([TYPED.to_frame(), *frames], how="diagonal").sort(
        "part",
        "start_ns",
        pl.col("dur_ns").fill_null(0),
        "place",
        descending=[False, False, True, False],
    )


def _patched(rows: pl.DataFrame, patches: Sequence[pl.DataFrame]) -> pl.DataFrame:
    for patch in patches:
        here = patch.join(rows.select("place", "event_id"), on="place").drop("place")
        if not here.is_empty():
            rows = rows.update(here, on="event_id", include_nulls=True)
    return rows


def _scratch_file() -> Path:
    descriptor, name = tempfile.mkstemp(suffix=".arrow", dir=_scratch_folder())
    os.close(descriptor)
    return Path(name)


@cache
def _scratch_folder() -> str:
    folder = tempfile.mkdtemp(prefix="fgtrace-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
