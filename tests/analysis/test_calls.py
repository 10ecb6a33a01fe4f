import polars as pl
import pytest

from fgtrace.analysis.calls import (
    CALLS_BY_CASE,
    CALLS_REPORT,
    calls_by_case_report,
    calls_report,
    select_calls,
)
from fgtrace.errors import FgtraceError
from fgtrace.frames.schema import CALLS
from fgtrace.opening import open_trace


def opened_calls(trace):
    opened = open_trace(trace.write())
    assert opened.calls.schema == CALLS
    return opened.calls


def test_the_full_form_names_case_route_and_index(trace):
    trace.range("fgtrace::call::repeat::aten::7", 0, 10).range("call", 20, 10)
    trace.range("fgtrace::repeat", 40, 10).range("ProfilerStep#1", 0, 90)
    assert opened_calls(trace).select("case", "route", "index").rows() == [("repeat", "aten", 7)]


def test_forms_are_taken_in_order_and_never_mixed(trace):
    trace.range("ProfilerStep#4", 0, 100).range("call", 10, 10).range("call", 30, 10)
    calls = opened_calls(trace)
    assert calls.select("case", "route", "index").rows() == [(None, None, 0), (None, None, 1)]
    trace.range("fgtrace::gather", 50, 10)
    assert opened_calls(trace).select("case", "index").rows() == [("gather", 0)]


def test_a_call_range_may_name_the_case_alone(trace):
    trace.range("fgtrace::call::readback=0,check=1", 0, 10)
    assert opened_calls(trace)["case"].to_list() == ["readback=0,check=1"]


def test_profiler_steps_are_calls_where_nothing_else_is(trace):
    trace.range("ProfilerStep#8", 0, 10).range("ProfilerStep#9", 10, 10).range("forward", 1, 2)
    assert opened_calls(trace)["start_ns"].len() == 2


def test_phases_are_no_calls(trace):
    trace.range("fgtrace::phase::expand", 0, 10).range("phase::scan", 20, 10)
    assert opened_calls(trace).is_empty()


def test_nested_calls_count_once_though_something_lies_between(trace):
    trace.range("call", 0, 100).op("aten::add", 10, 50).range("call", 20, 10)
    trace.range("call", 20, 10, tid=2)
    assert opened_calls(trace)["dur_ns"].to_list() == [100, 10]


def durations(trace, *durations, name="call"):
    at = 0
    for dur in durations:
        trace.range(name, at, dur)
        at += dur
    return trace


def test_a_first_call_over_three_medians_is_left_out_with_a_note(trace):
    opened = open_trace(durations(trace, 31, 10, 10, 10, 40).write())
    assert opened.calls["left_out"].to_list() == [True, False, False, False, False]
    notes = opened.notes.filter(pl.col("kind") == "first-call-left-out")
    assert notes.select("count").rows() == [(1,)]


def test_a_first_call_of_exactly_three_medians_is_kept(trace):
    assert not opened_calls(durations(trace, 30, 10, 10)).get_column("left_out").any()


def test_each_case_and_route_has_its_own_first_call(trace):
    durations(trace, 100, 10, 10, name="fgtrace::call::a::x::0")
    for at, dur in ((500, 50), (600, 5), (700, 5)):
        trace.range("fgtrace::call::a::y::0", at, dur)
    calls = opened_calls(trace)
    assert calls.filter("left_out").select("route", "dur_ns").rows() == [("x", 100), ("y", 50)]


def test_no_calls_is_a_note_and_an_empty_report(trace):
    opened = open_trace(trace.kernel("k", 0, 5000, 10).write())
    assert opened.notes.select("kind", pl.col("level").cast(pl.String)).rows() == [
        ("no-calls", "info")
    ]
    report = calls_report(opened)
    assert report.schema == CALLS_REPORT
    assert report.is_empty()


def test_a_call_owns_what_it_launched_whenever_that_ran(trace):
    trace.range("call", 0, 20_000).kernel("a", 1000, 50_000, 300).readback(5000, 51_000)
    trace.range("call", 60_000, 20_000).kernel("a", 61_000, 90_000, 500)
    trace.work("fill", 91_000, 7, category="gpu_memset")
    trace.kernel("outside", 85_000, 95_000, 1)
    report = calls_report(open_trace(trace.write()))
    assert report.schema == CALLS_REPORT
    counts = ("kernel_count", "copy_count", "readback_count", "device_time_ns")
    assert report.select("index", *counts).rows() == [(0, 1, 1, 1, 1300), (1, 1, 0, 0, 507)]


def test_a_call_without_device_work_has_counts_of_zero(trace):
    trace.range("call", 0, 10).kernel("elsewhere", 100, 5000, 10)
    assert calls_report(open_trace(trace.write()))["kernel_count"].to_list() == [0]


def test_counts_are_unknown_where_the_device_was_not_recorded(trace):
    trace.range("call", 0, 10)
    report = calls_report(open_trace(trace.write()))
    assert report.select("kernel_count", "readback_count", "device_time_ns").rows() == [
        (None, None, None)
    ]


