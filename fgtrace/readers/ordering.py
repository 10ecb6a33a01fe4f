"""Events in their order and numbered, without all of them in memory at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

import polars as pl

from fgtrace.frames.schema import EVENTS
from fgtrace.readers.inputs import unreadable
from fgtrace.readers.kinds import TYPED

NUMBERED = pl.Schema({**EVENTS, "place": pl.UInt32()})
"""The columns of `EVENTS`, and the event's place in the file."""

_BATCH = 500_000
"""Rows that are put in order together; of more the result goes to files."""

_IN_MEMORY = 4_000_000
"""Rows up to which they wait in memory."""

_SAMPLED = 64
"""One start in so many tells how events are spread over time."""


class Order:
    """Collects rows in the order of the file and gives them back in the order of time.

    What is too much for memory goes to temporary files: rows that wait to a private folder that
    goes with the order, rows in order to files without a name that go with their frame.
    """

    def __init__(self) -> None:
        self._waiting: list[pl.DataFrame] = []
        self._in_memory = 0
        self._files: list[_Stored] = []
        self._folder: TemporaryDirectory[str] | None = None

    def add(self, rows: pl.DataFrame) -> None:
        """Take some rows of one part, with columns of `TYPED`. All of them have a start."""
        if rows.is_empty():
            return
        self._waiting.append(rows)
        self._in_memory += rows.height
        if self._in_memory > (_BATCH if self._files else _IN_MEMORY):
            # Rows of like columns go together: files that are few, and have no column for nothing.
            alike: defaultdict[tuple[Any, ...], list[pl.DataFrame]] = defaultdict(list)
            for waiting in self._waiting:
                alike[waiting["part"][0], *waiting.columns].append(waiting)
            self._files += [self._in_file(pl.concat(frames)) for frames in alike.values()]
            self._waiting.clear()
            self._in_memory = 0

    def _in_file(self, rows: pl.DataFrame) -> _Stored:
        with _disk():
            if self._folder is None:
                self._folder = TemporaryDirectory(prefix="fgtrace-")
            path = Path(self._folder.name) / f"{len(self._files)}-{rows['place'][0]}.arrow"
            rows.write_ipc(path)
        return replace(_Stored.in_memory(rows), rows=pl.scan_ipc(path, glob=False))

    def numbered(
        self, patches: Sequence[pl.DataFrame], ranks: Sequence[int | None]
    ) -> pl.LazyFrame:
        """Give the events, with the columns of `NUMBERED`; they are given once.

        A patch has `place` and columns that replace those of the row; the order is that of the
        recorded times all the same. `ranks` has the rank of each part.
        """
        written: list[IO[bytes]] = []
        events = NUMBERED.to_frame()
        first = 0
        for batch, is_all in self._batches():
            numbers = pl.int_range(first, first + batch.height, dtype=pl.UInt32, eager=True)
            first += batch.height
            rows = _patched(batch.with_columns(event_id=numbers), patches)
            rank = pl.lit(ranks[rows["part"][0]], pl.Int32)
            events = rows.with_columns(rank=rank).select(NUMBERED.names())
            if not is_all:
                with _disk():
                    written.append(TemporaryFile(prefix="fgtrace-"))  # noqa: SIM115 (the frame's)
                    events.write_ipc(written[-1])
                    written[-1].seek(0)
        if self._folder is not None:
            self._folder.cleanup()
        return pl.scan_ipc(written) if written else events.lazy()

    def _batches(self) -> Iterator[tuple[pl.DataFrame, bool]]:
        """Give rows in order, as many at once as fit well into memory, and whether it is all."""
        everything = [*self._files, *map(_Stored.in_memory, self._waiting)]
        parts = sorted({stored.part for stored in everything})
        for part in parts:
            of_part = [stored for stored in everything if stored.part == part]
            starts = pl.concat([stored.starts for stored in of_part]).sort()
            every = _BATCH // _SAMPLED
            bounds = starts.gather_every(every, every).unique().to_list()
            for low, high in pairwise([None, *bounds, None]):
                rows = [
                    found for stored in of_part if (found := stored.between(low, high)) is not None
                ]
                if rows:
                    yield _ordered(rows), len(parts) == 1 and not bounds


@dataclass(frozen=True)
class _Stored:
    """Rows of one part, in memory or in a file."""

    rows: pl.LazyFrame
    part: int
    earliest: int
    latest: int
    starts: pl.Series
    """One in so many of `start_ns`."""

    @classmethod
    def in_memory(cls, rows: pl.DataFrame) -> _Stored:
        """Describe rows."""
        starts = rows["start_ns"]
        earliest, latest = rows.select(first=starts.min(), last=starts.max()).row(0)
        return cls(rows.lazy(), rows["part"][0], earliest, latest, starts.gather_every(_SAMPLED))

    def between(self, low: int | None, high: int | None) -> pl.DataFrame | None:
        """Give the rows that start from `low` on and before `high`, if there can be some."""
        if (low is not None and self.latest < low) or (high is not None and self.earliest >= high):
            return None
        rows = self.rows
        if low is not None and self.earliest < low:
            rows = rows.filter(pl.col("start_ns") >= low)
        if high is not None and self.latest >= high:
            rows = rows.filter(pl.col("start_ns") < high)
        return rows.collect()


def _ordered(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([TYPED.to_frame(), *frames], how="diagonal").sort(
        "start_ns", pl.col("dur_ns").fill_null(0), "place", descending=[False, True, False]
    )


def _patched(rows: pl.DataFrame, patches: Sequence[pl.DataFrame]) -> pl.DataFrame:
    for patch in patches:
        here = patch.join(rows.select("place", "event_id"), on="place").drop("place")
        if not here.is_empty():
            rows = rows.update(here, on="event_id", include_nulls=True)
    return rows


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(
            f"temporary files cannot be written: {getattr(error, 'strerror', None) or error}",
            hint="set TMPDIR to a folder with room for half of the trace's size",
            kind="unreadable",
        ) from None
