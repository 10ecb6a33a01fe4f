"""Every public file, event by event against the standard library."""

import json

import pytest

from fgtrace.readers.inputs import open_input

from .boundaries import boundaries
from .conftest import names, notes, rows
from .reference import Row, reference

NO_TRACES = ("factorial_stopwatch.json", "tl_rocprofv3_908_results_37MB.json.gz")
SCANNED = 10 << 20
"""Bytes up to which a file's events are counted by their brackets too."""

DAMAGED = {
    "control_char_in_string.json": {"control-character": 3},
    "invalid_escape.json": {"invalid-escape": 1},
    "invalid_utf8.json": {"invalid-utf8": 2},
    "trailing_comma.json": {"trailing-comma": 1},
    "truncated_json.json": {"truncated": 1},
    "truncated_gzip.json.gz": {"truncated": 1},
}

DAMAGED_CASES = ("S01", "S02", "S03", "S04", "S05")


def content(path):
    with open_input(path) as source:
        return b"".join(source.blocks())


def assert_equal(recorded, text, name):
    assert rows(recorded, *Row._fields) == [tuple(row) for row in reference(text)], name
    document = json.loads(text, strict=False)
    count = len(document if isinstance(document, list) else document["traceEvents"])
    assert (recorded.tally.decoded, recorded.tally.skipped) == (count, 0), name
    if len(text) < SCANNED:
        assert len(boundaries(text)) == count, name


@pytest.mark.parametrize("folder", ["h200", "."])
def test_every_event_of_a_recording_is_what_the_standard_library_reads(shared, read, folder):
    files = sorted((shared / "traces" / folder).glob("*.json.gz"))
    assert len(files) == {"h200": 19, ".": 27}[folder]
    for path in files:
        if path.name not in NO_TRACES:
            assert_equal(read(path, raw_times=True), content(path), path.name)


def test_every_event_of_a_case_is_what_the_standard_library_reads(shared, read):
    files = [
        path
        for path in sorted((shared / "cases").glob("S*/*.json*"))
        if path.name != "expect.json" and path.parent.name[:3] not in DAMAGED_CASES
    ]
    assert len(files) == 21
    for path in files:
        assert_equal(read(path, raw_times=True), content(path), path.parent.name)


def test_files_whose_times_are_wrong_are_read_as_they_are(shared, read):
    for name in ("bare_array", "kernel_dur_overflow", "missing_and_negative_dur",
                 "no_correlation_ids", "second_half_zero_ts_dur", "ts_as_string"):  # fmt: skip
        path = shared / "traces/malformed" / f"{name}.json"
        assert_equal(read(path, raw_times=True), content(path), name)


@pytest.mark.parametrize("name", DAMAGED)
def test_of_a_damaged_file_all_other_events_are_those_of_the_sound_one(shared, read, name):
    sound = read(shared / "traces/hta_alexnet_a100_cudasync.json.gz")
    recorded = read(shared / "traces/malformed" / name)
    assert notes(recorded) == DAMAGED[name]
    assert recorded.tally.skipped == 0
    columns = [column for column in Row._fields if column != "name"]
    sound_rows, found_rows = rows(sound, *columns), rows(recorded, *columns)
    if "truncated" in DAMAGED[name]:
        left = iter(sound_rows)
        assert all(any(row == other for other in left) for row in found_rows)
        assert len(found_rows) > len(sound_rows) // 2
    else:
        assert found_rows == sound_rows
        differ = [a for a, b in zip(names(sound), names(recorded), strict=True) if a != b]
        assert len(differ) <= sum(DAMAGED[name].values())
