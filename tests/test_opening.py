import gzip
import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import pytest

import fgtrace
from fgtrace.analysis.summary import summarise
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.store import save_run
from fgtrace.opening import open_trace

CUT_OFF = gzip.compress(b'{"schemaVersion": 1, "traceEvents": [')[:30]
"""The beginning of a trace from which nothing can be read."""


def test_open_is_in_the_package(trace, assert_documented_columns):
    opened = fgtrace.open(str(trace.kernel("k", 0, 5000, 10).write()))
    assert opened.source == "trace.json"
    assert opened.provenance.profiler == "kineto"
    assert opened.parts.select("source", "process", "profiler").rows() == [
        ("trace.json", "1", "kineto")
    ]
    assert_documented_columns(opened)


def test_a_run_is_opened_by_its_folder(trace, tmp_path):
    opened = open_trace(trace.kernel("k", 0, 5000, 10).write())
    run = tmp_path / "x.fgtrace"
    run.mkdir()
    save_run(opened, run, name="x")
    assert open_trace(run).events.collect().equals(opened.events.collect())


def test_an_unfinished_run_is_refused(tmp_path):
    unfinished = tmp_path / "x.fgtrace"
    unfinished.mkdir()
    with pytest.raises(FgtraceError, match="incomplete"):
        open_trace(unfinished)


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(FgtraceError, match="does not exist"):
        open_trace(tmp_path / "none.fgtrace.zip")


def test_a_path_that_cannot_even_be_looked_at_is_refused(tmp_path):
    with pytest.raises(FgtraceError, match="too long") as raised:
        open_trace(tmp_path / ("x" * 300))
    assert raised.value.exit_code is ExitCode.UNREADABLE


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        ('{"schema": "1.0.2", "nodes": []}', "unknown-format", "is a PyTorch execution trace"),
        ("Kind,Start_Timestamp\n", "unknown-format", "is rocprofv3 CSV"),
        ('{"a": 1}', "unknown-format", "has no traceEvents"),
        ("hello", "not-json", "is not JSON"),
        ("", "empty", "is empty"),
    ],
)
def test_a_file_that_is_no_recording_is_told_by_its_content(tmp_path, content, kind, message):
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(FgtraceError, match=message) as raised:
        open_trace(path)
    assert (raised.value.kind, raised.value.exit_code) == (kind, ExitCode.UNREADABLE)
    assert raised.value.hint


def test_a_kineto_file_may_be_called_anything(trace):
    path = trace.kernel("k", 0, 5000, 10).write("page.html")
    assert open_trace(path).parts.height == 1


def test_a_zip_that_is_no_run_is_told_from_one(trace, tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("trace.json", trace.op("a", 0, 1).text())
    with pytest.raises(FgtraceError, match="is a zip archive") as raised:
        open_trace(path)
    assert "extract" in raised.value.hint


def test_a_recording_of_the_recorder_says_how_a_run_is_made_of_it(tmp_path):
    path = tmp_path / "recording.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("logs/aten.g0.txt", "")
        archive.writestr("recording.json", "{}")
    with pytest.raises(FgtraceError, match="is a recording of the one-file recorder") as raised:
        open_trace(path)
    assert raised.value.hint == "make a run of it: fgtrace collect --from RECORDING"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "recording")
    with pytest.raises(FgtraceError, match="holds no recording") as raised:
        open_trace(tmp_path / "recording")
    assert raised.value.hint == "make a run of it: fgtrace collect --from RECORDING"


def write_ranks(new_trace, folder, *ranks):
    folder.mkdir(exist_ok=True)
    for rank in ranks:
        builder = new_trace().kernel(f"k{rank}", 0, 5000, 10 * rank)
        builder.metadata["distributedInfo"] = {"rank": rank}
        (folder / f"rank{rank}.json").write_text(builder.text())


def test_the_files_of_a_folder_are_parts_in_natural_order(new_trace, tmp_path, kernels_by_part):
    folder = tmp_path / "job"
    write_ranks(new_trace, folder, 10, 2, 1)
    opened = open_trace(folder)
    assert opened.source == "job"
    assert opened.parts.select("part", "source", "rank").rows() == [
        (0, "rank1.json", 1),
        (1, "rank2.json", 2),
        (2, "rank10.json", 10),
    ]
    assert kernels_by_part(opened) == [("k1", 0), ("k2", 1), ("k10", 2)]
    assert opened.notes["kind"].to_list() == ["no-calls"]


def test_two_cycles_of_one_rank_are_two_parts(new_trace, tmp_path):
    folder = tmp_path / "job"
    write_ranks(new_trace, folder, 1)
    cycle = (folder / "rank1.json").read_bytes()
    (folder / "rank1.2.json.gz").write_bytes(gzip.compress(cycle))
    assert open_trace(folder).parts["rank"].to_list() == [1, 1]


