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
from fgtrace_collectors.recorder.place import MANIFEST, Place, placed, sweep


def write(target: Path, text: str, *, force: bool = False, numbered: bool = False) -> Path:
    with placed(target, folder=True, force=force, numbered=numbered) as place:
        fill(place, text)
    return place.target


def fill(place: Place, text: str) -> None:
    place.new.mkdir()
    (place.new / MANIFEST).touch()
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
    with placed(target, folder=False) as place:
        (place.work / "part").write_text("one")
        place.new.write_text((place.work / "part").read_text())
    assert target.read_text() == "one"
    assert not hidden(tmp_path)


def test_nothing_is_seen_before_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    with placed(target, folder=True) as place:
        fill(place, "half")
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
    with placed(target, folder=True, force=True) as place:
        fill(place, "two")
        assert (target / "data").read_text() == "one"
    assert (target / "data").read_text() == "two"
    assert not hidden(tmp_path)


def test_a_writer_that_fails_leaves_the_old_run_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    write(target, "one")
    with pytest.raises(ZeroDivisionError), placed(target, folder=True, force=True) as place:
        place.new.write_text(str(2 // len("")))
    assert (target / "data").read_text() == "one"
    assert not hidden(tmp_path)


def test_a_full_disk_is_a_collection_that_broke_off(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    with pytest.raises(RecorderError) as caught, placed(target, folder=True):
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
with place.placed(target, folder=True, force=True) as aside:
    aside.new.mkdir()
    (aside.new / "manifest.json").touch()
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
    with placed(target, folder=True) as place:
        fill(place, "one")
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


def test_a_number_is_added_to_a_name_that_is_taken(tmp_path: Path) -> None:
    target = tmp_path / "a.fgtrace"
    assert write(target, "one", numbered=True) == target
    assert write(target, "two", numbered=True) == tmp_path / "a-2.fgtrace"
    assert write(target, "three", numbered=True) == tmp_path / "a-3.fgtrace"
    assert (target / "data").read_text() == "one"


@pytest.mark.parametrize("folder", [True, False])
def test_a_name_that_is_taken_meanwhile_loses_neither_result(tmp_path: Path, folder: bool) -> None:
    target = tmp_path / "a.x"
    with placed(target, folder=folder) as place:
        if folder:
            fill(place, "mine")
            target.mkdir()
        else:
            place.new.write_text("mine")
            target.write_text("theirs")
    assert place.target == tmp_path / "a-2.x"
    mine = place.target / "data" if folder else place.target
    assert mine.read_text() == "mine"
    assert target.exists()
    assert not hidden(tmp_path)


@pytest.mark.parametrize("folder", [True, False])
def test_force_replaces_nothing_but_what_it_would_have_written(
    tmp_path: Path, folder: bool
) -> None:
    precious = tmp_path / "precious"
    if folder:
        precious.mkdir()
        (precious / "thesis").write_text("years")
    else:
        write(precious, "a run is no file")
    before = sorted(precious.iterdir())
    with pytest.raises(RecorderError) as caught, placed(precious, folder=folder, force=True):
        pass
    assert caught.value.exit_code == USAGE
    assert "--force does not replace it" in caught.value.message
    assert sorted(precious.iterdir()) == before


def test_force_replaces_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", "one", force=True)
    assert (tmp_path / "empty" / "data").read_text() == "one"


def test_an_interrupt_between_the_renames_brings_the_old_run_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.fgtrace"
    write(target, "one")
    rename = Path.rename

    def interrupted(self: Path, to: Path) -> Path:
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(target, "two", force=True)
    assert (target / "data").read_text() == "one"
    assert not hidden(tmp_path)


def test_what_is_swept_goes_back_to_the_name_it_had(tmp_path: Path) -> None:
    target = tmp_path / "a-b.aside-c.fgtrace"
    write(target, "one")
    done = subprocess.run([sys.executable, "-c", KILLED, str(target), "between"], check=False)
    assert done.returncode == -signal.SIGKILL
    sweep(tmp_path)
    assert (target / "data").read_text() == "one"


def test_a_sweep_follows_no_link(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "old").mkdir()
    (home / "owner").touch()
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / ".v.aside-x").symlink_to(home)
    sweep(shared)
    assert (home / "old").exists()
    assert not (shared / "v").exists()
