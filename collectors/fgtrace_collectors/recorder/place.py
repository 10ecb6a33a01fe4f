"""Write aside and put in place whole, so that nobody ever finds half of a result."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional, Tuple

from fgtrace_collectors.recorder.errors import broken_off, usage

ASIDE = ".aside-"
OLD = "old"


@dataclass(frozen=True)
class Place:
    """Where a result is made, on the file system where it will lie."""

    new: Path
    """To be made, a file or a folder: it becomes the target."""
    work: Path
    """An empty folder for what is needed on the way."""


@contextmanager
def placed(target: Path, *, force: bool) -> Iterator[Place]:
    """Put what the block makes in the place of `target`, when it ends without an error.

    With `force` an old `target` stays until the new one is complete. What writers that were killed
    left beside `target` is swept first. Raises usage errors for a target that exists or cannot be
    written.
    """
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        sweep(parent)
        if target.exists() and not force:
            raise usage(f"{target} exists", "give another -o, or --force to replace it")
        aside, lock = _make_aside(target.name, parent)
    except OSError as error:
        raise usage(
            f"{target} cannot be written: {error.strerror}", "give another place with -o"
        ) from None
    try:
        place = Place(aside / "new", aside / "work")
        place.work.mkdir()
        yield place
        if target.exists():
            target.rename(aside / OLD)
        place.new.rename(target)
    except OSError as error:
        raise broken_off(
            f"{target} cannot be written: {error.strerror}",
            "free some space, or give another place with -o",
            "io",
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(lock)


def sweep(parent: Path) -> None:
    """Remove what dead writers left in `parent`; put back an old result that they had set aside."""
    for aside in parent.glob(f".*{ASIDE}*"):
        lock = _lock(aside)
        if lock is None:
            continue
        target = parent / aside.name[1:].rpartition(ASIDE)[0]
        if (aside / OLD).exists() and not target.exists():
            (aside / OLD).rename(target)
        shutil.rmtree(aside, ignore_errors=True)
        os.close(lock)


def free_name(target: Path) -> Path:
    """Give `target`, or the first of `target-2`, `target-3`, ... that does not exist."""
    number, name = 1, target
    while name.exists():
        number += 1
        name = target.with_name(f"{target.stem}-{number}{target.suffix}")
    return name


def _make_aside(name: str, parent: Path) -> Tuple[Path, int]:
    """Make a folder that this process alone holds; a sweep may take one that is not held yet."""
    while True:
        aside = Path(tempfile.mkdtemp(prefix=f".{name}{ASIDE}", dir=parent))
        lock = _lock(aside)
        if lock is not None and aside.exists():
            return aside, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> Optional[int]:
    """Hold a folder, or None where somebody else does. The kernel lets go when the process ends."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
        else:
            return descriptor
    return None
