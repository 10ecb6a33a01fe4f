import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.comparing import (
    CALL_TIME,
    COMPARISON,
    FEW_CALLS,
    NO_VERDICTS,
    ONE_PROCESS,
    UNKNOWN,
    Batches,
    Calls,
    Compared,
    compared,
)
from fgtrace.analysis.measured import MEASURED


def side(values, *, metric="device_time", name="k", processes=1, paired=None):
    """Calls whose values are given, in so many processes of equal size."""
    size = len(values) // processes
    calls = pl.DataFrame(
        {"call_id": range(len(values)), "part": [place // size for place in range(len(values))]},
        schema={"call_id": pl.UInt32, "part": pl.UInt32},
    )
    rows = [(place, name, "kernel", metric, value) for place, value in enumerate(values)]
    return Calls(calls, pl.DataFrame(rows, schema=MEASURED, orient="row"), paired)


def row(a, b, **options):
    found = compared([Compared("c", "r", a, b)], "kernel", **options)
    assert found.schema == COMPARISON
    (one,) = found.rows(named=True)
    return one


STEADY = [1000, 1001, 999, 1000, 1002, 998, 1000, 1001]


def test_a_time_has_an_interval_a_verdict_and_what_could_have_been_seen():
    found = row(side(STEADY), side([value + 100 for value in reversed(STEADY)]))
    assert (found["a"], found["b"], found["verdict"], found["why"]) == (1000, 1100, "slower", None)
    assert found["low"] < 100 < found["high"]
    assert found["b_low"] < 1100 < found["b_high"]
    assert found["detectable"] < 100


def test_a_name_that_a_call_lacks_took_no_time_in_it():
    nothing = Calls(side(STEADY).calls, MEASURED.to_frame())
    found = row(nothing, side(STEADY))
    assert (found["in_a"], found["in_b"], found["a"], found["b"]) == (False, True, 0, 1000)
    assert found["verdict"] == "slower"
    half = side(STEADY)
    half = Calls(half.calls, half.measured.filter(pl.col("call_id") < 3))
    assert row(half, half)["a"] == 0


def test_with_few_calls_nothing_is_said_of_chance():
    found = row(side(STEADY[:4]), side(STEADY))
    assert (found["low"], found["verdict"], found["why"]) == (None, None, FEW_CALLS)
    assert found["a"] is not None


def test_what_was_not_recorded_of_one_call_is_not_known():
    found = row(side([*STEADY[:7], None]), side(STEADY))
    assert (found["a"], found["b"], found["why"]) == (None, 1000, UNKNOWN)


def test_counts_are_exact_and_get_no_verdict():
    found = row(side([2] * 8, metric="count"), side([3] * 8, metric="count"))
    assert (found["unit"], found["a"], found["b"]) == ("count", 2, 3)
    assert (found["low"], found["high"], found["b_low"], found["verdict"]) == (1, 1, 3, None)


def test_host_time_is_called_only_with_several_processes_a_side():
    slow = [2 * value for value in reversed(STEADY)]
    one = row(side(STEADY, metric="host_time"), side(slow, metric="host_time"))
    assert (one["verdict"], one["why"]) == ("uncertain", ONE_PROCESS)
    several = row(
        side(STEADY, metric="host_time", processes=2), side(slow, metric="host_time", processes=2)
    )
    assert (several["verdict"], several["why"]) == ("slower", None)


def test_sides_that_are_not_comparable_get_intervals_and_no_verdict():
    found = row(side(STEADY), side([2 * value for value in STEADY]), verdicts=False)
    assert (found["verdict"], found["why"]) == (None, NO_VERDICTS)
    assert found["low"] is not None


def test_processes_that_ran_side_by_side_share_their_moods():
    # Each process of b is 50 slower than the one of a beside it; processes differ by far more.
    moods = [1000, 3000, 5000, 9000]
    a = [mood + value - 1000 for mood in moods for value in STEADY]
    b = [value + 50 for value in a]
    apart = row(side(a, processes=4), side([*b], processes=4))
    beside = row(
        side(a, processes=4, paired="run"), side(b, processes=4, paired="run"), margin=0.001
    )
    assert apart["verdict"] == "uncertain"
    assert beside["verdict"] == "slower"


@given(st.lists(st.integers(1, 10**6), min_size=5, max_size=12), st.integers(0, 10**6))
def test_intervals_hold_the_difference_and_turn_around(values, more):
    other = [value + more for value in reversed(values)]
    there, back = row(side(values), side(other)), row(side(other), side(values))
    assert there["low"] <= there["b"] - there["a"] <= there["high"]
    assert (there["low"], there["high"]) == (-back["high"], -back["low"])
    turned = {"slower": "faster", "faster": "slower"}
    assert back["verdict"] == turned.get(there["verdict"], there["verdict"])


def test_batches_of_the_stopwatch_are_one_row_of_the_call():
    generations = [[float(value) for value in STEADY] for _ in range(6)]
    found = row(Batches(generations), Batches([[2 * x for x in one] for one in generations]))
    assert (found["name"], found["metric"], found["a"], found["b"]) == (
        "call",
        CALL_TIME,
        1000,
        2000,
    )
    assert found["verdict"] == "slower"
