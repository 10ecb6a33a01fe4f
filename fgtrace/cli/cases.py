"""`fgtrace cases`: what can be recorded, and by which routes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from fgtrace.cli.answers import emit_listing, listing
from fgtrace.cli.names import FORMAT
from fgtrace.cli.output import tell
from fgtrace.views.model import Table

if TYPE_CHECKING:
    from fgtrace_collectors.recorder.registry import Registry

CSV_HEADER = ("kind", "name", "operators", "parameters", "parts", "needs", "summary")


@click.command()
@click.option("--format", "form", type=FORMAT, default="table", help="table, json, csv or markdown")
def cases(form: str) -> None:
    """List the cases with their parameters, and the routes."""
    # Reads the entry points of every installed package.
    from fgtrace_collectors.registry import installed_registry

    document = _document(installed_registry())
    emit_listing(form, document, _tables(document), CSV_HEADER, _csv_rows(document))
    if form != "json":
        tell(warning["message"] for warning in document["warnings"])


def _document(registry: Registry) -> dict[str, Any]:
    """Describe everything that can be loaded; what cannot is a warning."""
    warnings: list[dict[str, Any]] = []

    def loaded(what: str, names: Iterable[str], load: Callable[[str], Any]) -> list[Any]:
        found = []
        for name in names:
            try:
                found.append(load(name))
            except Exception as error:
                # Another package registered it: its fault must not hide what works.
                message = f"{what} {name} cannot be loaded: {type(error).__name__}: {error}"
                warnings.append({"kind": f"broken-{what}", "count": 1, "message": message})
        return found

    routes = loaded("route", registry.routes, registry.route)
    found = loaded("case", registry.cases, registry.case)
    return {
        "outcome": "ok-with-warnings" if warnings else "ok",
        "warnings": warnings,
        "notes": [],
        "cases": [_case(case, routes) for case in found],
        "routes": [_route(route) for route in routes],
    }


def _case(case: Any, routes: list[Any]) -> dict[str, Any]:
    fields = ("name", "summary", "default", "minimum", "maximum", "interpreted")
    return {
        "name": case.name,
        "summary": case.summary,
        "operator": case.operator,
        "routes": [route.name for route in routes if case.operator in route.operators],
        "parameters": [{name: getattr(param, name) for name in fields} for param in case.params],
        "parts": list(case.parts),
    }


def _route(route: Any) -> dict[str, Any]:
    return {
        "name": route.name,
        "summary": route.summary,
        "operators": sorted(route.operators),
        "modules": list(route.modules),
        "triton": route.triton,
        "accelerator_only": route.accelerator_only,
    }


def _parameters(case: dict[str, Any]) -> str:
    return " ".join(f"{param['name']}={param['default']}" for param in case["parameters"])


def _needs(route: dict[str, Any]) -> str:
    return ", ".join(route["modules"] + ["an accelerator"] * route["accelerator_only"])


def _csv_rows(document: dict[str, Any]) -> list[tuple[str, ...]]:
    """Put cases and routes into the same columns; a cell is empty where one has no such thing."""
    rows: list[tuple[str, ...]] = []
    for case in document["cases"]:
        parts = " ".join(case["parts"])
        rows.append(
            ("case", case["name"], case["operator"], _parameters(case), parts, "", case["summary"])
        )
    for route in document["routes"]:
        operators = " ".join(route["operators"])
        rows.append(("route", route["name"], operators, "", "", _needs(route), route["summary"]))
    return rows


def _tables(document: dict[str, Any]) -> tuple[Table, Table]:
    return (
        listing(
            "Cases",
            {"case": 0, "routes": 1, "parameters": 3, "parts": 2, "summary": 0},
            [
                (
                    case["name"],
                    " ".join(case["routes"]),
                    _parameters(case),
                    " ".join(case["parts"]),
                    case["summary"],
                )
                for case in document["cases"]
            ],
            ["Parameters are set with --param; parts are those that switch a part of the work."],
        ),
        listing(
            "Routes",
            {"route": 0, "needs": 1, "summary": 0},
            [(route["name"], _needs(route), route["summary"]) for route in document["routes"]],
            ["fgtrace doctor says which of them can run here."],
        ),
    )
