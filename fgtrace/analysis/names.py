"""Names of events: few are different, so each is looked at once."""

from __future__ import annotations

import polars as pl

from fgtrace.errors import ExitCode, FgtraceError


def matching(names: pl.Series, pattern: str) -> pl.Series:
    """Tell in which names the regular expression is found."""
    distinct = names.unique()
    return names.is_in(distinct.filter(distinct.cast(pl.String).str.contains(pattern)).implode())


def checked_pattern(pattern: str) -> str:
    """Give the regular expression; raise FgtraceError (usage) where Polars cannot use it."""
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError:
        raise FgtraceError(
            f"{pattern!r} is no regular expression",
            hint=r"a backslash takes the meaning from a character: \(, \[, \*, \.",
            kind="usage",
            exit_code=ExitCode.USAGE,
        ) from None
    return pattern
