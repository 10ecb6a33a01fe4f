"""What became of reading a recording, in a word, and what its reader must be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
import polars as pl
from msgspec import structs

from fgtrace.frames.trace import Trace

TRUNCATED = "truncated"

_WORSE = ("ok", "ok-with-warnings", "partial")


class Notice(msgspec.Struct, frozen=True):
    """A note, as scripts get it."""

    kind: str
    count: int
    message: str


class Problem(msgspec.Struct, frozen=True):
    """Why there is only a part of the recording."""

    kind: str
    message: str
    hint: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands beside every report."""

    outcome: Literal["ok", "ok-with-warnings", "partial"]
    error: Problem | None = None
    """Set where the outcome is `partial`."""
    warnings: list[Notice]
    notes: list[Notice]


def outcome_of(trace: Trace) -> Outcome:
    """Say what the reader of any number of a trace must know."""
    warnings, notes = _notices(trace, "warning"), _notices(trace, "info")
    cut_off = [warning for warning in warnings if warning.kind == TRUNCATED]
    if not cut_off:
        return Outcome(
            outcome="ok-with-warnings" if warnings else "ok", warnings=warnings, notes=notes
        )
    problem = Problem(
        kind=TRUNCATED,
        message=cut_off[0].message,
        hint="the numbers are of what could be read; copy it again, or record it again",
    )
    return Outcome(outcome="partial", error=problem, warnings=warnings, notes=notes)


def together(outcomes: Mapping[str, Outcome]) -> Outcome:
    """Make one outcome, the worst, of several recordings', whose names begin their messages."""
    worst = max((one.outcome for one in outcomes.values()), key=_WORSE.index)
    return Outcome(
        outcome=worst,
        error=next((one.error for one in outcomes.values() if one.error is not None), None),
        warnings=[
            structs.replace(notice, message=f"{name}: {notice.message}")
            for name, one in outcomes.items()
            for notice in one.warnings
        ],
        notes=[
            structs.replace(notice, message=f"{name}: {notice.message}")
            for name, one in outcomes.items()
            for notice in one.notes
        ],
    )


def _notices(trace: Trace, level: str) -> list[Notice]:
    # In the order in which they were made.
    notes = trace.notes.filter(pl.col("level") == level)
    return [Notice(*row) for row in notes.select("kind", "count", "message").iter_rows()]
