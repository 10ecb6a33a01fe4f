from dataclasses import replace

import polars as pl
import pytest

from fgtrace.analysis.whatif import WHATIF, whatif_report
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames import schema
from fgtrace.opening import open_trace

FULL = "readback=1,index_check=1"
CALL_NS = 98_200
"""The stopwatch's median of the full variant, and of the others below: whatif.md."""

OTHERS_NS = {"length_readback": 86_200, "index_check": 58_400}
NEITHER_NS = 45_800
SIMPLE_NS = {"length_readback": 12_000, "index_check": 39_800}


@pytest.fixture(scope="module")
def factorial(shared):
    return open_trace(shared / "traces/h200/factorial_kineto.json.gz")


def only(trace, case):
    """The trace without a trace of the other variants: no calls and no events of theirs."""
    calls = trace.calls.filter(pl.col("case") == case)
    inside = pl.lit(False)
    for start, dur in calls.select("start_ns", "dur_ns").iter_rows():
        inside = inside | pl.col("start_ns").is_between(start, start + dur + 30_000)
    events = trace.events.collect()
    kept = events.filter(inside)
    ids = kept["event_id"].implode()
    return replace(
        trace,
        calls=calls,
        events=kept.lazy(),
        links=trace.links.filter(pl.col("device_event_id").is_in(ids)),
    )


def full_only(trace):
    return trace.having(calls=trace.calls.filter(pl.col("case") == FULL))


def test_the_factorials_effects_are_predicted_from_the_full_variant_alone(factorial):
    rows = whatif_report(full_only(factorial), call_ns=CALL_NS)
    assert rows.schema == WHATIF
    saving = dict(rows.select("without", "saving_ns").rows())
    predicted = dict(rows.select("without", "predicted_ns").rows())
    for part, measured in SIMPLE_NS.items():
        assert saving[part] == pytest.approx(measured, rel=0.15)
        assert saving[part] == pytest.approx(measured, rel=0.10)
        assert predicted[part] == pytest.approx(OTHERS_NS[part], rel=0.10)


def test_both_parts_together_are_predicted_too(factorial):
    rows = whatif_report(full_only(factorial), without=["readback", "index_check"], call_ns=CALL_NS)
    both = rows.filter(pl.col("without").str.contains(r" \+ ")).row(0, named=True)
    assert both["predicted_ns"] == pytest.approx(NEITHER_NS, rel=0.10)
    assert both["bound_after"] == "host"
    assert both["bound_before"] == "host and device in turns"


def test_a_prediction_cannot_see_the_other_variants(factorial):
    seen = whatif_report(full_only(factorial), call_ns=CALL_NS)
    blind = whatif_report(only(factorial, FULL), call_ns=CALL_NS)
    assert seen.equals(blind)


def calls(trace, number=8, factor=1):
    """Calls of 100 us: a scan, a readback of its result, an expansion, and what leads there."""
    for call in range(number):
        at = call * 200_000

        def ns(time, at=at):
            return (at + time) * factor

        trace.range("call", ns(0), 100_000 * factor)
        trace.op("aten::cumsum", ns(5000), 20_000 * factor)
        trace.api("cudaLaunchKernel", ns(10_000), 4000 * factor)
        trace.work("DeviceScanKernel", ns(16_000), 3000 * factor)
        trace.op("aten::item", ns(30_000), 20_000 * factor)
        trace.api("cudaMemcpyAsync", ns(32_000), 3000 * factor)
        copy = "Memcpy DtoH (Device -> Pinned)"
        trace.work(copy, ns(37_000), 1000 * factor, category="gpu_memcpy", bytes=8)
        trace.api("cudaStreamSynchronize", ns(36_000), 5000 * factor)
        trace.api("cuLaunchKernelEx", ns(70_000), 4000 * factor)
        trace.work("repeat_interleave_kernel", ns(76_000), 9000 * factor)
    return open_trace(trace.write())


def refused(trace, *without, **options):
    with pytest.raises(FgtraceError) as caught:
        whatif_report(trace, without=without, **options)
    assert caught.value.exit_code == ExitCode.USAGE
    return f"{caught.value.message} ({caught.value.hint})"


def test_every_part_that_a_call_can_do_without_is_taken_when_none_is_named(trace):
    rows = whatif_report(calls(trace), call_ns=50_000)
    assert set(rows["without"]) == {"length_readback", "python"}
    assert rows["instead"].null_count() == 0
    assert (rows["predicted_ns"] + rows["saving_ns"] == 50_000).all()


