"""Opening a recording: a run, its zip, a profiler's file or a folder of them, as one `Trace`."""

from __future__ import annotations

import errno
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path, PurePath
from tempfile import TemporaryFile
from typing import IO

import polars as pl

from fgtrace.cache import Key, key_of, load, store
from fgtrace.errors import FgtraceError
from fgtrace.frames import schema
from fgtrace.frames.notes import Note
from fgtrace.frames.store import MANIFEST, load_run
from fgtrace.frames.trace import Trace
from fgtrace.joining import analysed
from fgtrace.readers.detect import KINETO, Format, recognise
from fgtrace.readers.inputs import Input, Progress, not_readable, open_input, unreadable
from fgtrace.readers.kineto import attributes_when_asked, file_state, read_kineto
from fgtrace.readers.recorded import PartSource, Recorded
from fgtrace.units import printable

RUN_SUFFIX = ".fgtrace"
STDIN = "-"

_KNOWN = f"a run (NAME{RUN_SUFFIX} or its zip) or Kineto traces (JSON, also as gzip or zstd)"
_RECORDING = "recording.json"  # in what the one-file recorder writes
_COLLECT = "make a run of it: fgtrace collect --from RECORDING"
_LISTED = 5  # names in a message
_CHUNK = 1 << 20


@dataclass(frozen=True)
class _How:
    """How files are read."""

    progress: Progress | None
    raw_times: bool


def _read_kineto(source: Input, path: Path, how: _How) -> Recorded:
    return read_kineto(source, path=path, raw_times=how.raw_times)


READERS: dict[str, Callable[[Input, Path, _How], Recorded]] = {KINETO: _read_kineto}
"""The readers, by what `recognise` calls the files that they read."""


def open_trace(
    path: str | PathLike[str],
    progress: Progress | None = None,
    *,
    cache: bool = True,
    raw_times: bool = False,
) -> Trace:
    """Open a run, its zip, a profiler's file, a folder of such files, or `-`: standard input.

    Files are recognised by their content. In a folder that is no run each recording becomes a
    part, in the order of the names, numbers in them by their value; folders in it are not opened.
    `progress` is called while files are read. With `cache`, a large file that was opened before and
    is the same still is loaded from the user's cache folder, else kept there (`fgtrace.cache`);
    folders, runs and standard input never are. `raw_times` keeps times that cannot be
    (`fgtrace.readers.clocks`); those of a run are as they were when it was recorded.
    """
    how = _How(progress, raw_times)
    if fspath(path) == STDIN:
        if sys.stdin is None:
            raise not_readable("standard input", OSError(errno.EBADF, "it is closed"))
        return _open_stream(0, "standard input", how)
    found = Path(path)
    try:
        is_pipe, is_folder = found.is_fifo(), found.is_dir()
        is_run = is_folder and (found.suffix == RUN_SUFFIX or (found / MANIFEST).exists())
    except OSError as error:
        raise not_readable(found, error) from None
    if is_pipe:
        return _open_stream(found, str(found), how)
    if is_run:
        return load_run(found)
    if is_folder:
        return _open_folder(found, how)
    return _open_cached(found, how) if cache else _open_file(found, str(found), how)


def _open_cached(path: Path, how: _How) -> Trace:
    state = file_state(path)
    key = key_of(path, raw_times=how.raw_times)
    if key is None:
        return _open_file(path, str(path), how)
    if (found := load(key)) is None:
        return _open_file(path, str(path), how, key)
    trace, places = found
    attributes = attributes_when_asked(path, state, places)
    return trace.having(
        launch_attributes=attributes.of_launches, op_attributes=attributes.of_operators
    )


def _open_file(path: Path, name: str, how: _How, key: Key | None = None) -> Trace:
    """Read a file; with a `key`, keep what comes of it."""
    with open_input(path, how.progress, name=name) as source:
        if source.head.startswith(b"PK\x03\x04"):
            members = _zip_members(path)
            if members is None or MANIFEST in members:
                return load_run(path)  # or it says what is wrong
            if _RECORDING in members:
                raise unreadable(
                    f"{name} is a recording of the one-file recorder, and no run yet",
                    hint=_COLLECT,
                    kind="unknown-format",
                )
        known = recognise(source.head)
        if known is None or known.name not in READERS:
            raise _foreign(source, known)
        recorded = READERS[known.name](source, path, how)
    short = printable(PurePath(name).name)
    part = PartSource(recorded, short)
    trace = analysed([part], source=short, provenance=recorded.provenance)
    if key is not None:
        store(key, trace, recorded.places)
    return trace


