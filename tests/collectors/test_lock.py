"""The lock: one collection a device."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fgtrace_collectors.recorder.errors import COLLECTION, RecorderError
from fgtrace_collectors.recorder.lock import locked

HOLD = """
import sys, time
from fgtrace_collectors.recorder.lock import locked
with locked(sys.argv[1:]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def holder():
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, "cuda:0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_device_in_use_is_refused_at_once_and_its_holder_named(holder) -> None:
    with pytest.raises(RecorderError) as caught, locked(["cuda:0"]):
        pass
    assert caught.value.exit_code == COLLECTION
    assert caught.value.kind == "locked"
    assert str(holder.pid) in caught.value.message


def test_another_device_is_free(holder) -> None:
    with locked(["cuda:1"]):
        pass


def test_a_killed_holder_holds_nothing(holder) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with locked(["cuda:0"]):
        pass


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "fgtrace-cuda-0.lock").symlink_to(victim)
    with pytest.raises(RecorderError), locked(["cuda:0"]):
        pass
    assert victim.read_text() == "precious"
