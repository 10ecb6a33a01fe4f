"""Carry a plan out: settle what runs here, hold the device, time, profile, judge the results."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from fgtrace_collectors.recorder.children import Launcher, LiveRoute, end_all, live
from fgtrace_collectors.recorder.devices import seems_accelerated
from fgtrace_collectors.recorder.lock import locked
from fgtrace_collectors.recorder.plan import INTERPRETED, Plan, shown
from fgtrace_collectors.recorder.profiles import profiles, stacks
from fgtrace_collectors.recorder.recording import LOGS, PLAN_FILE, PROFILES, Recording
from fgtrace_collectors.recorder.registry import Registry
from fgtrace_collectors.recorder.session import Progress, Session
from fgtrace_collectors.recorder.settle import settle
from fgtrace_collectors.recorder.timing import interleaved, one_after_the_other
from fgtrace_collectors.recorder.witness import RULES

WRONG_RESULT = "wrong-result"


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
    (folder / PLAN_FILE).write_text(shown(plan).to_json(), encoding="utf-8")
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    recording = Recording(plan=asdict(shown(plan)), started=started)
    launcher = Launcher(recorder, python, folder, plan.variables)
    refused: Dict[str, str] = {}
    progress("starting the processes of each route")
    # Those that will profile start now too, and sit idle: importing torch twice, one after the
    # other, is most of what a quick recording would last.
    names = ["g0"] if plan.profiler == "none" else ["g0", "p0"]
    with_stacks = plan.profiler != "none" and plan.stacks
    if with_stacks and seems_accelerated(plan.device):
        names.append("s0")
    operators = [registry.case(case.name).operator for case in plan.cases]
    with live(launcher, plan, plan.routes, names, operators, refused) as sets:
        session = settle(plan, registry, launcher, recording, sets[0], refused, progress)
        first, *profiled = [_taking_part(session, routes) for routes in sets]
        with locked(_identity(route.hello) for route in first):
            session.read_clocks("before")
            if session.protocol.interleaved:
                interleaved(session, first)
            else:
                end_all(first)
                one_after_the_other(session)
            if profiled:
                profiles(session, profiled[0])
            # Under Triton's interpreter a kernel is millions of Python calls.
            if with_stacks and session.protocol.name != INTERPRETED:
                if len(profiled) > 1:
                    stacks(session, profiled[1])
                else:
                    with session.children("s0") as routes:
                        stacks(session, routes)
            session.read_clocks("after")
    _judge(recording)
    recording.write(folder)
    return recording


def _taking_part(session: Session, routes: Sequence[LiveRoute]) -> List[LiveRoute]:
    return [route for route in routes if route.planned in session.routes]


def _identity(hello: Dict[str, Any]) -> str:
    """Name a device so that every process on the machine means the same one."""
    return str(hello["device_facts"].get("uuid") or hello["device"])


def _judge(recording: Recording) -> None:
    """Note every wrong result, and every rule of the protocol that a process did not keep."""
    wrong: Dict[Tuple[str, str], str] = {}
    broken: Dict[Tuple[str, str], str] = {}
    for row in recording.witnesses:
        if row["witness"] == "result" and row["value"] != "ok":
            wrong[row["case"], row["route"]] = row["value"]
        if row["value"] != RULES.get(row["witness"], row["value"]):
            broken[row["route"], row["witness"]] = row["value"]
    for (case, route), value in wrong.items():
        recording.note("warning", WRONG_RESULT, f"{case} by {route}: {value}")
    for (route, rule), value in broken.items():
        recording.note("warning", "rule-broken", f"{route}: {rule} is {value}, not {RULES[rule]}")
