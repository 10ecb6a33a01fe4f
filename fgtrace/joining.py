"""Recordings joined to one trace: parts are numbered, links and calls found, notes collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from fgtrace.analysis.calls import find_calls
from fgtrace.analysis.drift import speed_notes
from fgtrace.analysis.links import link
from fgtrace.frames import schema
from fgtrace.frames.notes import Note, notes_frame
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.trace import LAZY_FRAMES, Trace
from fgtrace.readers.recorded import PartSource, Recorded


def analysed(
    parts: Sequence[PartSource],
    *,
    source: str,
    provenance: Provenance,
    samples: pl.DataFrame | None = None,
    witnesses: pl.DataFrame | None = None,
    calibration: pl.DataFrame | None = None,
    notes: Sequence[Note] = (),
) -> Trace:
    """Make one trace of recordings: links and calls are found, notes collected.

    Each recording becomes a part, or one for each document in its file, numbered in the given
    order, with its own clock. Process, device and correlation numbers mean something only within a
    part. Frames that are not given are empty. The caller's notes come first, then the readers',
    then the analyses'.
    """
    placed = _placed(parts)
    trace = Trace(
        source=source,
        provenance=provenance,
        parts=_part_rows(placed),
        events=_together(placed, "events"),
        links=schema.LINKS.to_frame(),
        calls=schema.CALLS.to_frame(),
        samples=schema.SAMPLES.to_frame() if samples is None else samples,
        witnesses=schema.WITNESSES.to_frame() if witnesses is None else witnesses,
        calibration=schema.CALIBRATION.to_frame() if calibration is None else calibration,
        notes=schema.NOTES.to_frame(),
        launch_attributes=_together(placed, "launch_attributes"),
        op_attributes=_together(placed, "op_attributes"),
    )
    links, link_notes = link(trace)
    calls, call_notes = find_calls(trace)
    told = [
        *notes,
        *(replace(note, part=one.first_part) for one in placed for note in one.recorded.notes),
        *(() if _on_host(provenance) else speed_notes(trace.samples)),
        *(note for note in (*link_notes, *call_notes) if _matters(note, parts, provenance)),
    ]
    return trace.having(links=links, calls=calls, notes=notes_frame(told))


def _matters(note: Note, parts: Sequence[PartSource], provenance: Provenance) -> bool:
    """Tell what is missing from what was never asked for: profiles, or a device."""
    if not parts:
        return False
    return not (_on_host(provenance) and note.kind == "no-device-activity")


def _on_host(provenance: Provenance) -> bool:
    """Tell whether the host itself ran the case: its times are shown as nobody's speed."""
    return provenance.device is not None and provenance.device.kind == "cpu"


@dataclass(frozen=True)
class _Placed:
    """A recording, and the first of its events and parts among those of all."""

    source: PartSource
    first_event: int
    first_part: int
    parts: int
    rank: int | None

    @property
    def recorded(self) -> Recorded:
        return self.source.recorded


def _placed(sources: Sequence[PartSource]) -> list[_Placed]:
    placed = []
    events = parts = 0
    for source in sources:
        height, last, rank = (
            source.recorded.events.select(
                pl.len(), pl.col("part").max().fill_null(0), pl.col("rank").first()
            )
            .collect()
            .row(0)
        )
        placed.append(_Placed(source, events, parts, last + 1, rank))
        events += height
        parts += last + 1
    return placed


def _together(placed: Sequence[_Placed], name: str) -> pl.LazyFrame:
    columns = LAZY_FRAMES[name]
    frames = []
    for one in placed:
        firsts = {"event_id": one.first_event, "part": one.first_part}
        shifted = [pl.col(key) + first for key, first in firsts.items() if first and key in columns]
        frame: pl.LazyFrame = getattr(one.recorded, name)
        frames.append(frame.with_columns(shifted) if shifted else frame)
    return pl.concat(frames) if frames else columns.to_frame().lazy()


def _part_rows(placed: Sequence[_Placed]) -> pl.DataFrame:
    rows = []
    for one in placed:
        processes = _processes(one.recorded.events)
        rows += [
            (
                one.first_part + number,
                one.source.source,
                processes.get(number),
                one.rank,
                one.source.route,
                one.source.generation,
                one.source.profiler,
            )
            for number in range(one.parts)
        ]
    return pl.DataFrame(rows, schema=schema.PARTS, orient="row")


def _processes(events: pl.LazyFrame) -> dict[int, str | None]:
    # A file names its threads' process on every host row; the most frequent one recorded it.
    hosts = (
        events.filter(pl.col("kind").is_in(["op", "runtime", "driver", "range"]))
        .group_by("part", "process")
        .len()
        .cast({"process": pl.String})
        .sort("len", "process", descending=[True, False])
        .unique("part", keep="first", maintain_order=True)
        .collect()
    )
    return dict(hosts.select("part", "process").iter_rows())
