"""Putting a run in its place: whole or not at all, whatever happens to the writer."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fgtrace_collectors.recorder.errors import COLLECTION, USAGE, RecorderError
from fgtrace_collectors.recorder.place import free_name, placed, sweep


def write(target: Path, text: str, *, force: bool = False) -> None:
    with placed(target, force=force) as place:
        place.new.mkdir()
        (place.new / "data").write_text(text)


def hidden(folder: Path) -> list[Path]:
    return list(folder.glob(".*"))


def test_a_run_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "runs" / "a.fgtrace"
    write(target, "one")
    assert (target / "data").read_text() == "one"
    assert not hidden(target.parent)


def test_a_file_is_put_in_place_like_a_folder(tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    with placed(target, force=False) as place:
        (place.work / "part").write_text("one")
        place.new.write_text((place.work / "part").read_text())
    assert target.read_text() == "one"
    assert not hidden(tmp_path)


def test_nothing_is_seen_before_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    with placed(target, force=False) as place:
        place.new.mkdir()
        (place.new / "data").write_text("half")
        assert not target.exists()


def test_a_run_that_exists_is_kept_without_force(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    write(target, "one")
    with pytest.raises(RecorderError) as caught:
        write(target, "two")
    assert caught.value.exit_code == USAGE
    assert "--force" in caught.value.hint
    assert (target / "data").read_text() == "one"


def test_with_force_the_old_run_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    write(target, "one")
    with placed(target, force=True) as place:
        place.new.mkdir()
        (place.new / "data").write_text("two")
        assert (target / "data").read_text() == "one"
    assert (target / "data").read_text() == "two"
    assert not hidden(tmp_path)


def test_a_writer_that_fails_leaves_the_old_run_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    write(target, "one")
    with pytest.raises(ZeroDivisionError), placed(target, force=True) as place:
        place.new.write_text(str(2 // len("")))
    assert (target / "data").read_text() == "one"
    assert not hidden(tmp_path)


def test_a_full_disk_is_a_collection_that_broke_off(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    with pytest.raises(RecorderError) as caught, placed(target, force=False):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.exit_code == COLLECTION
    assert "No space left on device" in caught.value.message
    assert not target.exists()
    assert not hidden(tmp_path)


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecorderError) as caught:
        write(tmp_path / "file" / "a.fgtrace", "one")
    assert caught.value.exit_code == USAGE


KILLED = """
import os, signal, sys
from pathlib import Path
from fgtrace_collectors.recorder import place

target, when = Path(sys.argv[1]), sys.argv[2]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
rename = Path.rename
renames = []

def counted(self, to):
    renames.append(to)
    if when == "between":
        if len(renames) == 2:
            die()
    rename(self, to)

Path.rename = counted
with place.placed(target, force=True) as aside:
    aside.new.mkdir()
    (aside.new / "data").write_text("two")
    if when == "writing":
        die()
"""


@pytest.mark.parametrize("when", ["writing", "between"])
def test_what_a_killed_writer_leaves_is_swept_and_the_old_run_is_there_again(
    tmp_path: Path, when: str
) -> None:
    target = tmp_path / "a.fgtrace"
    write(target, "one")
    done = subprocess.run([sys.executable, "-c", KILLED, str(target), when], check=False)
    assert done.returncode == -signal.SIGKILL
    assert hidden(tmp_path)
    sweep(tmp_path)
    assert (target / "data").read_text() == "one"
    assert not hidden(tmp_path)


def test_a_sweep_leaves_a_living_writer_alone(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    with placed(target, force=False) as place:
        place.new.mkdir()
        (place.new / "data").write_text("one")
        # The lock is the process's, so another process has to look.
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from pathlib import Path;"
                "from fgtrace_collectors.recorder.place import sweep; sweep(Path(sys.argv[1]))",
                str(tmp_path),
            ],
            check=True,
        )
    assert (target / "data").read_text() == "one"


def test_a_free_name_is_numbered(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    assert free_name(target) == target
    target.mkdir()
    assert free_name(target) == tmp_path / "a-2.fgtrace"
    (tmp_path / "a-2.fgtrace").mkdir()
    assert free_name(target) == tmp_path / "a-3.fgtrace"
