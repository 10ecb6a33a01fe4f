"""One collection a device: two at once would time each other."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterable, Iterator

from fgtrace_collectors.recorder.errors import broken_off

FOLDER_VARIABLE = "FGTRACE_LOCK_DIR"
FOLDER = "/tmp"
"""Fixed, and not the user's own temporary folder: all on the machine share its devices."""


@contextmanager
def locked(devices: Iterable[str]) -> Iterator[None]:
    """Hold every device by its name, or refuse at once.

    The lock is the kernel's (flock), so it ends with the process that holds it, however that ends.
    The file stays: to remove it could split the lock in two.
    """
    with ExitStack() as held:
        # In one order, so that two collections cannot each hold what the other wants.
        for device in sorted(set(devices)):
            held.enter_context(_lock(device))
        yield


@contextmanager
def _lock(device: str) -> Iterator[None]:
    folder = Path(os.environ.get(FOLDER_VARIABLE) or FOLDER)
    path = folder / f"fgtrace-{re.sub(r'[^A-Za-z0-9-]', '-', device)}.lock"
    try:
        descriptor = _open(path)
    except OSError as error:
        raise broken_off(
            f"the lock {path} cannot be opened: {error.strerror}",
            f"remove the file, or name another folder in {FOLDER_VARIABLE}",
            "locked",
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise broken_off(
                f"device {device} is in use by another collection (process {_holder(descriptor)})",
                "wait until it has ended, or stop it",
                "locked",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open a lock file for every user of the machine; a link planted in its place is not followed.

    An existing one is opened without O_CREAT, with which Linux refuses another user's file in a
    folder like /tmp (fs.protected_regular).
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, 0o666)  # whatever this user's umask is
    return descriptor


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"