def test_the_provenance_of_a_folder_is_that_of_its_first_part(new_trace, tmp_path):
    for name, device in (("b", "second"), ("a", "first")):
        builder = new_trace().kernel("k", 0, 5000, 10)
        builder.metadata["deviceProperties"] = [{"id": 0, "name": device}]
        (tmp_path / f"{name}.json").write_text(builder.text())
    assert open_trace(tmp_path).provenance.device.name == "first"


def test_what_else_is_in_a_folder_is_one_note_of_no_weight(new_trace, tmp_path):
    folder = tmp_path / "job"
    write_ranks(new_trace, folder, 1)
    (folder / "notes.txt").write_text("hello")
    (folder / "et.json").write_text('{"schema": "1.0.2", "nodes": []}')
    (folder / ".hidden").write_text("hello")
    (folder / "done").touch()
    (folder / "deeper").mkdir()
    (folder / "dangling").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe")
    write_ranks(new_trace, folder / "deeper", 2)
    opened = open_trace(folder)
    assert opened.parts.height == 1
    note = opened.notes.filter(kind="files-not-read").row(0, named=True)
    assert (note["level"], note["count"]) == ("info", 6)
    for name in ("notes.txt", "et.json (a PyTorch execution trace)", "deeper/", "dangling"):
        assert name in note["message"]
    assert "hidden" not in note["message"]
    assert summarise(opened).outcome == "ok"


def test_a_damaged_part_is_a_warning_and_the_others_are_read(new_trace, tmp_path):
    folder = tmp_path / "job"
    write_ranks(new_trace, folder, 1, 2, 3, 4)
    whole = (folder / "rank2.json").read_bytes()
    (folder / "rank2.json").write_bytes(CUT_OFF)
    (folder / "rank3.json").write_bytes(b"")
    opened = open_trace(folder)
    assert opened.parts["source"].to_list() == ["rank1.json", "rank4.json"]
    told = opened.notes.filter(kind="part-not-read")
    assert told["level"].to_list() == ["warning"] * 2
    assert "rank2.json" in told["message"][0]
    assert "rank3.json is empty" in told["message"][1]
    (folder / "rank2.json").write_bytes(whole)
    assert open_trace(folder).parts.height == 3


def test_a_folder_of_damaged_parts_only_is_the_first_one_s_error(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_bytes(CUT_OFF)
    with pytest.raises(FgtraceError, match=r"a\.json") as raised:
        open_trace(tmp_path)
    assert raised.value.kind == "truncated"


def test_a_folder_without_a_recording_says_what_was_looked_for_and_found(tmp_path):
    with pytest.raises(FgtraceError, match="holds no recording") as raised:
        open_trace(tmp_path)
    assert (raised.value.kind, raised.value.exit_code) == ("unknown-format", ExitCode.UNREADABLE)
    assert "Kineto" in raised.value.hint
    (tmp_path / "x.csv").write_text("Kind,Start_Timestamp\n")
    with pytest.raises(FgtraceError) as raised:
        open_trace(tmp_path)
    assert "x.csv (rocprofv3 CSV)" in raised.value.hint


def test_a_folder_of_runs_names_them(tmp_path):
    (tmp_path / "case.fgtrace").mkdir()
    with pytest.raises(FgtraceError) as raised:
        open_trace(tmp_path)
    assert raised.value.hint == "name one of the runs in it: case.fgtrace/"


def test_ranks_with_the_same_numbers_add_up(shared):
    folder = shared / "cases/S24-rank-collision"
    expected = json.loads((folder / "expect.json").read_text())
    summary = summarise(open_trace(folder))
    assert summary.outcome == expected["outcome"]
    for name, value in expected["metrics"].items():
        assert getattr(summary.metrics, name) == value, name
    for part in summary.parts:
        for name, value in expected["extra"]["per_rank"][str(part.rank)].items():
            assert getattr(part.metrics, name) == value, (part.rank, name)
    assert [part.rank for part in summary.parts] == [0, 1]


def test_progress_names_each_file_that_is_read(new_trace, tmp_path):
    folder = tmp_path / "job"
    write_ranks(new_trace, folder, 1, 2)
    told = []
    open_trace(folder, lambda *state: told.append(state))
    for file in (folder / "rank1.json", folder / "rank2.json"):
        size = file.stat().st_size
        assert (str(file), size, size) in told


def show(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "fgtrace", "show", *arguments], capture_output=True, **options
    )


@pytest.mark.parametrize("place", ["trace.json", "."])
def test_raw_times_are_kept_where_they_are_asked_for(trace, place):
    path = trace.op("backwards", 100, -50).write().parent / place
    for raw_times, duration in ((False, None), (True, -50)):
        events = open_trace(path, raw_times=raw_times).events.collect()
        assert events["dur_ns"].to_list() == [duration]


def test_standard_input_is_read_like_a_file_and_nothing_of_it_is_left(trace, tmp_path):
    path = trace.kernel("k", 0, 5000, 10).write()
    data = path.read_bytes()
    left = tmp_path / "left"
    left.mkdir()
    with_place = {**os.environ, "TMPDIR": str(left)}
    expected = show("summary", str(path), "--format=csv").stdout
    for content in (data, gzip.compress(data)):
        result = show("summary", "-", "--format=csv", input=content, env=with_place)
        assert (result.returncode, result.stdout, result.stderr) == (0, expected, b"")
        assert list(left.iterdir()) == []
    assert b"Summary of standard input" in show("summary", "-", input=data).stdout


