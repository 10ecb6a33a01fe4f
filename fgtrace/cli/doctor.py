"""`fgtrace doctor`: what can be recorded here, and what stands in the way of the rest."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from fgtrace.cli.answers import emit_listing, listing
from fgtrace.cli.names import FORMAT
from fgtrace.cli.progress import Progress
from fgtrace.cli.recording_errors import told_as_fgtrace_errors
from fgtrace.units import MISSING

DEVICES = ("device", "torch build", "here", "run on hardware")
ROUTES = ("route", "runs here", "python", "torch", "triton", "device")
CSV = ("kind", "name", "here", "torch build", "run on hardware", *ROUTES[2:], "why not")


@click.command()
@click.option(
    "--env", "environments", multiple=True, metavar="ROUTE=PYTHON", help="a route's interpreter"
)
@click.option("--device", default="auto", help="auto, cpu, cuda[:N], xpu[:N] or flagos[:N]")
@click.option("--format", "form", type=FORMAT, default="table", help="table, json, csv or markdown")
def doctor(environments: tuple[str, ...], device: str, form: str) -> None:
    """Start each route's interpreter as `collect` would, and say what came of it."""
    from fgtrace_collectors.recorder.interrupts import ending_like_interrupts

    with told_as_fgtrace_errors(), ending_like_interrupts(), Progress() as progress:
        progress.show("starting one process a route")
        routes = _examine(environments, device)
    devices = _devices(routes)
    reasons = tuple(f"{one['route']}: {one['reason']}" for one in routes if "reason" in one)
    listed = (
        listing("Devices", dict.fromkeys(DEVICES, 0), devices),
        listing("Routes", dict.fromkeys(ROUTES, 0), list(map(_route_row, routes)), reasons),
    )
    emit_listing(form, _document(devices, routes), listed, CSV, _csv_rows(devices, routes))


def _examine(environments: tuple[str, ...], device: str) -> list[dict[str, Any]]:
    """Start every route by itself: one that cannot start must not hide the others."""
    from fgtrace_collectors.bundle import bundle
    from fgtrace_collectors.recorder.children import Launcher, checked, live
    from fgtrace_collectors.recorder.errors import RecorderError
    from fgtrace_collectors.recorder.plan import make_plan
    from fgtrace_collectors.recorder.recording import LOGS
    from fgtrace_collectors.registry import installed_registry

    registry = installed_registry()
    plan = make_plan(
        registry, cases=["all"], environments=environments, device=device, command=("doctor",)
    )
    found = []
    with tempfile.TemporaryDirectory(prefix="fgtrace-") as temporary:
        folder = Path(temporary)
        (folder / LOGS).mkdir()
        recorder = folder / "recorder.pyz"
        recorder.write_bytes(bundle(registry))
        launcher = Launcher(recorder, sys.executable, folder, {})
        for route in plan.routes:
            refused: dict[str, str] = {}
            try:
                with live(launcher, plan, [route], ["doctor"], [], refused) as (alive,):
                    for one in alive:
                        said = checked(one, one.child.request("facts"))
                        found.append({"route": route.name, **one.hello, **said})
                    found += [{"route": name, "reason": why} for name, why in refused.items()]
            except RecorderError as error:
                found.append({"route": route.name, "reason": f"{error.message}; {error.hint}"})
    return found


def _devices(routes: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    from fgtrace_collectors.recorder.devices import DEVICE_KINDS

    here = {
        (route["device_facts"]["kind"], route["build"]): route["device_facts"].get("name") or "yes"
        for route in routes
        if "reason" not in route
    }
    here.setdefault(("cpu", "any"), "yes")
    return [
        (kind.name, kind.build, here.get((kind.name, kind.build), "no"), kind.run_on_hardware)
        for kind in DEVICE_KINDS
    ]


def _route_row(route: dict[str, Any]) -> tuple[str, ...]:
    if "reason" in route:
        return (route["route"], "no", *[MISSING] * 4)
    environment = route["environment"]
    return (
        route["route"],
        "interpreted" if route["interpreted"] else "yes",
        environment["python"],
        environment["torch"],
        environment["triton"] or MISSING,
        route["device"],
    )


def _document(devices: list[tuple[str, ...]], routes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "outcome": "ok",
        "warnings": [],
        "notes": [],
        "devices": [
            dict(zip(("device", "build", "here", "run_on_hardware"), row, strict=True))
            for row in devices
        ],
        "routes": [
            {
                "route": route["route"],
                "here": "reason" not in route,
                "interpreted": route.get("interpreted"),
                "device": route.get("device"),
                "environment": route.get("environment"),
                "reason": route.get("reason"),
            }
            for route in routes
        ],
    }


def _csv_rows(
    devices: list[tuple[str, ...]], routes: list[dict[str, Any]]
) -> list[tuple[str, ...]]:
    """Put devices and routes into the same columns; a cell is empty where one has no such thing."""
    rows = [("device", name, here, build, run, *[""] * 5) for name, build, here, run in devices]
    return rows + [
        ("route", name, here, "", "", *rest, route.get("reason", ""))
        for route, (name, here, *rest) in zip(routes, map(_route_row, routes), strict=True)
    ]
