from pathlib import Path

import polars as pl
import pytest

import fgtrace
from fgtrace.analysis.groups import GROUPS, USER
from fgtrace.analysis.host import HOST, host_by_group_report, host_report
from fgtrace.analysis.matrix import call_times
from fgtrace.opening import open_trace

SAMPLE = Path(__file__).parents[2] / "samples/factorial.fgtrace"

NAMES = {
    "profiler": ("torch/autograd/profiler.py(826): __enter__", "my/profiler.py(1): f"),
    "triton: key": ("triton/runtime/jit.py(690): compute_cache_key", "my/jit.py(1): compute_key"),
    "triton: bind": ("triton/runtime/jit.py(370): <lambda>", "my/jit.py(370): <lambda>"),
    "triton: launch": ("triton/runtime/jit.py(695): run", "my/runtime/jit.py(695): run"),
    "triton: interpreter": ("triton/runtime/interpreter.py(9): f", "my/interpreter.py(9): f"),
    "triton: other": ("/x/triton/runtime/cache.py(9): get", "my_triton/cache.py(9): get"),
    "flaggems": ("/x/flag_gems/utils/libentry.py(659): run", "my_flag_gems/libentry.py(6): run"),
    "bundled kernels": ("fgtrace_kernels/launch.py(9): launch", "my_kernels/launch.py(9): f"),
    "allocator": ("<built-in method empty of type object at 0x7f>", "my/memory.py(1): empty"),
    "dispatcher": ("torch/_ops.py(946): __call__", "my/_ops.py(946): __call__"),
    "torch Python": ("torch/nn/modules/module.py(1783): _call_impl", "my_torch/nn.py(1): f"),
}


def groups(opened):
    return dict(host_report(opened).select("function", "group").rows())


def stacked(trace, name, start, dur):
    return trace.event("python_function", name, start, dur)


def test_every_group_has_an_example_a_near_miss_and_a_source():
    assert set(NAMES) == {group.name for group in GROUPS}
    assert all(group.source for group in GROUPS)


@pytest.mark.parametrize("group", NAMES)
def test_a_frame_is_in_its_group_and_one_with_a_like_name_is_not(trace, group):
    name, near = NAMES[group]
    stacked(stacked(trace, name, 0, 10), near, 20, 10)
    rows = host_report(open_trace(trace.write()))
    assert sorted(rows["group"]) == sorted([group, USER])


def test_the_rows_of_calls_add_up_to_them(trace):
    for start in (0, 100_000):
        trace.range("call", start, 50_000)
        stacked(trace, "mine.py(1): f", start + 1000, 40_000)
        trace.op("aten::add", start + 5000, 9000).kernel("k", start + 6000, start + 20_000, 10)
        trace.op("aten::empty", start + 15_000, 300)
    rows = host_report(open_trace(trace.write()))
    assert rows.schema == HOST
    assert rows.select("group", "module", "function", "total_ns", "recorded_ns").rows() == [
        (USER, "mine.py", "f", 61_400, 30_700),
        ("outside of frames", None, "call", 20_000, 10_000),
        ("operator", None, "aten::add", 14_000, 7000),
        ("launch call", None, "cudaLaunchKernel", 4000, 2000),
        ("allocator", None, "aten::empty", 600, 300),
    ]
    assert rows["total_ns"].sum() == 100_000
    assert rows["share"].sum() == pytest.approx(1)


def test_without_calls_it_is_the_whole_recording(trace):
    stacked(stacked(trace, "a.py(1): f", 0, 1000), "a.py(2): g", 200, 300)
    rows = host_report(open_trace(trace.write()))
    assert rows.select("function", "total_ns", "calls").rows() == [("f", 700, 1), ("g", 300, 1)]


def test_without_stacks_there_are_no_rows(trace):
    assert host_report(open_trace(trace.range("call", 0, 10).write())).is_empty()


@pytest.fixture(scope="module")
def sample():
    return fgtrace.open(SAMPLE)


def test_a_runs_stacks_are_apart_from_its_profile_and_explain_the_launchers_python(sample):
    kinds = sample.events.select(pl.col("kind").cast(pl.String).unique()).collect()["kind"]
    assert "python" not in kinds
    assert sample.stacks is not None
    rows = host_report(sample).filter(route="flaggems")
    assert {"triton: launch", "dispatcher", "waiting", "launch call"} <= set(rows["group"])


def test_the_rows_of_a_run_add_up_to_its_stacked_calls(sample):
    rows = host_report(sample)
    kept = sample.stacks.calls.filter(~pl.col("left_out"))
    expected = dict(kept.group_by("route").agg(pl.col("dur_ns").sum()).rows())
    assert dict(rows.group_by("route").agg(pl.col("total_ns").sum()).rows()) == expected


def test_scaled_rows_add_up_to_the_call_by_the_stopwatch(sample):
    scaled = host_report(sample).group_by("route").agg(pl.col("scaled_ns").sum())
    for route, time in scaled.rows():
        call = call_times(sample).filter(route=route)["throughput_ns"][0]
        assert time == pytest.approx(call, rel=0.01)


def test_waits_are_not_scaled(sample):
    waits = host_report(sample).filter(group="waiting")
    assert waits["scaled_ns"].equals(waits["recorded_ns"])


def test_groups_are_told_at_a_glance(sample):
    rows, groups = host_report(sample), host_by_group_report(sample)
    assert groups["total_ns"].sum() == rows["total_ns"].sum()
    assert groups.select("route", "group").is_unique().all()


def test_flaggems_and_the_launcher_are_told_apart_in_a_recording_of_flaggems(shared):
    file = shared / "traces/flaggems_h800_complex_mul_triton.json.gz"
    told = dict(host_by_group_report(open_trace(file)).select("group", "total_ns").rows())
    assert told["flaggems"] > told["triton: launch"] > told["triton: bind"] > 0
