import re
from pathlib import Path

import polars as pl
import pytest

import fgtrace
from fgtrace.analysis.findings import FINDINGS, KINDS, findings_report
from fgtrace.frames import schema
from fgtrace.opening import open_trace

SAMPLE = Path(__file__).parents[2] / "samples/h200.fgtrace"


def found(trace):
    rows = findings_report(open_trace(trace.write()))
    assert rows.schema == FINDINGS
    assert set(rows["rule"]) <= set(KINDS)
    return rows


def rules(trace):
    return found(trace)["rule"].to_list()


def call(trace, name="call", at=0, factor=1):
    """A call of 100 us: a scan, a readback of its result, and an expansion."""

    def ns(time):
        return (at + time) * factor

    trace.range(name, ns(0), 100_000 * factor)
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
    return trace


def calls(trace, name="call", factor=1):
    for number in range(4):
        call(trace, name, number * 200_000, factor)
    return trace


def test_a_readback_is_avoidable_where_the_case_gives_the_length(trace, new_trace):
    assert "avoidable-readback" in rules(calls(trace, "fgtrace::repeat_known"))
    assert "needed-readback" in rules(calls(new_trace(), "fgtrace::repeat_dynamic"))


def test_a_readback_is_avoidable_at_each_size_of_a_sweep_too(trace):
    assert "avoidable-readback" in rules(calls(trace, "fgtrace::repeat_known[rows=64,cols=8]"))


def test_routes_that_cross_in_a_sweep_are_a_finding_that_saves_nothing_by_itself(timed):
    times = {
        (f"c[rows={size}]", route): [[us * 1000 + batch for batch in range(5)]] * 6
        for route, both in {"aten": (10, 40), "triton": (20, 20)}.items()
        for size, us in zip((64, 256), both, strict=True)
    }
    sweep = {case: {"rows": int(case[7:-1])} for case, _ in times}
    (row,) = findings_report(timed(times, sweep)).rows(named=True)
    assert (row["rule"], row["case"], row["route"]) == ("crossover", "c", None)
    assert row["sentence"].startswith("c: aten is faster at rows=64, triton at rows=256; ")
    assert row["saving_ns"] is row["saving_low_ns"] is None
    assert row["evidence"] == {"frame": "samples", "event_ids": [], "count": 2 * 2 * 30}
    assert findings_report(timed(times)).is_empty()


def test_what_saves_most_comes_first_and_what_saves_nothing_last(trace):
    rows = found(calls(trace))
    middle = (rows["saving_low_ns"] + rows["saving_high_ns"]).drop_nulls().to_list()
    assert middle == sorted(middle, reverse=True)
    assert rows["saving_low_ns"].is_null().to_list() == sorted(rows["saving_low_ns"].is_null())


def test_the_rows_behind_a_finding_are_given(trace):
    rows = found(calls(trace)).filter(pl.col("rule") == "needed-readback")
    evidence = rows["evidence"][0]
    opened = open_trace(trace.write())
    names = opened.host_events.filter(pl.col("event_id").is_in(evidence["event_ids"]))["name"]
    assert set(names.cast(pl.String)) == {"aten::item", "cudaMemcpyAsync", "cudaStreamSynchronize"}
    assert evidence["count"] == len(evidence["event_ids"])


def test_a_call_that_waits_cannot_be_captured(trace, new_trace):
    assert "not-capturable" in rules(calls(trace))
    quiet = new_trace().range("call", 0, 90_000).kernel("k", 5000, 20_000, 10)
    assert "not-capturable" not in rules(quiet)


def test_a_device_that_mostly_waits_for_the_host_is_idle_and_a_busy_one_is_not(trace, new_trace):
    (row,) = found(calls(trace)).filter(pl.col("rule") == "device-idle").iter_rows(named=True)
    assert "host in python" in row["sentence"]
    busy = new_trace().kernel("a", 0, 5000, 50_000).kernel("b", 9000, 56_000, 50_000)
    assert "device-idle" not in rules(busy)


def test_an_index_check_is_found(trace):
    trace.range("call", 0, 90_000).op("aten::aminmax", 1000, 9000)
    trace.kernel("reduce MinMaxOps", 2000, 12_000, 900).op("aten::item", 20_000, 9000)
    trace.readback(21_000, 24_000).op("aten::index_select", 40_000, 9000)
    assert "index-check" in rules(trace)


