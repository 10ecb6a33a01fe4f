"""Write aside and put in place whole, so that nobody ever finds half of a result."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Tuple

from fgtrace_collectors.recorder.errors import broken_off, usage

ASIDE = ".aside-"
OLD = "old"
OWNER = "owner"
ORPHAN_SECONDS = 24 * 3600
MANIFEST = "manifest.json"
"""What makes a folder a run; no other folder is ever replaced."""


@dataclass
class Place:
    """Where a result is made, on the file system where it will lie."""

    new: Path
    """To be made, a file or a folder: it becomes the target."""
    work: Path
    """An empty folder for what is needed on the way."""
    target: Path
    """Where it lies in the end: another number, if its name was taken meanwhile."""


@contextmanager
def placed(
    target: Path, *, folder: bool, force: bool = False, numbered: bool = False
) -> Iterator[Place]:
    """Put what the block makes, a folder or a file, in the place of `target` when it ends well.

    A target that exists is refused, or with `numbered` gets a number behind its name; with `force`
    it stays until the new one is complete and is then replaced, if it is a file, an empty folder
    or a run. What writers that were killed left beside `target` is swept first. Raises usage
    errors for a target that exists or cannot be written.
    """
    if target.name in ("", "..") or target.is_symlink():
        raise usage(f"{target} is no name for a result", "give another place with -o")
    target = target.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target.parent)
        if target.exists() and not numbered:
            _check_replaceable(target, folder, force)
        aside, owner = _make_aside(target.name, target.parent)
    except OSError as error:
        raise usage(
            f"{target} cannot be written: {error.strerror}", "give another place with -o"
        ) from None
    try:
        place = Place(aside / "new", aside / "work", target)
        place.work.mkdir()
        yield place
        if force:
            _replace(aside, place)
        else:
            _put(place)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise broken_off(
            f"{target} cannot be written: {error.strerror}",
            "free some space, or give another place with -o",
            "io",
        ) from None
    finally:
        _clear(aside, target)
        os.close(owner)


def sweep(parent: Path) -> None:
    """Remove what dead writers left in `parent`; put back an old result that they had set aside."""
    for aside in parent.glob(f".*{ASIDE}*"):
        with suppress(OSError):
            if aside.is_symlink() or aside.stat().st_uid != os.getuid():
                continue
            if not (aside / OWNER).exists():
                # Just being made, unless its writer was killed in that moment.
                if time.time() - aside.stat().st_mtime > ORPHAN_SECONDS:
                    shutil.rmtree(aside, ignore_errors=True)
                continue
            owner = os.open(aside / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _clear(aside, parent / aside.name[1:].rpartition(ASIDE)[0])
            finally:
                os.close(owner)


def _check_replaceable(target: Path, folder: bool, force: bool) -> None:
    if not force:
        raise usage(f"{target} exists", "give another -o, or --force to replace it")
    if folder:
        is_run = target.is_dir() and ((target / MANIFEST).exists() or not any(target.iterdir()))
        refusal = None if is_run else f"{target} is not a run"
    else:
        refusal = None if target.is_file() else f"{target} is not a file"
    if refusal is not None:
        raise usage(f"{refusal}, so --force does not replace it", "give another -o, or remove it")


def _replace(aside: Path, place: Place) -> None:
    if place.target.exists():
        place.target.rename(aside / OLD)
    place.new.rename(place.target)


def _put(place: Place) -> None:
    """Move the result to its name, or to the next number where that is taken; never over it."""
    number, name = 1, place.target
    while True:
        try:
            if place.new.is_dir():
                if name.exists():  # rename(2) replaces an empty folder
                    raise FileExistsError
                place.new.rename(name)
            else:
                os.link(place.new, name)
        except OSError:
            if not name.exists():
                raise
            number += 1
            name = place.target.with_name(f"{place.target.stem}-{number}{place.target.suffix}")
        else:
            place.target = name
            return


def _clear(aside: Path, target: Path) -> None:
    if (aside / OLD).exists() and not target.exists():
        (aside / OLD).rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def _make_aside(name: str, parent: Path) -> Tuple[Path, int]:
    """Make a folder that says that its writer lives: a file in it, locked while it does.

    The kernel lets go of the lock when the process ends, however that ends. On a file system
    without locks nobody can tell, and nothing is swept.
    """
    aside = Path(tempfile.mkdtemp(prefix=f".{name}{ASIDE}", dir=parent))
    making = aside / f"{OWNER}.new"
    owner = os.open(making, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(OSError):
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    making.rename(aside / OWNER)
    return aside, owner
