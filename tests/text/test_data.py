import csv
import io
import json

import pytest

from fgtrace.text.data import csv_text, json_text


def read(text):
    return list(csv.reader(io.StringIO(text)))


def test_csv_has_a_heading_and_empty_cells_for_what_is_not_known():
    assert csv_text(
        ("name", "ns", "share", "left_out"), [("k", 5, 0.25, True), ("l", None, None, False)]
    ) == ("name,ns,share,left_out\nk,5,0.25,true\nl,,,false\n")


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-x", "@SUM(A1)", "＝1"])
def test_a_name_that_a_spreadsheet_would_run_gets_an_apostrophe(name):
    assert read(csv_text(("name",), [(name,)]))[1] == [f"'{name}"]
    assert read(csv_text(("name",), [(name,)], raw_names=True))[1] == [name]


def test_negative_numbers_are_no_formulas():
    assert csv_text(("ns",), [(-5,)]) == "ns\n-5\n"


def test_names_in_csv_are_escaped_unless_asked_for_raw():
    name = '\x1b[31m\u202e,"quoted"\n核'
    assert read(csv_text(("name",), [(name,)]))[1] == [r'\x1b[31m\u202e,"quoted"\n核']
    assert read(csv_text(("name",), [(name,)], raw_names=True))[1] == [name]


@pytest.mark.parametrize("name", ["\x1b[2J", "a\u202eb", "\x7f\x9b", "核函数", "[bold]", "e\u0301"])
def test_json_gives_every_name_back_but_holds_nothing_a_terminal_acts_on(name):
    text = json_text({"rows": [{"name": name}]})
    assert json.loads(text) == {"rows": [{"name": name}]}
    assert text.isascii()
    assert text.replace("\n", "").isprintable()


def test_json_that_would_not_be_json_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        json_text({"value": float("nan")})
