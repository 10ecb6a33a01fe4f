"""A trace: one recording as frames and provenance, frozen once read."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fgtrace.frames import schema
from fgtrace.frames.provenance import Provenance


@dataclass(frozen=True)
class Trace:
    """Frames whose columns `fgtrace.frames.schema` documents.

    Frames that a source does not have are empty, never absent. `launch_attributes` is lazy: it is
    read when it is collected.
    """

    source: str
    provenance: Provenance
    parts: pl.DataFrame
    events: pl.DataFrame
    links: pl.DataFrame
    calls: pl.DataFrame
    samples: pl.DataFrame
    witnesses: pl.DataFrame
    calibration: pl.DataFrame
    notes: pl.DataFrame
    launch_attributes: pl.LazyFrame


FRAMES = {
    "parts": schema.PARTS,
    "events": schema.EVENTS,
    "links": schema.LINKS,
    "calls": schema.CALLS,
    "samples": schema.SAMPLES,
    "witnesses": schema.WITNESSES,
    "calibration": schema.CALIBRATION,
    "notes": schema.NOTES,
}
"""The eager frames of a trace by name."""
