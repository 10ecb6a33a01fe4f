"""Settle, by what the first children say, what is run, on which device, and how large."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Dict, Sequence

from fgtrace_collectors.recorder import machine
from fgtrace_collectors.recorder.children import Launcher, LiveRoute
from fgtrace_collectors.recorder.errors import unavailable, usage
from fgtrace_collectors.recorder.plan import Plan, PlannedCase, interpreted
from fgtrace_collectors.recorder.recording import Recording
from fgtrace_collectors.recorder.registry import Registry
from fgtrace_collectors.recorder.session import Progress, Session, serves
from fgtrace_collectors.recorder.workload import effective_parameters, variants


def settle(
    plan: Plan,
    registry: Registry,
    launcher: Launcher,
    recording: Recording,
    routes: Sequence[LiveRoute],
    refused: Dict[str, str],
    progress: Progress,
) -> Session:
    """Give the session; its routes are those of the live ones that take part.

    `refused` holds the routes that could not run here, each with its reason.
    """
    cases = tuple(registry.case(case.name) for case in plan.cases)
    taking_part = []
    for route in routes:
        if any(serves(registry, route.name, case) for case in cases):
            taking_part.append(route)
        elif route.planned.required:
            raise usage(
                f"route {route.name} serves none of the chosen cases",
                "`fgtrace cases` shows which operators a route has",
            )
        else:
            refused[route.name] = "it serves none of the chosen cases"
    reasons = [f"{route}: {reason}" for route, reason in refused.items()]
    for reason in reasons:
        recording.note("info", "route-not-run", reason, option="--route")
    if not taking_part:
        raise unavailable(
            f"no route can run here: {'; '.join(reasons)}", "`fgtrace doctor` shows what is here"
        )
    shrink = any(route.hello["interpreted"] for route in taking_part)
    protocol = interpreted(plan.protocol) if shrink else plan.protocol
    recording.protocol = {**asdict(protocol), "seed": plan.seed}
    recording.host = machine.host_facts()
    recording.device = _one_device(taking_part)
    if protocol.cache == "cold" and not taking_part[0].hello["accelerator"]:
        raise usage("--l2 cold: the host ran the cases, and its caches are not flushed", "leave it")
    if protocol.graph and recording.device["kind"] != "cuda":
        raise usage("--graph needs a CUDA device", "leave it, or give --device cuda")
    if recording.device["kind"] == "cuda":
        recording.device["driver"] = machine.driver_version()
    _label(recording, shrink, bool(taking_part[0].hello["accelerator"]), protocol.name)
    for case, planned in zip(cases, plan.cases):
        _set_parameters(recording, case, planned, shrink)
    return Session(
        plan=plan,
        protocol=protocol,
        registry=registry,
        workloads=tuple(
            workload
            for case, planned in zip(cases, plan.cases)
            for workload in variants(
                case, planned.label, recording.parameters[planned.label], plan.factorial
            )
        ),
        routes=tuple(route.planned for route in taking_part),
        launcher=launcher,
        recording=recording,
        progress=progress,
        calls={},
    )


def _one_device(routes: Sequence[LiveRoute]) -> Dict[str, Any]:
    """Give the facts of the device that all routes ran on; a recording is of one.

    Torch builds may call it differently (cuda, flagos), so it is compared by its name.
    """
    devices = {
        route.name: route.hello["device_facts"].get("name") or route.hello["device"]
        for route in routes
    }
    if len(set(devices.values())) > 1:
        told = ", ".join(f"{route} on {device}" for route, device in devices.items())
        raise unavailable(
            f"routes ran on different devices: {told}", "give --device, or collect them apart"
        )
    return dict(routes[0].hello["device_facts"])


def _label(recording: Recording, interpreting: bool, accelerator: bool, protocol: str) -> None:
    """Note what every output must say about these timings."""
    if interpreting:
        recording.note(
            "info",
            "interpreted",
            "Triton ran in its interpreter: correctness only, not a timing",
            option="--device",
        )
    elif not accelerator:
        recording.note(
            "info",
            "not-a-device-timing",
            "the host ran the cases, so no device was timed",
            option="--device",
        )
    if protocol == "quick":
        recording.note(
            "info",
            "quick",
            "one generation, so differences between processes are not seen",
            option="--formal",
        )


def _set_parameters(recording: Recording, case: Any, planned: PlannedCase, shrink: bool) -> None:
    params, shrunk = effective_parameters(case, planned.params, shrink)
    for param in case.params if shrink else ():
        if param.interpreted is not None and params[param.name] > param.interpreted:
            raise usage(
                f"--param {param.name}={params[param.name]}: "
                f"interpreted Triton takes at most {param.interpreted}",
                "leave the bundled Triton routes out (--route aten), or use a device",
            )
    misfit = case.misfit(params)
    if misfit is not None:
        raise usage(f"case {case.name}: {misfit}", "give both parameters")
    recording.parameters[planned.label] = params
    if shrunk:
        told = ", ".join(f"{name}={value}" for name, value in params.items())
        recording.note(
            "info",
            "reduced-parameters",
            f"{planned.label} ran with {told}: Triton's interpreter is slow",
            option="--param",
        )
