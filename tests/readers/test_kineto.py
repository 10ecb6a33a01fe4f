import gzip
import json

import polars as pl
import pytest
import zstandard

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.schema import EVENTS, LAUNCH_ATTRIBUTES

from .conftest import names, notes, rows


def test_events_are_numbered_by_start_then_longest_then_place_in_the_file(trace, read):
    trace.op("late", 9, 1).op("short", 5, 1).op("long", 5, 8).op("twin", 5, 1)
    recorded = read(trace.write())
    assert rows(recorded, "event_id", "name") == [
        (0, "long"),
        (1, "short"),
        (2, "twin"),
        (3, "late"),
    ]


def test_a_bare_list_of_events_is_a_trace(trace, read):
    path = trace.folder / "list.json"
    path.write_text(f"[{trace.op('a', 0, 1).lines[0]}]")
    assert names(read(path)) == ["a"]


def test_an_empty_list_of_events_is_a_trace_without_events(trace, read):
    for source in (trace.write(), "[]", '{"traceEvents":[]}', '{"traceEvents": [ ], "a": 1}'):
        recorded = read(source)
        assert recorded.events.collect_schema() == EVENTS
        assert (rows(recorded, "name"), recorded.notes) == ([], [])
        assert recorded.launch_attributes.collect_schema() == LAUNCH_ATTRIBUTES


def test_all_lists_of_events_in_a_document_are_read(trace, read):
    lists = [json.dumps([{"ph": "X", "name": name, "ts": 1, "dur": 1}]) for name in "abc"]
    text = ", ".join(f'"traceEvents": {one}, "a": {{"b": 1}}' for one in lists)
    for size in (1 << 20, 3):
        recorded = read(f'{{{text}, "distributedInfo": {{"rank": 3}}}}', size=size)
        assert rows(recorded, "name", "part", "rank") == [("a", 0, 3), ("b", 0, 3), ("c", 0, 3)]
        assert recorded.notes == []


def test_a_byte_order_mark_and_white_space_before_it_are_no_damage(trace, read):
    text = trace.op("a", 0, 1).text().encode()
    for before in (b"\xef\xbb\xbf", b" \n\t\xef\xbb\xbf", b"\r\n"):
        for size in (1 << 20, 1):
            recorded = read(before + text, size=size)
            assert (names(recorded), recorded.notes) == (["a"], [])


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
        assert names(read(path)) == ["a", "b"], name


def test_a_file_that_is_cut_off_gives_what_comes_before_and_says_so(trace, read):
    text = trace.op("a", 0, 1).op("b", 1, 1).text()
    recorded = read(text[: text.index('"b"')])
    assert names(recorded) == ["a"]
    (note,) = recorded.notes
    assert (note.level, note.kind, note.count) == ("warning", "truncated", 1)
    assert (recorded.tally.decoded, recorded.tally.skipped) == (1, 0)


def test_every_document_of_a_file_is_a_part_with_its_own_clock_and_rank(trace, new_trace, read):
    trace.metadata["distributedInfo"] = {"rank": 1}
    other = new_trace().op("b", -1000, 1).op("c", 0, 1)
    other.metadata["distributedInfo"] = {"rank": 0}
    recorded = read(trace.op("a", 0, 1).text() + "\n" + other.text())
    assert rows(recorded, "event_id", "part", "name", "rank") == [
        (0, 0, "a", 1), (1, 1, "b", 0), (2, 1, "c", 0),
    ]  # fmt: skip
    assert notes(recorded) == {"second-document": 1}


def damaged(data):
    return {
        "empty": (b"", "empty"),
        "blank": (b" \n", "empty"),
        "empty gzip": (gzip.compress(b""), "empty"),
        "damaged gzip": (gzip.compress(data)[:40] + b"\xff" * 40, "truncated"),
        "text": (b"hello", "not-json"),
        "web page": (b"<!DOCTYPE html>", "not-json"),
        "binary": (bytes(range(1, 200)), "not-json"),
        "deep": (b"[" * 100_000, "not-json"),
        "cut off": (data[:20], "truncated"),
        "no events": (b'{"schemaVersion": 1}', "unknown-format"),
        "null events": (b'{"traceEvents": null}', "unknown-format"),
        "events of another kind": (b'{"traceEvents": "none"}', "unknown-format"),
        "events in a text": (b'{"a": "\\"traceEvents\\": []"}', "unknown-format"),
        "numbers": (b"[1, 2, 3]", "unknown-format"),
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
