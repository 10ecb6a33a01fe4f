import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.summary import summarise
from fgtrace.analysis.syncs import SYNCS, syncs_report
from fgtrace.opening import open_trace

PINNED = "Memcpy DtoH (Device -> Pinned)"


def report(trace):
    rows = syncs_report(open_trace(trace.write()))
    assert rows.schema == SYNCS
    return rows


def test_the_columns_are_those_that_scripts_rely_on():
    assert list(SYNCS)[:8] == [
        "api",
        "op",
        "class",
        "count",
        "host_time_ns",
        "device_idle_ns",
        "bytes",
        "call_site",
    ]


def test_waits_are_listed_by_api_call_operator_and_class_the_longest_first(trace):
    for at in (0, 100_000):
        trace.op("aten::item", at, 90_000).op("aten::_local_scalar_dense", at + 10, 80_000)
        trace.readback(at + 1000, at + 40_000, size=8)
    trace.api("cudaMemcpy", 200_000, 9000).work(
        "Memcpy HtoD (Pageable -> Device)", 203_000, 4000, category="gpu_memcpy", bytes=512
    )
    trace.api("cudaStreamWaitEvent", 300_000, 100).api("cudaDeviceSynchronize", 400_000, 2000)
    op = "aten::_local_scalar_dense"
    assert report(trace).drop("earlier_ns", "this_ns", "wake_ns").rows() == [
        ("cudaStreamSynchronize", op, "sync", 2, 78_800, 76_800, 16, None),
        ("cudaMemcpy", None, "blocking_copy", 1, 9000, 5000, 512, None),
        ("cudaDeviceSynchronize", None, "sync", 1, 2000, 2000, 0, None),
        ("cudaStreamWaitEvent", None, "event_wait", 1, 100, 100, None, None),
    ]


@pytest.mark.parametrize("api", ["cudaStreamWaitEvent", "hipStreamWaitEvent", "cuStreamWaitEvent"])
def test_a_stream_that_waits_is_an_event_wait_once(trace, api):
    trace.api(api, 0, 100).api("cuStreamWaitEvent", 10, 50).op("aten::add", 300, 10)
    assert report(trace).select("api", "class", "count", "host_time_ns").rows() == [
        (api, "event_wait", 1, 100)
    ]


def test_a_device_that_works_on_any_stream_is_not_idle(trace):
    trace.kernel("a", 0, 10_000, 5000).kernel("b", 3000, 12_000, 8000, stream=9)
    trace.api("cudaDeviceSynchronize", 8000, 20_000)
    assert report(trace)["device_idle_ns"].to_list() == [10_000]


def test_without_a_recorded_device_neither_idle_time_nor_bytes_are_known(trace):
    trace.api("cudaDeviceSynchronize", 0, 2000)
    assert report(trace).select("device_idle_ns", "bytes").rows() == [(None, None)]


def test_one_copy_of_unknown_size_makes_the_sum_unknown(trace):
    trace.api("cudaMemcpy", 0, 9000).work(PINNED, 3000, 10, category="gpu_memcpy", bytes=8)
    trace.api("cudaMemcpy", 20_000, 9000).work(PINNED, 23_000, 10, category="gpu_memcpy")
    assert report(trace).select("count", "bytes").rows() == [(2, None)]


def test_the_bytes_of_a_copy_that_blocked_are_not_those_of_the_wait_after_it(trace):
    trace.api("cudaMemcpyAsync", 0, 9000).work(PINNED, 3000, 10, category="gpu_memcpy", bytes=8)
    trace.api("cudaStreamSynchronize", 9100, 500)
    assert report(trace).select("class", "bytes").rows() == [("blocking_copy", 8), ("sync", 0)]


def test_the_call_site_is_the_frame_around_the_longest_wait_that_has_one(trace):
    def frame(name, start, dur):
        trace.event("python_function", name, start, dur)

    frame("model.py(3): forward", 0, 50_000)
    frame("model.py(9): loss", 1000, 10_000)
    trace.api("cudaDeviceSynchronize", 2000, 500)
    trace.api("cudaDeviceSynchronize", 20_000, 900)
    trace.api("cudaDeviceSynchronize", 90_000, 9000)
    assert report(trace).select("count", "call_site").rows() == [(3, "model.py(3): forward")]


def test_a_trace_in_which_nothing_waits_has_no_rows(trace):
    assert report(trace.kernel("k", 0, 5000, 10)).is_empty()


waits = st.tuples(
    st.sampled_from(["cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaLaunchKernel"]),
    st.integers(0, 40),
    st.integers(0, 15),
)
work = st.tuples(st.integers(0, 50), st.integers(0, 15))


@given(calls=st.lists(waits, max_size=10), works=st.lists(work, min_size=1, max_size=10))
def test_idle_time_is_that_of_the_wait_in_which_nothing_runs(made, calls, works):
    rows = [("runtime", api, str(at), *times, at) for at, (api, *times) in enumerate(calls)]
    trace = made(rows + [("kernel", "k", None, *times, None) for times in works])
    busy = {tick for start, dur in works for tick in range(start, start + dur)}
    idle = sum(
        tick not in busy
        for api, start, dur in calls
        if api != "cudaLaunchKernel"
        for tick in range(start, start + dur)
    )
    assert syncs_report(trace)["device_idle_ns"].sum() == idle


def test_shared_waits_add_up_to_the_summary(shared):
    traces = shared / "traces"
    files = [*(traces / "h200").glob("*.json.gz"), *traces.glob("hta_[arte]*.gz")]
    for file in sorted(files):
        trace = open_trace(file)
        rows, metrics = syncs_report(trace), summarise(trace).metrics
        waited = rows.filter(pl.col("class") == "sync")
        assert waited["count"].sum() == metrics.sync_count, file.name
        assert waited["host_time_ns"].sum() == metrics.sync_host_ns, file.name
        assert (rows["device_idle_ns"] <= rows["host_time_ns"]).all(), file.name


def test_a_known_slow_readback_is_found_where_it_waits(shared):
    trace = open_trace(shared / "traces/hta_trace_diff_test_v100_cudagraph.json.gz")
    first = syncs_report(trace).row(0, named=True)
    assert (first["api"], first["op"]) == ("cudaMemcpyAsync", "aten::_local_scalar_dense")
    assert (first["class"], first["bytes"]) == ("blocking_copy", 192)
