"""What goes to stdout and to stderr. stdout is data; everything else is told on stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.units import printable


def emit(text: str) -> None:
    """Write data to stdout."""
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(sys.stdout)
        raise FgtraceError(
            f"stdout cannot be written: {error.strerror}",
            hint="free some space, or write to another place",
            kind="unwritable",
            exit_code=ExitCode.USAGE,
        ) from error


def tell(lines: Iterable[str], level: str = "warning") -> None:
    """Write lines about the data to stderr."""
    for line in lines:
        _write(sys.stderr, f"fgtrace: {level}: {printable(line)}\n")


def tell_error(message: str, hint: str, excerpt: Sequence[str] = ()) -> None:
    """Write an error to stderr: a line that says what and where, and one with what to do.

    Between them stand the lines of `excerpt`, if there are any.
    """
    lines = (f"fgtrace: error: {message}", *excerpt, f"hint: {hint}")
    _write(sys.stderr, "".join(f"{printable(line)}\n" for line in lines))


def discard(stream: TextIO | None) -> None:
    """Throw away what is buffered and comes later: Python would fail at it once more at its end."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _write(stream: TextIO | None, text: str) -> None:
    # `click.echo` would take what looks like colours out of the data.
    if stream is not None:
        stream.write(text)
        stream.flush()


def terminal_width() -> int | None:
    """Give the columns of the terminal that stdout is; None where it is not one."""
    stdout = sys.stdout
    return shutil.get_terminal_size().columns if stdout and stdout.isatty() else None
