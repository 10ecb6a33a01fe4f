import random

import polars as pl
import pytest

from fgtrace.analysis import matrix
from fgtrace.analysis.calls import CALLS_REPORT
from fgtrace.analysis.matrix import MATRIX, matrix_report
from fgtrace.frames import schema
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES, Trace

STOPWATCH, PROFILED = 101, 202


def batch(wall_ns, *, calls=10, mode="throughput", generation=0, process=STOPWATCH, **more):
    """A batch of `calls` calls that each took `wall_ns`, half of it until they returned."""
    row = {
        "case": "repeat",
        "route": "aten",
        "generation": generation,
        "process": process,
        "turn": more.pop("turn", 0),
        "mode": mode,
        "profiler": "none",
        "calls": calls,
        "wall_ns": wall_ns * calls,
        "enqueue_ns": wall_ns * calls // 2,
    }
    return row | more


def witness(value, *, route="aten", name="result", process=STOPWATCH):
    return {
        "case": "repeat",
        "route": route,
        "generation": 0,
        "process": process,
        "witness": name,
        "value": value,
    }


def trace_of(samples=(), witnesses=()):
    frames = {name: pl.DataFrame(schema=columns) for name, columns in FRAMES.items()}
    frames["samples"] = pl.DataFrame(list(samples), schema=schema.SAMPLES)
    frames["witnesses"] = pl.DataFrame(list(witnesses), schema=schema.WITNESSES)
    lazy = {name: pl.LazyFrame(schema=columns) for name, columns in LAZY_FRAMES.items()}
    return Trace("made.fgtrace", Provenance(), **frames, **lazy)


@pytest.fixture
def calls(monkeypatch):
    """Stand in for the calls that the recording holds."""

    def use(*rows):
        frame = pl.DataFrame(list(rows), schema=CALLS_REPORT)
        monkeypatch.setattr(matrix, "calls_report", lambda trace: frame)

    return use


def call(index, kernels, device_ns, *, left_out=False, copies=1, readbacks=0):
    return {
        "case": "repeat",
        "route": "aten",
        "generation": 0,
        "index": index,
        "call_ns": 90_000,
        "kernel_count": kernels,
        "copy_count": copies,
        "readback_count": readbacks,
        "device_time_ns": device_ns,
        "left_out": left_out,
    }


def only_row(trace):
    report = matrix_report(trace)
    assert report.schema == MATRIX
    assert report.height == 1
    return report.row(0, named=True)


def test_an_empty_trace_gives_no_rows_in_the_same_columns():
    report = matrix_report(trace_of())
    assert report.schema == MATRIX
    assert report.is_empty()


def test_times_are_a_call_and_medians_over_generations_of_the_median_within():
    samples = [batch(40_000, turn=0), batch(44_000, turn=1), batch(90_000, turn=2)]
    samples += [batch(50_000, generation=1, turn=turn) for turn in range(9)]
    samples += [batch(60_000, generation=2, turn=0)]
    row = only_row(trace_of(samples))
    assert row["throughput_ns"] == 50_000
    assert row["enqueue_ns"] == 25_000
    assert (row["generations"], row["batches"]) == (3, 13)
    assert row["throughput_low_ns"] <= 44_000
    assert row["throughput_high_ns"] == 60_000
    assert row["latency_ns"] is None
    assert row["graph_ns"] is None


def test_batches_of_other_sizes_count_by_their_time_a_call():
    row = only_row(trace_of([batch(40_000, calls=1), batch(41_000, calls=500)]))
    assert row["throughput_ns"] == 40_500


def test_modes_are_kept_apart():
    samples = [batch(40_000), batch(70_000, mode="latency"), batch(12_000, mode="graph")]
    row = only_row(trace_of(samples))
    assert row["throughput_ns"] == 40_000
    assert row["latency_ns"] == 70_000
    assert row["graph_ns"] == 12_000


def test_one_batch_has_no_interval():
    row = only_row(trace_of([batch(40_000)]))
    assert row["throughput_low_ns"] is row["throughput_high_ns"] is None


def test_a_process_in_which_a_profiler_ran_tells_no_times():
    samples = [
        batch(40_000),
        batch(55_000, process=PROFILED),
        batch(110_000, process=PROFILED, profiler="kineto"),
    ]
    row = only_row(trace_of(samples))
    assert row["throughput_ns"] == 40_000
    assert row["batches"] == 1


