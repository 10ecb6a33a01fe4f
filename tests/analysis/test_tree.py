import re
from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.tree import SEPARATOR, TREE, tree_report
from fgtrace.frames.nesting import HOST, nest
from fgtrace.opening import open_trace


def report(trace):
    rows = tree_report(open_trace(trace.write()))
    assert rows.schema == TREE
    return rows


def test_calls_with_the_same_names_around_them_are_one_row_below_their_parents(trace):
    for at in (0, 100_000):
        trace.op("linear", at, 50_000).op("addmm", at + 1000, 30_000)
        trace.kernel("k", at + 2000, at + 60_000, 700)
    trace.op("addmm", 200_000, 500)
    assert report(trace).drop("path").rows() == [
        (0, "linear", "op", 2, 100_000, 40_000, 1400, 2),
        (1, "addmm", "op", 2, 60_000, 56_000, 1400, 2),
        (2, "cudaLaunchKernel", "runtime", 2, 4000, 4000, 1400, 2),
        (0, "addmm", "op", 1, 500, 500, 0, 0),
    ]


def test_a_path_is_the_names_from_the_outermost_down(trace):
    trace.range("step", 0, 100).op("add", 10, 50)
    assert report(trace)["path"].to_list() == ["step", "step > add"]


def test_siblings_are_listed_by_total_then_name_each_with_what_is_below_it(trace):
    trace.op("root", 0, 1000).op("b", 0, 200).op("a", 300, 200).op("x", 310, 20)
    trace.op("c", 600, 300).op("y", 610, 20)
    assert report(trace)["name"].to_list() == ["root", "c", "y", "a", "x", "b"]


def test_calls_and_steps_are_one_row_whatever_their_number(trace):
    for number in (0, 1, 12):
        start = number * 10_000
        trace.range(f"ProfilerStep#{number}", start, 9000)
        trace.range(f"fgtrace::call::repeat::aten::{number}", start + 10, 8000)
        trace.op(f"layer::{number}", start + 20, 100)
    assert report(trace).select("name", "count").rows() == [
        ("ProfilerStep#*", 3),
        ("fgtrace::call::repeat::aten::*", 3),
        ("layer::0", 1),
        ("layer::1", 1),
        ("layer::12", 1),
    ]


def test_only_ranges_are_calls_and_steps(trace):
    trace.event("python_function", "ProfilerStep#1", 0, 10)
    assert report(trace)["name"].to_list() == ["ProfilerStep#1"]


def test_a_path_is_of_the_kind_that_it_had_first(trace):
    trace.op("forward", 0, 10).range("forward", 20, 10).op("forward", 40, 10)
    assert report(trace).select("kind", "count").rows() == [("op", 3)]


def test_threads_and_processes_are_added_up(trace):
    trace.op("add", 0, 10).op("add", 5, 10, tid=2).op("add", 5, 10, pid=3)
    assert report(trace).select("count", "total_ns").rows() == [(3, 30)]


def test_work_of_a_lost_launch_is_that_of_the_operator_that_its_id_names(trace):
    trace.op("add", 0, 100, **{"External id": 9})
    trace.work("k", 5000, 30, correlation=5, **{"External id": 9})
    assert report(trace).select("device_time_ns", "kernel_count").rows() == [(30, 1)]


def test_device_columns_are_unknown_where_the_device_was_not_recorded(trace):
    rows = report(trace.op("add", 0, 100))
    assert rows.select("device_time_ns", "kernel_count").rows() == [(None, None)]


def test_an_allocation_has_no_row(trace):
    trace.op("add", 0, 100).event("cpu_instant_event", "[memory]", 10, 0, ph="i")
    assert report(trace)["name"].to_list() == ["add"]


def test_a_trace_of_device_rows_only_has_an_empty_tree(trace):
    assert report(trace.work("k", 0, 10)).is_empty()


def names_of(path):
    return [re.sub(r"(^| )\\(\\*>)", r"\1\2", name) for name in path.split(SEPARATOR)]


hostile = st.text(st.sampled_from("> \\a"), max_size=4)
kinds = st.sampled_from(["op", "range", "python", "runtime"])


@given(moves=st.lists(st.none() | st.tuples(kinds, hostile), max_size=30))
def test_the_tree_is_that_of_walking_through_every_call(made, walk, moves):
    calls = sorted(walk(moves), key=lambda row: row[3])
    expected = defaultdict(lambda: [0, 0, 0])
    around = []
    for _, name, _, start, dur, _ in calls:
        while around and around[-1][1] <= start:
            around.pop()
        if around:
            expected[around[-1][0]][2] -= dur
        path = (*(around[-1][0] if around else ()), name)
        around.append((path, start + dur))
        for place, value in enumerate((1, dur, dur)):
            expected[path][place] += value
    rows = tree_report(made(calls))
    found = {
        tuple(names_of(path)): list(values)
        for path, *values in rows.select("path", "count", "total_ns", "self_ns").iter_rows()
    }
    assert rows["path"].n_unique() == rows.height
    assert found == expected
    paths = list(found)
    assert rows["depth"].to_list() == [len(path) - 1 for path in paths]
    assert rows["name"].to_list() == [path[-1] for path in paths]
    order = sorted(
        paths,
        key=lambda path: [
            (-expected[path[:depth]][1], path[depth - 1]) for depth in range(1, len(path) + 1)
        ],
    )
    assert paths == order
    assert rows["self_ns"].sum() == rows.filter(pl.col("depth") == 0)["total_ns"].sum()


@pytest.mark.parametrize("file", ["abl_11_full", "train_stack", "cuda_graph"])
def test_h200_trees_hold_all_host_time_and_device_work(shared, file):
    trace = open_trace(shared / f"traces/h200/{file}.json.gz")
    rows = tree_report(trace)
    outermost = rows.filter(pl.col("depth") == 0)
    work = trace.device_work
    assert outermost["device_time_ns"].sum() == work["dur_ns"].sum()
    assert outermost["kernel_count"].sum() == (work["kind"] == "kernel").sum()
    host = nest(trace.events.filter(pl.col("kind").is_in(HOST)).collect())
    assert outermost["total_ns"].sum() == host.filter(pl.col("depth") == 0)["dur_ns"].sum()
    assert rows["self_ns"].min() >= 0
