import polars as pl
import pytest

from fgtrace.analysis.links import launches, without_device_row
from fgtrace.frames.schema import LINKS
from fgtrace.opening import open_trace


def linked(trace):
    """Names instead of ids: (device work, launch, op, range, how, cause)."""
    opened = open_trace(trace.write())
    assert opened.links.schema == LINKS
    names = opened.events.select("event_id", pl.col("name").cast(pl.String)).collect()
    rows = opened.links
    for column in ("device_event_id", "launch_event_id", "op_event_id", "range_event_id"):
        rows = rows.join(names, left_on=column, right_on="event_id", how="left").with_columns(
            pl.col("name").alias(column)
        )
        rows = rows.drop("name")
    return rows.with_columns(pl.col("how", "cause").cast(pl.String)).rows()


def notes(trace):
    return [
        (level, kind, count)
        for level, kind, count in open_trace(trace.write())
        .notes.select(pl.col("level").cast(pl.String), "kind", "count")
        .iter_rows()
        if kind != "no-calls"
    ]


def test_work_is_linked_to_the_call_with_its_correlation_and_what_is_around_that(trace):
    trace.range("outer", 0, 100_000).range("inner", 1000, 90_000)
    trace.op("aten::add", 2000, 20_000).op("aten::add.inner", 3000, 10_000)
    trace.kernel("k", 4000, 50_000, 1000)
    assert linked(trace) == [
        ("k", "cudaLaunchKernel", "aten::add.inner", "inner", "correlation", None)
    ]
    assert notes(trace) == []


def test_a_range_that_ran_while_the_device_worked_does_not_own_the_work(trace):
    trace.range("launches", 0, 5000).kernel("k", 1000, 12_000, 1000).range("later", 10_000, 9000)
    ((_, _, _, around, _, _),) = linked(trace)
    assert around == "launches"


def test_one_graph_launch_owns_all_its_kernels(trace):
    trace.api("cudaGraphLaunch", 0, 2000)
    trace.work("a", 5000, 10).work("b", 5100, 10).work("a", 5200, 10)
    assert [(row[0], row[1], row[4]) for row in linked(trace)] == [
        ("a", "cudaGraphLaunch", "graph"),
        ("b", "cudaGraphLaunch", "graph"),
        ("a", "cudaGraphLaunch", "graph"),
    ]


def test_a_driver_call_inside_a_runtime_call_is_one_launch(trace):
    trace.api("cudaLaunchKernel", 0, 3000)
    trace.event("cuda_driver", "cuLaunchKernel", 500, 2000, correlation=trace.correlation)
    trace.work("k", 5000, 10)
    launched = launches(open_trace(trace.write()))
    assert launched["name"].to_list() == ["cudaLaunchKernel"]
    assert linked(trace)[0][1] == "cudaLaunchKernel"


def test_an_operator_on_another_thread_is_not_around_the_launch(trace):
    trace.op("aten::forward", 0, 10_000).op("MmBackward0", 0, 10_000, tid=2)
    trace.kernel("k", 2000, 5000, 10, tid=2)
    assert linked(trace)[0][2] == "MmBackward0"


def test_the_external_id_names_the_operator_where_none_is_around(trace):
    trace.op("aten::copy_", 0, 1000, **{"External id": 0})
    trace.kernel("k", 5000, 9000, 10)
    trace.lines[-1] = trace.lines[-1].replace('"device"', '"External id": 0, "device"')
    assert linked(trace) == [("k", "cudaLaunchKernel", "aten::copy_", None, "correlation", None)]


def test_an_operator_around_the_launch_goes_before_the_one_that_the_external_id_names(trace):
    trace.op("aten::outer", 0, 50_000, **{"External id": 5}).op("aten::around", 500, 9000)
    trace.kernel("k", 1000, 20_000, 10)
    trace.lines[-1] = trace.lines[-1].replace('"device"', '"External id": 5, "device"')
    assert linked(trace)[0][2] == "aten::around"


