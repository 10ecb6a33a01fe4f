"""What ends a recording early."""

from __future__ import annotations

FAILED, USAGE, UNAVAILABLE, COLLECTION, INTERRUPTED = 1, 2, 4, 5, 130
"""Exit codes, as `fgtrace.errors.ExitCode` documents them; that module is not installed here."""


class RecorderError(Exception):
    """One line that says what and where, a hint, a short kind, and the exit code."""

    def __init__(self, message: str, *, hint: str, kind: str, exit_code: int) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.kind = kind
        self.exit_code = exit_code


def usage(message: str, hint: str) -> RecorderError:
    """Make the error of a value that cannot be used."""
    return RecorderError(message, hint=hint, kind="usage", exit_code=USAGE)


def unavailable(message: str, hint: str) -> RecorderError:
    """Make the error of something that this machine or environment does not have."""
    return RecorderError(message, hint=hint, kind="unavailable", exit_code=UNAVAILABLE)


def broken_off(message: str, hint: str, kind: str = "child-died") -> RecorderError:
    """Make the error of a collection that could not go on."""
    return RecorderError(message, hint=hint, kind=kind, exit_code=COLLECTION)
