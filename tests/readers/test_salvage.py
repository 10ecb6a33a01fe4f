import json

import pytest

from fgtrace.frames.notes import KINDS
from fgtrace.readers.salvage import salvage

from .conftest import names, notes, rows


def decoded(text):
    """Decode as the reader does, to objects with a phase."""
    try:
        events = json.loads("[" + text.decode().rstrip().removesuffix(",") + "]")
    except ValueError:
        return None
    return [Marked(event) for event in events] if all(type(e) is dict for e in events) else None


class Marked:
    def __init__(self, event):
        self.event = event
        self.ph = event.get("ph")


def event(name, more=""):
    return f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "ts": 1, "dur": 2{more}}}'


def document(*events, between=",\n", after=""):
    return f'{{"schemaVersion": 1, "traceEvents": [{between.join(events)}{after}], "n": "t"}}'


A, B, C = event("a"), event("b"), event("c")


@pytest.mark.parametrize(
    ("damaged", "left", "told"),
    [
        (event(r"b\q"), [r"b\q"], {"invalid-escape": 1}),
        (event("b\t"), ["b\t"], {"control-character": 1}),
        (event('"b"'), ['"b"'], {"unescaped-quote": 1}),
        (event("b", ', "args": {"bytes": inf}'), ["b"], {"non-finite-number": 1}),
        (event("b", ', "pid": 1e999'), ["b"], {"non-finite-number": 1}),
        (event("b", ', "pid": -1' + "0" * 5000), ["b"], {"non-finite-number": 1}),
        (event("b", ', "args": {"stream": }'), ["b"], {"invalid-value": 1}),
        (event("b", ', "args": {"l": [1, 2,],},'), ["b"], {"trailing-comma": 1}),
        (event("b") + ",", ["b"], {"trailing-comma": 1}),
        (event("b") + " junk", ["b"], {"stray-text": 1}),
        ("junk, " + event("b"), ["b"], {"stray-text": 1}),
        ("null, 5, " + event("b"), ["b"], {"stray-text": 2}),
        ("[1, [2]], " + event("b"), ["b"], {"stray-text": 1}),
        (event("b")[1:], [], {"event-skipped": 1}),
        (event("b")[:-1], [], {"event-skipped": 1}),
        (event("b").replace('"X"', '"X'), [], {"event-skipped": 1}),
        (event("b", ', "args": {"o": [{"x": 1]}'), [], {"event-skipped": 1}),
        (event("b", ', "args": ' + "[" * 100_000 + "]" * 100_000), [], {"event-skipped": 1}),
        ("{}", [], {"events-not-read": 1}),
        (event("b").replace('"ph"', '"p"'), [], {"events-not-read": 1}),
        (event(r"b\q") + ",\n" + event("d")[:-1], [r"b\q"],
         {"invalid-escape": 1, "event-skipped": 1}),
        (event("b")[:-1] + ",\n" + event("d")[:-1], [], {"event-skipped": 2}),
        (event("b")[:-1] + ",\n" + event("d")[1:], ["d"], {}),
    ],
)  # fmt: skip
def test_a_damaged_event_is_repaired_or_skipped_alone(read, damaged, left, told):
    for size in (1 << 20, 50, 1) if len(damaged) < 10_000 else (1 << 20, 10_000):
        recorded = read(document(A, damaged, C), size=size)
        assert names(recorded) == ["a", *left, "c"]
        assert notes(recorded) == told
        assert told.keys() <= KINDS.keys()


def test_bytes_that_are_no_utf8_keep_names_apart(read):
    text = document(A, event("b?1"), event("b?2"), C).encode()
    recorded = read(text.replace(b"?1", b"\xff").replace(b"?2", b"\xfe"))
    assert names(recorded) == ["a", r"b\xff", r"b\xfe", "c"]
    assert notes(recorded) == {"invalid-utf8": 2}


def test_a_lost_comma_is_made_up_for(read):
    for between in ("", " ", "\n"):
        recorded = read(document(A, B, C, between=between))
        assert names(recorded) == ["a", "b", "c"]
        assert notes(recorded) == {"missing-comma": 2}


@pytest.mark.parametrize("after", [",", " ,\n ", ",,"])
def test_a_comma_after_the_last_event_is_noted(read, after):
    for text in (document(A, B, after=after), f"[{A}, {B}{after}]"):
        recorded = read(text)
        assert names(recorded) == ["a", "b"]
        assert notes(recorded) == {"trailing-comma": 1}


