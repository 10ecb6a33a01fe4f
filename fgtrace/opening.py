"""Opening a recording: a run, its zip, or a profiler's file, as one `Trace`."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import polars as pl

from fgtrace.analysis.calls import find_calls
from fgtrace.analysis.links import link
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames import schema
from fgtrace.frames.notes import Note, notes_frame
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.store import MANIFEST, load_run
from fgtrace.frames.trace import Trace
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.recorded import PartSource, Recorded

RUN_SUFFIX = ".fgtrace"


def open_trace(path: str | PathLike[str]) -> Trace:
    """Open a run folder, its zip, or a Kineto file (plain, gzip or zstd)."""
    found = Path(path)
    if found.is_dir():
        if found.suffix != RUN_SUFFIX and not (found / MANIFEST).exists():
            raise FgtraceError(
                f"{found} is a folder, but not a run",
                hint=f"name a file in it, or a run folder (NAME{RUN_SUFFIX})",
                kind="unknown-format",
                exit_code=ExitCode.UNREADABLE,
            )
        return load_run(found)
    if _is_zip(found):
        return load_run(found)
    recorded = read_kineto(found)
    return analysed(
        [PartSource(recorded, found.name)], source=found.name, provenance=recorded.provenance
    )


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False  # the reader says what is wrong


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

    Each recording becomes a part, numbered in the given order, with its own clock. Process,
    device and correlation numbers mean something only within a part. Frames that are not given
    are empty. The caller's notes come first, then the readers', then the analyses'.
    """
    events, attributes = _joined([part.recorded for part in parts])
    part_rows = _part_rows(parts)
    links, link_notes = link(events)
    calls, call_notes = find_calls(events, part_rows)
    reader_notes = [
        Note(note.level, note.kind, note.count, note.message, note.option, number)
        for number, part in enumerate(parts)
        for note in part.recorded.notes
    ]
    return Trace(
        source=source,
        provenance=provenance,
        parts=part_rows,
        events=events,
        links=links,
        calls=calls,
        samples=schema.SAMPLES.to_frame() if samples is None else samples,
        witnesses=schema.WITNESSES.to_frame() if witnesses is None else witnesses,
        calibration=schema.CALIBRATION.to_frame() if calibration is None else calibration,
        notes=notes_frame(
            [
                *notes,
                *reader_notes,
                *(note for note in (*link_notes, *call_notes) if _matters(note, parts, provenance)),
            ]
        ),
        launch_attributes=attributes.lazy(),
    )


def _matters(note: Note, parts: Sequence[PartSource], provenance: Provenance) -> bool:
    """Tell what is missing from what was never asked for: profiles, or a device."""
    if not parts:
        return False
    on_host = provenance.device is not None and provenance.device.kind == "cpu"
    return not (on_host and note.kind == "no-device-activity")


def _joined(recordings: Sequence[Recorded]) -> tuple[pl.DataFrame, pl.DataFrame]:
    events = [schema.EVENTS.to_frame()]
    attributes = [schema.LAUNCH_ATTRIBUTES.to_frame()]
    first = 0
    for number, recorded in enumerate(recordings):
        shifted = pl.col("event_id") + first
        events.append(
            recorded.events.with_columns(
                shifted,
                pl.col("parent_id") + first,
                part=pl.lit(number, pl.UInt32),
            )
        )
        attributes.append(recorded.launch_attributes.with_columns(shifted))
        first += recorded.events.height
    return (
        pl.concat(events).cast(schema.EVENTS),
        pl.concat(attributes).cast(schema.LAUNCH_ATTRIBUTES),
    )


def _part_rows(parts: Sequence[PartSource]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (
                number,
                part.source,
                _process(part.recorded.events),
                part.recorded.events["rank"].first() if part.recorded.events.height else None,
                part.route,
                part.generation,
                part.profiler,
            )
            for number, part in enumerate(parts)
        ],
        schema=schema.PARTS,
        orient="row",
    )


def _process(events: pl.DataFrame) -> str | None:
    # A file names its threads' process on every host row; the most frequent one recorded it.
    hosts = (
        events.filter(pl.col("kind").is_in(["op", "runtime", "driver", "range"]))
        .group_by(pl.col("process").cast(pl.String))
        .len()
        .sort("len", "process", descending=[True, False])
    )
    processes: list[str | None] = hosts["process"].to_list()
    return processes[0] if processes else None
