"""What is settled by the children's first words: who takes part, how large, on which device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fgtrace_collectors.recorder.children import LiveRoute
from fgtrace_collectors.recorder.errors import UNAVAILABLE, USAGE, RecorderError
from fgtrace_collectors.recorder.plan import FORMAL, QUICK, PlannedRoute, make_plan
from fgtrace_collectors.recorder.recording import Recording
from fgtrace_collectors.recorder.session import Session
from fgtrace_collectors.recorder.settle import settle
from fgtrace_collectors.registry import installed_registry

CPU = {"kind": "cpu", "index": None}
H200 = {"kind": "cuda", "index": 0, "name": "NVIDIA H200", "uuid": "u"}


def route(name: str, device: dict[str, Any] = H200, *, required: bool = False) -> LiveRoute:
    on_cpu = device["kind"] == "cpu"
    hello = {
        "process": 1,
        "device": device["kind"],
        "device_facts": device,
        "accelerator": not on_cpu,
        "interpreted": on_cpu and name.startswith("triton"),
    }
    return LiveRoute(PlannedRoute(name, required=required), SimpleNamespace(), hello)  # type: ignore[arg-type]


def settled(
    *routes: LiveRoute, refused: dict[str, str] | None = None, **options: Any
) -> tuple[Session, Recording]:
    registry = installed_registry()
    plan = make_plan(registry, **{"cases": ["repeat_values_known"], **options})
    recording = Recording(plan={}, started="")
    launcher: Any = SimpleNamespace()
    return (
        settle(plan, registry, launcher, recording, routes, refused or {}, lambda text: None),
        recording,
    )


def kinds(recording: Recording) -> set[str]:
    return {note["kind"] for note in recording.notes}


def test_on_a_device_the_plan_is_carried_out_as_it_is() -> None:
    session, recording = settled(route("aten"), route("triton"))
    assert session.protocol == QUICK
    assert recording.parameters["repeat_values_known"] == {"rows": 17096, "items": 854524}
    assert recording.device["name"] == "NVIDIA H200"
    assert kinds(recording) == {"quick"}


def test_a_formal_recording_is_not_called_quick() -> None:
    _, recording = settled(route("aten"), formal=True)
    assert not kinds(recording)
    assert recording.protocol["name"] == FORMAL.name
    assert recording.protocol["seed"] == 1234


def test_interpreted_triton_shrinks_protocol_and_parameters_and_says_so() -> None:
    session, recording = settled(route("aten", CPU), route("triton", CPU), formal=True)
    assert session.protocol.name == recording.protocol["name"] == "interpreted"
    assert recording.parameters["repeat_values_known"] == {"rows": 64, "items": 3200}
    assert kinds(recording) == {"interpreted", "reduced-parameters"}


def test_the_host_alone_keeps_its_size_and_says_that_no_device_was_timed() -> None:
    _, recording = settled(route("aten", CPU))
    assert recording.parameters["repeat_values_known"]["rows"] == 17096
    assert kinds(recording) == {"quick", "not-a-device-timing"}


def test_only_routes_that_take_part_decide_whether_anything_is_interpreted() -> None:
    session, recording = settled(
        route("aten", CPU), route("triton-readback", CPU), cases=["index_select_unchecked"]
    )
    assert [one.name for one in session.routes] == ["aten"]
    assert kinds(recording) == {"quick", "not-a-device-timing", "route-not-run"}


def test_every_route_that_was_refused_is_a_note_with_its_reason() -> None:
    _, recording = settled(route("aten"), refused={"flaggems": "no such module"})
    (note,) = [note for note in recording.notes if note["kind"] == "route-not-run"]
    assert note["message"] == "flaggems: no such module"


def test_a_recording_of_no_route_is_none() -> None:
    with pytest.raises(RecorderError) as caught:
        settled(refused={"aten": "no torch", "triton": "no triton"})
    assert caught.value.exit_code == UNAVAILABLE
    assert "aten: no torch; triton: no triton" in caught.value.message


def test_routes_on_different_devices_are_no_recording() -> None:
    with pytest.raises(RecorderError, match="aten on NVIDIA H200, triton on cpu") as caught:
        settled(route("aten"), route("triton", CPU))
    assert caught.value.exit_code == UNAVAILABLE


def test_one_device_may_have_another_kind_in_another_torch() -> None:
    settled(route("aten"), route("triton", {**H200, "kind": "flagos"}))


@pytest.mark.parametrize(
    ("options", "said"), [({"cold": True}, "--l2 cold"), ({"graph": True}, "--graph")]
)
def test_what_the_host_cannot_do_is_refused(options: dict[str, bool], said: str) -> None:
    with pytest.raises(RecorderError, match=said) as caught:
        settled(route("aten", CPU), **options)
    assert caught.value.exit_code == USAGE


def test_a_route_asked_for_by_name_that_has_not_the_operator_is_an_error() -> None:
    with pytest.raises(RecorderError, match="serves none"):
        settled(route("triton-readback", required=True), cases=["index_select_unchecked"])
