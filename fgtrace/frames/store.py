"""Runs: a trace kept as a folder of Parquet files with a manifest, or the same in one zip."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

import msgspec
import polars as pl

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.schema import OP_ATTRIBUTES
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES, Trace

SCHEMA_VERSION = 2
MANIFEST = "manifest.json"
STACKS = "stacks"
_LATER = "op_attributes"
"""A frame that older runs do not have."""

_ABSENT = (OSError, KeyError)
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError)  # the last: encrypted


class FrameFile(msgspec.Struct, frozen=True):
    """What the manifest says of one frame's file."""

    rows: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a folder a run. It is written last, so that a folder without one is incomplete."""

    schema_version: int
    name: str
    tool: str | None
    created: str | None
    provenance: Provenance
    frames: dict[str, FrameFile]
    stacks: bool = False
    """There is a run in the folder STACKS: the recording with Python's stacks."""


class _Version(msgspec.Struct):
    schema_version: int


def save_run(trace: Trace, folder: Path, *, name: str) -> Manifest:
    """Write the frames of a trace, then the manifest, into an existing folder.

    Putting the folder in its place, and what lies in `raw/`, is the caller's.
    """
    files = {}
    for frame in (*FRAMES, *LAZY_FRAMES):
        rows = getattr(trace, frame).lazy().collect()
        buffer = io.BytesIO()
        rows.write_parquet(buffer)
        data = buffer.getvalue()
        (folder / f"{frame}.parquet").write_bytes(data)
        files[frame] = FrameFile(rows.height, hashlib.sha256(data).hexdigest())
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        name=name,
        tool=trace.provenance.tool,
        created=trace.provenance.created,
        provenance=trace.provenance,
        frames=files,
        stacks=trace.stacks is not None,
    )
    if trace.stacks is not None:
        (folder / STACKS).mkdir()
        save_run(trace.stacks, folder / STACKS, name=name)
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (folder / MANIFEST).write_bytes(text + b"\n")
    return manifest


def load_run(path: Path) -> Trace:
    """Read a run: its folder, or its zip, which is not extracted."""
    if path.is_dir():
        return _load(path, lambda member: (path / member).read_bytes())
    with _opened(path) as archive:
        root = _root(path, archive)
        return _load(path, lambda member: archive.read(f"{root}{member}"))


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise _damaged(path, f"it is no zip that can be read ({error})") from None


def _root(path: Path, archive: zipfile.ZipFile) -> str:
    # A run may lie in the zip as it is, or inside its folder.
    names = archive.namelist()
    for name in names:
        member = PureWindowsPath(name)  # knows both separators, and drives
        if member.anchor or ".." in member.parts:
            raise _damaged(path, f"its member {name!r} points outside of it")
    manifests = [name for name in names if PurePosixPath(name).name == MANIFEST]
    shallowest = min(manifests, key=lambda name: name.count("/"), default=MANIFEST)
    return shallowest.removesuffix(MANIFEST)


def _load(path: Path, read: Callable[[str], bytes]) -> Trace:
    manifest = _manifest(path, read)
    eager = {name: _frame(path, name, read, manifest) for name in FRAMES}
    return Trace(
        source=path.name,
        provenance=manifest.provenance,
        events=_frame(path, "events", read, manifest).lazy(),
        launch_attributes=_lazy_frame(path, "launch_attributes", read),
        op_attributes=_lazy_frame(path, _LATER, read)
        if _LATER in manifest.frames
        else OP_ATTRIBUTES.to_frame().lazy(),
        stacks=_load(path / STACKS, lambda member: read(f"{STACKS}/{member}"))
        if manifest.stacks
        else None,
        **eager,
    )


def _manifest(path: Path, read: Callable[[str], bytes]) -> Manifest:
    try:
        data = read(MANIFEST)
    except _ABSENT:
        raise FgtraceError(
            f"{path} is not a run, or an incomplete one: it has no {MANIFEST}",
            hint="a run is what `fgtrace collect` writes; if a collection broke off, run it again",
            kind="unknown-format",
            exit_code=ExitCode.UNREADABLE,
        ) from None
    except _BAD_ZIP as error:
        raise _damaged(path, f"{MANIFEST}: {error}") from None
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version > SCHEMA_VERSION:
            raise FgtraceError(
                f"{path} has version {version} of the run format; this fgtrace reads version "
                f"{SCHEMA_VERSION} and older",
                hint="upgrade fgtrace: pip install --upgrade fgtrace",
                kind="unknown-format",
                exit_code=ExitCode.UNREADABLE,
            )
        return msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise _damaged(path, f"{MANIFEST}: {error}") from None


def _frame(path: Path, name: str, read: Callable[[str], bytes], manifest: Manifest) -> pl.DataFrame:
    data = _member(path, name, read)
    expected = manifest.frames.get(name)
    if expected is None or hashlib.sha256(data).hexdigest() != expected.sha256:
        raise _damaged(path, f"{name}.parquet is not the file that {MANIFEST} describes")
    try:
        frame = pl.read_parquet(data)
    except pl.exceptions.PolarsError as error:
        raise _damaged(path, f"{name}.parquet: {error}") from None
    columns = (FRAMES | LAZY_FRAMES)[name]
    if name == "samples" and manifest.schema_version < SCHEMA_VERSION:
        frame = frame.with_columns(variant=pl.lit(None, pl.String))
    _check_columns(path, name, frame.schema, columns)
    return frame.select(columns.names())


def _lazy_frame(path: Path, name: str, read: Callable[[str], bytes]) -> pl.LazyFrame:
    try:
        if path.is_dir():
            frame = pl.scan_parquet(path / f"{name}.parquet")
        else:
            frame = pl.scan_parquet(io.BytesIO(_member(path, name, read)))
        schema = frame.collect_schema()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(path, f"{name}.parquet: {error}") from None
    _check_columns(path, name, schema, LAZY_FRAMES[name])
    return frame.select(LAZY_FRAMES[name].names())


def _member(path: Path, name: str, read: Callable[[str], bytes]) -> bytes:
    try:
        return read(f"{name}.parquet")
    except (*_ABSENT, *_BAD_ZIP) as error:
        raise _damaged(path, f"{name}.parquet cannot be read ({error})") from None


def _check_columns(path: Path, name: str, found: pl.Schema, expected: pl.Schema) -> None:
    # Columns that are not known come from another version, and do no harm.
    wrong = [column for column, kind in expected.items() if found.get(column) != kind]
    if wrong:
        columns = ", ".join(wrong)
        raise _damaged(path, f"{name}.parquet has other columns than it should: {columns}")


def _damaged(path: Path, what: str) -> FgtraceError:
    return FgtraceError(
        f"{path} is damaged: {' '.join(what.split())}",
        hint="copy the run again from where it was collected",
        kind="unknown-format",
        exit_code=ExitCode.UNREADABLE,
    )
