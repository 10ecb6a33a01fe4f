import gzip
import json
from collections import Counter
from decimal import Decimal

import polars as pl
import pytest
import zstandard

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.schema import EVENTS, LAUNCH_ATTRIBUTES

BASE_NS = 4_812_000_000_000_000


def rows(events, *columns):
    return events.select(pl.col(columns).cast(pl.String)).rows()


def test_times_are_exact_nanoseconds_on_a_clock_that_no_float_holds(trace, read):
    trace.op("a", 1, 3).op("b", 250, 1)
    events = read(trace.write()).events.collect()
    assert events["start_ns"].to_list() == [BASE_NS + 1, BASE_NS + 250]
    assert events["dur_ns"].to_list() == [3, 1]
    assert events.schema == EVENTS


def test_events_are_numbered_by_start_then_longest_then_place_in_the_file(trace, read):
    trace.op("late", 9, 1).op("short", 5, 1).op("long", 5, 8).op("twin", 5, 1)
    events = read(trace.write()).events.collect()
    assert events["event_id"].to_list() == [0, 1, 2, 3]
    assert events["name"].to_list() == ["long", "short", "twin", "late"]


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("cpu_op", "aten::add", "op"),
        ("Operator", "aten::add", "op"),
        ("cpu_op", "ProfilerStep#3", "range"),
        ("user_annotation", "call", "range"),
        ("gpu_user_annotation", "call", "device_range"),
        ("cuda_runtime", "cudaLaunchKernel", "runtime"),
        ("privateuse1_runtime", "hipLaunchKernel", "runtime"),
        ("xpu_runtime", "urEnqueueKernelLaunch", "runtime"),
        ("mtia_runtime", "run", "runtime"),
        ("Runtime", "cudaLaunchKernel", "runtime"),
        ("cuda_driver", "cuLaunchKernelEx", "driver"),
        ("kernel", "k", "kernel"),
        ("Kernel", "k", "kernel"),
        ("kernel", "__amd_rocclr_copyBuffer", "memcpy"),
        ("kernel", "__amd_rocclr_fillBufferAligned", "memset"),
        ("kernel", "my_copyBuffer", "kernel"),
        ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", "memcpy"),
        ("Memset", "Memset (Device)", "memset"),
        ("cuda_sync", "Stream Sync", "sync_record"),
        ("python_function", "train.py(1): main", "python"),
        ("overhead", "Activity Buffer Request", "overhead"),
        ("Trace", "PyTorch Profiler (0)", "other"),
        ("brand_new", "k", "other"),
    ],
)
def test_the_kind_comes_from_category_and_name(trace, category, name, kind, read):
    trace.event(category, name, 0, 5, stream=7)
    events = read(trace.write()).events.collect()
    assert rows(events, "kind", "source_category") == [(kind, category)]


def test_instants_and_counters_are_events_without_a_length(trace, read):
    trace.event("cpu_instant_event", "[memory]", 5, 9, ph="i").event("", "queue", 6, 9, ph="C")
    events = read(trace.write()).events.collect()
    assert rows(events, "kind", "dur_ns") == [("memory", "0"), ("counter", "0")]


def test_arrows_and_row_names_are_no_events_and_need_no_note(trace, read):
    trace.op("a", 0, 1).event("ac2g", "ac2g", 0, 0, ph="s").event("", "process_name", 0, 0, ph="M")
    recorded = read(trace.write())
    assert recorded.events.collect()["name"].to_list() == ["a"]
    assert recorded.notes == []


@pytest.mark.parametrize("phase", ["b", "P", "Z", "new", ""])
def test_what_is_not_read_is_counted_in_a_note(trace, read, phase):
    trace.op("a", 0, 1).event("cpu_op", "b", 0, 0, ph=phase).event("cpu_op", "b", 5, 0, ph=phase)
    recorded = read(trace.write())
    (note,) = recorded.notes
    assert (note.level, note.kind, note.count) == ("warning", "events-not-read", 2)
    assert f"({phase})" in note.message
    assert recorded.tally.decoded == 3


def test_a_mark_without_a_phase_is_no_event(trace, read):
    trace.op("a", 0, 1)
    trace.lines.append('{"name": "b", "ts": 1, "dur": 2}')
    (note,) = read(trace.write()).notes
    assert (note.kind, note.count) == ("events-not-read", 1)


