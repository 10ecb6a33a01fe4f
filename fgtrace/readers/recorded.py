"""What a reader hands over: one process's recording, before it is analysed."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fgtrace.frames.notes import Note
from fgtrace.frames.provenance import Provenance


@dataclass(frozen=True)
class Tally:
    """What became of what a file has between the brackets of its lists of events."""

    decoded: int
    """Events that were read, repaired ones, arrows and names of rows included."""
    skipped: int
    """Events that could not be read."""


@dataclass(frozen=True)
class Recorded:
    """One recording. Its `events` have `event_id` equal to their row.

    `part` is 0, or counts the documents that one file holds, each with its own numbers.
    """

    events: pl.LazyFrame
    launch_attributes: pl.LazyFrame
    op_attributes: pl.LazyFrame
    places: pl.LazyFrame
    """Each event's `place` in the file, its `event_id` and its `kind`."""
    notes: list[Note]
    provenance: Provenance
    tally: Tally


@dataclass(frozen=True)
class PartSource:
    """One process's recording, and where it comes from."""

    recorded: Recorded
    source: str
    """The file; relative to the run where it lies in one."""
    route: str | None = None
    generation: int | None = None
    profiler: str = "kineto"
