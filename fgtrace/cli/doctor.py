"""`fgtrace doctor`: what can be recorded here, and what stands in the way of the rest."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from fgtrace.cli.names import FORMAT
from fgtrace.cli.output import emit, terminal_width
from fgtrace.cli.progress import Progress
from fgtrace.cli.recording_errors import told_as_fgtrace_errors
from fgtrace.text import data, markdown, tables
from fgtrace.units import MISSING, printable
from fgtrace.views.model import Column, Table

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
        _table("Devices", DEVICES, devices),
        _table("Routes", ROUTES, [_route_row(route) for route in routes], reasons),
    )
    if form == "json":
        emit(data.json_text(_document(devices, routes)))
    elif form == "csv":
        rows = [("device", name, here, build, run, *[""] * 5) for name, build, here, run in devices]
        rows += [
            ("route", name, here, "", "", *rest, route.get("reason", ""))
            for route, (name, here, *rest) in zip(routes, map(_route_row, routes), strict=True)
        ]
        emit(data.csv_text(CSV, rows))
    elif form == "markdown":
        emit("\n".join(map(markdown.render, listed)))
    else:
        emit("\n".join(tables.render(table, terminal_width()) for table in listed))


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
            refused: list[str] = []
            try:
                with live(launcher, plan, [route], ["doctor"], [], refused) as (alive,):
                    for one in alive:
                        said = checked(one, one.child.request("facts"))
                        found.append({"route": route.name, **one.hello, **said})
                    found += [{"route": route.name, "reason": _why(text)} for text in refused]
            except RecorderError as error:
                found.append({"route": route.name, "reason": f"{error.message}; {error.hint}"})
    return found


def _why(refusal: str) -> str:
    return refusal.partition(": ")[2]


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


def _table(
    title: str, names: tuple[str, ...], rows: list[tuple[str, ...]], footnotes: tuple[str, ...] = ()
) -> Table:
    return Table(
        title=title,
        columns=tuple(Column(name, "left", 0) for name in names),
        rows=tuple(tuple(map(printable, row)) for row in rows),
        footnotes=tuple(map(printable, footnotes)),
    )
