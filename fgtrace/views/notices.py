"""What the reader of a report must be told beside its rows."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fgtrace.analysis.outcome import Outcome, outcome_of
from fgtrace.frames.notes import KINDS
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.trace import Trace
from fgtrace.units import printable

BANNERS = {
    "quick": f"quick: {KINDS['quick']}",
    "interpreted": "interpreted: correctness only, not a timing",
    "not-a-device-timing": f"cpu: {KINDS['not-a-device-timing']}",
}
"""The kinds of notes that stand above every table, and how."""

ABSENT = ("no-calls", "no-device-activity")
"""The kinds of notes that explain why a report has no rows."""


@dataclass(frozen=True)
class Notices:
    """The notes of a trace, sorted by how they are shown."""

    banners: tuple[str, ...]
    told: Outcome

    def lines(self) -> list[str]:
        """Give a line a warning that no banner says."""
        told = [warning for warning in self.told.warnings if warning.kind not in BANNERS]
        return [f"{one.kind}: {printable(one.message)}" for one in told]

    def why_empty(self) -> tuple[str, ...]:
        """Give a sentence a note that explains a report without rows."""
        notes = (*self.told.warnings, *self.told.notes)
        told = [note for note in notes if note.kind in ABSENT]
        return tuple(f"No rows: {printable(note.message)}." for note in told)


def notices(trace: Trace) -> Notices:
    """Collect what belongs beside every report of `trace`."""
    kinds = set(trace.notes["kind"])
    return Notices(
        banners=(
            *_about(trace.provenance),
            *(banner for kind, banner in BANNERS.items() if kind in kinds),
        ),
        told=outcome_of(trace),
    )


def _about(provenance: Provenance) -> tuple[str, ...]:
    """Say in a line what was recorded on, by which protocol, and in which state of the cache."""
    device, protocol = provenance.device, provenance.protocol
    told = []
    if device is not None:
        told.append(printable(device.name or device.kind))
    if protocol is not None:
        plural = "" if protocol.generations == 1 else "s"
        told.append(f"{printable(protocol.name)}, {protocol.generations} generation{plural}")
        told.append(f"{printable(protocol.cache)} cache")
    return (" · ".join(told),) if told else ()


def notes_report(trace: Trace) -> pl.DataFrame:
    """Report a row a note, in the order in which they were made."""
    return trace.notes


def witnesses_report(trace: Trace) -> pl.DataFrame:
    """Report a row a witness, in the order in which they were made."""
    return trace.witnesses
