"""The cases and routes that installed packages register through entry points."""

from __future__ import annotations

from importlib.metadata import entry_points, version

from fgtrace_collectors.recorder.registry import Registry

CASES = "fgtrace.cases"
ROUTES = "fgtrace.routes"


def installed_registry() -> Registry:
    """Read the entry points of this interpreter; nothing is imported until it is asked for."""
    return Registry(_references(CASES), _references(ROUTES), f"fgtrace {version('fgtrace')}")


def _references(group: str) -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=group)}
