"""The launch path: grid, device guard, and kernels that come out of a zip file."""

import os
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest
import torch

import fgtrace_kernels
from fgtrace_kernels import launch

CASE = """
import fgtrace_kernels, torch
from fgtrace_kernels.repeat_interleave import repeat_interleave
assert ".zip" in fgtrace_kernels.__file__, fgtrace_kernels.__file__
device = "cuda" if torch.cuda.is_available() else "cpu"
x, repeats = torch.tensor([7, 8, 9], device=device), torch.tensor([1, 0, 2], device=device)
print(repeat_interleave(x, repeats, output_size=3).tolist())
"""


def test_kernels_run_when_imported_from_a_zip_file(tmp_path):
    archive = tmp_path / "kernels.zip"
    package = Path(fgtrace_kernels.__file__).parent
    with zipfile.ZipFile(archive, "w") as packed:
        for source in package.glob("*.py"):
            packed.write(source, f"fgtrace_kernels/{source.name}")
    script = f"import sys; sys.path.insert(0, {str(archive)!r})\n{CASE}"
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert shown.stdout.strip() == "[7, 9, 9]", shown.stderr


def test_a_cpu_tensor_outside_the_interpreter_is_refused_with_the_way_out():
    script = """
import torch
from fgtrace_kernels.repeat_interleave import repeat_interleave
repeat_interleave(torch.tensor([1, 2]))
"""
    root = str(Path(fgtrace_kernels.__file__).parent.parent)
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{script}"],
        capture_output=True,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"},
    )
    assert "set TRITON_INTERPRET=1" in shown.stderr.splitlines()[-1]


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("TRUE", True), ("0", False)])
def test_interpreted_reads_what_triton_reads(value, expected, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", value)
    assert launch.interpreted() is expected


class Kernel:
    """Stands for a Triton kernel and keeps how it was launched."""

    def __init__(self):
        self.launches = []

    def __getitem__(self, grid):
        return lambda *args, **named: self.launches.append((grid, args, named))


@pytest.mark.parametrize(
    ("elements", "programs"),
    [
        (1, 1),
        (launch.BLOCK - 1, 1),
        (launch.BLOCK, 1),
        (launch.BLOCK + 1, 2),
        (9 * launch.BLOCK, 9),
    ],
)
def test_the_grid_covers_every_element_once(elements, programs, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    kernel = Kernel()
    launch.launch(kernel, elements, torch.device("cpu"), "argument")
    settings = {"BLOCK": launch.BLOCK, "num_warps": launch.NUM_WARPS}
    assert kernel.launches == [((programs,), ("argument",), settings)]


def test_nothing_to_do_launches_nothing():
    kernel = Kernel()
    launch.launch(kernel, 0, torch.device("cpu"))
    assert kernel.launches == []


def test_the_device_guard_is_entered_only_when_another_device_is_current(monkeypatch):
    entered = []
    module = types.SimpleNamespace(
        current_device=lambda: 1, device=lambda index: entered.append(index) or "guard"
    )
    monkeypatch.setattr(launch, "_device_module", lambda kind: module)
    assert launch.current(torch.device("xpu", 0)) == "guard"
    launch.current(torch.device("xpu", 1))
    assert entered == [0]


def test_a_device_kind_is_looked_up_in_torch():
    assert launch._device_module("cuda") is torch.cuda
    assert launch._device_module("cpu") is None
    assert launch._device_module("no_such_kind") is None
