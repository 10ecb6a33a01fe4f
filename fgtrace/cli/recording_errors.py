"""The recorder's errors as ours: it runs where fgtrace is not installed and has its own type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fgtrace.errors import ExitCode, FgtraceError


@contextmanager
def told_as_fgtrace_errors() -> Iterator[None]:
    """Turn a RecorderError into the FgtraceError that says the same."""
    from fgtrace_collectors.recorder.errors import RecorderError

    try:
        yield
    except RecorderError as error:
        raise FgtraceError(
            error.message, hint=error.hint, kind=error.kind, exit_code=ExitCode(error.exit_code)
        ) from error
