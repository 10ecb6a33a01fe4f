"""Numbers that other tools, or decimal arithmetic over the file's text, give for public recordings.

Counts and sums of all of them: test_summary. Here is what the reports say beyond those.
"""

import json

import polars as pl
import pytest

from fgtrace.analysis.calls import calls_report
from fgtrace.analysis.idle import idle_report
from fgtrace.analysis.launches import launches_report, queue_depths
from fgtrace.analysis.summary import summarise
from fgtrace.opening import open_trace


def opened(shared, name):
    return open_trace(shared / f"traces/{name}.json.gz")


@pytest.mark.parametrize(
    ("name", "busy", "span"),
    [
        ("hta_v100_ddp_nccl_54MB", 1_000_613_000, 1_732_965_000),
        ("hta_alexnet_a100_cudasync", 66_141_000, 12_920_244_000),
        ("tl_h100_qwen", 45_647_300, 49_652_832),
        ("tl_vllm_decode_hipgraph", 10_717_708, 10_743_181),
        ("flaggems_h800_complex_mul_triton", 105_404, 4_553_446),
    ],
)
def test_idle_time_is_what_is_left_of_the_span(shared, name, busy, span):
    trace = opened(shared, name)
    metrics = summarise(trace).metrics
    assert (metrics.device_busy_ns, metrics.span_ns) == (busy, span)
    assert idle_report(trace)["idle_ns"].sum() == span - busy


@pytest.mark.parametrize(
    ("name", "busy", "idle"),
    # TraceLens, which computes in floats of microseconds.
    [
        ("tl_mi300_timesformer", 119_852_883, 1_414_316),
        ("tl_h100_timesformer", 158_433_174, 1_559_254),
        ("hta_alexnet_a100_cudasync", 66_141_000, 12_854_103_000),
    ],
)
def test_idle_time_is_that_of_tracelens(shared, name, busy, idle):
    trace = opened(shared, name)
    assert summarise(trace).metrics.device_busy_ns == busy
    assert idle_report(trace)["idle_ns"].sum() == pytest.approx(idle, abs=10)


@pytest.mark.parametrize(("name", "unlinked"), [("tl_h100_qwen", 509), ("tl_mi300_qwen", 463)])
def test_work_without_a_launch_is_counted_and_has_no_known_cause_of_idleness(
    shared, name, unlinked
):
    trace = opened(shared, name)
    assert summarise(trace).metrics.unlinked_count == unlinked
    assert trace.links["cause"].count() == unlinked
    assert idle_report(trace).filter(cause="not known").height == 1


def test_a_step_of_the_optimizer_owns_its_kernels(shared):
    trace = opened(shared, "hta_v100_ns_resolution")
    work = trace.links.join(trace.device_work, left_on="device_event_id", right_on="event_id")
    ranges = trace.ranges.select(pl.col("name").cast(pl.String), range_event_id="event_id")
    owned = work.select("range_event_id", "kind", "correlation", work="name").join(
        ranges, on="range_event_id"
    )
    # HTA's tests count 27, which is three of the five steps in the file.
    step = owned.filter(kind="kernel", name="Optimizer.step#SGD.step")
    assert step.group_by("range_event_id").len()["len"].to_list() == [9] * 5
    by_id = {
        number: (name, text.split("<")[0])
        for number, name, text in owned.select(
            "correlation", "name", pl.col("work").cast(pl.String)
        ).rows()
    }
    assert by_id[135139] == ("DistributedDataParallel.forward", "Memcpy DtoD (Device -> Device)")
    assert by_id[164926][0] == "Optimizer.step#SGD.step"
    assert "multi_tensor_apply_kernel" in by_id[164926][1]
    assert calls_report(trace)["index"].to_list() == [101, 102, 103, 104, 105]


def test_graph_launches_own_the_kernels_of_a_decode(shared):
    trace = opened(shared, "tl_vllm_decode_hipgraph")
    assert trace.device_work.height == 434
    assert trace.links.filter(how="graph").height == 421


def test_a_triton_launch_has_rows_where_hta_has_none(shared):
    trace = opened(shared, "flaggems_h800_complex_mul_triton")
    assert summarise(trace).metrics.kernel_count == 16
    assert launches_report(trace)["count"].sum() == 16


@pytest.mark.parametrize("name", ["tl_h100_qwen", "hta_trace_diff_control_a100"])
def test_the_longest_queues_are_those_of_hta(shared, name):
    oracle = json.loads((shared / "oracles/hta-oracle.json").read_text())["traces"]
    queues = oracle[f"{name}.json.gz"]["hta_master_pandas2"]["queue_length"]
    longest = max(queue["queue_length_max"] for queue in queues)
    trace = opened(shared, name)
    assert queue_depths(trace, trace.api_calls).max() == longest  # copies are queued too