def test_a_run_in_a_zip_comes_through_standard_input(trace, tmp_path):
    run = tmp_path / "x.fgtrace"
    run.mkdir()
    save_run(open_trace(trace.kernel("k", 0, 5000, 10).write()), run, name="x")
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in run.iterdir():
            archive.write(file, file.name)
    result = show("kernels", "-", "--format=json", input=path.read_bytes())
    assert [row["name"] for row in json.loads(result.stdout)["rows"]] == ["k"]
    cut = show("kernels", "-", input=path.read_bytes()[:-30])
    assert cut.returncode == ExitCode.UNREADABLE
    assert cut.stderr.startswith(b"fgtrace: error: standard input is damaged")


@pytest.mark.parametrize(("content", "kind"), [(b"", "empty"), (b"hello", "not-json")])
def test_an_error_of_standard_input_names_it(content, kind):
    result = show("summary", "-", "--format=json", input=content)
    assert result.returncode == ExitCode.UNREADABLE
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == kind
    assert error["message"].startswith("standard input is ")


def test_a_closed_standard_input_is_told():
    result = show("summary", "-", stdin=None, preexec_fn=lambda: os.close(0))
    assert result.returncode == ExitCode.UNREADABLE
    assert result.stderr.startswith(b"fgtrace: error: standard input cannot be read")


def test_no_room_for_standard_input_is_told(trace, tmp_path):
    limited = "ulimit -f 1; exec " + f'"{sys.executable}" -m fgtrace show summary -'
    for number in range(200):
        trace.op("x" * 200, number, 1)
    result = subprocess.run(
        ["bash", "-c", f"trap '' XFSZ; {limited}"], input=trace.text().encode(), capture_output=True
    )
    assert result.returncode == ExitCode.UNREADABLE
    assert b"standard input cannot be kept in a temporary file" in result.stderr
    assert b"TMPDIR" in result.stderr


def test_a_named_pipe_is_read_once(trace):
    path = trace.kernel("k", 0, 5000, 10).write()
    script = f'"{sys.executable}" -m fgtrace show summary <(cat "{path}") --format=csv'
    result = subprocess.run(["bash", "-c", script], capture_output=True)
    assert result.stdout == show("summary", str(path), "--format=csv").stdout
    assert result.stderr == b""


def test_control_c_while_standard_input_comes_leaves_nothing(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "fgtrace", "show", "summary", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
    finally:
        signal.signal(signal.SIGINT, before)
    process.stdin.write(b'{"traceEvents": [' * (1 << 17))
    process.stdin.flush()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_opening_loads_no_torch_and_nothing_that_draws(trace):
    path = trace.range("call", 0, 9000).kernel("k", 1000, 5000, 10).write()
    script = f"""
import sys, fgtrace
from fgtrace.analysis.phases import phases_report
from fgtrace.analysis.summary import summarise
opened = fgtrace.open({str(path)!r})
summarise(opened), phases_report(opened)
heavy = ("torch", "triton", "textual", "plotly", "numpy", "pandas", "pyarrow")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"


def test_a_file_whose_name_is_no_text_is_opened(trace):
    path = trace.op("aten::add", 0, 10).write(os.fsdecode(b"\xff.json"))
    assert open_trace(path).source == r"\udcff.json"
    assert open_trace(path.parent).parts["source"].to_list() == [r"\udcff.json"]


def test_files_whose_names_are_no_text_are_named_in_notes(trace, tmp_path):
    trace.op("aten::add", 0, 10).write("rank0.json")
    (tmp_path / os.fsdecode(b"\xfe.txt")).write_text("junk")
    (tmp_path / os.fsdecode(b"\xff.json")).touch()
    messages = open_trace(tmp_path).notes["message"].to_list()
    assert any(r"\udcfe.txt" in message for message in messages)
    assert any(r"\udcff.json is empty" in message for message in messages)


def test_attributes_of_a_file_that_changed_while_it_was_read_are_refused(trace):
    path = trace.kernel("k", 0, 100, 10).write()
    opened = open_trace(path, lambda *_: os.utime(path, ns=(0, 1)), cache=False)
    with pytest.raises(Exception, match="no longer the file"):
        opened.launch_attributes.collect()


def test_attributes_of_what_came_through_a_pipe_can_be_collected_later(trace, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = trace.op("a", 0, 1, **{"Input Dims": [[2]]}).text()
    with subprocess.Popen(
        ["tee", pipe], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as writer:
        writer.stdin.write(text.encode())
        writer.stdin.close()
        opened = open_trace(pipe)
    assert opened.op_attributes.collect()["input_shapes"].to_list() == ["[[2]]"]
    assert opened.launch_attributes.collect().is_empty()
