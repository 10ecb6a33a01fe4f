"""What a reader hands over: one process's recording, before it is analysed."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fgtrace.frames.notes import Note
from fgtrace.frames.provenance import Provenance


@dataclass(frozen=True)
class Recorded:
    """One recording. Its `events` have `part` 0 and `event_id` equal to their row."""

    events: pl.DataFrame
    launch_attributes: pl.DataFrame
    notes: list[Note]
    provenance: Provenance


@dataclass(frozen=True)
class PartSource:
    """One process's recording, and where it comes from."""

    recorded: Recorded
    source: str
    """The file; relative to the run where it lies in one."""
    route: str | None = None
    generation: int | None = None
    profiler: str = "kineto"
