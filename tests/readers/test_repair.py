import json

import pytest

from fgtrace.readers.repair import opened, repairs


def first(text):
    """The first JSON that a text may be, and the kinds of its repairs."""
    for found, fixes in repairs(text if isinstance(text, bytes) else text.encode()):
        return json.loads(found), set(fixes)
    return None


@pytest.mark.parametrize(
    ("text", "value", "kinds"),
    [
        ('{"a": "b"}', {"a": "b"}, set()),
        (r'{"a": "C:\dir\name\u12"}', {"a": "C:\\dir\name\\u12"}, {"invalid-escape"}),
        (r'{"a": "\\ \" \/ \u00e9 \n"}', {"a": '\\ " / é \n'}, set()),
        (r'{"a": "\ud83d\ude00 \ud83d"}', {"a": "😀 \\ud83d"}, {"invalid-escape"}),
        (b'{"a": "\xff\xc3\xa9\xc3"}', {"a": r"\xffé\xc3"}, {"invalid-utf8"}),
        ('{"a": "x\ty\nz\0"}', {"a": "x\ty\nz\0"}, {"control-character"}),
        ('{\n\t"a": "x\x1b",\r\n "b": 1}', {"a": "x\x1b", "b": 1}, {"control-character"}),
        ('{"a": inf, "b": -Infinity}', {"a": None, "b": None}, {"non-finite-number"}),
        ('{"a": NaN, "b": nan(0x1), "c": [-nan]}', None, {"non-finite-number"}),
        ('{"a": -nan(ind), "b": 1.#INF}', None, {"non-finite-number"}),
        ('{"a": "inf", "b": N/A}', {"a": "inf", "b": None}, {"non-finite-number"}),
        ('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}, {"trailing-comma"}),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, {"trailing-comma"}),
        ('{"a": ",]", "b": ",}"}', {"a": ",]", "b": ",}"}, set()),
        ('{"a": , "b": 2, "c":}', {"a": None, "b": 2, "c": None}, {"invalid-value"}),
        ('{"a": 0x7f, "b": 01, "c": yes}', None, {"invalid-value"}),
        ('{"a": "say "hi" to", "b": 2}', {"a": 'say "hi" to', "b": 2}, {"unescaped-quote"}),
        ('{"a": "say "hi"", }', {"a": 'say "hi"'}, {"unescaped-quote", "trailing-comma"}),
        ('{"a": "operator"" x", "b": "}"}', {"a": 'operator"" x', "b": "}"}, {"unescaped-quote"}),
        ('junk {"a": 1}', {"a": 1}, {"stray-text"}),
        ('{"a": 1} junk', {"a": 1}, {"stray-text"}),
        (
            '{"a": "x"y\\q\t", "b": inf,}',
            {"a": 'x"y\\q\t', "b": None},
            {"unescaped-quote", "invalid-escape", "control-character", "non-finite-number",
             "trailing-comma"},
        ),
    ],
)  # fmt: skip
def test_text_is_repaired_and_says_by_what(text, value, kinds):
    found = first(text)
    assert found is not None
    assert found[1] == kinds
    assert value is None or found[0] == value


def test_numbers_that_are_not_finite_and_words_are_read_as_they_can_be():
    assert first('{"a": NaN, "b": nan(0x1), "c": [-nan]}')[0] == {"a": None, "b": None, "c": [None]}
    assert first('{"a": 0x7f, "b": 01, "c": yes}')[0] == {"a": "0x7f", "b": "01", "c": "yes"}


@pytest.mark.parametrize("text", ["", "}", "{", '{"a": "b', '{"a": [1}', "[1, 2", '{"a" "b"}'])
def test_what_no_step_makes_json_is_given_up(text):
    assert first(text) is None


def test_numbers_that_no_float_holds_are_emptied_where_they_cannot_be_decoded():
    texts = [json.loads(found) for found, _ in repairs(b'{"a": -1e999, "b": 1e99, "c": "1e999"}')]
    assert texts[0]["a"] == float("-inf")
    assert texts[1] == {"a": None, "b": 1e99, "c": "1e999"}


def test_brackets_inside_of_strings_open_nothing():
    assert opened(b'{"a": "}}}\\"{", "b": [') == 2
    assert opened(b'}]} "{ not closed') == -3


@pytest.mark.parametrize(
    "hostile",
    [
        b'"',
        b"\\",
        b'\\"',
        b"{",
        b"[",
        b",",
        b":",
        b" ",
        b"},{",
        b'"\\',
        b"]}",
        b'{"a":',
        b"\x01\xff",
    ],
)
def test_hostile_text_ends(hostile):
    for text in (hostile * 100_000, b'{"ph": "X", "a": ' + hostile * 100_000 + b"}"):
        list(repairs(text))
        opened(text)
