import re
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgtrace.opening import open_trace
from fgtrace.views.lanes import WAITS, Lanes, scale
from fgtrace.views.selection import about, arrows

intervals = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60)), min_size=1, max_size=30)


def device_lanes(made, work):
    rows = [("kernel", f"k{start}", None, start, dur, None) for start, dur in work]
    return Lanes.of(made(rows))


def brute_force(work, start, end, cells):
    """Of each cell, the part that is covered, counted nanosecond by nanosecond."""
    width = max(end - start, cells)
    edges = [start + place * width // cells for place in range(cells + 1)]
    busy = [
        sum(one <= time < one + dur for one, dur in work) for time in range(edges[0], edges[-1])
    ]
    return [
        sum(busy[low - edges[0] : high - edges[0]]) / (high - low) for low, high in pairwise(edges)
    ]


@settings(max_examples=60)
@given(intervals, st.integers(-50, 300), st.integers(1, 500), st.integers(1, 40))
def test_lanes_together_cover_what_the_events_do_and_drop_none(made, work, start, width, cells):
    lanes = device_lanes(made, work)
    assert lanes.events.height == len(work)
    start = max(start, lanes.start)
    covered = lanes.cover(range(len(lanes.lanes)), start, start + width, cells)["covered"]
    each = [covered[at * cells : (at + 1) * cells] for at in range(len(lanes.lanes))]
    total = [sum(one) for one in zip(*each, strict=True)]
    end = min(start + max(width, cells), lanes.end + 1)
    expected = brute_force(work, start, start + width, cells)
    inside = [
        place for place in range(cells) if start + (place + 1) * max(width, cells) // cells < end
    ]
    assert [total[place] for place in inside] == pytest.approx(
        [expected[place] for place in inside]
    )


@given(intervals)
def test_events_of_a_lane_do_not_overlap(made, work):
    lanes = device_lanes(made, work)
    for lane in lanes.lanes:
        rows = lanes.events.slice(lane.first, lane.count)
        assert (rows["end_ns"].shift(1) <= rows["start_ns"]).fill_null(True).all()


def test_what_lies_inside_another_is_a_lane_below_it(made):
    lanes = Lanes.of(
        made(
            [
                ("op", "outer", "1", 0, 100, None),
                ("op", "inner", "1", 10, 50, None),
                ("op", "next", "1", 100, 10, None),
            ]
        )
    )
    assert [(lane.level, lane.count) for lane in lanes.lanes] == [(0, 2), (1, 1)]


def test_waiting_is_told_apart(made):
    lanes = Lanes.of(
        made(
            [
                ("runtime", "cudaStreamSynchronize", "1", 0, 50, None),
                ("runtime", "cudaLaunchKernel", "1", 50, 50, None),
            ]
        )
    )
    assert lanes.cover([0], 0, 100, 4).rows() == [
        (1, 1, True),
        (1, 1, False),
        (1, 0, True),
        (1, 0, False),
    ]
    assert lanes.draw([0], 0, 100, 4)[0].levels == [WAITS, WAITS, 8, 8]


def test_a_cell_in_which_something_short_begins_is_touched(made):
    lanes = device_lanes(made, [(0, 1), (500, 0), (999, 1)])
    touched = [True, *[False] * 4, True, *[False] * 3, True]
    assert lanes.cover([0], 0, 1000, 10)["touched"].to_list() == touched
    assert lanes.draw([0], 0, 1000, 10)[0].levels == [int(one) for one in touched]


def test_names_are_drawn_where_there_is_room(made):
    lanes = device_lanes(made, [(0, 500), (500, 10), (600, 400)])
    (drawn,) = lanes.draw([0], 0, 1000, 50)
    assert [(one.cell, one.width, one.name) for one in drawn.labels] == [
        (0, 25, "k0"),
        (30, 20, "k600"),
    ]
    (zoomed,) = lanes.draw([0], 500, 520, 20)
    assert [(one.cell, one.width, one.name) for one in zoomed.labels] == [(0, 10, "k500")]


def test_a_nanosecond_is_a_cell_at_real_times(new_trace):
    trace = new_trace().kernel("a", 0, 1000, 3).kernel("b", 2000, 1003, 2)
    lanes = Lanes.of(open_trace(trace.write()))
    number = next(n for n, lane in enumerate(lanes.lanes) if lane.on_device)
    first = lanes.events["start_ns"][lanes.lanes[number].first]
    covered = lanes.cover([number], first - 1, first + 7, 8)["covered"]
    assert covered.to_list() == [0, 1, 1, 1, 1, 1, 0, 0]
    assert scale(first, first + 8, 8) == "8 ns in view, 1 ns a cell"


def test_the_event_at_a_time_or_the_nearest_one_is_found(made):
    lanes = device_lanes(made, [(0, 10), (100, 10)])
    assert [lanes.at(0, time) for time in (5, 40, 70, 105, 999)] == [0, 0, 1, 1, 1]


def test_events_are_found_by_name_in_the_order_of_time_and_round_the_end(made):
    lanes = device_lanes(made, [(0, 10), (5, 10), (30, 10)])
    pattern = re.compile("k")
    ids = []
    place = None
    for _ in range(4):
        place = lanes.find(pattern, place, back=False)
        ids.append(lanes.events["event_id"][place])
    assert ids == [0, 1, 2, 0]
    assert lanes.events["event_id"][lanes.find(pattern, place, back=True)] == 2
    assert lanes.find(re.compile("nothing"), None, back=False) is None


@pytest.fixture
def launched(new_trace):
    trace = new_trace().op("aten::add", 0, 9000).kernel("k", 1000, 20_000, 500)
    trace.kernel("late", 2000, 90_000, 700)
    return open_trace(trace.write())


def test_a_kernel_says_what_launched_it_and_why_the_device_was_idle(launched):
    late = launched.device_work.filter(pl.col("name") == "late")["event_id"][0]
    lines = "\n".join(about(launched, late, 0))
    assert "launched by cudaLaunchKernel 88.0 µs before  ←  aten::add" in lines
    assert "the device had been idle 69.5 µs: 69.5 µs launch latency" in lines


def test_a_launch_and_its_kernel_are_joined_by_an_arrow(launched):
    kernel = launched.device_work["event_id"][0]
    (launch,) = arrows(launched, kernel)
    assert arrows(launched, launch) == [kernel]
    assert "launches k" in "\n".join(about(launched, launch, 0))


def test_a_recording_without_events_has_no_lanes(made):
    lanes = Lanes.of(made([]))
    assert lanes.lanes == ()
    assert lanes.draw([], 0, 10, 5) == []
