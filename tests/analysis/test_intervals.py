import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.intervals import covered_length, union_length

SCHEMA = {"group": pl.String, "start_ns": pl.Int64, "dur_ns": pl.Int64}


def union(rows):
    return dict(union_length(pl.DataFrame(rows, schema=SCHEMA, orient="row"), ["group"]).rows())


def test_overlaps_count_once_and_gaps_not_at_all():
    assert union([("a", 0, 10), ("a", 5, 10), ("a", 20, 5)]) == {"a": 20}


def test_an_interval_inside_another_adds_nothing_even_after_a_third():
    assert union([("a", 0, 100), ("a", 10, 10), ("a", 30, 10)]) == {"a": 100}


def test_groups_are_apart_and_sorted():
    assert list(union([("b", 0, 10), ("a", 0, 10), ("a", 0, 5)]).items()) == [("a", 10), ("b", 10)]


def test_intervals_without_a_length_are_left_out():
    assert union([("a", 0, None), ("a", 0, 3), ("b", 0, None), ("a", 50, -20)]) == {"a": 3}


def test_no_intervals_have_no_groups():
    assert union([]) == {}


rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(-(10**18), 10**18), st.integers(0, 10**12)),
    max_size=20,
)
near = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(0, 15)), max_size=20
)


@given(rows | near, st.randoms())
def test_the_union_is_at_most_the_sum_and_knows_no_order(rows, random):
    found = union(rows)
    for group, length in found.items():
        durations = [dur for name, _, dur in rows if name == group]
        assert max(durations) <= length <= sum(durations)
    random.shuffle(rows)
    assert union(rows) == found


@given(near)
def test_the_union_is_the_count_of_covered_nanoseconds(rows):
    found = union(rows)
    for group in found:
        covered = {
            tick for name, start, dur in rows if name == group for tick in range(start, start + dur)
        }
        assert found[group] == len(covered)


def frame(rows):
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def covered(windows, intervals):
    return covered_length(frame(windows), frame(intervals), ["group"]).to_list()


def test_a_window_is_covered_where_an_interval_of_its_group_is():
    busy = [("a", 0, 10), ("a", 5, 10), ("a", 20, 10), ("b", 0, 100)]
    windows = [("a", 0, 30), ("a", 14, 8), ("a", 15, 5), ("b", 40, 7), ("c", 0, 9)]
    assert covered(windows, busy) == [25, 3, 0, 7, 0]


def test_a_window_without_a_length_has_no_covered_one():
    assert covered([("a", 5, None), ("a", 5, 2)], [("a", 0, 10)]) == [None, 2]


def test_no_windows_and_no_intervals_are_no_trouble():
    assert covered([], [("a", 0, 10)]) == []
    assert covered([("a", 0, 10)], []) == [0]


def ticks(start, dur):
    return set(range(start, start + dur))


@given(near, near)
def test_what_is_covered_is_the_count_of_covered_nanoseconds(windows, intervals):
    busy = {
        group: set().union(*(ticks(start, dur) for name, start, dur in intervals if name == group))
        for group in "ab"
    }
    expected = [len(ticks(start, dur) & busy[group]) for group, start, dur in windows]
    assert covered(windows, intervals) == expected


@given(rows | near)
def test_a_group_covers_the_whole_of_its_intervals(rows):
    assert covered(rows, rows) == [dur for _, _, dur in rows]
