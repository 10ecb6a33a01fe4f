import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.frames.nesting import nest
from fgtrace.frames.schema import EVENTS


def host(*intervals, thread="1", kind="op"):
    rows = sorted(intervals, key=lambda interval: (interval[0], -interval[1]))
    return pl.DataFrame(
        {
            "event_id": range(len(rows)),
            "part": 0,
            "kind": kind,
            "name": "",
            "process": "1",
            "thread": thread,
            "start_ns": [start for start, _ in rows],
            "dur_ns": [dur for _, dur in rows],
        },
        schema_overrides={name: EVENTS[name] for name in ("event_id", "part", "kind")}
        | {"process": pl.Categorical(), "thread": pl.Categorical()},
    )


def parents(events):
    return events["parent_id"].to_list()


def test_the_parent_is_the_innermost_event_around():
    events = nest(host((0, 100), (10, 50), (20, 10), (70, 10)))
    assert parents(events) == [None, 0, 1, 0]
    assert events["depth"].to_list() == [0, 1, 2, 1]


def test_events_that_follow_each_other_without_a_gap_are_siblings():
    assert parents(nest(host((0, 10), (10, 5), (10, 0)))) == [None, None, 1]


def test_of_two_equal_intervals_the_first_is_the_outer_one():
    assert parents(nest(host((0, 10), (0, 10)))) == [None, 0]


def test_events_that_cross_enclose_neither_and_lose_nothing():
    # A child ends 1 ns after its parent; what lies in both belongs to the later one.
    events = nest(host((0, 960), (959, 20), (965, 5)))
    assert events.height == 3
    assert parents(events) == [None, None, 1]
    assert events["own_ns"].to_list() == [959, 15, 5]


def test_threads_and_processes_do_not_enclose_each_other():
    rows = host((0, 100), (10, 10), (20, 10)).with_columns(
        thread=pl.Series(["1", "2", "1"], dtype=pl.Categorical()),
        process=pl.Series(["1", "1", "2"], dtype=pl.Categorical()),
    )
    assert parents(nest(rows)) == [None, None, None]


def test_device_work_and_counters_have_no_parent():
    rows = host((0, 100), (10, 10), (20, 10)).with_columns(
        kind=pl.Series(["op", "kernel", "counter"], dtype=EVENTS["kind"])
    )
    nested = nest(rows)
    assert parents(nested) == [None, None, None]
    assert nested["depth"].to_list() == [0, None, None]
    assert nested["own_ns"].to_list() == [100, None, None]


intervals = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=25)


def enclosing(inner, outer_rows):
    start, end, event_id = inner
    around = [
        (other_start, -other_end, other)
        for other_start, other_end, other in outer_rows
        if other != event_id
        and other_start <= start < other_end
        and other_end >= end
        and (other_start, -other_end, other) < (start, -end, event_id)
    ]
    return max(around)[2] if around else None


@given(intervals)
def test_the_parent_agrees_with_looking_at_every_pair(rows):
    events = host(*rows)
    ends = pl.col("start_ns") + pl.col("dur_ns")
    triples = events.select("start_ns", ends.alias("end"), "event_id").rows()
    nested = nest(events)
    assert nested["event_id"].to_list() == events["event_id"].to_list()
    assert parents(nested) == [enclosing(row, triples) for row in triples]
    above = dict(zip(nested["event_id"], nested["parent_id"], strict=True))
    for event_id, depth in nested.select("event_id", "depth").iter_rows():
        while (event_id := above[event_id]) is not None:
            depth -= 1
        assert depth == 0


@given(intervals)
def test_each_nanosecond_is_the_own_time_of_the_last_event_that_began_before_it(rows):
    nested = nest(host(*rows))
    expected = [0] * nested.height
    for tick in range(60):
        running = [
            event_id
            for event_id, start, dur in nested.select("event_id", "start_ns", "dur_ns").iter_rows()
            if start <= tick < start + dur
        ]
        if running:
            expected[max(running)] += 1
    assert nested["own_ns"].to_list() == expected


def test_nothing_is_too_deep():
    assert nest(host(*[(0, 10)] * 70_000))["depth"].to_list() == list(range(70_000))
