from pathlib import Path

import pytest

from fgtrace.analysis.sides import compared_calls, narrowed, pairs
from fgtrace.errors import FgtraceError
from fgtrace.opening import open_trace

SAMPLE = Path(__file__).parents[2] / "samples/h200.fgtrace"


@pytest.fixture
def calls(new_trace):
    """A recording of calls (case, route), each twice, one after the other."""

    def make(*served):
        trace = new_trace()
        start = 0
        for case, route in served:
            for index in range(2):
                name = f"fgtrace::call::{case}::{route}::{index}" if case else "call"
                trace.range(name, start, 500).kernel("k", start + 10, start + 600, 20)
                start += 1000
        return open_trace(trace.write(f"{len(served)}{served[0][1]}.json"))

    return make


def found(a, b, *, whole=False):
    matched, alone = pairs(a, b, whole=whole)
    return [(pair.case, pair.route, *(one.height for one in pair.calls)) for pair in matched], alone


def test_calls_stand_against_those_of_the_same_case_and_route(calls):
    a = calls(("c", "aten"), ("c", "triton"), ("d", "aten"))
    assert found(a, a) == (
        [("c", "aten", 2, 2), ("c", "triton", 2, 2), ("d", "aten", 2, 2)],
        [],
    )


def test_the_only_route_of_each_side_stands_against_the_other(calls):
    matched, alone = found(calls(("c", "aten")), calls(("c", "triton")))
    assert (matched, alone) == ([("c", "aten → triton", 2, 2)], [])


def test_what_only_one_side_has_is_named(calls):
    a = calls(("c", "aten"), ("c", "old"), ("d", "aten"))
    b = calls(("c", "aten"), ("c", "new"), ("e", "aten"))
    matched, alone = found(a, b)
    assert matched == [("c", "aten", 2, 2)]
    assert alone == ["route old of c in A", "route new of c in B", "case d in A", "case e in B"]


def test_several_routes_of_other_names_are_not_guessed_at(calls):
    with pytest.raises(FgtraceError, match="nothing to compare: route a of c in A") as refused:
        pairs(calls(("c", "a"), ("c", "b")), calls(("c", "x"), ("c", "y")), whole=False)
    assert "@route:NAME" in refused.value.hint


def test_calls_without_a_case_stand_against_the_only_one(calls):
    assert found(calls((None, "a")), calls(("c", "b"))) == ([("c", "? → b", 2, 2)], [])


def test_other_cases_stand_against_each_other_only_when_that_is_asked_for(calls):
    a, b = calls(("c", "aten")), calls(("d", "aten"), ("d", "aten"))
    with pytest.raises(FgtraceError, match="nothing to compare: case c in A; case d in B"):
        pairs(a, b, whole=False)
    matched, alone = pairs(a, b, whole=False, any_case=True)
    assert ([(pair.case, pair.route) for pair in matched], alone) == ([("c → d", "aten")], [])


def test_a_whole_part_is_one_call(calls):
    a = calls(("c", "a"), ("d", "a"))
    assert found(a, a, whole=True) == ([(None, None, 1, 1)], [])


def test_calls_that_are_left_out_of_medians_are_not_compared(new_trace):
    trace = new_trace().range("call", 0, 900_000)
    for start in range(1, 7):
        trace.range("call", 1_000_000 * start, 1000)
    a = open_trace(trace.write())
    assert (a.calls.height, compared_calls(a, whole=False).height) == (7, 6)


def test_selectors_take_what_they_name_one_after_the_other(calls):
    a = calls(("c", "aten"), ("c", "triton"), ("d", "aten"))
    kept = narrowed(a, [("case", "c"), ("route", "triton"), ("call", "1")])
    assert kept.calls.select("case", "route", "index").rows() == [("c", "triton", 1)]
    assert narrowed(a, [("median", None)]).calls.equals(a.calls)


def test_a_call_that_was_asked_for_counts_however_slow(new_trace):
    trace = new_trace().range("fgtrace::call::c::r::0", 0, 900_000)
    for index in range(1, 7):
        trace.range(f"fgtrace::call::c::r::{index}", 1_000_000 * index, 1000)
    a = open_trace(trace.write())
    assert compared_calls(a, whole=False).height == 6
    assert compared_calls(narrowed(a, [("call", "0")]), whole=False).height == 1


@pytest.mark.parametrize(
    ("selector", "message", "hint"),
    [
        (("call", "7"), "has no call 7", "they are numbered 0 to 1"),
        (("case", "x"), "has no case x", "there are c, d"),
        (("cal", "1"), "there is no selector @cal", "@call:N"),
        (("call", "1"), "@call:1 is 3 calls", "@case:NAME@route:NAME before it"),
    ],
)
def test_a_selector_that_does_not_fit_says_what_would(calls, selector, message, hint):
    a = calls(("c", "aten"), ("c", "triton"), ("d", "aten"))
    with pytest.raises(FgtraceError, match=message) as refused:
        narrowed(a, [selector])
    assert hint in refused.value.hint


def test_a_route_keeps_only_its_environment_and_samples():
    a = open_trace(SAMPLE)
    kept = narrowed(a, [("route", "triton")])
    assert {one.route for one in kept.provenance.environments} == {"triton"}
    assert set(kept.samples["route"]) == set(kept.calls["route"]) == {"triton"}