def test_without_an_unprofiled_time_there_is_an_interval_and_no_number(trace):
    row = whatif_report(calls(trace), without=["readback"]).row(0, named=True)
    assert row["call_ns"] is row["predicted_ns"] is row["saving_ns"] is None
    assert 0 < row["interval_low_ns"] < row["interval_high_ns"]


def test_an_operator_goes_with_all_inside_it_and_a_kernel_with_its_launch(trace):
    opened = calls(trace)
    rows = whatif_report(opened, without=["op:^aten::item$", "kernel:^repeat"], call_ns=60_000)
    saving = dict(rows.select("without", "saving_ns").rows())
    assert saving["op:^aten::item$"] > 0
    assert saving["kernel:^repeat"] > 0
    together = saving["op:^aten::item$ + kernel:^repeat"]
    assert together > max(saving["op:^aten::item$"], saving["kernel:^repeat"])


def test_a_part_that_the_result_needs_cannot_be_removed(trace):
    assert "a call cannot be without expand: its result needs it" in refused(calls(trace), "expand")


def test_what_is_no_part_says_what_can_be_removed(trace):
    assert "parts: length_readback, " in refused(calls(trace), "op=aten::item")


def test_what_the_calls_do_not_have_says_what_they_have(trace):
    opened = calls(trace)
    assert "the calls can be without length_readback, python" in refused(opened, "index_check")
    assert "no call has anything of --without kernel:nobody" in refused(opened, "kernel:nobody")


def test_what_is_no_regular_expression_is_refused(trace):
    assert "is no regular expression" in refused(calls(trace), "op:(")


def test_a_call_time_that_the_recording_cannot_take_is_refused(trace):
    told = refused(calls(trace), "readback", call_ns=400_000)
    assert "cannot be what was recorded" in told
    assert "--call-time" in told


def test_a_graph_instead_of_launches_leaves_the_device_its_work(factorial):
    rows = whatif_report(full_only(factorial), without=["python"], call_ns=CALL_NS)
    assert rows["predicted_ns"][0] > 26_000  # what the device does in a call


def test_all_times_twice_as_long_are_twice_as_much_saved(trace, new_trace):
    once = whatif_report(calls(trace), call_ns=50_000)
    twice = whatif_report(calls(new_trace(), factor=2), call_ns=100_000)
    assert once["without"].equals(twice["without"])
    for column in ("saving_ns", "interval_low_ns", "interval_high_ns", "predicted_ns"):
        assert (twice[column] / once[column]).to_list() == pytest.approx([2, 2], rel=0.01)


@pytest.mark.parametrize("what", ["no calls", "one call", "no device rows", "only device rows"])
def test_poor_recordings_are_answered(trace, what):
    if what == "one call":
        assert whatif_report(calls(trace, number=1), without=["readback"])["calls"][0] == 1
        return
    if what == "no calls":
        trace.kernel("k", 0, 5000, 10)
    elif what == "no device rows":
        trace.range("call", 0, 9000).op("aten::empty", 100, 5000)
    else:
        trace.work("k", 0, 10, correlation=1)
    rows = whatif_report(open_trace(trace.write()))
    assert rows["without"].to_list() == (
        ["allocate", "python"] if "rows" in what and "no" in what else []
    )


def test_overlapping_calls_on_two_threads_are_answered(trace):
    for call in range(6):
        trace.range("call", call * 50_000, 60_000, tid=call % 2).op(
            "aten::empty", call * 50_000 + 1000, 9000, tid=call % 2
        )
    assert whatif_report(open_trace(trace.write()))["calls"].unique().to_list() == [6]


def test_a_stopwatch_that_saw_another_host_gives_an_interval(trace):
    opened = calls(trace)
    row = {"generation": 0, "process": 1, "turn": 0, "mode": "throughput", "profiler": "none"}
    slower = {**row, "calls": 1, "wall_ns": 400_000, "enqueue_ns": 1}
    timed = opened.having(samples=pl.DataFrame([slower], schema=schema.SAMPLES))
    rows = whatif_report(timed, without=["readback"])
    assert rows["call_ns"][0] is rows["saving_ns"][0] is None
    assert rows["interval_high_ns"][0] > 0
