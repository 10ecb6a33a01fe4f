"""Progress on stderr: one line that is written over, and only on a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import suppress


class Progress:
    """Shows what is going on and for how long, from `after` seconds on; leaves nothing behind."""

    def __init__(self, after: float = 0) -> None:
        self._after = after
        self._began = time.monotonic()
        self._terminal = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self._write("")

    def show(self, text: str) -> None:
        """Say what is being done now."""
        passed = time.monotonic() - self._began
        if passed >= self._after:
            self._write(f"{passed:5.0f} s  {text}")

    def _write(self, text: str) -> None:
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            with suppress(OSError):  # a lost terminal is no reason to lose a recording
                sys.stderr.write(f"\r\x1b[K{text[:width]}")
                sys.stderr.flush()
