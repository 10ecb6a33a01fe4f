import polars as pl
import pytest

from fgtrace.analysis.measured import LEVELS, MEASURED, NO_OPERATOR, Measure
from fgtrace.opening import open_trace


@pytest.fixture
def trace(new_trace):
    """Two calls: one scans, gathers and reads back, the other only gathers; and work outside."""
    made = new_trace()
    for index in range(2):
        at = 100_000 * index
        made.range(f"fgtrace::call::c::r::{index}", at, 60_000)
        if index == 0:
            made.op("aten::cumsum", at + 1000, 9000).kernel("scan", at + 2000, at + 61_000, 700)
            made.readback(at + 20_000, at + 30_000)
        made.op("aten::take", at + 45_000, 9000).op("aten::take", at + 46_000, 5000)
        made.kernel("gather", at + 47_000, at + 70_000, 300)
    made.kernel("late", 300_000, 310_000, 50)
    return open_trace(made.write())


def values(trace, level, **chosen):
    """What each of the calls took: null where a call has no such row."""
    rows = Measure(**chosen).of(trace, level)
    assert rows.schema == MEASURED
    ids = rows["call_id"].unique().sort().to_list()
    grid = rows.pivot("call_id", index=["name", "metric"], values="value", sort_columns=True)
    return {row[:2]: list(row[2:]) for row in grid.rows()} if ids else {}


def test_a_calls_work_is_counted_and_added_up(trace):
    found = values(trace, "call")
    assert found["call", "kernel_count"] == [2, 1]
    assert found["call", "copy_count"] == [1, 0]
    assert found["call", "readback_count"] == [1, 0]
    assert found["call", "launch_count"] == [2, 1]
    assert found["call", "host_time"] == [60_000, 60_000]
    assert found["call", "count"] == [3, 1]


def test_kernels_have_time_and_count_of_each_call(trace):
    found = values(trace, "kernel")
    assert found["scan", "device_time"] == [700, None]
    assert found["gather", "device_time"] == [300, 300]
    assert found["gather", "count"] == [1, 1]
    assert not [name for name, _ in found if name == "late"]


def test_an_operator_inside_one_of_its_name_adds_no_time(trace):
    found = values(trace, "op")
    assert found["aten::take", "count"] == [2, 2]
    assert found["aten::take", "host_time"] == [9000, 9000]
    assert found["aten::take", "device_time"] == [300, 300]
    assert found["aten::take", "kernel_count"] == [1, 1]


def test_device_time_by_phase_kernel_and_operator_is_the_calls(trace):
    total = values(trace, "call")["call", "device_time"]
    for level in ("phase", "kernel", "op"):
        times = [
            row for (_, metric), row in values(trace, level).items() if metric == "device_time"
        ]
        assert [sum(filter(None, each)) for each in zip(*times, strict=True)] == total


def test_host_time_by_phase_is_the_calls(trace):
    times = [row for (_, metric), row in values(trace, "phase").items() if metric == "host_time"]
    assert [sum(filter(None, each)) for each in zip(*times, strict=True)] == [60_000, 60_000]


def test_of_whole_traces_work_without_an_operator_is_kept_and_phases_are_none(trace):
    found = values(trace, "kernel", whole=True)
    assert found["late", "device_time"] == [50]
    assert (NO_OPERATOR, "device_time") in values(trace, "op", whole=True)
    assert Measure(whole=True).of(trace, "phase").is_empty()


def test_nothing_recorded_makes_empty_frames(new_trace):
    empty = open_trace(new_trace().op("aten::add", 0, 10).write())
    for level in LEVELS:
        assert Measure().of(empty, level).filter(pl.col("metric") == "device_time").is_empty()