def _zip_members(path: Path) -> set[str] | None:
    """Give the names of a zip's members, without their folders; None where it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {PurePath(member).name for member in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return None


def _foreign(source: Input, known: Format | None) -> FgtraceError:
    hint = f"looked for {_KNOWN}; torch.profiler's export_chrome_trace writes the latter"
    if known is not None:
        return unreadable(
            f"{source.name} is {known.name}, which cannot be read",
            hint=known.hint,
            kind="unknown-format",
        )
    if source.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return unreadable(
            f"{source.name} is JSON, but not a trace: it has no traceEvents",
            hint=hint,
            kind="unknown-format",
        )
    return unreadable(
        f"{source.name} is not JSON, nor anything else that is known", hint=hint, kind="not-json"
    )


def _open_stream(stream: Path | int, name: str, how: _How) -> Trace:
    """Open what comes from a pipe, once it is all there and can be read from any place."""
    file = _spooled(stream, name, how.progress)
    path = Path(f"/dev/fd/{file.fileno()}")
    try:
        trace = _open_file(path, name, how)
    except FgtraceError as error:
        raise FgtraceError(
            error.message.replace(str(path), name),
            hint=error.hint,
            kind=error.kind,
            exit_code=error.exit_code,
        ) from None
    return trace.having(
        source=name,
        launch_attributes=_from(file, trace.launch_attributes, schema.LAUNCH_ATTRIBUTES),
        op_attributes=_from(file, trace.op_attributes, schema.OP_ATTRIBUTES),
    )


def _from(file: IO[bytes], frame: pl.LazyFrame, columns: pl.Schema) -> pl.LazyFrame:
    """Keep a file open as long as a frame is there that will be read from it."""

    def read() -> pl.DataFrame:
        assert not file.closed
        return frame.collect()

    return pl.defer(read, schema=columns)


def _spooled(stream: Path | int, name: str, progress: Progress | None) -> IO[bytes]:
    """Copy a stream to a file that has no name: however the process ends, nothing is left."""
    try:
        file = TemporaryFile(prefix="fgtrace-")  # noqa: SIM115 (the caller closes it)
        for block in _blocks(stream, name):
            file.write(block)
            if progress is not None:
                progress(name, file.tell(), 0)
        file.seek(0)  # and flushes
    except OSError as error:
        raise unreadable(
            f"{name} cannot be kept in a temporary file: {error.strerror or error}",
            hint="set TMPDIR to a folder with room for it, or write it to a file first",
            kind="unreadable",
        ) from None
    return file


def _blocks(stream: Path | int, name: str) -> Iterator[bytes]:
    try:
        with open(stream, "rb", closefd=stream != 0) as source:
            while block := source.read(_CHUNK):
                yield block
    except OSError as error:
        raise not_readable(name, error) from None


@dataclass
class _Contents:
    """What was found in a folder."""

    parts: list[PartSource] = field(default_factory=list)
    lost: list[tuple[str, FgtraceError]] = field(default_factory=list)
    """Files that are recordings and cannot be read."""
    unopened: list[tuple[str, FgtraceError]] = field(default_factory=list)
    """Files that do not even say what they are."""
    others: list[str] = field(default_factory=list)


def _open_folder(folder: Path, how: _How) -> Trace:
    files, others = _entries(folder)
    found = _Contents(others=others)
    for file in files:
        _open_part(file, found, how)
    # An empty file beside recordings that is called as they are was to be one.
    names = [*(part.source for part in found.parts), *(name for name, _ in found.lost)]
    endings = {PurePath(name).suffix for name in names}
    for name, error in found.unopened:
        if PurePath(name).suffix in endings:
            found.lost.append((name, error))
        else:
            found.others.append(f"{name} ({error.kind})")
    if not found.parts:
        raise found.lost[0][1] if found.lost else _no_recordings(folder, found.others)
    return analysed(
        found.parts,
        source=printable(folder.resolve().name),
        provenance=found.parts[0].recorded.provenance,
        notes=_folder_notes(found),
    )


def _entries(folder: Path) -> tuple[list[Path], list[str]]:
    """Give the files of a folder, and the names of what else is in it; hidden ones are left out."""
    files, others = [], []
    try:
        for entry in sorted(folder.iterdir(), key=lambda entry: _natural(entry.name)):
            if entry.name.startswith("."):
                continue
            if entry.is_file():
                files.append(entry)
            else:
                others.append(f"{entry.name}/" if entry.is_dir() else entry.name)
    except OSError as error:
        raise not_readable(folder, error) from None
    return files, others


def _natural(name: str) -> tuple[list[str | int], str]:
    # `rank2` before `rank10`. Text and numbers alternate, so that like meets like.
    words = re.split(r"([0-9]+)", name)
    return [int(word) if place % 2 else word for place, word in enumerate(words)], name


def _open_part(file: Path, found: _Contents, how: _How) -> None:
    known = None
    try:
        with open_input(file, how.progress) as source:
            known = recognise(source.head)
            if known is None or known.name not in READERS:
                found.others.append(f"{file.name} ({known.name})" if known else file.name)
                return
            found.parts.append(
                PartSource(READERS[known.name](source, file, how), printable(file.name))
            )
    except FgtraceError as error:
        if known is None:
            found.unopened.append((file.name, error))
        elif error.kind == "unknown-format":
            found.others.append(file.name)
        else:
            found.lost.append((file.name, error))


def _no_recordings(folder: Path, others: list[str]) -> FgtraceError:
    runs = [name for name in others if RUN_SUFFIX in name]
    hint = f"looked for {_KNOWN}"
    if _RECORDING in others:
        hint = _COLLECT
    elif runs:
        hint = f"name one of the runs in it: {_listed(runs)}"
    elif others:
        hint += f"; found {_listed(others)}"
    return unreadable(f"{folder} holds no recording", hint=hint, kind="unknown-format")


def _folder_notes(found: _Contents) -> list[Note]:
    notes = [
        Note("warning", "part-not-read", 1, printable(error.message)) for _, error in found.lost
    ]
    if found.others:
        message = f"in the folder, but no recordings: {_listed(found.others)}"
        notes.append(Note("info", "files-not-read", len(found.others), message))
    return notes


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(map(printable, names[:_LISTED])) + (f" and {more} more" if more > 0 else "")
