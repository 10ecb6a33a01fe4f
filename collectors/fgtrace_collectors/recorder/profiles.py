"""The profile's stage: children of their own, which time nothing that is reported as a time."""

from __future__ import annotations

from typing import Dict, Sequence

from fgtrace_collectors.recorder.children import LiveRoute, checked, end_all
from fgtrace_collectors.recorder.profiling import STACKS
from fgtrace_collectors.recorder.recording import PROFILES
from fgtrace_collectors.recorder.session import Pair, Session

UNPROFILED_BATCHES = 5
"""Batches before the profiler starts, by which its slowness is told in the same process."""


WARM_UP_SECONDS = 0.1
"""What is timed here is compared with nothing but itself."""


_PLAIN = str.maketrans({"[": ".", "=": "-", ",": ".", "]": ""})
"""Makes the name of a case one of a file: `repeat.rows-64` of `repeat[rows=64]`."""

STACKED_CALLS = 10
"""Calls that are recorded with Python's stacks: each has hundreds of frames."""


def stacks(session: Session, routes: Sequence[LiveRoute]) -> None:
    """Record a few calls with Python's stacks, and calibrate under them, once."""
    pairs = session.prepare(routes, 0, only_full=True)
    session.warm(pairs, WARM_UP_SECONDS)
    _attach(session, routes, STACKS)
    _calibrate(session, routes, 0, STACKS)
    for pair in pairs:
        _profile(session, pair, 0, STACKS)
    end_all(routes)


def profiles(session: Session, first: Sequence[LiveRoute]) -> None:
    """Record one profile a generation, the first in children that already live.

    The rounds of the founding protocol share one.
    """
    _profile_all(session, first, 0)
    end_all(first)
    generations = session.recording.generations if session.protocol.interleaved else 1
    for generation in range(1, generations):
        with session.children(f"p{generation}") as routes:
            _profile_all(session, routes, generation)


def _profile_all(session: Session, routes: Sequence[LiveRoute], generation: int) -> None:
    """Record every case by every route once, and calibrate each process."""
    pairs = session.prepare(routes, generation, only_full=True)
    calls = session.warm(pairs, WARM_UP_SECONDS)
    # A profiler that has run once leaves a process slower.
    for pair in pairs:
        _time_unprofiled(session, pair, generation, calls)
    _calibrate(session, routes, generation, "none")
    _attach(session, routes, "kineto")
    _calibrate(session, routes, generation, "kineto")
    for pair in pairs:
        _profile(session, pair, generation, "kineto")


def _time_unprofiled(session: Session, pair: Pair, generation: int, calls: Dict[str, int]) -> None:
    case, route = pair
    count = calls[case.name]
    for _ in range(UNPROFILED_BATCHES):
        timing = checked(
            route,
            route.child.request("batch", key=case.key, mode=_mode(session), calls=count),
        )
        session.sample(route, case, generation, _mode(session), "none", count, timing)


def _attach(session: Session, routes: Sequence[LiveRoute], profiler: str) -> None:
    """Start each process's profiler once, all together: the first start takes seconds."""
    session.progress("attaching the profiler")
    for route in routes:
        route.child.ask("attach", profiler=profiler)
    for route in routes:
        checked(route, route.child.answer())


def _calibrate(
    session: Session, routes: Sequence[LiveRoute], generation: int, profiler: str
) -> None:
    for route in routes:
        session.progress(f"calibrating {route.name} (profiler: {profiler})")
        for row in checked(route, route.child.request("calibrate", profiler=profiler))["rows"]:
            session.recording.calibration.append(
                {
                    "route": route.name,
                    "generation": generation,
                    "process": route.process,
                    "profiler": profiler,
                    **row,
                }
            )


def _profile(session: Session, pair: Pair, generation: int, profiler: str) -> None:
    case, route = pair
    session.progress(f"profiling {case.name} by {route.name}")
    stacked = profiler == STACKS
    kind = "stacks" if stacked else f"g{generation}"
    file = f"{PROFILES}/{route.name}.{case.name.translate(_PLAIN)}.{kind}.json.gz"
    count = session.protocol.profile_calls
    if stacked:
        count = min(count, STACKED_CALLS)
    timing = checked(
        route,
        route.child.request(
            "profile",
            case=case.name,
            key=case.key,
            calls=count,
            path=str(session.launcher.folder / file),
            profiler=profiler,
        ),
    )
    session.sample(route, case, generation, _mode(session), profiler, count, timing)
    if not stacked:
        session.recording.profiler_options = timing["options"]
    session.recording.profiles.append(
        {
            "file": file,
            "case": case.name,
            "route": route.name,
            "generation": generation,
            "process": route.process,
            "stacks": stacked,
        }
    )


def _mode(session: Session) -> str:
    return "latency" if session.protocol.cache == "cold" else "throughput"
