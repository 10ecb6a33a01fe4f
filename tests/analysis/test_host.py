from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fgtrace
from fgtrace.analysis.calls import select_calls
from fgtrace.analysis.groups import USER
from fgtrace.analysis.host import HOST, host_by_group_report, host_report, without_costs
from fgtrace.analysis.matrix import call_times
from fgtrace.analysis.overhead import event_costs
from fgtrace.opening import open_trace

SAMPLE = Path(__file__).parents[2] / "samples/factorial.fgtrace"


def stacked(trace, name, start, dur):
    return trace.event("python_function", name, start, dur)


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


def test_of_the_profilers_own_nothing_is_left_in_an_unprofiled_call(sample):
    own = host_report(sample).filter(group="profiler")
    assert own["recorded_ns"].sum() > 0
    assert own["scaled_ns"].sum() == 0


def test_python_and_operators_share_a_call_as_in_the_profile_without_its_cost(sample):
    rows = host_report(sample).filter(route="triton")
    left = without_costs(sample, event_costs(sample)).filter(route="triton")
    sums = dict(left.group_by(pl.col("kind").cast(pl.String)).agg(pl.col("left_ns").sum()).rows())
    operators = rows["function"].str.starts_with("aten::")
    api = rows["function"].str.contains("^(cuda|cu[A-Z])")
    scaled = rows["scaled_ns"]
    found = scaled.filter(operators).sum() / scaled.filter(~operators & ~api).sum()
    assert found == pytest.approx(sums["op"] / sums["range"], rel=0.01)


def test_times_twice_as_long_double_every_time(trace, new_trace):
    told = []
    for builder, by in ((trace, 1), (new_trace(), 2)):
        builder.range("call", 0, 50_000 * by)
        stacked(builder, "mine.py(1): f", 1000 * by, 40_000 * by)
        builder.op("aten::add", 5000 * by, 9000 * by)
        told.append(host_report(open_trace(builder.write())))
    times = pl.col("total_ns", "recorded_ns")
    assert told[1].equals(told[0].with_columns(times * 2))


HOST_WORK = st.sampled_from(
    [
        ("op", "aten::add"),
        ("op", "aten::empty"),
        ("runtime", "cudaMalloc"),
        ("range", "r"),
        ("python", "a.py(1): f"),
        ("python", "typing.py(2): g"),
        ("python", "torch/autograd/profiler.py(3): __exit__"),
        ("python", "<built-in function len>"),
    ]
)


@settings(max_examples=30)
@given(st.lists(st.one_of(HOST_WORK, st.none()), max_size=24))
def test_rows_of_any_call_add_up_to_it(made, walk, moves):
    events = walk([("range", "call"), ("python", "a.py(1): main"), *moves])
    rows = host_report(select_calls(made(events), ranges="^call$"))
    assert rows["total_ns"].sum() == sum(row[4] for row in events if row[1] == "call")


def test_groups_are_told_at_a_glance(sample):
    rows, groups = host_report(sample), host_by_group_report(sample)
    assert groups["total_ns"].sum() == rows["total_ns"].sum()
    assert groups.select("route", "group").is_unique().all()


def test_flaggems_and_the_launcher_are_told_apart_in_a_recording_of_flaggems(shared):
    file = shared / "traces/flaggems_h800_complex_mul_triton.json.gz"
    told = dict(host_by_group_report(open_trace(file)).select("group", "total_ns").rows())
    assert told["flaggems"] > told["triton: launch"] > told["triton: bind"] > 0
