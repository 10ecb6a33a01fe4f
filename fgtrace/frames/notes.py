"""Repairs, drops, guesses and doubts that the reader of a trace must be told of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from fgtrace.frames.schema import NOTES

KINDS = {
    "clock-outlier": "device events whose clock is another one have no times",
    "control-character": "control characters inside of strings were escaped",
    "end-without-begin": "end marks that no begin mark belongs to are left out",
    "event-skipped": "events that cannot be read are left out",
    "event-without-duration": "events have no duration that can be read",
    "event-without-time": "events have no start that can be read and are left out",
    "events-not-read": "events of a phase that the reader does not know are left out",
    "files-not-read": "files of the folder are no recordings",
    "first-call-left-out": "a first call over three times the median is not in medians",
    "host-speed-drift": "the same call took longer at one end of a recording than at the other",
    "host-speed-jump": "the same call took longer from some moment of a recording on, or less",
    "impossible-duration": "device events that outlast later work of their stream were cut",
    "interpreted": "Triton ran in its interpreter: correctness only, not a timing",
    "invalid-escape": "backslashes that escape nothing were kept as they are",
    "invalid-utf8": r"bytes that are no UTF-8 were written as \x..",
    "invalid-value": "values that are no JSON were read as text, or as missing",
    "launch-without-device-row": "launches own no device row although the device was recorded",
    "metadata-not-read": "what a file says about device and rank cannot be read",
    "missing-comma": "events that no comma divides were read as several",
    "metadata-repaired": "what a file says about device and rank was damaged",
    "measured-compilation": "kernels were compiled or tuned inside a measured batch",
    "negative-duration": "events whose duration is below 0 have none",
    "no-calls": "no range marks the calls",
    "no-device-activity": "no device work was recorded",
    "non-finite-number": "numbers that are not finite were emptied",
    "not-a-device-timing": "the host ran the case: no device's timing can be taken from it",
    "not-captured": "a call cannot be captured in a graph",
    "other-category": "events whose category is not understood are kept as other",
    "part-not-read": "a recording of the folder is damaged and left out",
    "profiles-left-out": "profiles that were recorded are not in the trace",
    "quick": "one generation, so differences between processes are not seen",
    "reduced-parameters": "the case ran smaller than its default",
    "route-not-run": "a route could not run here",
    "rule-broken": "a process did not keep a rule of the protocol, so its times may not count",
    "second-document": "one file holds several documents",
    "stray-text": "text between events, or after their end, was dropped",
    "trailing-comma": "commas with nothing after them were dropped",
    "truncated": "the file stops before its end; what comes before is read",
    "unescaped-quote": "quotes inside of strings were escaped",
    "unlinked": "device events have no launch in the file",
    "wrong-result": "a route's result differs from the reference",
    "zero-timestamp": "device events whose times are 0 have none",
}
"""The closed list of kinds, and what each means."""


@dataclass(frozen=True)
class Note:
    """One row of the `notes` frame."""

    level: Literal["info", "warning"]
    kind: str
    count: int
    message: str
    option: str | None = None
    part: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is not in the list of note kinds")


def notes_frame(notes: Sequence[Note]) -> pl.DataFrame:
    """Make the `notes` frame from notes, in their order."""
    return pl.DataFrame(
        [
            (note.level, note.kind, note.count, note.message, note.option, note.part)
            for note in notes
        ],
        schema=NOTES,
        orient="row",
    )
