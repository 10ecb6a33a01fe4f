from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.gates import Judged
from fgtrace.text.junit import junit_text
from fgtrace.units import printable

FAILED = Judged("count > 0", "failed", "true of 2 of 3 rows: a", ("a: was 0, is 1", "b"))
PASSED = Judged("count > 9", "passed", "not true: a")


def suite(*judged, name="fgtrace diff", seconds=1.25):
    (found,) = ElementTree.fromstring(junit_text(judged, name, seconds))
    return found


def test_a_gate_is_a_test_and_one_that_failed_names_its_rows():
    found = suite(PASSED, FAILED)
    assert found.attrib == {
        "name": "fgtrace diff",
        "tests": "2",
        "failures": "1",
        "errors": "0",
        "time": "1.250",
    }
    passed, failed = found
    assert passed.attrib == {"name": "count > 9", "classname": "fgtrace diff"}
    assert [(child.tag, child.text) for child in passed] == [("system-out", "not true: a")]
    (failure,) = failed
    assert failure.tag == "failure"
    assert failure.attrib == {"message": "true of 2 of 3 rows: a", "type": "failed"}
    assert failure.text == "a: was 0, is 1\nb"


@pytest.mark.parametrize("outcome", ["undecided", "matched-nothing", "partial"])
def test_a_gate_that_was_not_judged_is_an_error(outcome):
    found = suite(Judged("count > 0", outcome, "no phase x"))
    assert (found.get("failures"), found.get("errors")) == ("0", "1")
    ((error,),) = found
    assert error.tag == "error"
    assert error.attrib == {"message": "no phase x", "type": outcome}
    assert error.text == "no phase x"


def test_without_gates_there_is_an_empty_suite():
    assert suite().get("tests") == "0"


def test_the_root_has_the_totals_too():
    root = ElementTree.fromstring(junit_text([FAILED], "x", 0.0))
    assert root.attrib == {"tests": "1", "failures": "1", "errors": "0", "time": "0.000"}


@given(st.text(), st.sampled_from(["passed", "failed", "undecided"]))
def test_any_name_is_written_as_xml_of_ascii_and_comes_back_as_it_is_shown(text, outcome):
    judged = Judged(text, outcome, text, (text,))
    written = junit_text([judged], text, 0.0)
    assert written.isascii()
    ((test,),) = ElementTree.fromstring(written)
    assert test.get("name") == test.get("classname") == printable(text)
    (inside,) = test
    assert (inside.text or "") == printable(text)
    assert inside.get("message", printable(text)) == printable(text)
