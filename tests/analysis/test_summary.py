import json

import msgspec
import polars as pl
import pytest

from fgtrace.analysis.summary import summarise
from fgtrace.joining import analysed
from fgtrace.opening import open_trace
from fgtrace.readers.inputs import open_input
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.recorded import PartSource

CASES = [
    "S01",
    "S02",
    "S03",
    "S04",
    "S05",
    "S06",
    "S07",
    "S08",
    "S09",
    "S10",
    "S11",
    "S12",
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


def built(path, **how):
    return msgspec.to_builtins(summarise(open_trace(path, **how)))


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


def test_parts_are_added_up_and_have_no_common_span(new_trace, tmp_path):
    for number in range(2):
        builder = new_trace()
        builder.metadata["distributedInfo"] = {"rank": number}
        builder.kernel("k", 0, 5000, 3000).write(f"rank{number}.json")
    summary = summarise(open_trace(tmp_path))
    assert (summary.metrics.kernel_busy_ns, summary.metrics.device_busy_ns) == (6000, 6000)
    assert summary.metrics.span_ns is None
    assert [(part.rank, part.source) for part in summary.parts] == [
        (0, "rank0.json"),
        (1, "rank1.json"),
    ]
    assert [part.metrics.span_ns for part in summary.parts] == [3000, 3000]
    assert [part.metrics.unlinked_count for part in summary.parts] == [0, 0]


def test_what_one_part_does_not_say_is_not_known_of_all(new_trace, tmp_path):
    for number, more in enumerate([{"bytes": 8}, {}]):
        builder = new_trace().api("cudaMemcpy", 0, 9000)
        builder.work("Memcpy DtoH (Device -> Pinned)", 50, 10, category="gpu_memcpy", **more)
        builder.write(f"{number}.json")
    summary = summarise(open_trace(tmp_path))
    assert [part.metrics.dtoh_bytes for part in summary.parts] == [8, None]
    assert (summary.metrics.dtoh_bytes, summary.metrics.readback_count) == (None, 2)


def test_a_part_without_device_work_beside_one_with_it_has_zeros(new_trace, tmp_path):
    new_trace().kernel("k", 0, 5000, 3000).write("a.json")
    new_trace().api("cudaLaunchKernel", 0, 10).write("b.json")
    summary = summarise(open_trace(tmp_path))
    quiet = summary.parts[1].metrics
    assert (quiet.kernel_count, quiet.launch_count, quiet.dtoh_bytes) == (0, 1, 0)
    assert (quiet.launches_without_device_row, quiet.span_ns) == (0, None)
    assert summary.metrics.launch_count == 2


def test_device_work_without_times_is_counted_and_has_no_part_in_them(trace):
    trace.kernel("k", 0, 5000, 3000).kernel("k", 9000, 20_000, 1000)
    trace.api("cudaLaunchKernel", 30_000, 100).api("cudaMemcpyAsync", 31_000, 100)
    ids = {"device": 0, "stream": 7, "correlation": trace.correlation - 1}
    never = f'"pid": 0, "tid": 7, "ts": 0, "dur": 0, "args": {json.dumps(ids)}'
    trace.lines.append(f'{{"ph": "X", "cat": "kernel", "name": "k", {never}}}')
    copy = never.replace(str(ids["correlation"]), str(trace.correlation))
    trace.lines.append(
        f'{{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", {copy}}}'
    )
    trace.api("cudaStreamSynchronize", 32_000, 500)
    summary = built(trace.write())
    metrics = summary["metrics"]
    assert [warning["kind"] for warning in summary["warnings"]] == ["zero-timestamp"]
    assert (metrics["kernel_count"], metrics["kernel_time_ns"]) == (3, 4000)
    assert (metrics["kernel_busy_ns"], metrics["span_ns"]) == (4000, 16_000)
    assert (metrics["dtoh_count"], metrics["dtoh_time_ns"], metrics["unlinked_count"]) == (1, 0, 0)
    assert metrics["readback_count"] == 1


def test_a_recording_that_stops_early_is_partial_and_says_what_to_do(trace):
    path = trace.kernel("k", 0, 5000, 3000).kernel("k", 9000, 20_000, 1000).write()
    path.write_text(path.read_text()[:-40])
    summary = built(path)
    assert list(summary)[:2] == ["outcome", "error"]
    assert summary["outcome"] == "partial"
    assert summary["error"]["kind"] == "truncated"
    assert summary["error"]["message"]
    assert summary["error"]["hint"]
    assert "truncated" in [warning["kind"] for warning in summary["warnings"]]
    assert summary["metrics"]["kernel_count"] == 1


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


def case(shared, name):
    """Give a case's folder, what is expected of it, and its trace."""
    (folder,) = (shared / "cases").glob(f"{name}-*")
    inputs = [file for file in folder.iterdir() if file.name != "expect.json"]
    opened = open_trace(inputs[0] if len(inputs) == 1 else folder)
    return folder, json.loads((folder / "expect.json").read_text()), opened


@pytest.mark.parametrize("name", CASES)
def test_a_shared_case_gives_what_is_expected(shared, name):
    _, expected, opened = case(shared, name)
    summary = msgspec.to_builtins(summarise(opened))
    assert summary["outcome"] == expected["outcome"]
    assert summary.get("error", {}).get("kind") == expected["error"]["kind"]
    told = {warning["kind"] for warning in summary["warnings"]}
    assert told >= set(expected["warnings"]["kinds"])
    assert bool(told) == expected["warnings"]["expected"]
    for metric, value in expected["metrics"].items():
        if value is not None and metric in summary["metrics"]:
            assert summary["metrics"][metric] == value, metric


def test_every_shared_kineto_case_is_served(shared):
    kineto = set()
    for folder in (shared / "cases").glob("S*"):
        expected = json.loads((folder / "expect.json").read_text())
        if expected["format"].startswith("kineto"):
            kineto.add(folder.name[:3])
    assert kineto == set(CASES)


KINDS = {"cpu_op_count": "op", "user_annotation_count": "range", "python_function_count": "python"}


@pytest.mark.parametrize("name", ["S02", "S03", "S15", "S21", "S24"])
def test_host_rows_of_a_shared_case_are_all_there(shared, name):
    _, expected, opened = case(shared, name)
    rows = opened.events.select("kind", pl.col("name").cast(pl.String)).collect()
    counts = {count: kind for count, kind in KINDS.items() if count in expected["extra"]}
    assert counts
    for count, kind in counts.items():
        assert rows.filter(kind=kind).height == expected["extra"][count], count
    names = rows.filter(kind="python")["name"].to_list()
    for part in expected["extra"].get("name_contains", {}).get("python_function", []):
        assert any(part in name for name in names), part


def test_kernels_that_were_never_filled_in_stretch_no_time_axis(shared):
    _, expected, opened = case(shared, "S08")
    assert summarise(opened).metrics.span_ns == expected["extra"]["gpu_span_ns"]
    work = opened.device_work
    assert work["start_ns"].null_count() == expected["extra"]["invalid_kernels"]


def test_a_kernel_that_outlasts_later_work_is_cut_unless_raw_times_are_asked_for(shared):
    folder, expected, opened = case(shared, "S12")
    extra = expected["extra"]
    (note,) = opened.notes.filter(kind="impossible-duration").iter_rows(named=True)
    assert note["count"] == extra["bad_records"]
    assert extra["clipped_kernel_ns"] in opened.device_work["dur_ns"].to_list()
    path = folder / "input.json"
    with open_input(path) as source:
        recorded = read_kineto(source, path=path, raw_times=True)
    raw = analysed([PartSource(recorded, "raw")], source="raw", provenance=recorded.provenance)
    time = summarise(raw).metrics.kernel_time_ns
    assert time == expected["metrics"]["kernel_time_raw_ns"]


def test_kernels_under_graph_launches_are_told_apart(shared):
    _, expected, opened = case(shared, "S11")
    rows = opened.links.join(
        opened.device_work.select("dur_ns", device_event_id="event_id"), on="device_event_id"
    )
    under = rows.filter(how="graph")
    extra = expected["extra"]
    assert rows.filter(how="graph").height == extra["kernels_under_graph_launch"]
    assert under["dur_ns"].sum() == extra["kernel_time_under_graph_ns"]
    assert rows["launch_event_id"].count() == extra["kernels_linked_to_a_host_call"]


def test_summaries_of_real_recordings_equal_the_raw_numbers(shared):
    oracle = json.loads((shared / "oracles/raw-ns.json").read_text())["traces"]
    found = {file.name: file for file in (shared / "traces").glob("**/*.json.gz")}
    assert len(oracle) == 45
    for name, numbers in oracle.items():
        metrics = built(found[name], raw_times=True)["metrics"]
        expected = {
            metric: numbers[metric] for metric in metrics if numbers.get(metric) is not None
        }
        assert {metric: metrics[metric] for metric in expected} == expected, name
        if found[name].parent.name == "h200":
            assert len(expected) == 7, name
            assert metrics["unlinked_count"] == 0, name
