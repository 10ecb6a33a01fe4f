"""Carry a plan out: settle what runs here, hold the device, time, profile, judge the results."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List

from fgtrace_collectors.recorder.children import Launcher, live
from fgtrace_collectors.recorder.lock import locked
from fgtrace_collectors.recorder.plan import Plan
from fgtrace_collectors.recorder.profiles import profile
from fgtrace_collectors.recorder.recording import LOGS, PLAN_FILE, PROFILES, Recording
from fgtrace_collectors.recorder.registry import Registry
from fgtrace_collectors.recorder.session import Progress, Session
from fgtrace_collectors.recorder.settle import settle
from fgtrace_collectors.recorder.timing import interleaved, one_after_the_other


def record(
    plan: Plan,
    registry: Registry,
    *,
    recorder: Path,
    python: str,
    folder: Path,
    progress: Progress,
) -> Recording:
    """Carry a plan out and write the recording into `folder`, which exists and is empty.

    `recorder` is the one-file recorder that the children run, `python` the interpreter of routes
    that have no environment. Raises RecorderError for what cannot run here, for a device that is
    in use, and for a child that dies.
    """
    for name in (PROFILES, LOGS):
        (folder / name).mkdir()
    (folder / PLAN_FILE).write_text(plan.to_json(), encoding="utf-8")
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    recording = Recording(plan=asdict(plan), started=started)
    launcher = Launcher(recorder, python, folder)
    refused: List[str] = []
    progress("starting one process a route")
    with live(launcher, plan, plan.routes, "g0", refused) as routes:
        session, first = settle(plan, registry, launcher, recording, routes, refused, progress)
        with locked(_identity(route.hello) for route in first):
            session.read_clocks("before")
            if session.protocol.interleaved:
                interleaved(session, first)
            else:
                for route in routes:
                    route.child.end()
                one_after_the_other(session)
            _profile(session)
            session.read_clocks("after")
    _judge(recording)
    recording.write(folder)
    return recording


def _profile(session: Session) -> None:
    """Record one profile a generation; the founding protocol's rounds share one."""
    if session.plan.profiler != "none":
        rounds = session.recording.generations if session.protocol.interleaved else 1
        for generation in range(rounds):
            profile(session, generation)


def _identity(hello: Dict[str, Any]) -> str:
    """Name a device so that every process on the machine means the same one."""
    return str(hello["device_facts"].get("uuid") or hello["device"])


def _judge(recording: Recording) -> None:
    """Note every route that gave a wrong result in any process."""
    wrong = {
        (row["case"], row["route"]): row["value"]
        for row in recording.witnesses
        if row["witness"] == "result" and row["value"] != "ok"
    }
    for (case, route), value in wrong.items():
        recording.note("warning", "wrong-result", f"{case} by {route}: {value}")
