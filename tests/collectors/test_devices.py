"""The device table, by a torch that only says what it is asked to say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fgtrace_collectors.recorder import devices
from fgtrace_collectors.recorder.devices import (
    DEVICE_KINDS,
    check_spelling,
    open_device,
    seems_accelerated,
)
from fgtrace_collectors.recorder.errors import UNAVAILABLE, USAGE, RecorderError
from fgtrace_collectors.recorder.stopwatch import make_flush


class FakeModule:
    """torch.cuda, torch.xpu, ..."""

    def __init__(self, count: int, log: list[str], **properties: Any) -> None:
        self.count = count
        self.log = log
        self.properties = SimpleNamespace(name="Fake", **properties)

    def is_available(self) -> bool:
        return self.count > 0

    def device_count(self) -> int:
        return self.count

    def set_device(self, index: int) -> None:
        self.log.append(f"set {index}")

    def synchronize(self) -> None:
        self.log.append("synchronize")

    def get_device_properties(self, index: int) -> Any:
        return self.properties


def fake_torch(hip: str | None = None, **modules: FakeModule) -> SimpleNamespace:
    activity = SimpleNamespace(CPU="CPU", CUDA="CUDA", XPU="XPU", PrivateUse1="PrivateUse1")
    return SimpleNamespace(
        __version__="9.9",
        version=SimpleNamespace(hip=hip),
        profiler=SimpleNamespace(ProfilerActivity=activity),
        int32="int32",
        **modules,
    )


def test_auto_takes_flagos_before_cuda_before_xpu_before_the_host() -> None:
    there = {name: FakeModule(1, []) for name in ("flagos", "cuda", "xpu")}
    for expected in ("flagos", "cuda", "xpu"):
        assert open_device(fake_torch(**there), "auto").kind.name == expected
        del there[expected]
    assert open_device(fake_torch(), "auto").name == "cpu"


def test_a_numbered_device_is_made_the_current_one() -> None:
    log: list[str] = []
    device = open_device(fake_torch(cuda=FakeModule(4, log)), "cuda:3")
    assert (device.name, log) == ("cuda:3", ["set 3"])
    device.synchronize()
    assert log[-1] == "synchronize"
    assert device.accelerator


@pytest.mark.parametrize("wanted", ["cuda:4", "cuda:99", "xpu", "flagos:0"])
def test_a_device_that_is_not_there_is_unavailable(wanted: str) -> None:
    with pytest.raises(RecorderError, match=wanted) as caught:
        open_device(fake_torch(cuda=FakeModule(4, [])), wanted)
    assert caught.value.exit_code == UNAVAILABLE


def test_rocm_is_told_from_cuda_although_torch_calls_both_cuda() -> None:
    modules = {"cuda": FakeModule(1, [], gcnArchName="gfx942")}
    assert open_device(fake_torch(hip="6.3", **modules), "cuda").kind.build == "ROCm"
    assert open_device(fake_torch(**modules), "cuda").kind.build == "CUDA"


def test_the_host_is_recorded_with_every_device_and_the_device_by_its_own_activity() -> None:
    expected = {"cuda": "CUDA", "xpu": "XPU", "flagos": "PrivateUse1"}
    for name, activity in expected.items():
        device = open_device(fake_torch(**{name: FakeModule(1, [])}), name)
        assert device.activities() == ["CPU", activity]
    assert open_device(fake_torch(), "cpu").activities() == ["CPU"]


def test_of_a_devices_properties_only_the_listed_ones_are_kept() -> None:
    module = FakeModule(1, [], L2_cache_size=5, uuid="u", gcnArchName="Fake", serial="secret")
    facts = open_device(fake_torch(cuda=module), "cuda").facts()
    assert facts == {
        "kind": "cuda",
        "index": 0,
        "name": "Fake",
        "uuid": "u",
        "properties": {"L2_cache_size": 5},
    }


def test_a_flush_writes_twice_the_cache() -> None:
    class Buffer:
        zeroed = 0

        def zero_(self) -> None:
            self.zeroed += 1

    made: dict[str, Any] = {}

    def empty(size: int, **options: Any) -> Buffer:
        made.update(size=size, **options)
        return Buffer()

    torch = fake_torch(cuda=FakeModule(1, [], L2_cache_size=1000))
    torch.empty = empty
    make_flush(open_device(torch, "cuda"))()
    assert made == {"size": 500, "dtype": "int32", "device": "cuda:0"}  # of 4 bytes each


def test_flagos_is_imported_before_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(devices, "find_spec", lambda name: name)
    monkeypatch.setattr(devices, "import_module", imported.append)
    for wanted in ("flagos:0", "auto", "cuda"):
        devices.import_torch(wanted)
    assert imported == ["torch_fl", "torch", "torch_fl", "torch", "torch"]


def test_without_torch_fl_flagos_is_unavailable_and_auto_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "find_spec", lambda name: None if name == "torch_fl" else name)
    monkeypatch.setattr(devices, "import_module", lambda name: name)
    assert devices.import_torch("auto") == "torch"
    with pytest.raises(RecorderError, match="torch_fl is not installed"):
        devices.import_torch("flagos")


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:0", "xpu:12", "flagos"])
def test_these_are_devices(device: str) -> None:
    check_spelling(device)


@pytest.mark.parametrize("device", ["", "gpu", "cpu:0", "auto:1", "cuda:", "cuda:-1", "cuda:0 "])
def test_these_are_not(device: str) -> None:
    with pytest.raises(RecorderError) as caught:
        check_spelling(device)
    assert caught.value.exit_code == USAGE


def test_the_readme_has_the_table_as_doctor_shows_it() -> None:
    from pathlib import Path

    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for kind in DEVICE_KINDS:
        assert f"| `{kind.name}` | {kind.build} | {kind.run_on_hardware} |" in readme


def test_an_accelerator_is_guessed_by_its_drivers_node(tmp_path: Path) -> None:
    node = tmp_path / "nvidiactl"
    assert not seems_accelerated("auto", [str(node)])
    node.touch()
    assert seems_accelerated("auto", [str(node)])
    assert seems_accelerated("cuda:1", [str(node)])
    assert not seems_accelerated("cpu", [str(node)])
