import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.calls import find_calls
from fgtrace.analysis.pieces import PIECE, PIECES, host_pieces
from fgtrace.errors import FgtraceError
from fgtrace.opening import open_trace


def pieces_of(trace):
    found = host_pieces(trace)
    assert found.schema == PIECES
    return found


def times(trace, *by):
    rows = pieces_of(open_trace(trace.write())).filter("own_thread")
    return dict(rows.group_by(*by).agg(pl.col("time_ns").sum()).rows())


def assert_pieces_add_up(trace):
    pieces = pieces_of(trace)
    assert (pieces["time_ns"] >= 0).all()
    own = pieces.filter("own_thread").group_by("call_id").agg(pl.col("time_ns").sum())
    assert dict(own.rows()) == dict(trace.calls.select("range_event_id", "dur_ns").rows())


def test_python_operators_and_api_calls_are_told_apart(trace):
    trace.range("call", 0, 100_000).op("aten::add", 10_000, 30_000)
    trace.kernel("k", 15_000, 60_000, 10).api("cudaMalloc", 50_000, 4000)
    trace.api("cuModuleLoadData", 60_000, 3000).api("cudaFuncGetAttributes", 70_000, 1000)
    trace.event("overhead", "Activity Buffer Request", 80_000, 5000)
    assert times(trace, "piece") == {
        "python": 57_000,
        "op": 28_000,
        "launch call": 2000,
        "allocate": 4000,
        "module load or compile": 3000,
        "other runtime API": 1000,
        "profiler overhead": 5000,
    }


def test_a_python_frame_inside_an_operator_is_the_operators(trace):
    trace.range("call", 0, 100).op("my::op", 10, 50).event("python_function", "f", 20, 30)
    trace.event("python_function", "g", 70, 20)
    assert times(trace, "piece") == {"python": 50, "op": 50}


def test_a_driver_call_inside_a_runtime_call_is_part_of_it(trace):
    trace.range("call", 0, 9000).api("cudaLaunchKernel", 1000, 3000)
    trace.api("cuLaunchKernelEx", 1500, 2000).work("k", 6000, 10, correlation=101)
    assert times(trace, "piece")["launch call"] == 3000


def test_a_wait_is_for_earlier_work_then_for_this_and_then_the_host_wakes(trace):
    trace.range("call", 0, 5000).kernel("earlier", 1000, 6000, 14_000)
    trace.range("call", 10_000, 50_000).kernel("this", 11_000, 20_000, 9000)
    trace.api("cudaStreamSynchronize", 15_000, 17_000)
    found = times(trace, "piece")
    assert found["waiting: earlier work"] == 5000
    assert found["waiting: this work"] == 9000
    assert found["waiting: wake latency"] == 3000


def test_a_readback_waits_for_its_copy_and_not_for_other_streams(trace):
    trace.range("call", 0, 90_000).kernel("other", 1000, 5000, 70_000).readback(10_000, 15_000)
    found = times(trace, "piece")
    assert found["waiting: this work"] == 16_000 - 11_100
    assert found["waiting: wake latency"] == 500


def test_without_a_recorded_device_a_wait_is_for_nobody_knows_what(trace):
    trace.range("call", 0, 9000).api("cudaDeviceSynchronize", 1000, 3000)
    assert times(trace, "piece")["waiting"] == 3000


def test_a_launch_behind_a_full_queue_is_blocked_for_what_is_over_the_usual(trace):
    trace.range("call", 0, 100_000_000)
    for number in range(1001):
        trace.kernel("k", number * 3000, 4_000_000 + number * 10_000, 9000)
    trace.api("cudaLaunchKernel", 3_100_000, 900_000).work("k", 90_000_000, 9000)
    found = times(trace, "piece")
    assert found["launch blocked"] == 898_000
    assert found["launch call"] == 1002 * 2000


def test_what_outlasts_a_call_is_not_part_of_it(trace):
    trace.range("call", 0, 50_000).op("aten::add", 40_000, 20_000)
    assert times(trace, "piece") == {"python": 50_000}


def test_work_of_another_thread_for_the_call_stands_apart(trace):
    trace.range("call", 0, 50_000).op("backward", 10_000, 20_000, tid=2)
    rows = pieces_of(open_trace(trace.write()))
    assert rows.select("own_thread", "piece", "time_ns").rows() == [
        (True, "python", 50_000),
        (False, "op", 20_000),
    ]


def test_what_no_range_and_no_rule_marks_has_a_phase_by_what_it_is(trace):
    trace.range("call", 0, 50_000).kernel("k", 10_000, 20_000, 5)
    trace.api("cudaFree", 30_000, 1000).api("cudaGetDevice", 40_000, 500).op("my::op", 41_000, 70)
    assert times(trace, "phase") == {
        "python": 46_430,
        "launch": 2000,
        "allocate": 1000,
        "other": 570,
    }


KINDS = st.sampled_from(
    [
        ("range", "fgtrace::phase::gather"),
        ("range", "mine"),
        ("op", "aten::item"),
        ("runtime", "cudaLaunchKernel"),
        ("runtime", "cudaStreamSynchronize"),
        ("driver", "cuLaunchKernelEx"),
        ("python", "f"),
        ("overhead", "flush"),
    ]
)
EVENTS = st.tuples(KINDS, st.sampled_from("12"), st.integers(0, 90), st.integers(0, 40))
WORK = st.tuples(st.integers(0, 15), st.integers(0, 120), st.integers(0, 30))


@given(events=st.lists(EVENTS, max_size=20), work=st.lists(WORK, max_size=8))
def test_the_pieces_of_any_timeline_add_up_to_its_calls(made, events, work):
    rows = [("range", "call", "1", start, 45, None) for start in (0, 50)]
    rows += [(*kind, *rest, number) for number, (kind, *rest) in enumerate(events)]
    rows += [("kernel", "k", None, start, dur, number) for number, start, dur in work]
    trace = made(rows)
    assert_pieces_add_up(trace.having(calls=find_calls(trace)[0]))


def test_the_pieces_of_every_shared_recording_add_up_to_its_calls(shared):
    files = [*(shared / "traces").glob("h200/*.gz"), *(shared / "traces").glob("[ht]*.gz")]
    files += (shared / "cases").rglob("*.json")
    seen = 0
    for file in files:
        try:
            trace = open_trace(file)
        except FgtraceError:
            continue  # another profiler's, or no trace
        assert_pieces_add_up(trace)
        seen += not trace.calls.is_empty()
    assert seen > 30


def test_every_piece_is_explained_where_the_list_is():
    assert len(PIECE.categories) == len(set(PIECE.categories)) == 12


@pytest.mark.parametrize(
    "name", ["hipMalloc", "cudaFreeAsync", "cuMemAlloc_v2", "cudaMemPoolTrimTo"]
)
def test_memory_functions_of_every_api_are_allocations(trace, name):
    trace.range("call", 0, 9000).api(name, 1000, 3000)
    assert times(trace, "piece")["allocate"] == 3000


def test_a_copy_is_no_allocation(trace):
    trace.range("call", 0, 9000).api("cudaMemcpyAsync", 1000, 3000)
    assert "allocate" not in times(trace, "piece")