def test_a_scalar_that_is_read_in_user_code_is_another_readback(trace):
    trace.range("call", 0, 90_000).kernel("softmax", 2000, 12_000, 900)
    trace.op("aten::item", 20_000, 9000).readback(21_000, 24_000)
    rows = found(trace)
    sentence = rows.filter(pl.col("rule") == "other-readback")["sentence"][0]
    assert sentence.startswith("Once the host waits for a copy")


def test_code_that_is_loaded_in_a_call_and_replays_recorded_in_part_are_told(trace):
    trace.range("call", 0, 9000).api("cuModuleLoadData", 1000, 5000)
    for number, kernels in enumerate((4, 1, 4)):
        start = 100_000 * (number + 1)
        trace.api("cudaGraphLaunch", start, 500)
        for kernel in range(kernels):
            trace.work("k", start + 1000 + kernel * 1000, 900)
    assert {"compilation", "under-recorded"} <= set(rules(trace))


def test_compilations_in_measured_batches_and_a_slow_profile_are_told(trace):
    opened = open_trace(trace.range("call", 0, 10).write())
    row = {"case": "c", "route": "r", "generation": 0, "process": 1}
    witness = {**row, "witness": "compilations in measured batches", "value": "3"}
    batch = {**row, "mode": "throughput", "calls": 1, "enqueue_ns": 1}
    times = [("none", 10_000), ("kineto", 40_000)]
    timed = [
        {**batch, "turn": turn, "profiler": profiler, "wall_ns": wall}
        for turn, (profiler, wall) in enumerate(times)
    ]
    rows = findings_report(
        opened.having(
            witnesses=pl.DataFrame([witness], schema=schema.WITNESSES),
            samples=pl.DataFrame(timed, schema=schema.SAMPLES),
        )
    )
    told = dict(rows.select("rule", "sentence").rows())
    assert told["compilation"] == "3 compilations inside measured batches of c by r."
    assert "4.00× as long" in told["overhead"]


@pytest.mark.parametrize("what", ["nothing", "only device rows", "no device rows", "one call"])
def test_poor_recordings_are_answered(trace, what):
    if what == "only device rows":
        trace.work("k", 0, 10, correlation=1)
    elif what == "no device rows":
        trace.range("call", 0, 9000).op("aten::add", 100, 700)
    elif what == "one call":
        call(trace)
    rows = found(trace)
    assert rows.is_empty() == (what in ("nothing", "only device rows"))


NUMBER = re.compile(r"([0-9][0-9.]*) (ns|µs|ms|s)\b")
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def figures(rows):
    return [
        float(number) * UNITS[unit]
        for sentence in rows["sentence"]
        for number, unit in NUMBER.findall(sentence)
    ]


def test_all_times_twice_as_long_double_every_figure_in_every_sentence(trace, new_trace):
    once, twice = found(calls(trace)), found(calls(new_trace(), factor=2))
    assert once["rule"].to_list() == twice["rule"].to_list()
    assert len(figures(once)) > 4
    assert figures(twice) == pytest.approx([2 * figure for figure in figures(once)], rel=0.015)
    plain = [[re.sub(NUMBER, "TIME", text) for text in rows["sentence"]] for rows in (once, twice)]
    assert plain[0] == plain[1]


def test_the_flaggems_recording_reads_as_an_expert_would_write_it(shared):
    rows = findings_report(open_trace(shared / "traces/h200/flaggems.repeat_values_known.json.gz"))
    assert rows["rule"].to_list()[:2] == ["launcher-bound", "avoidable-readback"]
    readback = rows["sentence"][1]
    assert "reads its length back from the device although the caller gives it" in readback
    assert "Instead: a given output_size." in readback


def test_the_sample_knows_which_readbacks_are_avoidable_and_which_are_not():
    rows = findings_report(fgtrace.open(SAMPLE))
    avoidable = rows.filter(pl.col("rule") == "avoidable-readback").select("case", "route")
    assert sorted(avoidable.rows()) == [
        (case, route)
        for case in ("repeat_Tensor_known", "repeat_values_known")
        for route in ("flaggems", "triton-readback")
    ]
    assert rows.drop_nulls("saving_ns").height > 20
