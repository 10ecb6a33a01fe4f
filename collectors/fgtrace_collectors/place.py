"""Write a run aside and put it in its place whole, so that nobody ever finds half of one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fgtrace_collectors.recorder.errors import broken_off, usage

OWNER = "owner.lock"
"""Held (flock) by the process that writes beside it: once it can be taken, its writer is gone."""

OLD = "old"
NEW = "new"


@contextmanager
def placed(target: Path, *, force: bool) -> Iterator[Path]:
    """Give an empty folder to write in; it becomes `target` when the block ends without error.

    With `force` an old `target` stays until the new one is complete. What writers that were
    killed left beside `target` is swept first. Raises usage errors for a target that exists or
    cannot be written.
    """
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        sweep(parent)
        if target.exists() and not force:
            raise usage(f"{target} exists", "give another -o, or --force to replace it")
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.aside-", dir=parent))
    except OSError as error:
        raise usage(
            f"{target} cannot be written: {error.strerror}", "give another place with -o"
        ) from None
    owner = os.open(aside / OWNER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(owner, fcntl.LOCK_EX)
        (aside / NEW).mkdir()
        yield aside / NEW
        _exchange(aside, target)
    except OSError as error:
        raise broken_off(
            f"{target} cannot be written: {error.strerror}",
            "free some space, or give another -o",
            "io",
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(owner)


def sweep(parent: Path) -> None:
    """Remove what dead writers left in `parent`; put back an old run that they had set aside."""
    for aside in parent.glob(".*.aside-*"):
        owner = aside / OWNER
        try:
            descriptor = os.open(owner, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue  # just being made, or somebody else's
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            target = parent / aside.name[1:].rpartition(".aside-")[0]
            if (aside / OLD).exists() and not target.exists():
                (aside / OLD).rename(target)
            shutil.rmtree(aside, ignore_errors=True)
        finally:
            os.close(descriptor)


def free_name(target: Path) -> Path:
    """Give `target`, or the first of `target-2`, `target-3`, ... that does not exist."""
    number, name = 1, target
    while name.exists():
        number += 1
        name = target.with_name(f"{target.stem}-{number}{target.suffix}")
    return name


def _exchange(aside: Path, target: Path) -> None:
    if target.exists():
        target.rename(aside / OLD)
    (aside / NEW).rename(target)
