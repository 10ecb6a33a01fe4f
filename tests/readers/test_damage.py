"""Damage anywhere: what is read of a small real recording, whatever becomes of its bytes."""

import gzip
from functools import cache

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.readers.events import EventStream
from fgtrace.readers.inputs import open_input
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.marks import MARKS, Unknown

from .blocks import Blocks
from .boundaries import boundaries
from .conftest import SLICE, names, notes, rows

RECORDING = SLICE.read_bytes()
SPANS = boundaries(RECORDING)
STRUCTURE = b'"\\{}[],: \0\n'
COLUMNS = ("name", "kind", "start_ns", "dur_ns", "process", "thread", "device", "stream",
           "correlation", "external_id", "bytes", "copy_kind", "source_category")  # fmt: skip

places = st.integers(0, len(RECORDING) - 1)
byte = st.one_of(st.sampled_from(STRUCTURE), st.integers(0, 255))
edits = st.tuples(st.sampled_from(["replace", "delete", "insert"]), places, byte)


def edited(text, edit):
    how, place, value = edit
    if how == "replace":
        return text[:place] + bytes([value]) + text[place + 1 :]
    return (
        text[:place]
        + (bytes([value]) if how == "insert" else b"")
        + text[place + (how == "delete") :]
    )


def read(text, size=1 << 20, damage=None):
    """The marks that are read, each with the text of its times, and how many are counted as bad."""
    stream = EventStream(Blocks(text, size, damage), MARKS, Unknown)
    marks, skipped = [], 0
    for run in stream:
        marks += [
            (mark, bytes(at.ts), bytes(at.dur))
            for mark, at in zip(run.events, run.times, strict=True)
        ]
        skipped += 0 if run.salvaged is None else run.salvaged.skipped
    return marks, skipped, stream


@cache
def sound():
    marks, skipped, _ = read(RECORDING)
    assert (len(marks), skipped) == (len(SPANS), 0)
    return marks


def untouched(edit):
    """Numbers of the marks that an edit is neither in nor next to."""
    _, place, _ = edit
    inside = {number for number, (begin, end) in enumerate(SPANS) if begin <= place < end}
    if not inside:
        after = next((n for n, (begin, _) in enumerate(SPANS) if begin >= place), len(SPANS))
        inside = {after - 1, after}
    return set(range(len(SPANS))) - inside


def sound_ones(numbers):
    return [sound()[number] for number in sorted(numbers)]


def result(text, size=1 << 20):
    """What is read of a text; None where it is an error, as clean as errors are."""
    try:
        return read(text, size)
    except FgtraceError as error:
        found = error
    assert found.exit_code is ExitCode.UNREADABLE
    assert found.kind in ("truncated", "not-json", "unknown-format")
    return None


def is_within(some, all_of_them):
    rest = iter(all_of_them)
    return all(any(one == other for other in rest) for one in some)


def test_wherever_a_file_is_cut_off_all_that_comes_before_is_read():
    for length in range(SPANS[0][0], len(RECORDING), 3):
        marks, skipped, stream = read(RECORDING[:length])
        assert marks == sound()[: sum(end <= length for _, end in SPANS)], length
        assert skipped == 0, length
        assert stream.cut_off, length


def test_a_file_that_is_cut_off_before_its_events_is_a_clean_error():
    for length in range(1, RECORDING.index(b'"traceEvents": [') + 16):
        with pytest.raises(FgtraceError) as raised:
            read(RECORDING[:length].strip() or b"x")
        assert raised.value.kind in ("truncated", "not-json")


@settings(max_examples=400)
@given(edits)
def test_an_edit_of_one_byte_changes_no_other_event(edit):
    found = result(edited(RECORDING, edit))
    if found is None:
        assert edit[1] < SPANS[0][0]
        return
    marks, skipped, _ = found
    assert is_within(sound_ones(untouched(edit)), marks)
    if SPANS[0][0] <= edit[1] < SPANS[-1][1]:
        assert len(marks) + skipped == len(SPANS)


@settings(max_examples=200)
@given(edits.filter(lambda edit: edit[1] >= SPANS[0][0]), st.integers(20, 3000))
def test_wherever_blocks_end_a_damaged_file_is_read_the_same(edit, size):
    text = edited(RECORDING, edit)
    marks, skipped, stream = read(text)
    again, skipped_again, other = read(text, size)
    assert (again, skipped_again) == (marks, skipped)
    assert other.metadata == stream.metadata
    assert (other.stray, other.cut_off) == (stream.stray, stream.cut_off)


@settings(max_examples=150)
@given(
    st.lists(
        edits.filter(lambda edit: edit[1] >= SPANS[0][0]),
        min_size=2,
        max_size=6,
        unique_by=lambda edit: edit[1],
    ),
    st.integers(20, 3000),
)
def test_several_edits_change_no_event_that_they_are_not_in(several, size):
    several.sort(key=lambda edit: -edit[1])  # the last one first: places stay what they are
    text = RECORDING
    for edit in several:
        text = edited(text, edit)
    marks, *_ = read(text, size)
    assert is_within(sound_ones(set.intersection(*map(untouched, several))), marks)


@settings(max_examples=200)
@given(st.binary(max_size=300), places, places)
def test_anything_in_the_place_of_a_part_ends_in_a_result_or_a_clean_error(junk, one, other):
    begin, end = sorted((one, other))
    result(RECORDING[:begin] + junk + RECORDING[end:])


@settings(max_examples=200)
@given(st.text(alphabet='{}[]",:\\ \n01ephXtraceEvents', max_size=200))
def test_any_text_ends_in_a_result_or_a_clean_error(text):
    for start in ("", '{"traceEvents": [', "["):
        result((start + text).encode() or b" ")


@settings(max_examples=60)
@given(edit=edits)
def test_rows_of_other_events_are_unchanged_but_for_their_numbers(edit):
    if result(edited(RECORDING, edit)) is None:
        return
    recorded = read_kineto(Blocks(edited(RECORDING, edit)))
    assert recorded.events.collect()["event_id"].to_list() == list(range(len(names(recorded))))
    kept = {(mark.name, int(ts.replace(b".", b""))) for mark, ts, _ in sound_ones(untouched(edit))
            if type(mark).__name__ in ("Complete", "Instant")}  # fmt: skip
    expected = [row for row in rows(read_kineto(Blocks(RECORDING)), *COLUMNS)
                if (row[0], row[2]) in kept]  # fmt: skip
    assert is_within(expected, rows(recorded, *COLUMNS))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@settings(max_examples=60)
@given(data=st.data())
def test_damaged_compressed_files_give_what_comes_before(tmp_path, pack, data):
    packed = pack(RECORDING)
    place = data.draw(st.integers(4, len(packed) - 1))
    cut = data.draw(st.booleans())
    path = tmp_path / "packed"
    path.write_bytes(packed[:place] if cut else edited(packed, ("replace", place, data.draw(byte))))
    try:
        with open_input(path) as source:
            recorded = read_kineto(source, path=path)
    except FgtraceError as error:
        recorded, kind = None, error.kind
    if recorded is None:
        assert kind in ("truncated", "not-json", "unknown-format")
    elif cut:
        assert notes(recorded)["truncated"] == 1
        all_rows = rows(read_kineto(Blocks(RECORDING)), *COLUMNS)
        assert is_within(rows(recorded, *COLUMNS), all_rows)
