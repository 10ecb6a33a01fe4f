"""Registered cases and routes: whose names are what is asked for, and safe to write anywhere."""

from __future__ import annotations

from importlib.metadata import entry_points
from types import SimpleNamespace

import pytest

from fgtrace_collectors.recorder import registry as module
from fgtrace_collectors.recorder.errors import RecorderError
from fgtrace_collectors.recorder.registry import Registry
from fgtrace_collectors.registry import installed_registry


def test_the_built_in_ones_register_as_a_third_partys_would() -> None:
    found = installed_registry()
    assert set(found.cases) == {point.name for point in entry_points(group="fgtrace.cases")}
    assert all(found.case(name).name == name for name in found.cases)
    assert all(found.route(name).name == name for name in found.routes)
    assert found.tool.startswith("fgtrace ")


@pytest.mark.parametrize(
    ("registered", "own"),
    [("a", "b"), ("../a", "../a"), ("a::b", "a::b"), ("a b", "a b"), ("", "")],
)
def test_a_name_that_is_not_its_own_or_not_safe_is_refused(
    monkeypatch: pytest.MonkeyPatch, registered: str, own: str
) -> None:
    monkeypatch.setattr(module, "load", lambda reference: SimpleNamespace(name=own))
    with pytest.raises(RecorderError, match="is registered as"):
        Registry({registered: "m:C"}, {}, "").case(registered)