def test_an_event_without_a_start_is_left_out_and_counted(trace, read):
    trace.op("a", 0, 1)
    trace.lines.append('{"ph": "X", "cat": "cpu_op", "name": "b", "ts": null, "dur": 1}')
    recorded = read(trace.write())
    assert recorded.events.collect()["name"].to_list() == ["a"]
    assert [(note.kind, note.count) for note in recorded.notes] == [("event-without-time", 1)]


def test_device_columns_belong_to_device_rows_and_threads_to_host_rows(trace, read):
    trace.op("inductor", 0, 9, pid=31, tid=32, stream=0).api("cudaLaunchKernel", 1, 2, device=3)
    trace.work("k", 5, 1, device=2, stream=0)
    trace.event("kernel", "bare", 9, 1, pid=1, tid="stream 7")
    events = read(trace.write()).events.collect()
    assert rows(events, "name", "process", "thread", "device", "stream") == [
        ("inductor", "31", "32", None, None),
        ("cudaLaunchKernel", "1", "1", None, None),
        ("k", "0", None, "2", "0"),
        ("bare", "1", None, "1", "7"),
    ]


def test_numbers_are_read_from_text_and_nonsense_is_null(trace, read):
    trace.work("a", 0, 1, correlation="12", stream="0x7").work(
        "b", 1, 1, correlation=2**70, stream={"no": 1}, device=[1]
    )
    events = read(trace.write()).events.collect()
    assert rows(events, "correlation", "stream", "device") == [("12", "7", "0"), (None, "7", "0")]


def test_arguments_that_are_no_object_lose_nothing_else(trace, read):
    trace.op("a", 0, 1)
    trace.lines.append('{"ph": "X", "cat": "cpu_op", "name": 7, "ts": "1", "dur": 2, "args": ""}')
    events = read(trace.write()).events.collect()
    assert rows(events, "name", "start_ns") == [("7", "1000"), ("a", str(BASE_NS))]


@pytest.mark.parametrize(
    ("name", "copy_kind"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
        ("Memcpy DtoH (Device -> Array)", "DtoH"),
        ("Memcpy PtoP (Device -> Device)", "PtoP"),
        ("CopyDeviceToHost", "DtoH"),
        ("Memcpy Unknown", "other"),
    ],
)
def test_the_direction_of_a_copy_is_read_from_its_name(trace, name, copy_kind, read):
    trace.work(name, 0, 1, category="gpu_memcpy", bytes=8)
    assert rows(read(trace.write()).events.collect(), "copy_kind", "bytes") == [(copy_kind, "8")]


def test_what_the_hip_call_says_of_a_copy_wins_over_the_device_row(trace, read):
    trace.api("hipMemcpyWithStream", 0, 9, kind="2", bytes="4")
    trace.work("Memcpy DtoD (Device -> Device)", 3, 1, category="gpu_memcpy")
    copies = read(trace.write()).events.collect().filter(pl.col("kind") == "memcpy")
    assert rows(copies, "copy_kind", "bytes") == [("DtoH", "4")]


def test_launch_attributes_are_kept_for_kernels_as_far_as_they_are_numbers(trace, read):
    trace.work("a", 0, 1, grid=[4, 1, 1], block=[32, 1, 1], **{"registers per thread": 16})
    trace.work("made up", 1, 1, **{"registers per thread": "32", "grid": "grid(64,)"})
    trace.op("host", 2, 1, grid=[1, 1, 1])
    attributes = read(trace.write()).launch_attributes.collect()
    assert attributes.schema == LAUNCH_ATTRIBUTES
    assert attributes.rows() == [(0, [4, 1, 1], [32, 1, 1], 16, None)]


def test_only_named_metadata_is_kept(trace, read):
    trace.metadata |= {
        "deviceProperties": [
            {"id": 0, "name": "A"},
            {"id": 1, "name": "B", "numSms": 132, "token": 12345678},
        ],
        "cuda_driver_version": 13000,
        "with_stack": 1,
        "environment": {"HF_TOKEN": "hf_planted"},
    }
    recorded = read(trace.work("k", 0, 1, device=1).write())
    assert recorded.provenance.device is not None
    assert recorded.provenance.device.name == "B"
    assert recorded.provenance.device.driver == "13000"
    assert recorded.provenance.device.properties == {"numSms": 132}
    assert recorded.provenance.profiler_options == {"with_stack": True}
    assert "planted" not in repr(recorded)


def test_the_rank_is_on_every_event(trace, read):
    trace.metadata["distributedInfo"] = {"rank": 3, "world_size": 8}
    assert read(trace.op("a", 0, 1).write()).events.collect()["rank"].to_list() == [3]


