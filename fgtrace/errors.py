"""What goes wrong, as one line that says what and where, a hint, and an exit code."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller; a closed pipe is silent and ends with OK."""

    OK = 0
    FAILED = 1
    """A gate failed, or a route's result was wrong."""
    USAGE = 2
    """A bad flag or value, or an output that exists or cannot be written."""
    UNREADABLE = 3
    """An input that cannot be read as what it should be."""
    UNAVAILABLE = 4
    """No such device, route, environment or profiler here."""
    COLLECTION = 5
    """A collection broke off: a child died, a lock is held, the disk is full."""
    INTERNAL = 70
    """A defect of fgtrace itself."""
    INTERRUPTED = 130
    """Ctrl-C."""


class FgtraceError(Exception):
    """An error whose cause lies outside fgtrace.

    `message` is one line that says what and where, `hint` what to do about it, and `kind` a short
    word that scripts can compare (`truncated`, `unknown-format`, `locked`, ...). The lines of
    `excerpt` show the place in what was given.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        kind: str,
        exit_code: ExitCode,
        excerpt: tuple[str, ...] = (),
    ) -> None:
        super().__init__("\n".join((message, *excerpt)))
        self.message = message
        self.hint = hint
        self.kind = kind
        self.exit_code = exit_code
        self.excerpt = excerpt
