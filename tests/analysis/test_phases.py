import polars as pl
import pytest

from fgtrace.analysis.phases import PHASES, phases_report
from fgtrace.opening import open_trace


def one_call(trace, start=0):
    """A call of 50 us: a scan, a readback, and a kernel that no phase covers."""
    trace.range("fgtrace::call::repeat::aten::0", start, 50_000)
    trace.range("fgtrace::phase::prefix_scan", start + 1000, 9000)
    trace.kernel("scan", start + 2000, start + 30_000, 400)
    trace.range("fgtrace::phase::length_readback", start + 12_000, 22_000)
    trace.readback(start + 13_000, start + 31_000)
    return trace.kernel("expand", start + 40_000, start + 45_000, 700)


def report(trace):
    rows = phases_report(open_trace(trace.write()))
    assert rows.schema == PHASES
    return rows


def test_work_belongs_to_the_phase_around_its_launch_and_the_rest_to_what_the_host_does(trace):
    rows = report(one_call(trace))
    assert rows.drop("case", "route").rows() == [
        ("prefix_scan", 1, 1, 0, 0, 400, 9000, 0, "range"),
        ("length_readback", 1, 0, 1, 1, 1000, 22_000, 18_400, "range"),
        ("python", 1, 0, 0, 0, 0, 17_000, 0, None),
        ("launch", 1, 1, 0, 0, 700, 2000, 0, None),
    ]
    assert rows.select("case", "route").unique().rows() == [("repeat", "aten")]


def test_the_host_times_of_a_call_add_up_to_it_though_phases_nest(trace):
    trace.range("call", 0, 50_000).range("fgtrace::phase::expand", 1000, 30_000)
    trace.range("fgtrace::phase::allocate", 5000, 4000).kernel("k", 6000, 60_000, 10)
    rows = report(trace)
    assert rows.select("phase", "host_time_ns", "kernel_count").rows() == [
        ("expand", 26_000, 0),
        ("allocate", 4000, 1),
        ("python", 20_000, 0),
    ]
    assert rows["host_time_ns"].sum() == 50_000


def test_the_names_of_older_files_mean_the_same(trace):
    trace.range("call", 0, 50_000).range("phase::scan", 1000, 2000)
    trace.range("phase::readback", 4000, 2000).range("phase::index_check", 7000, 2000)
    assert report(trace)["phase"].to_list() == [
        "prefix_scan",
        "length_readback",
        "index_check",
        "python",
    ]


def test_medians_leave_out_a_slow_first_call_and_counts_keep_it(trace):
    trace.range("call", 0, 900_000).kernel("k", 1000, 950_000, 90)
    for number, dur in enumerate((10, 30, 20)):
        start = 1_000_000 * (number + 1)
        trace.range("call", start, 50_000).kernel("k", start + 1000, start + 9000, dur)
    rows = report(trace).select("phase", "calls", "device_time_ns", "host_time_ns").rows()
    assert rows == [("python", 4, 0, 48_000), ("launch", 4, 20, 2000)]


def test_a_phase_that_only_some_calls_have_is_described_by_those(trace):
    one_call(trace)
    trace.range("fgtrace::call::repeat::aten::1", 100_000, 50_000)
    rows = report(trace)
    assert dict(rows.select("phase", "calls").rows()) == {
        "prefix_scan": 1,
        "length_readback": 1,
        "python": 2,
        "launch": 1,
    }


def test_phases_outside_of_any_call_are_not_counted(trace):
    one_call(trace).range("fgtrace::phase::gather", 200_000, 9000).kernel("k", 201_000, 210_000, 5)
    assert "gather" not in report(trace)["phase"].to_list()


def test_device_columns_are_unknown_where_the_device_was_not_recorded(trace):
    trace.range("call", 0, 50_000).range("fgtrace::phase::expand", 1000, 30_000)
    rows = report(trace)
    assert rows.select("kernel_count", "device_time_ns").unique().rows() == [(None, None)]
    assert rows["host_time_ns"].to_list() == [30_000, 20_000]


def test_without_calls_there_are_no_rows(trace):
    trace.range("fgtrace::phase::gather", 0, 9000).kernel("k", 1000, 5000, 5)
    assert report(trace).is_empty()


@pytest.mark.parametrize("readback", [0, 1])
@pytest.mark.parametrize("check", [0, 1])
def test_h200_phases_have_the_known_work(shared, readback, check):
    file = shared / f"traces/h200/abl_{readback}{check}_full.json.gz"
    opened = open_trace(file)
    rows = phases_report(opened)
    work = {
        phase: counts
        for phase, *counts in rows.select(
            "phase", "kernel_count", "copy_count", "readback_count"
        ).iter_rows()
    }
    expected = {"prefix_scan": [2, 0, 0], "expand": [3, 0, 0], "gather": [1, 0, 0]}
    if readback:
        expected["length_readback"] = [0, 1, 1]
    if check:
        expected["index_check"] = [1, 2, 2]
    assert work == expected | {"python": [0, 0, 0]}
    assert rows["calls"].unique().to_list() == [200]
    waiting = rows.filter(pl.col("waiting_ns") > 0)["phase"].to_list()
    assert sorted(waiting) == sorted(set(expected) & {"length_readback", "index_check"})
