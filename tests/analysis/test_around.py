import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.around import around, around_in, names_of
from fgtrace.analysis.intervals import outermost
from fgtrace.frames.schema import EVENTS
from fgtrace.opening import open_trace

COLUMNS = ("event_id", "kind", "part", "process", "thread", "start_ns", "dur_ns")


def host(rows):
    """Host events of rows (kind, part, thread, start, duration), numbered as readers do."""
    rows = sorted(rows, key=lambda row: (row[1], row[3], -(row[4] or 0)))
    return pl.DataFrame(
        [
            (number, kind, part, "1", thread, start, dur)
            for number, (kind, part, thread, start, dur) in enumerate(rows)
        ],
        schema={name: EVENTS[name] for name in COLUMNS},
        orient="row",
    )


events = st.lists(
    st.tuples(
        st.sampled_from(["op", "runtime"]),
        st.integers(0, 1),
        st.sampled_from(["1", "2", None]),
        st.integers(0, 30),
        st.none() | st.integers(0, 12),
    ),
    max_size=25,
)


def by_looking(outer, event):
    """The last event of `outer` before `event`, by number, that encloses it on its thread."""
    *track, start, dur = event[2:]
    for number, _, *other_track, other_start, other_dur in reversed(outer):
        if number < event[0] and other_track == track and None not in (dur, other_dur):
            end = other_start + other_dur
            if other_start <= start < end and end >= start + dur:
                return number
    return None


@given(events)
def test_what_is_around_is_what_looking_at_every_pair_finds(rows):
    found = host(rows)
    outer, inner = (found.filter(pl.col("kind") == kind) for kind in ("op", "runtime"))
    expected = [by_looking(outer.rows(), event) for event in inner.iter_rows()]
    assert around_in(outer, inner).to_list() == expected


@given(events)
def test_an_event_is_outermost_when_looking_at_every_pair_finds_none_around_it(rows):
    found = host(rows)
    expected = [event for event in found.rows() if by_looking(found.rows(), event) is None]
    assert outermost(found).rows() == expected


def test_an_event_that_the_last_one_before_it_does_not_reach_is_in_one_around_that():
    found = host([("op", 0, "1", 0, 100), ("op", 0, "1", 10, 10), ("runtime", 0, "1", 50, 5)])
    outer, inner = found.head(2), found.tail(1)
    assert around_in(outer, inner).to_list() == [0]


def test_an_event_around_is_of_the_kind_that_is_asked_for(trace):
    opened = open_trace(trace.range("r", 0, 90).op("a", 10, 50).api("cudaFree", 20, 5).write())
    ids = [around(opened, kind, opened.api_calls).item() for kind in ("op", "range", "python")]
    assert ids == [1, 0, None]


def test_names_are_looked_up_of_the_events_that_are_asked_for(trace):
    opened = open_trace(trace.op("a", 0, 5).op("b", 10, 5).op("c", 20, 5).write())
    names = names_of(opened, pl.Series([2, None, 0], dtype=pl.UInt32))
    assert names.select("event_id", pl.col("name").cast(pl.String)).rows() == [(0, "a"), (2, "c")]
    assert names_of(opened, pl.Series([None], dtype=pl.UInt32)).schema == names.schema
