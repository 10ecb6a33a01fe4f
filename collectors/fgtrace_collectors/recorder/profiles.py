"""The profile's stage: children of their own, which time nothing that is reported as a time."""

from __future__ import annotations

from typing import Dict, Sequence

from fgtrace_collectors.recorder.children import LiveRoute, checked
from fgtrace_collectors.recorder.recording import PROFILES
from fgtrace_collectors.recorder.session import Pair, Session

UNPROFILED_BATCHES = 5
"""Batches before the profiler starts, by which its slowness is told in the same process."""


def profile(session: Session, generation: int) -> None:
    """Record every case by every route once, and calibrate each process."""
    with session.children(f"p{generation}") as routes:
        pairs = session.prepare(routes, generation)
        calls = session.warm(pairs)
        # A profiler that has run once leaves a process slower: on an H200 host by two thirds.
        for pair in pairs:
            _time_unprofiled(session, pair, generation, calls)
        _calibrate(session, routes, generation)
        for pair in pairs:
            _profile(session, pair, generation)


def _time_unprofiled(session: Session, pair: Pair, generation: int, calls: Dict[str, int]) -> None:
    case, route = pair
    count = calls[case.name]
    for turn in range(UNPROFILED_BATCHES):
        timing = checked(
            route,
            route.child.request("batch", case=case.name, mode=_mode(session), calls=count),
        )
        session.sample(route, case, generation, turn, _mode(session), "none", count, timing)


def _calibrate(session: Session, routes: Sequence[LiveRoute], generation: int) -> None:
    for route in routes:
        session.progress(f"calibrating {route.name}")
        for row in checked(route, route.child.request("calibrate"))["rows"]:
            session.recording.calibration.append(
                {
                    "route": route.name,
                    "generation": generation,
                    "process": route.process,
                    **row,
                }
            )


def _profile(session: Session, pair: Pair, generation: int) -> None:
    case, route = pair
    session.progress(f"profiling {case.name} by {route.name}")
    file = f"{PROFILES}/{route.name}.{case.name}.g{generation}.json.gz"
    count = session.protocol.profile_calls
    timing = checked(
        route,
        route.child.request(
            "profile", case=case.name, calls=count, path=str(session.launcher.folder / file)
        ),
    )
    session.sample(
        route, case, generation, UNPROFILED_BATCHES, _mode(session), "kineto", count, timing
    )
    session.recording.profiler_options = timing["options"]
    session.recording.profiles.append(
        {
            "file": file,
            "case": case.name,
            "route": route.name,
            "generation": generation,
            "process": route.process,
        }
    )


def _mode(session: Session) -> str:
    return "latency" if session.protocol.cache == "cold" else "throughput"
