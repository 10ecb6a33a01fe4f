"""One collection a device: two at once would time each other."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterable, Iterator

from fgtrace_collectors.recorder.errors import broken_off


@contextmanager
def locked(devices: Iterable[str]) -> Iterator[None]:
    """Hold every device by its name, or refuse at once.

    The lock is the kernel's (flock), so it ends with the process that holds it, however that ends.
    """
    with ExitStack() as held:
        # In one order, so that two collections cannot each hold what the other wants.
        for device in sorted(set(devices)):
            held.enter_context(_lock(device))
        yield


@contextmanager
def _lock(device: str) -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"fgtrace-{re.sub(r'[^A-Za-z0-9-]', '-', device)}.lock"
    # Everybody on the machine shares the device, so everybody shares the file; a link planted
    # in its place is not followed.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise broken_off(
            f"the lock {path} cannot be opened: {error.strerror}", "remove the file", "locked"
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


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"
