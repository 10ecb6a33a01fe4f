"""From a recording to frames: what is kept of a profile, and what is refused."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace_collectors.assemble import assemble, scrub, unpacked
from fgtrace_collectors.recorder.recording import RECORDING_FILE

EVENT = (
    '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1,'
    ' "ts": 4399583345413.3210, "dur": 1.500, "args": {}}'
)


def profile(folder: Path, metadata: str = "") -> Path:
    path = folder / "p.json.gz"
    path.write_bytes(gzip.compress(f'{{{metadata}"traceEvents": [{EVENT}]}}'.encode()))
    return path


def test_a_token_in_the_metadata_reaches_no_copy(tmp_path: Path) -> None:
    source = profile(tmp_path, '"env": {"HF_TOKEN": "hf_secret"}, "schemaVersion": 1, ')
    scrub(source, tmp_path / "copy.json.gz")
    text = gzip.decompress((tmp_path / "copy.json.gz").read_bytes()).decode()
    assert "hf_secret" not in text
    assert json.loads(text).keys() == {"schemaVersion", "traceEvents"}


def test_times_keep_every_digit(tmp_path: Path) -> None:
    scrub(profile(tmp_path), tmp_path / "copy.json.gz")
    text = gzip.decompress((tmp_path / "copy.json.gz").read_bytes()).decode()
    assert "4399583345413.3210" in text


def test_the_same_profile_gives_the_same_bytes(tmp_path: Path) -> None:
    source = profile(tmp_path)
    scrub(source, tmp_path / "a")
    scrub(source, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    "damage", [b"", b"nothing", gzip.compress(b"{")[:-6], gzip.compress(b"[]")]
)
def test_a_damaged_profile_is_named(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "p.json.gz"
    path.write_bytes(damage)
    with pytest.raises(FgtraceError) as caught:
        scrub(path, tmp_path / "copy")
    assert caught.value.exit_code == ExitCode.UNREADABLE
    assert "p.json.gz" in caught.value.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no complete recording"),
        ("{", RECORDING_FILE),
        ('{"format": 2}', "format 2"),
        ('{"format": 1}', RECORDING_FILE),
    ],
)
def test_what_is_no_recording_is_refused_in_one_line(
    tmp_path: Path, content: str | None, said: str
) -> None:
    recording, run = tmp_path / "recording", tmp_path / "run"
    recording.mkdir()
    run.mkdir()
    if content is not None:
        (recording / RECORDING_FILE).write_text(content)
    with pytest.raises(FgtraceError) as caught:
        assemble(recording, run)
    assert caught.value.exit_code == ExitCode.UNREADABLE
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_a_zip_that_points_outside_itself_stays_inside(tmp_path: Path) -> None:
    path = tmp_path / "recording.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../escaped", "x")
    with unpacked(path) as folder:
        inside = list(folder.iterdir())
    assert [found.name for found in inside] == ["escaped"]
    assert not (tmp_path / "escaped").exists()


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recording.zip"
    path.write_text("nothing")
    with pytest.raises(FgtraceError, match="not a recorder's zip"), unpacked(path):
        pass
    with pytest.raises(FgtraceError, match="No such file"), unpacked(tmp_path / "none.zip"):
        pass
