import re
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fgtrace.analysis.crossovers import crossovers

SIZES = (64, 256, 1024, 4096, 16384)


@pytest.fixture(scope="session")
def sweep(timed):
    """Make a sweep from what each route takes at each size, in microseconds."""

    def make(routes, *, sizes=SIZES, generations=6, more=""):
        cases = {size: f"c[rows={size}{more}]" for size in sizes}
        times = {
            (cases[size], route): [
                [1000 * us(size) * (1 + (3 * batch + generation) % 5 / 1000) for batch in range(5)]
                for generation in range(generations)
            ]
            for route, us in routes.items()
            for size in sizes
        }
        return timed(times, {case: {"rows": size, "cols": 8} for size, case in cases.items()})

    return make


def sentences(trace):
    return [one.sentence for one in crossovers(trace)]


def of(*times):
    return dict(zip(SIZES, times, strict=True)).__getitem__


def test_the_sentence_says_who_is_faster_up_to_where_and_about_where_they_cross(sweep):
    # As straight lines 30 and 10 apart they meet in the middle of a factor of four: at 2048.
    trace = sweep({"aten": of(10, 10, 10, 40, 160), "triton": of(40, 40, 20, 20, 20)})
    (found,) = crossovers(trace)
    assert found.sentence == (
        "c: aten is faster up to rows=1024, triton from rows=4096 on; they cross near rows=2000."
    )
    assert (found.case, found.batches) == ("c", 2 * (30 + 30))


@settings(max_examples=30)
@given(
    crossing=st.floats(80, 14_000),
    flat=st.floats(0, 0.5),
    steeper=st.floats(0.2, 1),
    us=st.floats(5, 500),
)
def test_a_crossing_is_found_where_it_was_planted(sweep, crossing, flat, steeper, us):
    routes = {
        "aten": lambda size: us * (size / crossing) ** (flat + steeper),
        "triton": lambda size: us * (size / crossing) ** flat,
    }
    # Nearer than this the two are within the margin, and not surely apart.
    assume(all(abs(routes["aten"](s) / routes["triton"](s) - 1) > 0.03 for s in (64, 16384)))
    (sentence,) = sentences(sweep(routes))
    before, after = (int(size) for size in re.findall(r"rows=(\d+)", sentence)[:2])
    assert sentence.index("aten") < sentence.index("triton")
    assert before < crossing < after
    near = re.search(r"near rows=(\d+)\.", sentence)
    assert (near is not None) == ((before, after) in pairwise(SIZES))
    if near:
        assert int(near[1]) == pytest.approx(crossing, rel=0.07)


@settings(max_examples=15)
@given(st.lists(st.floats(5, 500), min_size=5, max_size=5), st.floats(1.05, 3))
def test_where_one_route_is_always_faster_nothing_crosses(sweep, times, slower):
    faster = of(*times)
    assert sentences(sweep({"aten": faster, "b": lambda size: slower * faster(size)})) == []


def test_between_sizes_that_are_not_sure_they_cross_somewhere(sweep):
    trace = sweep({"aten": of(10, 20, 30, 60, 90), "triton": of(30, 30, 30, 30, 30)})
    assert sentences(trace) == [
        "c: aten is faster up to rows=256, triton from rows=4096 on; they cross somewhere between."
    ]


def test_an_order_that_turns_twice_is_said_of_the_sizes_and_not_of_all_beyond(sweep):
    trace = sweep({"aten": of(10, 10, 90, 90, 10), "triton": of(30, 30, 30, 30, 30)})
    first, second = sentences(trace)
    assert first.startswith("c: aten is faster up to rows=256, triton at rows=1024; ")
    assert second.startswith("c: triton is faster at rows=4096, aten at rows=16384; ")


def test_with_one_generation_nothing_is_sure_and_nothing_crosses(sweep):
    routes = {"aten": of(10, 10, 10, 40, 160), "triton": of(40, 40, 20, 20, 20)}
    assert sentences(sweep(routes, generations=1)) == []


def test_each_pair_of_routes_has_crossings_of_its_own(sweep):
    steep, flat = of(10, 10, 10, 40, 160), of(40, 40, 20, 20, 20)
    found = sentences(sweep({"aten": steep, "triton": flat, "other": of(1, 1, 1, 1, 1)}))
    assert len(found) == 1


def test_what_the_other_parameters_were_is_said(sweep):
    routes = {"aten": of(10, 10, 10, 40, 160), "triton": of(40, 40, 20, 20, 20)}
    (sentence,) = sentences(sweep(routes, more=",cols=8"))
    assert sentence.startswith("c at cols=8: aten is faster")


def test_a_damaged_run_whose_batches_took_no_time_crosses_nowhere(sweep):
    routes = {"aten": of(0, 10, 0, 40, 0), "triton": of(20, 0, 20, 0, 20)}
    assert sentences(sweep(routes)) == []


def test_from_a_size_of_zero_no_line_can_be_drawn(sweep):
    routes = {"aten": lambda size: 10 + size, "triton": lambda size: 20}
    assert sentences(sweep(routes, sizes=(0, 64))) == [
        "c: aten is faster at rows=0, triton at rows=64; they cross somewhere between."
    ]
