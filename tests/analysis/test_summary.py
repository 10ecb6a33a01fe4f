import json
from pathlib import Path

import msgspec
import pytest

from fgtrace.analysis.summary import summarise
from fgtrace.opening import analysed, open_trace
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.recorded import PartSource

FOR_THE_FULL_READER = {
    "S01": "a bare inf is not JSON",
    "S02": "invalid escapes",
    "S03": "invalid UTF-8",
    "S04": "recovery of a cut file",
    "S05": "recovery of a cut gzip",
    "S08": "times of zero",
    "S12": "durations beyond what a stream allows",
}
"""Kineto cases that want repair of damaged input, which this reader answers with an error."""

SERVED = [
    "S06",
    "S07",
    "S09",
    "S10",
    "S11",
    "S13",
    "S14",
    "S15",
    "S21",
    "S22",
    "S23",
    "S24",
    "S25",
    "S26",
    "S27",
    "S28",
    "S29",
]


def built(path):
    return msgspec.to_builtins(summarise(open_trace(path)))


def test_the_summary_has_the_documented_fields(trace):
    summary = built(trace.range("call", 0, 90_000).kernel("k", 1000, 5000, 10).write())
    assert list(summary) == ["outcome", "warnings", "notes", "recorded", "parts", "metrics"]
    assert list(summary["recorded"]) == ["host_api", "device", "bytes", "ranges", "python"]
    assert list(summary["parts"][0]) == ["process", "rank", "source", "metrics"]
    assert list(summary["metrics"]) == [
        "kernel_count",
        "kernel_time_ns",
        "kernel_busy_ns",
        "device_busy_ns",
        "launch_count",
        "graph_launch_count",
        "memcpy_count",
        "memset_count",
        "dtoh_count",
        "dtoh_time_ns",
        "dtoh_bytes",
        "sync_count",
        "sync_host_ns",
        "readback_count",
        "scalar_readback_count",
        "unlinked_count",
        "launches_without_device_row",
        "span_ns",
    ]
    assert summary["outcome"] == "ok"
    assert summary["recorded"] == {
        "host_api": True,
        "device": True,
        "bytes": True,
        "ranges": True,
        "python": False,
    }


def test_numbers_of_a_small_trace(trace):
    trace.kernel("k", 0, 5000, 3000).kernel("k", 3000, 7000, 3000)
    trace.readback(6000, 12_000, size=17).api("cudaMemsetAsync", 20_000, 100)
    trace.work("Memset (Device)", 30_000, 50, category="gpu_memset", bytes=4)
    summary = built(trace.write())
    assert summary["metrics"] == {
        "kernel_count": 2,
        "kernel_time_ns": 6000,
        "kernel_busy_ns": 5000,
        "device_busy_ns": 6050,
        "launch_count": 2,
        "graph_launch_count": 0,
        "memcpy_count": 1,
        "memset_count": 1,
        "dtoh_count": 1,
        "dtoh_time_ns": 1000,
        "dtoh_bytes": 17,
        "sync_count": 1,
        "sync_host_ns": 6400,
        "readback_count": 1,
        "scalar_readback_count": 0,
        "unlinked_count": 0,
        "launches_without_device_row": 0,
        "span_ns": 25_050,
    }
    assert summary["notes"] == [
        {"kind": "no-calls", "count": 0, "message": "no range marks the calls"}
    ]


def test_parts_are_added_up_and_have_no_common_span(new_trace):
    recordings = []
    for number in range(2):
        builder = new_trace()
        builder.metadata["distributedInfo"] = {"rank": number}
        builder.kernel("k", 0, 5000, 3000)
        recordings.append(PartSource(read_kineto(builder.write()), f"rank{number}.json"))
    trace = analysed(recordings, source="two", provenance=recordings[0].recorded.provenance)
    summary = summarise(trace)
    assert (summary.metrics.kernel_busy_ns, summary.metrics.device_busy_ns) == (6000, 6000)
    assert summary.metrics.span_ns is None
    assert [(part.rank, part.source) for part in summary.parts] == [
        (0, "rank0.json"),
        (1, "rank1.json"),
    ]
    assert [part.metrics.span_ns for part in summary.parts] == [3000, 3000]
    assert [part.metrics.unlinked_count for part in summary.parts] == [0, 0]


def test_a_warning_changes_the_outcome(trace):
    summary = built(trace.op("aten::add", 0, 10).write())
    assert summary["outcome"] == "ok-with-warnings"
    assert [warning["kind"] for warning in summary["warnings"]] == ["no-device-activity"]
    assert summary["recorded"]["device"] is False
    assert summary["metrics"]["span_ns"] is None


def test_what_the_file_does_not_say_is_null(trace):
    trace.work("Memcpy DtoH (Device -> Pinned)", 0, 10, category="gpu_memcpy")
    metrics = built(trace.write())["metrics"]
    assert (metrics["dtoh_count"], metrics["dtoh_bytes"]) == (1, None)
    assert metrics["readback_count"] is None
    assert metrics["scalar_readback_count"] is None


def summary_of(folder: Path):
    inputs = sorted(file for file in folder.iterdir() if file.name != "expect.json")
    if len(inputs) == 1:
        return built(inputs[0])
    recordings = [read_kineto(file) for file in inputs]
    parts = [
        PartSource(recorded, file.name) for recorded, file in zip(recordings, inputs, strict=True)
    ]
    trace = analysed(parts, source=folder.name, provenance=recordings[0].provenance)
    return msgspec.to_builtins(summarise(trace))


@pytest.mark.parametrize("case", SERVED)
def test_a_shared_case_gives_what_is_expected(shared, case):
    (folder,) = (shared / "cases").glob(f"{case}-*")
    expected = json.loads((folder / "expect.json").read_text())
    summary = summary_of(folder)
    assert summary["outcome"] == expected["outcome"]
    for name, value in expected["metrics"].items():
        if value is not None:
            assert summary["metrics"][name] == value, name


def test_every_shared_kineto_case_is_served_or_left_with_a_reason(shared):
    kineto = set()
    for folder in (shared / "cases").glob("S*"):
        expected = json.loads((folder / "expect.json").read_text())
        if expected["format"].startswith("kineto"):
            kineto.add(folder.name[:3])
    assert kineto == {*SERVED, *FOR_THE_FULL_READER}


def test_h200_summaries_equal_the_raw_numbers(shared):
    oracle = json.loads((shared / "oracles/raw-ns.json").read_text())["traces"]
    for file in sorted((shared / "traces/h200").glob("*.json.gz")):
        metrics = built(file)["metrics"]
        expected = {name: oracle[file.name][name] for name in metrics if name in oracle[file.name]}
        assert len(expected) == 7
        assert {name: metrics[name] for name in expected} == expected, file.name
        assert metrics["unlinked_count"] == 0, file.name
