"""Make the frames of a run from what the recorder wrote."""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import polars as pl

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames import schema
from fgtrace.frames.notes import KINDS, Note
from fgtrace.frames.provenance import Clocks, Device, Environment, Host, Protocol, Provenance
from fgtrace.readers.inputs import open_input
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.recorded import PartSource
from fgtrace_collectors.recorder.recording import (
    PROFILES,
    RECORDING_FILE,
    RECORDING_FORMAT,
)

RAW = "raw"

MOST_BYTES = 4 * 1024**3
"""What a recorder's zip may unpack to; a formal recording of seven cases takes some megabytes."""

RAW_METADATA = frozenset(
    (
        "schemaVersion",
        "deviceProperties",
        "cuda_driver_version",
        "cuda_runtime_version",
        "cupti_version",
        "hip_driver_version",
        "hip_runtime_version",
        "displayTimeUnit",
        "baseTimeNanoseconds",
        "traceEvents",
    )
)
"""What stays of a Kineto file beside its events; public files were found with tokens beyond it."""


class _Profile(msgspec.Struct):
    file: str
    case: str
    route: str
    generation: int
    process: int
    stacks: bool = False


class _Plan(msgspec.Struct):
    tool: str
    command: tuple[str, ...]
    variables: dict[str, str]
    profiler: str


class _Note(msgspec.Struct):
    level: Literal["info", "warning"]
    kind: str
    count: int
    message: str
    option: str | None


Count = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
Positive = Annotated[int, msgspec.Meta(ge=1, lt=2**32)]
Nanoseconds = Annotated[int, msgspec.Meta(ge=0)]


class _Sample(msgspec.Struct):
    case: str
    route: str
    generation: Count
    process: int
    turn: Count
    mode: Literal["throughput", "latency", "graph"]
    profiler: str
    calls: Positive
    wall_ns: Nanoseconds
    enqueue_ns: Nanoseconds
    variant: str | None = None


class _Witness(msgspec.Struct):
    case: str | None
    route: str
    generation: Count
    process: int
    witness: str
    value: str


class _Loop(msgspec.Struct):
    route: str
    generation: Count
    process: int
    loop: str
    profiler: str
    iterations: Positive
    wall_ns: Nanoseconds


class _Recording(msgspec.Struct):
    """`fgtrace_collectors.recorder.recording.Recording` as another process wrote it."""

    format: int
    plan: _Plan
    started: str
    protocol: Protocol
    parameters: dict[str, dict[str, int]]
    device: Device
    host: Host
    environments: tuple[Environment, ...]
    clocks: tuple[Clocks, ...]
    profiler_options: dict[str, str | int | bool]
    samples: list[_Sample]
    witnesses: list[_Witness]
    calibration: list[_Loop]
    profiles: list[_Profile]
    notes: list[_Note]
    generations: int


@dataclass(frozen=True)
class Assembled:
    """What a run is made of, before links and calls are found."""

    provenance: Provenance
    profiles: tuple[PartSource, ...]
    stacks: tuple[PartSource, ...]
    """Those of `profiles` with Python's stacks, which are not among them."""
    samples: pl.DataFrame
    witnesses: pl.DataFrame
    calibration: pl.DataFrame
    notes: tuple[Note, ...]


def assemble(recording: Path, run: Path) -> Assembled:
    """Read the recording in a folder; write its profiles, scrubbed, into `run`/raw.

    Raises FgtraceError (unreadable) for a folder that is no complete recording, or a newer one.
    """
    found = _read(recording)
    (run / RAW).mkdir()
    profiles: list[PartSource] = []
    stacks: list[PartSource] = []
    for profile in found.profiles:
        name = Path(profile.file).name
        # Only the name is taken: a recording from elsewhere must not name files outside itself.
        raw = run / RAW / name
        scrub(recording / PROFILES / name, raw)
        with open_input(raw) as source:
            recorded = read_kineto(source, path=raw)
        of_kind = stacks if profile.stacks else profiles
        of_kind.append(PartSource(recorded, f"{RAW}/{name}", profile.route, profile.generation))
    return Assembled(
        provenance=_provenance(found, profiles),
        profiles=tuple(profiles),
        stacks=tuple(stacks),
        samples=_frame(found.samples, schema.SAMPLES),
        witnesses=_frame(found.witnesses, schema.WITNESSES),
        calibration=_frame(found.calibration, schema.CALIBRATION),
        notes=tuple(_note(note) for note in found.notes),
    )