def test_a_damaged_last_event_does_not_hide_the_end_of_the_list(read):
    for damaged in (event("c")[:-1], event("c", ', "args": {"x": [{"y": 1}], "z": 2'), event('c"')):
        for text in (document(A, B, damaged + "}"[len(damaged) :]), f"[{A}, {B}, {damaged}]"):
            recorded = read(text)
            assert names(recorded)[:2] == ["a", "b"]
            assert "truncated" not in notes(recorded) or not damaged.endswith("}")


def test_a_bracket_in_the_place_of_a_comma_does_not_end_the_list(read):
    for bracket in "[]{}":
        recorded = read(f'{{"traceEvents": [{A}{bracket} {B}{bracket}\n{C}]}}')
        assert names(recorded) == ["a", "b", "c"], bracket
        assert recorded.tally.decoded == 3


def test_two_damaged_documents_keep_their_events_apart(read):
    one = document(A, event("b")[:-1], C)
    recorded = read(one + one)
    assert rows(recorded, "part", "name") == [(0, "a"), (0, "c"), (1, "a"), (1, "c")]
    assert notes(recorded) == {"second-document": 1, "event-skipped": 2}


def test_a_damaged_end_of_one_document_does_not_hide_the_next(read):
    recorded = read(document(A).replace('"n"', '"n') + document(B))
    assert rows(recorded, "part", "name") == [(0, "a"), (1, "b")]
    assert notes(recorded) == {"second-document": 1, "metadata-not-read": 1}


def test_many_objects_inside_of_an_event_hide_nothing_from_its_neighbours(read):
    many = json.dumps([{"a": number, "b": [{"c": {}}]} for number in range(200)])
    big = event("b", f', "args": {{"list": {many}}}')
    recorded = read(document(A, big, event("d")[:-1], big, C))
    assert names(recorded) == ["a", "b", "b", "c"]
    assert notes(recorded) == {"event-skipped": 1}
    recorded = read(document(A, big.replace("[{", "{[", 1), C))
    assert names(recorded) == ["a", "c"]
    assert recorded.tally.skipped == 1


def test_text_that_may_go_on_is_not_settled():
    text = f"{A}, {B[:-5]}".encode()
    found = salvage(text, decoded, final=False)
    assert [mark.event["name"] for mark in found.events] == ["a"]
    assert (found.skipped, found.unsettled) == (0, len(A) + 2)
    found = salvage(text, decoded, final=True)
    assert (found.skipped, found.unfinished, found.unsettled) == (0, True, None)


def test_where_the_first_skipped_event_lies_is_told(read):
    text = document(A, event("b")[:-1], C)
    recorded = read(text)
    (note,) = recorded.notes
    assert f"near byte {text.index(event('b')[:-1])})" in note.message


HOSTILE = {
    **{text: text * 200_000 for text in ("{", '"', "},{", "\\", "[", ",", "}]", '}],"', "}]{")},
    "empty objects": "{}," * 200_000 + "{}",
    "escaped quotes": '{"ph": "X", "name": "' + '\\"' * 200_000,
    "white space": A + "," + " " * 1_000_000 + B,
    "brackets and white space": A + "}" + " " * 1_000_000 + "x",
    "zeros": ",".join([A] * 1000) + ',{"ph": "X", "na' + "\0" * 1_000_000,
    "documents": "]}" + '{"traceEvents": []}' * 100_000,
    "bare lists": "]" + "[]" * 200_000,
    "nested lists": '[1,{"ph":' * 20_000,
    "nested events": ',{"ph":["' * 50_000,
    "damaged events": ",\n".join([A.replace(": 1", " 1:")] * 3000),
    "cut events": ",\n".join([A[:-1]] * 3000),
    "good and bad events": ",\n".join([A, A[:-1]] * 3000),
    "tail": A + '], "a": [' + '{"x": 1},' * 100_000,
    "control characters": '{"ph": "X", "name": "' + "\x01" * 500_000 + '"}',
    "digits": '{"ph": "X", "ts": ' + "1" * 1_000_000 + "}",
}  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_read_to_its_end(read, hostile):
    recorded = read('{"traceEvents": [' + HOSTILE[hostile])
    assert recorded.tally.decoded >= 0
