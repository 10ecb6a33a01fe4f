"""The child's end: what it answers, and what it does before torch is imported."""

from __future__ import annotations

import io
import json
import os
from types import SimpleNamespace
from typing import Any

import pytest

from fgtrace_collectors.recorder import child
from fgtrace_collectors.recorder.child import MARK, serve
from fgtrace_collectors.recorder.registry import Registry

HELLO = {"do": "hello", "device": "cpu", "variables": {}, "cold": False, "operators": ["op"]}


class FakeRoute(SimpleNamespace):
    name = "r"
    modules: tuple[str, ...] = ()
    operators = {"op": "json:dumps"}  # noqa: RUF012
    serving: tuple[str, ...] = ()
    triton = False
    accelerator_only = False

    def resolve(self, operator: str) -> Any:
        return json.dumps


def answers(
    monkeypatch: pytest.MonkeyPatch, *requests: dict[str, Any], route: FakeRoute | None = None
) -> list[dict[str, Any]]:
    torch = SimpleNamespace(set_num_threads=lambda n: None, get_num_threads=lambda: 1)
    monkeypatch.setattr(child, "import_torch", lambda device: torch)
    monkeypatch.setattr(Registry, "route", lambda self, name: route or FakeRoute())
    lines = io.StringIO("".join(json.dumps(request) + "\n" for request in requests))
    replies = io.StringIO()
    serve(Registry({}, {}, ""), lines, replies)
    said = replies.getvalue().rstrip("\n").split("\n")
    assert all(line.startswith(MARK) for line in said)
    return [json.loads(line.removeprefix(MARK)) for line in said]


def hello(**changes: Any) -> dict[str, Any]:
    return {**HELLO, "route": "r", **changes}


def test_it_says_which_process_and_device_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    (reply,) = answers(monkeypatch, hello())
    assert reply["process"] == os.getpid()
    assert reply["device"] == "cpu"
    assert not reply["accelerator"]


def test_variables_are_set_before_torch_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FGTRACE_TEST_SET", raising=False)
    seen: list[str | None] = []

    def import_torch(device: str) -> Any:
        seen.append(os.environ.get("FGTRACE_TEST_SET"))
        raise ImportError("enough")

    lines = io.StringIO(json.dumps(hello(variables={"FGTRACE_TEST_SET": "1"})))
    monkeypatch.setattr(child, "import_torch", import_torch)
    monkeypatch.setattr(Registry, "route", lambda self, name: FakeRoute())
    replies = io.StringIO()
    serve(Registry({}, {}, ""), lines, replies)
    monkeypatch.delenv("FGTRACE_TEST_SET")
    assert seen == ["1"]
    assert "ImportError: enough" in replies.getvalue()


def test_a_module_that_is_missing_makes_a_route_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (reply,) = answers(monkeypatch, hello(), route=FakeRoute(modules=("no_such_module",)))
    assert reply["unavailable"].startswith("no_such_module is not installed")


def test_a_route_for_accelerators_is_unavailable_on_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (reply,) = answers(monkeypatch, hello(), route=FakeRoute(accelerator_only=True))
    assert reply["unavailable"] == "it needs an accelerator"


def test_an_operator_that_cannot_be_imported_is_found_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def resolve(operator: str) -> Any:
        raise ModuleNotFoundError("No module named 'sqlalchemy'")

    (reply,) = answers(monkeypatch, hello(), route=FakeRoute(resolve=resolve))
    assert reply["failed"] == "ModuleNotFoundError: No module named 'sqlalchemy'"


@pytest.mark.parametrize(("asked", "interpreted"), [("1", True), ("0", False)])
def test_interpreted_triton_is_known_as_such_also_where_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: str, interpreted: bool
) -> None:
    device = SimpleNamespace(
        name="cuda:0", accelerator=True, kind=SimpleNamespace(build="CUDA"), facts=dict
    )
    monkeypatch.setattr(child, "open_device", lambda torch, wanted: device)
    monkeypatch.setenv("TRITON_INTERPRET", asked)
    (reply,) = answers(monkeypatch, hello(), route=FakeRoute(triton=True))
    assert reply["interpreted"] is interpreted


def test_an_error_of_one_request_is_its_reply_and_the_next_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, failed, again = answers(monkeypatch, hello(), {"do": "warm", "key": "unknown"}, hello())
    assert failed["failed"].startswith("KeyError")
    assert again["process"] == os.getpid()


def test_a_batch_says_what_was_compiled_inside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one = child.Child.__new__(child.Child)
    readings = iter([{"compilations": 2, "tunings": None}, {"compilations": 5, "tunings": None}])
    one.counter = SimpleNamespace(reading=lambda: next(readings))  # type: ignore[assignment]
    timing = {"wall_ns": 3, "enqueue_ns": 2}
    one.stopwatches = {"c": SimpleNamespace(batch=lambda mode, calls: timing)}  # type: ignore[dict-item]
    reply = one.do_batch({"key": "c", "mode": "latency", "calls": 1})
    assert reply == {**timing, "compilations": 3, "tunings": None}