def test_a_bare_list_of_events_is_a_trace(trace, read):
    path = trace.folder / "list.json"
    path.write_text(f"[{trace.op('a', 0, 1).lines[0]}]")
    assert read(path).events.collect()["name"].to_list() == ["a"]


def test_an_empty_list_of_events_is_a_trace_without_events(trace, read):
    recorded = read(trace.write())
    assert recorded.events.collect().schema == EVENTS
    assert recorded.events.collect().is_empty()
    assert recorded.launch_attributes.collect_schema() == LAUNCH_ATTRIBUTES


def test_compressed_files_are_read_by_their_content_and_to_the_last_member(trace, tmp_path, read):
    data = trace.op("a", 0, 1).op("b", 1, 1).text().encode()
    half = len(data) // 2
    files = {
        "gzip": gzip.compress(data[:half]) + gzip.compress(data[half:]),
        "zstd": zstandard.compress(data[:half]) + zstandard.compress(data[half:]),
    }
    for name, content in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert read(path).events.collect().height == 2, name


def damaged(data):
    return {
        "empty": (b"", "empty"),
        "blank": (b" \n", "empty"),
        "empty gzip": (gzip.compress(b""), "empty"),
        "damaged gzip": (gzip.compress(data)[:40] + b"\xff" * 40, "truncated"),
        "text": (b"hello", "not-json"),
        "web page": (b"<!DOCTYPE html>", "not-json"),
        "binary": (bytes(range(1, 200)), "not-json"),
        "no events": (b'{"schemaVersion": 1}', "unknown-format"),
        "null events": (b'{"traceEvents": null}', "unknown-format"),
        "events of another kind": (b'{"traceEvents": "none"}', "unknown-format"),
        "a number": (b"42", "unknown-format"),
        "bzip2": (b"BZh91AY&SY", "unsupported-compression"),
        "xz": (b"\xfd7zXZ\x00\x00", "unsupported-compression"),
    }


@pytest.mark.parametrize("damage", list(damaged(b"")))
def test_an_unreadable_file_is_one_line_with_a_hint(trace, tmp_path, damage, read):
    content, kind = damaged(trace.op("aten::add", 0, 1).text().encode())[damage]
    path = tmp_path / "input"
    path.write_bytes(content)
    with pytest.raises(FgtraceError) as raised:
        read(path)
    assert raised.value.kind == kind
    assert raised.value.exit_code is ExitCode.UNREADABLE
    assert str(path) in raised.value.message
    assert "\n" not in raised.value.message
    assert raised.value.hint


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path, read):
    with pytest.raises(FgtraceError, match="does not exist") as raised:
        read(tmp_path / "nothing.json")
    assert raised.value.exit_code is ExitCode.UNREADABLE
    with pytest.raises(FgtraceError, match="is a folder"):
        read(tmp_path)


def test_h200_recordings_equal_decimal_arithmetic_event_by_event(shared, read):
    files = sorted((shared / "traces/h200").glob("*.json.gz"))
    assert len(files) == 19
    for file in files:
        raw = json.loads(gzip.decompress(file.read_bytes()), parse_float=Decimal)
        expected = Counter(
            (event["cat"], event["name"], int(event["ts"] * 1000), int(event["dur"] * 1000))
            for event in raw["traceEvents"]
            if event["ph"] == "X"
        )
        events = read(file).events.collect().filter(pl.col("kind") != "memory")
        columns = (pl.col("source_category", "name").cast(pl.String), "start_ns", "dur_ns")
        found = Counter(row for row in events.select(*columns).rows() if row[0] is not None)
        assert found == expected, file.name


def test_h200_recordings_equal_the_raw_numbers(shared, read):
    oracle = json.loads((shared / "oracles/raw-ns.json").read_text())["traces"]
    files = sorted((shared / "traces/h200").glob("*.json.gz"))
    assert len(files) == 19
    for file in files:
        expected = oracle[file.name]
        events = read(file).events.collect()
        kernels = events.filter(pl.col("kind") == "kernel")
        assert kernels.height == expected["kernel_count"], file.name
        assert kernels["dur_ns"].sum() == expected["kernel_time_ns"], file.name
        complete = events.filter(
            pl.col("source_category").is_not_null(),
            pl.col("source_category") != "cpu_instant_event",
        )
        counts = complete["source_category"].cast(pl.String).value_counts().rows()
        assert dict(counts) == expected["x_rows_by_category"], file.name