def test_work_of_a_thread_without_calls_belongs_to_the_call_of_its_time(trace):
    trace.range("ProfilerStep#1", 0, 10_000).range("ProfilerStep#2", 10_000, 10_000)
    trace.kernel("backward", 4000, 30_000, 5, tid=2).kernel("late", 25_000, 40_000, 5, tid=2)
    trace.kernel("forward", 12_000, 35_000, 5)
    assert calls_report(open_trace(trace.write()))["kernel_count"].to_list() == [1, 1]


def test_a_copy_whose_launch_is_unknown_leaves_the_readbacks_of_no_call_in_doubt(trace):
    trace.range("call", 0, 20_000).readback(5000, 9000)
    trace.work("Memcpy DtoH", 15_000, 9, category="gpu_memcpy", correlation=1)
    assert calls_report(open_trace(trace.write()))["readback_count"].to_list() == [1]


H200 = {
    "native.repeat_Tensor_known": (3, 0, 0),
    "native.repeat_Tensor_dynamic": (5, 2, 2),
    "native.repeat_values_known": (4, 0, 0),
    "native.repeat_values_dynamic": (6, 2, 2),
    "flaggems.repeat_Tensor_known": (3, 1, 1),
    "flaggems.repeat_Tensor_dynamic": (3, 1, 1),
    "flaggems.repeat_values_known": (4, 1, 1),
    "flaggems.repeat_values_dynamic": (4, 1, 1),
    "abl_00_full": (6, 0, 0),
    "abl_01_full": (7, 2, 2),
    "abl_10_full": (6, 1, 1),
    "abl_11_full": (7, 3, 3),
}


def test_h200_calls_have_the_known_kernels_copies_and_readbacks(shared):
    for name, expected in H200.items():
        report = calls_report(open_trace(shared / f"traces/h200/{name}.json.gz"))
        assert report.height == (200 if name.startswith("abl") else 5), name
        counts = report.select("kernel_count", "copy_count", "readback_count").unique()
        assert counts.rows() == [expected], name
        if not name.startswith("abl"):
            assert report["left_out"].to_list() == [True, False, False, False, False], name


def test_work_of_a_thread_that_the_file_leaves_out_counts_once(trace):
    trace.range("fgtrace::call::c::r::0", 0, 100_000).kernel("k", 10_000, 20_000, 5000)
    trace.readback(40_000, 50_000)
    trace.lines = [line.replace('"tid": 1, ', "") for line in trace.lines]
    calls = calls_report(open_trace(trace.write()))
    assert calls.select("kernel_count", "copy_count", "readback_count").rows() == [(1, 1, 1)]


def test_a_step_has_the_number_of_its_range(trace):
    for number in (7, 8):
        trace.range(f"ProfilerStep#{number}", number * 1000, 900)
    assert calls_report(open_trace(trace.write()))["index"].to_list() == [7, 8]


def test_by_case_the_distribution_and_the_worst_call_are_told(trace):
    for number, time in enumerate((90_000, 1000, 3000, 2000, 1000)):
        trace.range(f"fgtrace::call::c::r::{number}", number * 100_000, time)
    trace.kernel("k", 100_100, 100_200, 70)
    rows = calls_by_case_report(open_trace(trace.write()))
    assert rows.schema == CALLS_BY_CASE
    assert rows.rows() == [("c", "r", None, 5, 1500, 3000, 90_000, 0, 0, 0, 0, 0)]


def test_calls_can_be_the_ranges_that_match(trace):
    for step in (1, 2):
        at = step * 100_000
        trace.range(f"ProfilerStep#{step}", at, 90_000).range(f"stage#{step}", at + 100, 50_000)
        trace.range("stage#9", at + 200, 1000).kernel("k", at + 5000, at + 60_000, 10)
    chosen = select_calls(open_trace(trace.write()), ranges="^stage")
    assert calls_report(chosen).select("case", "call_ns", "kernel_count").rows() == [
        ("stage", 50_000, 1),
        ("stage", 50_000, 1),
    ]


def test_calls_can_be_the_outermost_calls_of_an_operator(trace):
    trace.op("aten::add", 0, 10_000).op("aten::add", 100, 5000).kernel("k", 1000, 20_000, 10)
    trace.op("aten::add_", 30_000, 10).op("aten::add", 40_000, 7000)
    opened = open_trace(trace.write())
    assert "no-calls" in opened.notes["kind"]
    chosen = select_calls(opened, operator="aten::add")
    assert "no-calls" not in chosen.notes["kind"]
    assert calls_report(chosen).select("case", "call_ns", "kernel_count").rows() == [
        ("aten::add", 10_000, 1),
        ("aten::add", 7000, 0),
    ]


def test_where_nothing_is_selected_the_error_says_what_there_is(trace):
    opened = open_trace(trace.range("step#1", 0, 10).op("aten::add", 0, 5).write())
    with pytest.raises(FgtraceError, match="no range's name matches 'x'") as raised:
        select_calls(opened, ranges="x")
    assert "step#1" in raised.value.hint
    with pytest.raises(FgtraceError, match="no operator is named 'x'") as raised:
        select_calls(opened, operator="x")
    assert "aten::add" in raised.value.hint


def test_a_number_that_is_part_of_a_name_stays_in_it(trace):
    trace.range("readback=1", 0, 10).range("step::7", 100, 10)
    chosen = select_calls(open_trace(trace.write()), ranges="=1|step")
    assert chosen.calls["case"].to_list() == ["readback=1", "step"]
