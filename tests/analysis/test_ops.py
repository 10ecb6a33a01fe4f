import gzip
import json
from collections import defaultdict
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.ops import OPS, OPS_BY_SHAPE, ops_by_shape_report, ops_report
from fgtrace.analysis.summary import summarise
from fgtrace.opening import open_trace


def report(trace):
    rows = ops_report(open_trace(trace.write()))
    assert rows.schema == OPS
    return rows


def test_operators_are_listed_by_the_host_time_of_their_own(trace):
    trace.op("outer", 0, 50_000).op("inner", 10_000, 30_000).kernel("k", 12_000, 60_000, 700)
    trace.op("inner", 70_000, 10_000)
    trace.api("cudaMemsetAsync", 71_000, 10)
    trace.work("Memset (Device)", 80_000, 5, category="gpu_memset", bytes=4)
    assert report(trace).rows() == [
        ("inner", 2, 40_000, 40_000, 705, 1, 1, 20_000, 30_000),
        ("outer", 1, 20_000, 50_000, 0, 0, 0, 50_000, 50_000),
    ]


def test_equal_times_are_in_order_of_names(trace):
    trace.op("b", 0, 10).op("a", 20, 10)
    assert report(trace)["name"].to_list() == ["a", "b"]


def test_an_operator_inside_one_of_its_name_counts_and_takes_no_time_twice(trace):
    trace.op("add", 0, 100).op("other", 10, 80).op("add", 20, 50)
    rows = {row["name"]: row for row in report(trace).to_dicts()}
    assert (rows["add"]["count"], rows["add"]["total_host_ns"]) == (2, 100)
    assert (rows["add"]["self_host_ns"], rows["other"]["self_host_ns"]) == (70, 30)


def test_threads_are_added_up_though_they_run_at_one_time(trace):
    trace.op("add", 0, 100).op("add", 0, 100, tid=2)
    ((self_host, total),) = report(trace).select("self_host_ns", "total_host_ns").rows()
    assert (self_host, total) == (200, 200)


def test_ranges_and_api_calls_are_no_operators_and_belong_to_the_one_around_them(trace):
    trace.range("call", 0, 1000).op("add", 100, 500).range("part", 150, 300)
    trace.api("cudaEventRecord", 200, 100)
    assert report(trace).select("name", "self_host_ns").rows() == [("add", 500)]


def test_work_whose_launch_is_not_in_the_file_belongs_to_the_op_of_its_external_id(trace):
    args = {"correlation": 5, "External id": 9}
    trace.op("add", 0, 100, **{"External id": 9}).work("k", 5000, 30, **args)
    trace.api("cudaEventRecord", 50, 10)
    ((time, kernels, launches),) = (
        report(trace).select("device_time_ns", "kernel_count", "launch_count").rows()
    )
    assert (time, kernels, launches) == (30, 1, 0)


def test_what_was_not_recorded_is_null_and_not_zero(trace):
    trace.op("add", 0, 100)
    rows = report(trace).select("device_time_ns", "kernel_count", "launch_count").rows()
    assert rows == [(None, None, None)]
    trace.api("cudaLaunchKernel", 10, 5)
    assert report(trace)["launch_count"].to_list() == [1]


def test_a_trace_without_operators_has_an_empty_list(trace):
    assert report(trace.kernel("k", 0, 5000, 10)).is_empty()


moves = st.lists(
    st.none() | st.tuples(st.sampled_from(["op", "range", "runtime"]), st.sampled_from("abc")),
    max_size=30,
)


def ticks(rows):
    return {tick for _, _, _, start, dur, _ in rows for tick in range(start, start + dur)}