def unpacked(recording: Path, work: Path) -> Path:
    """Give the folder of a recording: itself, or `work` with what a recorder's zip holds.

    Only what a recording consists of is taken out of a zip, and no more than MOST_BYTES.
    """
    if recording.is_dir():
        return recording
    try:
        with zipfile.ZipFile(recording) as archive:
            members = [
                member
                for member in archive.infolist()
                if member.filename == RECORDING_FILE
                or re.match(rf"{PROFILES}/[\w.-]+\.json\.gz\Z", member.filename)
            ]
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise _unreadable(f"{recording} unpacks to over {MOST_BYTES} bytes", "too-large")
            for member in members:
                archive.extract(member, work)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError):
        raise _unreadable(f"{recording} is not a recorder's zip", "unknown-format") from None
    except FileNotFoundError:
        raise _unreadable(f"{recording} does not exist", "unknown-format") from None
    return work


def scrub(source: Path, target: Path) -> None:
    """Copy a Kineto file with nothing but its events and the allow-listed metadata.

    The events' text is copied as it is: times keep every digit.
    """
    try:
        document = msgspec.json.decode(
            gzip.decompress(source.read_bytes()), type=dict[str, msgspec.Raw]
        )
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise _unreadable(f"profile {source.name}: {error}", "truncated") from None
    kept = {key: value for key, value in document.items() if key in RAW_METADATA}
    target.write_bytes(gzip.compress(msgspec.json.encode(kept), mtime=0))


def _read(folder: Path) -> _Recording:
    path = folder / RECORDING_FILE
    try:
        content = path.read_bytes()
        version = msgspec.json.decode(content, type=dict[str, Any]).get("format")
        if version != RECORDING_FORMAT:
            raise _unreadable(
                f"{folder} is a recording of format {version}; this fgtrace reads "
                f"{RECORDING_FORMAT}",
                "unknown-format",
            )
        return msgspec.json.decode(content, type=_Recording)
    except OSError:
        raise _unreadable(f"{folder} holds no complete recording", "unknown-format") from None
    except msgspec.DecodeError as error:
        raise _unreadable(f"{RECORDING_FILE} of the recording: {error}", "not-json") from None


def _provenance(found: _Recording, profiles: list[PartSource]) -> Provenance:
    protocol = msgspec.structs.replace(found.protocol, generations=found.generations)
    return Provenance(
        tool=found.plan.tool,
        created=found.started,
        command=found.plan.command,
        profiler=found.plan.profiler if profiles else "none",
        profiler_options=found.profiler_options,
        parameters=found.parameters,
        set_variables=found.plan.variables,
        protocol=protocol,
        device=found.device,
        environments=found.environments,
        clocks=found.clocks,
        host=found.host,
    )


def _note(note: _Note) -> Note:
    if note.kind not in KINDS:
        raise _unreadable(
            f"{RECORDING_FILE} of the recording: unknown kind of note {note.kind!r}",
            "unknown-format",
        )
    return Note(note.level, note.kind, note.count, note.message, note.option)


def _frame(rows: Sequence[msgspec.Struct], columns: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame([msgspec.structs.asdict(row) for row in rows], schema=columns)


def _unreadable(message: str, kind: str) -> FgtraceError:
    return FgtraceError(
        message,
        hint="give the zip that the one-file recorder wrote",
        kind=kind,
        exit_code=ExitCode.UNREADABLE,
    )
