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


def test_only_what_a_recording_consists_of_is_taken_out_of_a_zip(tmp_path: Path) -> None:
    path, work = tmp_path / "recording.zip", tmp_path / "work"
    work.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("../escaped", "/escaped", "profiles/../../x.json.gz", "other", "logs/a.txt"):
            archive.writestr(name, "x")
        archive.writestr(RECORDING_FILE, "{}")
        archive.writestr("profiles/a.g0.json.gz", "x")
    unpacked(path, work)
    found = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()}
    assert found == {"recording.zip", f"work/{RECORDING_FILE}", "work/profiles/a.g0.json.gz"}


def test_a_zip_that_would_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fgtrace_collectors.assemble.MOST_BYTES", 1000)
    path = tmp_path / "recording.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(RECORDING_FILE, "0" * 2000)
    with pytest.raises(FgtraceError, match="over 1000 bytes"):
        unpacked(path, tmp_path)


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recording.zip"
    path.write_text("nothing")
    with pytest.raises(FgtraceError, match="not a recorder's zip"):
        unpacked(path, tmp_path)
    with pytest.raises(FgtraceError, match="does not exist"):
        unpacked(tmp_path / "none.zip", tmp_path)


SAMPLE = {
    "case": "a", "route": "b", "generation": 0, "process": 1, "turn": 0, "mode": "latency",
    "profiler": "none", "calls": 1, "wall_ns": 1, "enqueue_ns": 1,
}  # fmt: skip

RECORDING = {
    "format": 1, "started": "2026", "protocol": {"name": "quick", "seed": 1, "generations": 1},
    "plan": {"tool": "fgtrace", "command": [], "variables": {"A": "1"}, "profiler": "kineto"},
    "parameters": {}, "device": {"kind": "cpu"}, "host": {"system": "x", "machine": "y"},
    "environments": [], "clocks": [], "profiler_options": {}, "samples": [SAMPLE],
    "witnesses": [], "calibration": [], "profiles": [], "notes": [], "generations": 3,
}  # fmt: skip


def recorded(tmp_path: Path, **changes: object) -> tuple[Path, Path]:
    recording, run = tmp_path / "recording", tmp_path / "run"
    recording.mkdir()
    run.mkdir()
    (recording / RECORDING_FILE).write_text(json.dumps({**RECORDING, **changes}))
    return recording, run


def test_provenance_is_what_was_carried_out(tmp_path: Path) -> None:
    found = assemble(*recorded(tmp_path))
    assert found.provenance.protocol is not None
    assert found.provenance.protocol.generations == 3
    assert found.provenance.profiler == "none"
    assert found.provenance.set_variables == {"A": "1"}
    assert found.samples.to_dicts() == [SAMPLE | {"variant": None}]


@pytest.mark.parametrize(
    "changes",
    [
        {"samples": [{**SAMPLE, "calls": 0}]},
        {"samples": [{**SAMPLE, "mode": "zzz"}]},
        {"samples": [{**SAMPLE, "calls": "12"}]},
        {"samples": [{**SAMPLE, "wall_ns": -1}]},
        {"notes": [{"level": "info", "kind": "new", "count": 1, "message": "m", "option": None}]},
        {"profiles": [{"file": "profiles/x", "case": "a", "route": "b"}]},
    ],
)
def test_rows_that_no_recorder_writes_are_refused(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    with pytest.raises(FgtraceError) as caught:
        assemble(*recorded(tmp_path, **changes))
    assert caught.value.exit_code == ExitCode.UNREADABLE


def test_a_profile_is_looked_for_inside_the_recording_only(tmp_path: Path) -> None:
    profile(tmp_path)
    outside = {"file": "../../p.json.gz", "case": "a", "route": "b"}
    recording, run = recorded(tmp_path, profiles=[{**outside, "generation": 0, "process": 1}])
    (recording / "profiles").mkdir()
    with pytest.raises(FgtraceError, match=r"profile p\.json\.gz"):
        assemble(recording, run)
