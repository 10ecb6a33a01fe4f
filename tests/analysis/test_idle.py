import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.idle import CAUSES, IDLE, idle_report
from fgtrace.analysis.intervals import union_length
from fgtrace.errors import FgtraceError
from fgtrace.opening import open_trace


def idle(trace):
    rows = idle_report(open_trace(trace.write()))
    assert rows.schema == IDLE
    return {
        (cause, where): time
        for cause, where, time in rows.select("cause", "where", "idle_ns").rows()
    }


def span_less_busy(trace):
    end = pl.col("start_ns") + pl.col("dur_ns").fill_null(0)
    spans = trace.device_work.group_by("part", "device").agg(
        span=end.max() - pl.col("start_ns").min()
    )
    return (
        spans["span"].sum() - union_length(trace.device_work, ["part", "device"])["busy_ns"].sum()
    )


def test_a_gap_is_what_the_launching_thread_did_and_then_the_launchs_latency(trace):
    trace.kernel("a", 0, 5000, 1000).op("aten::add", 7000, 2000)
    trace.api("cudaMalloc", 10_000, 500).kernel("b", 20_000, 24_000, 10)
    assert idle(trace) == {
        ("host in python", None): 14_000 - 2000 - 500,
        ("host in op", "aten::add"): 2000,
        ("host in API", "cudaMalloc"): 500,
        ("launch latency", None): 4000,
    }


def test_the_operator_around_the_launch_is_the_cause_until_the_launch(trace):
    trace.kernel("a", 0, 5000, 1000).op("aten::add", 7000, 9000).kernel("b", 12_000, 15_000, 10)
    assert idle(trace)["host in op", "aten::add"] == 5000


def test_a_wait_that_goes_on_after_the_work_is_a_host_that_waits(trace):
    trace.kernel("a", 0, 5000, 1000).api("cudaStreamSynchronize", 3000, 8000)
    trace.kernel("b", 12_000, 15_000, 10)
    assert idle(trace)["host waiting", "cudaStreamSynchronize"] == 5000


def test_work_that_was_queued_behind_another_stream_waited_for_it(trace):
    trace.kernel("a", 0, 5000, 5000).api("cudaLaunchKernel", 3000, 500)
    trace.work("b", 12_000, 10, stream=9)
    assert idle(trace) == {("other stream", None): 2000}


def test_queued_work_of_the_same_stream_has_only_its_latency(trace):
    trace.kernel("a", 0, 5000, 5000).kernel("b", 3000, 11_000, 10)
    assert idle(trace) == {("launch latency", None): 1000}


def test_the_gaps_between_the_kernels_of_a_graph_are_the_graphs(trace):
    trace.api("cudaGraphLaunch", 0, 500).work("a", 1000, 100).work("b", 1400, 100)
    assert idle(trace) == {("inside a graph", None): 300}


def test_work_without_a_launch_has_a_gap_that_nobody_explains(trace):
    trace.kernel("a", 0, 5000, 1000).work("b", 9000, 10, correlation=7)
    assert idle(trace) == {("not known", None): 3000}


def test_what_another_thread_does_meanwhile_is_no_cause(trace):
    trace.kernel("a", 0, 5000, 1000).op("aten::add", 7000, 2000, tid=2)
    trace.kernel("b", 20_000, 24_000, 10)
    assert ("host in op", "aten::add") not in idle(trace)


def test_graphs_that_were_recorded_in_part_claim_no_idle_time(trace):
    for number, kernels in enumerate((4, 1, 4, 4)):
        start = number * 100_000
        trace.api("cudaGraphLaunch", start, 500)
        for kernel in range(kernels):
            trace.work("k", start + 1000 + kernel * 1000, 1000)
    found = idle(trace)
    assert found["not known", None] == 100_000 - 4000  # before the one kernel that is left of it
    assert found["host in python", None] > 0


@pytest.mark.parametrize("what", ["nothing", "one kernel", "only device rows"])
def test_what_has_no_gaps_or_no_host_is_answered(trace, what):
    if what == "one kernel":
        trace.kernel("a", 0, 5000, 1000)
    elif what == "only device rows":
        trace.work("a", 5000, 10, correlation=1).work("b", 6000, 10, correlation=2)
    expected = {("not known", None): 990} if what == "only device rows" else {}
    assert idle(trace) == expected


host = st.tuples(
    st.sampled_from(["op", "runtime", "python"]),
    st.sampled_from(["cudaLaunchKernel", "cudaStreamSynchronize", "aten::add"]),
    st.sampled_from("12"),
    st.integers(0, 60),
    st.integers(0, 20),
)


@given(
    events=st.lists(host, max_size=12),
    work=st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 90), st.integers(0, 9)), max_size=12
    ),
)
def test_the_rows_of_any_timeline_add_up_to_the_span_less_the_busy_time(made, events, work):
    rows = [(*event, number) for number, event in enumerate(events)]
    rows += [("kernel", "k", None, start, dur, number) for number, start, dur in work]
    trace = made(rows)
    found = idle_report(trace)
    assert found["idle_ns"].sum() == span_less_busy(trace)
    assert set(found["cause"]) <= set(CAUSES)


def test_the_rows_of_every_shared_recording_add_up(shared):
    files = [*(shared / "traces").rglob("*.gz"), *(shared / "cases").rglob("*.json")]
    seen = 0
    for file in files:
        try:
            trace = open_trace(file)
        except FgtraceError:
            continue  # another profiler's, damaged, or no trace
        assert idle_report(trace)["idle_ns"].sum() == span_less_busy(trace), file.name
        seen += 1
    assert seen > 60


def test_alexnets_idle_time_is_the_one_that_other_tools_report(shared):
    rows = idle_report(open_trace(shared / "traces/hta_alexnet_a100_cudasync.json.gz"))
    assert rows["idle_ns"].sum() == 12_854_103_000  # peers.md, 3: TraceLens, in us
