import polars as pl
import pytest

from fgtrace.analysis.readbacks import READBACKS, WAITS, readbacks, syncs, waits
from fgtrace.opening import open_trace

PINNED = "Memcpy DtoH (Device -> Pinned)"


def copy(trace, api, launch, dur, start, *, name=PINNED, size=8, **more):
    trace.api(api, launch, dur, **more)
    return trace.work(name, start, 1000, category="gpu_memcpy", bytes=size)


def found(trace):
    opened = open_trace(trace.write())
    rows = readbacks(opened)
    assert rows.schema == READBACKS
    return rows["readback"].to_list()


def test_a_copy_and_a_wait_that_outlasts_it_are_a_readback(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).api("cudaStreamSynchronize", 1100, 5000)
    assert found(trace) == [True]


def test_a_wait_after_the_next_launch_makes_no_readback(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).kernel("k", 2000, 7000, 10)
    trace.api("cudaStreamSynchronize", 4500, 5000)
    assert found(trace) == [False]


def test_a_later_event_wait_before_the_next_launch_makes_a_readback(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).op("aten::empty", 2000, 10)
    trace.api("cudaEventSynchronize", 6500, 10).kernel("k", 9000, 9500, 10)
    assert found(trace) == [True]


def test_a_wait_of_another_thread_makes_no_readback(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).api("cudaStreamSynchronize", 1100, 6000, tid=2)
    assert found(trace) == [False]


def test_a_wait_that_ends_before_the_copy_was_for_something_else(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).api("cudaStreamSynchronize", 1100, 500)
    assert found(trace) == [False]


def test_of_two_waits_before_the_next_launch_one_that_outlasts_the_copy_is_enough(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).api("cudaStreamSynchronize", 1100, 500)
    trace.api("cudaDeviceSynchronize", 2000, 9000)
    assert found(trace) == [True]


@pytest.mark.parametrize("api", ["cudaMemcpy", "hipMemcpyWithStream", "cuMemcpyDtoH_v2"])
def test_a_copy_call_that_is_not_asynchronous_blocks(trace, api):
    # The device row may seem to end after the call: the clocks are not one.
    assert found(copy(trace, api, 0, 1000, 900)) == [True]


def test_an_asynchronous_copy_that_returns_after_its_end_blocked(trace):
    assert found(copy(trace, "cudaMemcpyAsync", 0, 9000, 5000)) == [True]


def test_a_copy_that_nobody_waits_for_is_none(trace):
    assert found(copy(trace, "cudaMemcpyAsync", 0, 1000, 5000)) == [False]


def test_a_stream_that_waits_for_an_event_is_not_the_host_waiting(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).api("cudaStreamWaitEvent", 1100, 9000)
    assert found(trace) == [False]


def test_without_byte_counts_the_operator_is_enough(trace):
    trace.op("aten::item", 0, 9000).api("hipMemcpyAsync", 10, 100)
    trace.work("CopyDeviceToHost", 5000, 10, category="gpu_memcpy")
    trace.op("aten::add", 20_000, 9000).api("hipMemcpyAsync", 20_010, 100)
    trace.work("CopyDeviceToHost", 25_000, 10, category="gpu_memcpy")
    assert found(trace) == [True, False]


def test_without_its_launch_a_copy_is_in_doubt(trace):
    trace.work(PINNED, 0, 10, category="gpu_memcpy", bytes=8)
    assert found(trace) == [None]


def test_copies_in_other_directions_are_no_readbacks(trace):
    copy(trace, "cudaMemcpy", 0, 9000, 5000, name="Memcpy HtoD (Pageable -> Device)")
    assert found(trace) == []


def test_a_scalar_has_at_most_sixteen_bytes(trace):
    for at, size in enumerate((1, 16, 17)):
        copy(trace, "cudaMemcpy", at * 20_000, 9000, at * 20_000 + 5000, size=size)
    opened = open_trace(trace.write())
    assert readbacks(opened)["scalar"].to_list() == [True, True, False]


def test_a_driver_wait_inside_a_runtime_wait_is_one(trace):
    trace.api("cudaStreamSynchronize", 0, 100).api("cuStreamSynchronize", 10, 50)
    trace.api("cudaEventSynchronize", 200, 5).api("hipCtxSynchronize", 300, 5)
    trace.api("cudaEventQuery", 400, 5)
    assert syncs(open_trace(trace.write()))["dur_ns"].to_list() == [100, 5, 5]


def test_waits_are_synchronise_calls_and_blocking_copies(trace):
    copy(trace, "cudaMemcpy", 0, 9000, 5000, name="Memcpy HtoD (Pageable -> Device)")
    copy(trace, "cudaMemcpyAsync", 20_000, 100, 25_000)
    trace.api("cudaStreamSynchronize", 20_200, 6000)
    opened = open_trace(trace.write())
    rows = waits(opened)
    assert rows.schema == WAITS
    assert rows.select(pl.col("wait").cast(pl.String), "dur_ns").rows() == [
        ("blocking_copy", 9000),
        ("sync", 6000),
    ]


def test_a_readback_knows_the_call_in_which_the_host_waits(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).api("cudaStreamSynchronize", 1100, 5000)
    copy(trace, "cudaMemcpy", 20_000, 9000, 25_000)
    copy(trace, "cudaMemcpyAsync", 40_000, 1000, 45_000)
    opened = open_trace(trace.write())
    rows = readbacks(opened)
    names = opened.api_calls.select("name", wait_event_id="event_id")
    waited = rows.join(names, on="wait_event_id", how="left", maintain_order="left")["name"]
    assert waited.to_list() == ["cudaStreamSynchronize", "cudaMemcpy", None]


def test_of_two_waits_that_outlast_a_copy_the_first_is_the_one_for_it(trace):
    copy(trace, "cudaMemcpyAsync", 0, 1000, 5000).api("cudaStreamSynchronize", 1100, 500)
    trace.api("cudaStreamSynchronize", 2000, 5000).api("cudaDeviceSynchronize", 8000, 700)
    opened = open_trace(trace.write())
    wait = readbacks(opened)["wait_event_id"]
    assert opened.api_calls.filter(pl.col("event_id") == wait.item())["dur_ns"].to_list() == [5000]


def test_a_wait_before_the_copys_call_is_not_for_it_though_the_copy_seems_to_end_earlier(trace):
    trace.api("cudaStreamSynchronize", 0, 6000)
    copy(trace, "cudaGraphLaunch", 7000, 1000, 4000)
    assert found(trace) == [False]
    assert found(trace.api("cudaStreamSynchronize", 9000, 500)) == [True]
