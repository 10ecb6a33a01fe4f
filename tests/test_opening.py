import subprocess
import sys

import polars as pl
import pytest

import fgtrace
from fgtrace.errors import FgtraceError
from fgtrace.frames.notes import Note
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.store import save_run
from fgtrace.frames.trace import FRAMES
from fgtrace.opening import analysed, open_trace
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.recorded import PartSource


def test_open_is_in_the_package(trace):
    opened = fgtrace.open(str(trace.kernel("k", 0, 5000, 10).write()))
    assert opened.source == "trace.json"
    assert opened.provenance.profiler == "kineto"
    assert opened.parts.select("source", "process", "profiler").rows() == [
        ("trace.json", "1", "kineto")
    ]
    for name, expected in FRAMES.items():
        assert getattr(opened, name).schema == expected


def test_a_run_is_opened_by_its_folder(trace, tmp_path):
    opened = open_trace(trace.kernel("k", 0, 5000, 10).write())
    run = tmp_path / "x.fgtrace"
    run.mkdir()
    save_run(opened, run, name="x")
    assert open_trace(run).events.equals(opened.events)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(FgtraceError, match="not a run") as raised:
        open_trace(tmp_path)
    assert raised.value.kind == "unknown-format"
    unfinished = tmp_path / "x.fgtrace"
    unfinished.mkdir()
    with pytest.raises(FgtraceError, match="incomplete"):
        open_trace(unfinished)


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(FgtraceError, match="does not exist"):
        open_trace(tmp_path / "none.fgtrace.zip")


def recording(builder, name, dur):
    """The same process, device and correlation numbers each time."""
    builder.range(f"fgtrace::call::c::{name}::0", 0, 9000).op("aten::mul", 500, 5000)
    builder.kernel(name, 1000, 20_000, dur).event("python_function", "main", 0, 9, pid=0, tid=0)
    return read_kineto(builder.write(f"{name}.json"))


def test_parts_with_the_same_numbers_never_mix(new_trace):
    parts = [
        PartSource(recording(new_trace(), name, dur), name, route=name, generation=number)
        for number, (name, dur) in enumerate([("a", 100), ("b", 200)])
    ]
    opened = analysed(parts, source="two", provenance=Provenance())
    names = dict(opened.events.select("event_id", pl.col("name").cast(pl.String)).rows())
    part_of = dict(opened.events.select("event_id", "part").rows())
    assert opened.events["event_id"].to_list() == list(range(opened.events.height))
    assert opened.links.height == 2
    for device, launch, op, around in opened.links.select(
        "device_event_id", "launch_event_id", "op_event_id", "range_event_id"
    ).iter_rows():
        assert part_of[device] == part_of[launch] == part_of[op] == part_of[around]
        assert names[around] == f"fgtrace::call::c::{names[device]}::0"
    children = opened.events.filter(pl.col("parent_id").is_not_null())
    for event, parent in children.select("event_id", "parent_id").iter_rows():
        assert part_of[event] == part_of[parent]
        assert parent < event
    assert opened.calls.select("part", "route", "generation").rows() == [(0, "a", 0), (1, "b", 1)]
    assert opened.parts.select("part", "route", "generation").rows() == [(0, "a", 0), (1, "b", 1)]


def test_launch_attributes_follow_their_kernels_into_the_trace(new_trace):
    parts = []
    for grid in (4, 8):
        builder = new_trace().op("aten::add", 0, 10)
        builder.work("k", 50, 5, grid=[grid, 1, 1])
        parts.append(PartSource(read_kineto(builder.write(f"{grid}.json")), str(grid)))
    opened = analysed(parts, source="two", provenance=Provenance())
    kernels = opened.events.filter(pl.col("kind") == "kernel")["event_id"].to_list()
    attributes = opened.launch_attributes.collect()
    assert attributes.select("event_id", pl.col("grid").list.first()).rows() == [
        (kernels[0], 4),
        (kernels[1], 8),
    ]


def test_notes_of_the_caller_the_reader_and_the_analyses_are_collected(trace):
    trace.op("a", 0, 1).event("cpu_op", "b", 0, 0, ph="B")
    recorded = read_kineto(trace.write())
    opened = analysed(
        [PartSource(recorded, "x")],
        source="x",
        provenance=Provenance(),
        notes=[Note("info", "quick", 1, "one generation")],
    )
    assert opened.notes.select("kind", "part").rows() == [
        ("quick", None),
        ("events-not-read", 0),
        ("no-device-activity", None),
        ("no-calls", None),
    ]


def test_a_trace_of_no_recordings_has_empty_frames():
    opened = analysed([], source="nothing", provenance=Provenance())
    for name, expected in FRAMES.items():
        assert getattr(opened, name).schema == expected
    assert opened.events.is_empty()


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
