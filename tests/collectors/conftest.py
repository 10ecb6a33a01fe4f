"""What recording tests share: the installed command, a place of its own, other interpreters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HAS_TORCH = find_spec("torch") is not None and find_spec("triton") is not None

SMALL = ("--param", "rows=6", "--param", "items=40")
"""Small enough for Triton's interpreter to take no time."""

PLUGIN = """
import os, signal, time
from dataclasses import replace
from fgtrace_kernels.cases import REPEAT_TENSOR_KNOWN
from fgtrace_kernels.routes import Route

ROUTES = {
    "wrong": "off_by_one", "broken": "not_there", "raising": "refuse", "dying": "die",
    "slow": "sleep",
}

def off_by_one(repeats, output_size=None):
    import torch
    return torch.repeat_interleave(repeats, output_size=output_size) + 1

def refuse(repeats, output_size=None):
    raise ValueError("not today")

calls = 0

def die(repeats, output_size=None):
    import sys, torch
    global calls
    calls += 1
    if calls > 2:
        print("the last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return torch.repeat_interleave(repeats, output_size=output_size)

def sleep(repeats, output_size=None):
    import torch
    time.sleep(0.05)
    return torch.repeat_interleave(repeats, output_size=output_size)

def route(name, *operators):
    return Route(
        name=name, summary=name, modules=("torch",),
        operators=dict.fromkeys(operators, "fgtrace_test_plugin:" + ROUTES[name]),
    )

NAMES = ("wrong", "raising", "dying", "slow")
WRONG, RAISING, DYING, SLOW = (route(name, "plugin") for name in NAMES)
BROKEN = route("broken", "plugin", "safe")
ATEN = "torch:repeat_interleave"
PLAIN = Route("plain", "torch", ("torch",), {"plugin": ATEN, "safe": ATEN})
CASE = replace(REPEAT_TENSOR_KNOWN, name="plugin_case", operator="plugin")
SAFE = replace(REPEAT_TENSOR_KNOWN, name="plugin_safe", operator="safe")
"""

ENTRY_POINTS = """\
[fgtrace.cases]
plugin_case = fgtrace_test_plugin:CASE
plugin_safe = fgtrace_test_plugin:SAFE
[fgtrace.routes]
wrong = fgtrace_test_plugin:WRONG
broken = fgtrace_test_plugin:BROKEN
raising = fgtrace_test_plugin:RAISING
dying = fgtrace_test_plugin:DYING
slow = fgtrace_test_plugin:SLOW
plain = fgtrace_test_plugin:PLAIN
"""


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that registers a case and routes, as a third party does."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "fgtrace_test_plugin.py").write_text(PLUGIN)
    about = folder / "fgtrace_test_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: fgtrace-test-plugin\nVersion: 1.0\n"
    )
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(folder: Path, plugin: Path) -> dict[str, str]:
    """Locks and temporaries of this test alone, so that nothing else on the machine matters."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    places = {"TMPDIR": str(temporary), "FGTRACE_LOCK_DIR": str(temporary)}
    paths = os.pathsep.join(filter(None, [str(plugin), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **places, "PYTHONPATH": paths}


@pytest.fixture
def fgtrace(tmp_path: Path, plugin: Path) -> Run:
    """Run the installed command in an empty folder."""

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "fgtrace", *map(str, arguments)],
            cwd=tmp_path,
            env={**environment(tmp_path, plugin), **variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def starting(tmp_path: Path, plugin: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the installed command; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "fgtrace", *map(str, arguments)],
            cwd=tmp_path,
            env=environment(tmp_path, plugin),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def children_of(folder: Path) -> list[int]:
    """Find recorder children whose temporaries lie in a test's folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"child" in words and any(str(folder).encode() in word for word in words):
            found.append(int(entry.parent.name))
    return found


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Wait for something to become true; tell whether it did."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.05)
    return true()


@pytest.fixture(scope="session")
def torch_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a second virtual environment that has torch and what it needs, no more."""
    if not HAS_TORCH:
        pytest.skip(
            "torch and triton are not installed: the torch-only environment is made of them"
        )
    folder = tmp_path_factory.mktemp("torch-only")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    site = Path(found.stdout.strip())
    for name in _closure("torch", "triton", "numpy"):
        for file in distribution(name).files or ():
            top = file.parts[0]
            target = Path(str(distribution(name).locate_file(top)))
            if top != ".." and target.exists() and not (site / top).exists():
                (site / top).symlink_to(target)
    return python


def _closure(*names: str) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            continue
        if name not in found:
            found.add(name)
            parsed = map(Requirement, needed)
            waiting += [
                each.name for each in parsed if each.marker is None or each.marker.evaluate()
            ]
    return found