@given(moves=moves)
def test_times_of_their_own_add_up_to_the_time_in_operators(made, walk, moves):
    ops = [row for row in walk(moves) if row[0] == "op"]
    rows = ops_report(made(walk(moves)))
    assert rows["self_host_ns"].sum() == len(ticks(ops))
    totals = dict(rows.select("name", "total_host_ns").rows())
    names = {row[1] for row in ops}
    assert totals == {name: len(ticks([op for op in ops if op[1] == name])) for name in names}
    assert rows["count"].sum() == len(ops)


def nanoseconds(value):
    return int(Decimal(value) * 1000)


def own_times(file):
    """Add up by name, with a stack a thread, what the file's operators took for themselves."""
    document = json.loads(gzip.decompress(file.read_bytes()), parse_float=str, parse_int=str)
    threads = defaultdict(list)
    for event in document["traceEvents"]:
        if event.get("cat") == "cpu_op" and not event["name"].startswith("ProfilerStep#"):
            start = nanoseconds(event["ts"])
            end = start + nanoseconds(event["dur"])
            threads[event["pid"], event["tid"]].append((start, -end, event["name"]))
    own = defaultdict(int)
    for rows in threads.values():
        around = []
        for start, minus_end, name in sorted(rows):
            while around and around[-1][0] <= start:
                around.pop()
            own[name] -= minus_end + start
            if around:
                assert around[-1][0] >= -minus_end, "operators cross"
                own[around[-1][1]] -= -minus_end - start
            around.append((-minus_end, name))
    return dict(own)


FILES = ["abl_11_full", "train_stack", "native.repeat_values_known"]


@pytest.mark.parametrize("file", FILES)
def test_h200_times_equal_those_of_a_plain_stack(shared, file):
    path = shared / f"traces/h200/{file}.json.gz"
    rows = ops_report(open_trace(path))
    assert dict(rows.select("name", "self_host_ns").rows()) == own_times(path)


def test_h200_device_work_is_in_an_operator_or_in_none(shared):
    for file in sorted((shared / "traces/h200").glob("*.json.gz")):
        trace = open_trace(file)
        rows = ops_report(trace)
        loose = trace.links.filter(pl.col("op_event_id").is_null())
        rest = trace.device_work.join(
            loose, left_on="event_id", right_on="device_event_id", how="semi"
        )
        whole = trace.device_work["dur_ns"].sum()
        assert rows["device_time_ns"].sum() + rest["dur_ns"].sum() == whole, file.name
        kernels = rest.filter(pl.col("kind") == "kernel").height
        expected = summarise(trace).metrics
        assert rows["kernel_count"].sum() + kernels == expected.kernel_count, file.name
        assert rows["launch_count"].sum() <= expected.launch_count, file.name


def test_by_shape_an_operator_has_a_row_for_each_shape_and_type_of_its_inputs(trace):
    small = {"Input Dims": [[2, 3]], "Input type": ["float"]}
    trace.op("add", 0, 100, **small).op("add", 200, 300, **{**small, "Input Dims": [[9]]})
    trace.op("add", 600, 10, **small).op("add", 700, 5)
    trace.op("outer", 1000, 20_000).op("add", 1000, 9000, **{**small, "Input type": ["int"]})
    trace.kernel("k", 2000, 40_000, 70)
    rows = ops_by_shape_report(open_trace(trace.write()))
    assert rows.schema == OPS_BY_SHAPE
    columns = ("name", "count", "self_host_ns", "kernel_count", "launch_count", "shapes", "types")
    told = rows.select(columns).rows()
    assert [row[:5] for row in told] == [
        ("outer", 1, 11_000, 0, 0),
        ("add", 1, 9000, 1, 1),
        ("add", 1, 300, 0, 0),
        ("add", 2, 110, 0, 0),
        ("add", 1, 5, 0, 0),
    ]
    texts = [tuple(text and text.replace(" ", "") for text in row[5:]) for row in told]
    assert texts == [
        (None, None),
        ("[[2,3]]", '["int"]'),
        ("[[9]]", '["float"]'),
        ("[[2,3]]", '["float"]'),
        (None, None),
    ]
