"""The lock: one collection a device."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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
    monkeypatch.setenv("FGTRACE_LOCK_DIR", str(tmp_path))


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


def test_the_holder_named_is_the_last_one(tmp_path: Path) -> None:
    (tmp_path / "fgtrace-cuda-0.lock").write_text("1234567890")
    with locked(["cuda:0"]):
        assert (tmp_path / "fgtrace-cuda-0.lock").read_text() == str(os.getpid())


def test_everybody_can_open_a_lock_whatever_the_umask_of_its_maker(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with locked(["cuda:0"]):
            mode = (tmp_path / "fgtrace-cuda-0.lock").stat().st_mode
    finally:
        os.umask(before)
    assert mode & 0o777 == 0o666


def test_another_users_lock_is_opened_and_respected(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can run as another user")
    tmp_path.chmod(0o1777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and parent != parent.parent:
            parent.chmod(parent.stat().st_mode | 0o055)
    with locked(["cuda:0"]):
        pass
    as_nobody = HOLD.replace("with locked", "import os\nos.setuid(65534)\nwith locked")
    held = subprocess.run(
        [sys.executable, "-c", as_nobody.replace("60", "0"), "cuda:0"],
        capture_output=True,
        text=True,
    )
    assert held.stdout == "held\n", held.stderr