def test_a_process_profiled_for_one_case_tells_no_times_for_another():
    samples = [
        batch(55_000, process=PROFILED),
        batch(110_000, process=PROFILED, profiler="kineto", case="other"),
    ]
    report = matrix_report(trace_of(samples))
    assert report["throughput_ns"].to_list() == [None] * report.height


def test_a_process_id_that_comes_again_in_another_generation_is_another_process():
    samples = [
        batch(40_000, process=PROFILED, generation=0),
        batch(110_000, process=PROFILED, generation=1, profiler="kineto"),
    ]
    assert only_row(trace_of(samples))["throughput_ns"] == 40_000


def test_overhead_compares_batches_of_the_same_process():
    samples = [
        batch(40_000),
        batch(50_000, process=PROFILED),
        batch(10_000, process=PROFILED, mode="graph"),
        batch(110_000, process=PROFILED, profiler="kineto"),
    ]
    assert only_row(trace_of(samples))["overhead_factor"] == pytest.approx(2.2)


def test_overhead_is_the_median_over_profiled_processes():
    samples = []
    for generation, factor in enumerate((2, 3, 9)):
        of = {"generation": generation, "process": PROFILED}
        samples += [batch(50_000, **of), batch(50_000 * factor, profiler="kineto", **of)]
    assert only_row(trace_of(samples))["overhead_factor"] == 3


def test_overhead_is_unknown_without_unprofiled_batches_beside_it():
    samples = [batch(40_000), batch(110_000, process=PROFILED, profiler="kineto")]
    assert only_row(trace_of(samples))["overhead_factor"] is None


def test_counts_and_device_time_are_medians_over_calls_that_are_not_left_out(calls):
    calls(
        call(0, 40, 900_000, left_out=True),
        call(1, 4, 11_000, readbacks=1),
        call(2, 4, 12_000, readbacks=1),
        call(3, 5, 14_000, readbacks=2),
        call(4, 5, 15_000, readbacks=2),
    )
    row = only_row(trace_of())
    assert row["kernel_count"] == 4
    assert (row["copy_count"], row["readback_count"]) == (1, 1)
    assert row["device_time_ns"] == 13_000


def test_device_values_are_null_where_no_device_activity_was_recorded(calls):
    calls(call(0, None, None, copies=None, readbacks=None))
    row = only_row(trace_of([batch(40_000)]))
    assert row["throughput_ns"] == 40_000
    for name in ("kernel_count", "copy_count", "readback_count", "device_time_ns"):
        assert row[name] is None


@pytest.mark.parametrize(
    ("values", "result"),
    [
        (["ok", "ok"], "ok"),
        (["ok", "wrong: 3 of 64 elements differ", "ok"], "wrong: 3 of 64 elements differ"),
        (["not run", "wrong", "ok"], "wrong"),
        ([], None),
    ],
)
def test_the_result_is_the_worst_that_any_process_saw(values, result):
    witnesses = [witness(value, process=number) for number, value in enumerate(values)]
    assert only_row(trace_of([batch(40_000)], witnesses))["result"] == result


def test_a_route_that_did_not_run_has_a_row_with_nothing_but_its_result():
    witnesses = [witness("not run", route="flaggems"), witness("1", name="threads")]
    report = matrix_report(trace_of([batch(40_000)], witnesses))
    assert report["route"].to_list() == ["aten", "flaggems"]
    absent = report.row(1, named=True)
    assert absent.pop("result") == "not run"
    assert {value for name, value in absent.items() if name not in ("case", "route")} == {None}


def test_the_order_of_samples_in_the_frame_changes_nothing():
    # The batches get slower: without their order they would look like noise.
    samples = [
        batch(40_000 + 500 * turn, generation=generation, turn=turn)
        for generation in range(3)
        for turn in range(30)
    ]
    mixed = random.Random(5).sample(samples, len(samples))
    assert matrix_report(trace_of(samples)).equals(matrix_report(trace_of(mixed)))


def test_the_founding_protocol_gives_the_median_of_process_medians():
    rounds = [(30, 31, 90), (50, 51, 52), (40, 41, 42)]
    samples = [
        batch(1_000 * wall, generation=number, process=number, turn=turn)
        for number, walls in enumerate(rounds)
        for turn, wall in enumerate(walls)
    ]
    assert only_row(trace_of(samples))["throughput_ns"] == 41_000
