import json

import pytest

from fgtrace.opening import open_trace
from fgtrace.readers import inputs
from fgtrace.readers import pieces as module
from fgtrace.readers.events import EventStream
from fgtrace.readers.marks import MARKS, Unknown
from fgtrace.readers.pieces import Pieces

from .blocks import Blocks
from .boundaries import boundaries

SIZES = (1, 2, 3, 5, 17, 64, 333, 1000, 4096, 65536)

TRICKY = {
    "schemaVersion": 1,
    "said": '"traceEvents": [ {"ph": "X"} ]',
    "lists": [{"a": 1}, {"b": [{"c": 2}, {"d": 3}]}],
    "traceEvents": [
        {
            "name": f'k{number} }},{{"ph": "X"}}, {{ "a": ] }}] \\ "',
            "ph": "X",
            "ts": number,
            "dur": 1,
            "args": {
                "list": [{"a": deep, "s": '}, {"'} for deep in range(number)],
                "object": {"x": {"y": [[{}], [{"z": 1}, {"ph": "X", "name": "inner"}]]}},
            },
        }
        for number in range(12)
    ],
    "tail": [{"a": 1}, {"b": 2}],
    "more": '], "x": {',
}
LAYOUTS = {
    "one line": json.dumps(TRICKY),
    "no white space": json.dumps(TRICKY, separators=(",", ":")),
    "a value a line": json.dumps(TRICKY, indent=1),
    "tabs and CRLF": json.dumps(TRICKY, indent="\t").replace("\n", "\r\n"),
    "bare list": json.dumps(TRICKY["traceEvents"], indent=1),
    "events first": json.dumps({"traceEvents": TRICKY["traceEvents"], **TRICKY}),
}


def stream(text, size=1 << 20):
    marks = EventStream(Blocks(text, size), MARKS, Unknown)
    runs = list(marks)
    return runs, marks


def read(text, size=1 << 20):
    """Everything that is read, whatever pieces it came in."""
    runs, marks = stream(text, size)
    salvaged = [run.salvaged for run in runs if run.salvaged is not None]
    return (
        [(run.document, mark) for run in runs for mark in run.events],
        [times for run in runs for times in run.times],
        sum(found.skipped for found in salvaged),
        marks.metadata,
        marks.stray,
        marks.cut_off,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_wherever_a_block_ends_the_same_is_read(layout):
    text = LAYOUTS[layout].encode()
    whole = read(text)
    assert [mark.name for _, mark in whole[0]] == [mark["name"] for mark in TRICKY["traceEvents"]]
    assert whole[2:] == (0, whole[3], 0, None)
    assert len(whole[0]) == len(boundaries(text))
    for size in SIZES:
        assert read(text, size) == whole, size


def test_wherever_a_block_ends_a_real_recording_is_read_the_same(recording):
    whole = read(recording)
    assert len(whole[0]) == len(boundaries(recording)) == 52
    for size in SIZES:
        assert read(recording, size) == whole, size


def test_pieces_put_together_are_the_text_of_the_events(recording):
    pieces = Pieces(Blocks(recording, 100).blocks())
    events = recording[recording.index(b'[\n  {\n    "ph"') + 1 :]
    text = b""
    offsets = []
    for piece in pieces:
        offsets.append((piece.offset, recording[piece.offset : piece.offset + len(piece.text)]))
        text += piece.text
        assert offsets[-1][1] == piece.text
    assert text == events
    assert len(offsets) > 20


def test_metadata_is_what_stands_before_and_after_the_list():
    for layout in ("one line", "a value a line", "events first"):
        (metadata,) = read(LAYOUTS[layout].encode(), 7)[3]
        told = json.loads(metadata)
        assert told["lists"] == TRICKY["lists"]
        assert told["tail"] == TRICKY["tail"]
        assert told["more"] == TRICKY["more"]


def test_a_list_of_that_name_inside_of_metadata_is_not_the_list_of_events():
    text = b'{"before": {"traceEvents": [{"ph": "X"}]}, "traceEvents": [{"ph": "X", "name": "a"}]}'
    assert [mark.name for _, mark in read(text)[0]] == ["a"]


def test_documents_that_follow_each_other_are_told_apart():
    one = b'{"a": 1, "traceEvents": [{"ph": "X", "name": "a"}], "b": [{"c": 2}]}'
    bare = b'[{"ph": "X", "name": "b"}]'
    for between in (b"", b" ", b"\n\0\n"):
        text = between.join([one, bare, one, bare, bare])
        for size in (1, 3, 1000):
            marks, _, skipped, metadata, stray, cut_off = read(text, size)
            assert [(part, mark.name) for part, mark in marks] == [
                (0, "a"), (1, "b"), (2, "a"), (3, "b"), (4, "b"),
            ]  # fmt: skip
            assert json.loads(metadata[0]) == {
                "a": 1, "_": 0, "b": [{"c": 2}],
            }  # fmt: skip
            assert (skipped, stray, cut_off) == (0, 0, None)


def test_text_after_the_end_is_counted():
    text = b'{"traceEvents": [{"ph": "X"}]}'
    assert read(text + b"\nhello")[4] == 5
    assert read(text + b" \n\0\0")[4] == 0
    assert read(text + b'{"no": "events"}', 1)[4] == 16


def test_one_more_list_is_read_in_pieces_as_well(monkeypatch):
    monkeypatch.setattr(module, "_MOST_METADATA", 100)
    some = [{"ph": "X", "name": name} for name in "abcdefgh"]
    text = json.dumps({"traceEvents": some})[:-1] + ", " + json.dumps({"traceEvents": some})[1:]
    found, *_, stray, cut_off = read(text.encode(), 20)
    assert "".join(mark.name for _, mark in found) == "abcdefgh" * 2
    assert (stray, cut_off) == (0, None)


def test_more_documents_than_anyone_concatenates_are_stray_text():
    empty = b'{"traceEvents":[]}'
    marks, *_, metadata, stray, _ = read(empty * 300)
    assert (len(marks), len(metadata), stray) == (0, 256, 44 * len(empty))


def test_an_event_that_is_longer_than_all_blocks_is_whole():
    name = "x" * 100_000
    text = json.dumps({"traceEvents": [{"ph": "X", "name": name}, {"ph": "X", "name": "b"}]})
    assert [mark.name for _, mark in read(text.encode(), 1000)[0]] == [name, "b"]


def test_of_an_event_that_is_too_long_only_itself_is_lost(monkeypatch):
    monkeypatch.setattr(module, "_MOST_EVENT", 10_000)
    marks = [{"ph": "X", "name": name} for name in ("a", "x" * 50_000, "b")]
    text = json.dumps({"traceEvents": marks}).encode()
    found, _, skipped, _, stray, cut_off = read(text, 3000)
    assert [mark.name for _, mark in found] == ["a", "b"]
    assert (skipped, stray, cut_off) == (1, 0, None)


def test_an_event_that_is_too_long_is_skipped_without_a_made_up_place(trace, monkeypatch):
    monkeypatch.setattr(module, "_MOST_EVENT", 10_000)
    monkeypatch.setattr(inputs, "BLOCK", 3000)
    path = trace.op("a", 0, 1).op("x" * 50_000, 2, 1).op("b", 4, 1).write()
    (message,) = open_trace(path).notes.filter(kind="event-skipped")["message"]
    assert "None" not in message