def test_an_external_id_equal_to_a_correlation_links_nothing(trace):
    trace.op("aten::add", 0, 1000, **{"External id": 777})
    trace.kernel("k", 5000, 9000, 10).work("lost", 9500, 10, correlation=777)
    assert linked(trace)[1] == ("lost", None, None, None, "none", "lost")


def test_work_without_a_launch_says_why(trace):
    trace.work("early", -900, 10, correlation=None)
    trace.kernel("k", 1000, 9000, 10).work("old", 9100, 10, correlation=5)
    trace.work("lost", 9200, 10, correlation=9999)
    assert [(row[0], row[5]) for row in linked(trace)] == [
        ("early", "before_window"),
        ("k", None),
        ("old", "before_window"),
        ("lost", "lost"),
    ]
    assert notes(trace) == [("info", "unlinked", 2), ("warning", "unlinked", 1)]


def test_work_in_a_file_without_api_calls_was_not_lost(trace):
    trace.work("k", 0, 10)
    assert linked(trace) == [("k", None, None, None, "none", "api_not_recorded")]


def test_a_file_without_device_work_says_so(trace):
    trace.op("aten::add", 0, 10)
    assert notes(trace) == [("warning", "no-device-activity", 0)]


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cuLaunchKernelEx",
        "cudaLaunchCooperativeKernel",
        "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel",
        "hipExtLaunchMultiKernelMultiDevice",
        "urEnqueueKernelLaunch",
        "cudaGraphLaunch",
        "hipGraphLaunch",
    ],
)
def test_a_launch_without_a_device_row_is_one_by_its_name(trace, name):
    trace.kernel("k", 0, 5000, 10).api(name, 3000, 100)
    launched = launches(open_trace(trace.write()))
    assert launched["name"].to_list() == ["cudaLaunchKernel", name]
    assert launched["owns_device_work"].to_list() == [True, False]
    assert notes(trace) == [("warning", "launch-without-device-row", 1)]


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchHostFunc",
        "cuLaunchHostFunc",
        "__hipPushCallConfiguration",
        "cudaMemcpyAsync",
        "cudaMemsetAsync",
    ],
)
def test_these_calls_are_no_launches_though_they_own_a_device_row(trace, name):
    trace.api(name, 0, 100).work("k", 5000, 10)
    assert launches(open_trace(trace.write())).is_empty()


def test_a_call_of_any_name_that_owns_a_kernel_is_a_launch(trace):
    trace.api("vendorStart", 0, 100).work("k", 5000, 10).api("vendorQuery", 200, 10)
    assert launches(open_trace(trace.write()))["name"].to_list() == ["vendorStart"]


def test_launches_are_not_missed_where_the_device_was_not_recorded(trace):
    trace.api("cudaLaunchKernel", 0, 100)
    opened = open_trace(trace.write())
    assert without_device_row(launches(opened), opened.device_work).is_empty()


@pytest.mark.parametrize(
    ("category", "name", "kernel"),
    [
        ("cuda_driver", "cuLaunchKernelEx", "kernel"),
        ("cuda_runtime", "hipModuleLaunchKernel", "kernel"),
        ("Runtime", "hipLaunchKernel", "Kernel"),
        ("xpu_runtime", "urEnqueueKernelLaunch", "kernel"),
        ("privateuse1_runtime", "flagosLaunchKernel", "kernel"),
        ("mtia_runtime", "run", "kernel"),
    ],
)
def test_launches_of_every_device_are_linked(trace, category, name, kernel):
    trace.op("aten::add", 0, 10_000)
    trace.event(category, name, 1000, 500, correlation=7)
    trace.work("k", 5000, 10, category=kernel, correlation=7, stream=0)
    assert linked(trace) == [("k", name, "aten::add", None, "correlation", None)]
    assert launches(open_trace(trace.write())).height == 1
