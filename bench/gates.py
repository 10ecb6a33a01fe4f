"""What the reader is held to, as ratios where machines differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """What a contender cost on a file: medians, and the range of its CPU seconds."""

    size: str
    bytes: int
    name: str
    events: int | None
    cpu_s: float
    cpu_low_s: float
    cpu_high_s: float
    wall_s: float
    peak_bytes: int

    @property
    def cpu_a_byte(self) -> float:
        """CPU seconds."""
        return self.cpu_s / self.bytes

    @property
    def peak_mb(self) -> float:
        """Megabytes of a million bytes."""
        return self.peak_bytes / 1e6


@dataclass(frozen=True)
class Verdict:
    """A gate, and whether it holds; null where it was not measured."""

    gate: str
    value: str | None
    passed: bool | None


READER = "fgtrace"
SUMMARY_CACHED = "fgtrace show summary, cached"


def verdicts(results: Sequence[Result]) -> list[Verdict]:
    """Hold the reader to all gates, with what was measured."""
    by_name = {(one.size, one.name): one for one in results}
    small, big, huge = (by_name.get((size, READER)) for size in ("60MB", "1GB", "10GB"))
    cached = by_name.get(("1GB", SUMMARY_CACHED))
    growth = huge.cpu_a_byte / big.cpu_a_byte if huge and big else None
    return [
        _less_cpu(15, "HTA", by_name.get(("1GB", "hta")), big),
        _less_cpu(3.5, "orjson", by_name.get(("1GB", "orjson")), big),
        _at_most("memory over all processes, 1 GB", big.peak_mb if big else None, 600, "MB"),
        _at_most("memory over all processes, 10 GB", huge.peak_mb if huge else None, 1000, "MB"),
        _at_most("CPU a byte at 10 GB over that at 1 GB", growth, 1.2, "times"),
        _at_most("60 MB with start-up", small.wall_s if small else None, 0.7, "s"),
        _at_most(
            "cached summary of 1 GB with start-up", cached.wall_s if cached else None, 0.5, "s"
        ),
    ]


def _less_cpu(times: float, name: str, other: Result | None, ours: Result | None) -> Verdict:
    gate = f"at least {times:g} times less CPU than {name}, 1 GB"
    if other is None or ours is None:
        return Verdict(gate, None, None)
    ratio = other.cpu_s / ours.cpu_s
    return Verdict(gate, f"{ratio:.1f} times", ratio >= times)


def _at_most(what: str, value: float | None, limit: float, unit: str) -> Verdict:
    gate = f"{what}: at most {limit:g} {unit}"
    if value is None:
        return Verdict(gate, None, None)
    digits = 0 if value >= 100 else 2
    return Verdict(gate, f"{value:,.{digits}f} {unit}", value <= limit)
