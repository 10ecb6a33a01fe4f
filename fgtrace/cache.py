"""The cache of traces that were read, in the user's cache folder.

An entry is a folder that is put in its place whole, by one rename, and never changed: any number of
processes can store, load and remove at once, and one that is killed leaves a whole entry, or what
the next one removes. Whatever is wrong with the folder or an entry, the trace is read anew.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import msgspec
from platformdirs import user_cache_path

from fgtrace.frames.kept import MANIFEST, Manifest, fingerprint
from fgtrace.units import printable

if TYPE_CHECKING:
    # Polars takes 0.2 s to import, and listing and clearing need none of it.
    import polars as pl

    from fgtrace.frames.trace import Trace

LIMIT = 5 << 30
"""Bytes of all entries together; those that were used least recently go first."""

WORTH_KEEPING = 10_000
"""Events. Fewer are read within 0.1 s, and take less than 1 MB."""

_EVENT_BYTES = 200
"""At most, with its share of the other frames; but for names, which are stored once."""

_STAGING = "new-"
_ABANDONED_S = 3600
_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}")


@dataclass(frozen=True)
class Key:
    """What an entry is of: a file as it is now, and how it is read."""

    path: Path
    raw_times: bool
    request: str
    state: str

    @property
    def name(self) -> str:
        """The name of the entry's folder."""
        return f"{self.request}-{self.state}"


@dataclass(frozen=True)
class Entry:
    """A trace in the cache."""

    folder: Path
    path: str | None
    """The file that it was read from; None where another fgtrace stored it, or it is damaged."""
    events: int | None
    size: int
    """Bytes on the disk."""
    used: float
    """When it was stored or loaded last, in seconds of the epoch."""


def key_of(path: Path, *, raw_times: bool) -> Key | None:
    """Make the key of a file; None where there is no file, or none that can be read.

    A file that has been changed has another key. So does one under another name, which its frames
    have in them.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        resolved = path.resolve()
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = fingerprint(file)
    except OSError:
        return None
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return Key(
        path=path,
        raw_times=raw_times,
        request=_digest(os.fsencode(resolved), os.fsencode(path.name), raw_times),
        state=_digest(times, content, _code()),
    )


def load(key: Key) -> tuple[Trace, pl.LazyFrame] | None:
    """Give a trace that was stored, and the places of its events; None where there is none."""
    import polars as pl

    from fgtrace.frames.arrow import load_arrow

    home = _usable_home()
    if home is None or not (folder := home / key.name).is_dir():
        return None
    try:
        found = load_arrow(folder)
    except (OSError, ValueError, msgspec.MsgspecError, pl.exceptions.PolarsError):
        _remove(folder)
        return None
    with suppress(OSError):
        os.utime(folder)
    return found


def store(key: Key, trace: Trace, places: pl.LazyFrame) -> None:
    """Keep a trace, unless it is small, there is no room, or its file is another one by now."""
    import polars as pl

    from fgtrace.frames.arrow import save_arrow

    events = trace.events.select(pl.len()).collect().item()
    home = _usable_home()
    if events < WORTH_KEEPING or home is None:
        return
    staging = None
    try:
        if events * _EVENT_BYTES > min(LIMIT, shutil.disk_usage(home).free // 2):
            return
        staging = Path(mkdtemp(prefix=_STAGING, dir=home))
        save_arrow(trace, places, staging, path=printable(str(key.path.resolve())))
        if key_of(key.path, raw_times=key.raw_times) == key:
            staging.rename(home / key.name)
        _tidy(home, key)
    except (OSError, pl.exceptions.PolarsError):
        pass  # the folder is read-only, the disk full, or another process was first
    finally:
        if staging is not None:
            try:
                _remove(staging)
            except KeyboardInterrupt:
                # Polars raises a Ctrl-C in what it does, and Python once more in what comes next.
                _remove(staging)
                raise


def entries() -> list[Entry]:
    """List what is kept, what was used last first."""
    folders = [folder for folder in _folders() if _NAME.fullmatch(folder.name)]
    found = [entry for entry in map(_entry, folders) if entry is not None]
    return sorted(found, key=lambda entry: (-entry.used, entry.folder))


def clear() -> None:
    """Remove all entries, and what was left of some."""
    for folder in _folders():
        _remove(folder)


def cache_home() -> Path:
    """Give the folder of the entries, which need not be there."""
    return user_cache_path("fgtrace") / "traces"


def _usable_home() -> Path | None:
    """Give the folder, made where it is missing; None where it cannot be, or not be trusted."""
    home = cache_home()
    if not home.is_absolute():  # the user has no home
        return None
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = home.stat()
    except OSError:
        return None
    # Whoever can write to it decides what traces say.
    is_ours = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return home if is_ours else None


def _folders() -> list[Path]:
    home = _usable_home()
    try:
        return [] if home is None else list(home.iterdir())
    except OSError:
        return []


def _tidy(home: Path, kept: Key) -> None:
    """Remove what killed processes left, what is out of date, and what is too much."""
    for folder in home.glob(f"{_STAGING}*"):
        if time.time() - folder.stat().st_mtime > _ABANDONED_S:
            _remove(folder)
    total = 0
    for entry in entries():
        total += entry.size
        is_outdated = entry.folder.name.startswith(kept.request)
        if entry.folder.name != kept.name and (is_outdated or total > LIMIT):
            _remove(entry.folder)
            total -= entry.size


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # another process may be at it


def _entry(folder: Path) -> Entry | None:
    """Describe an entry; None where another process has just removed it."""
    path = events = None
    try:
        with suppress(msgspec.MsgspecError, KeyError, FileNotFoundError):
            manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
            path, events = manifest.path, manifest.frames["events"].rows
        size = sum(file.stat().st_size for file in folder.iterdir())
        return Entry(folder, path, events, size, folder.stat().st_mtime)
    except OSError:
        return None


@cache
def _code() -> str:
    """Hash what makes frames: it is the version of their format, and no one can forget to raise it.

    What a version of Polars has written is for the same one to read.
    """
    import polars as pl

    package = Path(__file__).parent
    files = [
        file.read_bytes()
        for part in ("", "frames", "readers", "analysis")
        for file in sorted((package / part).glob("*.py"))
    ]
    return _digest(pl.__version__, files)


def _digest(*parts: Any) -> str:
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()
