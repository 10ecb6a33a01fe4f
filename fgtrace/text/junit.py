"""Judged gates as JUnit XML, which GitLab, Jenkins and many actions of GitHub show."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from fgtrace.analysis.gates import Judged
from fgtrace.units import printable


def junit_text(judged: Sequence[Judged], name: str, seconds: float) -> str:
    """Write a test suite `name` with a test a gate, that took `seconds` altogether.

    A gate that failed is a failure; one that could not be judged is an error. It is ASCII, like
    JSON, and what XML has no characters for is escaped as everywhere.
    """
    counts = {
        "tests": str(len(judged)),
        "failures": str(sum(_element(one) == "failure" for one in judged)),
        "errors": str(sum(_element(one) == "error" for one in judged)),
        "time": f"{seconds:.3f}",
    }
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": printable(name), **counts})
    for one in judged:
        about = {"name": printable(one.gate), "classname": printable(name)}
        test = ElementTree.SubElement(suite, "testcase", about)
        sentence = printable(one.sentence)
        element = _element(one)
        if element is None:
            ElementTree.SubElement(test, "system-out").text = sentence
            continue
        why = {"message": sentence, "type": one.outcome}
        lines = [printable(row) for row in one.rows] or [sentence]
        ElementTree.SubElement(test, element, why).text = "\n".join(lines)
    ElementTree.indent(suites)
    written: bytes = ElementTree.tostring(suites, "us-ascii", xml_declaration=True)
    return written.decode("ascii") + "\n"


def _element(judged: Judged) -> str | None:
    if judged.outcome == "passed":
        return None
    return "failure" if judged.outcome == "failed" else "error"
