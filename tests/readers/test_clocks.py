import polars as pl
import pytest

from fgtrace.readers.clocks import RAW_TIMES, TIMED, corrected_times
from fgtrace.readers.kinds import TYPED

from .conftest import read_text

SECOND = 1_000_000_000
MILLISECOND = 1_000_000


def work(*rows, stream=7):
    """Device work of (start, duration), each of its own launch, or (start, duration, launch)."""
    return pl.DataFrame(
        [
            {
                "place": place,
                "part": 0,
                "name": f"k{place}",
                "start_ns": row[0],
                "dur_ns": row[1],
                "device": 0,
                "stream": stream,
                "correlation": row[2] if len(row) > 2 else place,
            }
            for place, row in enumerate(rows)
        ],
        schema={name: TYPED[name] for name in TIMED},
    )


def host(first, last):
    return pl.DataFrame(
        {"part": [0], "first_ns": [first], "last_ns": [last]},
        schema={"part": pl.UInt32, "first_ns": pl.Int64, "last_ns": pl.Int64},
    )


NO_HOST = host(0, 0).clear()


def corrected(device, spans=NO_HOST):
    rows, notes = corrected_times(device, spans)
    return rows.sort("place").rows(), [(note.kind, note.count, note.option) for note in notes]


def test_device_work_whose_times_are_both_0_has_none():
    rows, notes = corrected(work((0, 0), (5 * SECOND, 3), (0, 0)), host(5 * SECOND, 6 * SECOND))
    assert rows == [(0, None, None), (2, None, None)]
    assert notes == [("zero-timestamp", 2, RAW_TIMES)]


def test_a_clock_that_begins_at_0_and_work_without_a_length_are_no_such_times():
    assert corrected(work((0, 5), (3, 0)), host(0, 10)) == ([], [])


def test_work_over_a_minute_away_from_all_of_the_host_is_on_another_clock():
    spans = host(1000 * SECOND, 1001 * SECOND)
    starts = [900, 1000, 1062, 1001, 1000]
    rows, notes = corrected(work(*((start * SECOND, 5) for start in starts)), spans)
    assert rows == [(0, None, None), (2, None, None)]
    assert notes == [("clock-outlier", 2, RAW_TIMES)]


def test_work_within_a_minute_of_the_host_is_late_and_not_of_another_clock():
    spans = host(1000 * SECOND, 1001 * SECOND)
    assert corrected(work((941 * SECOND, 5), (1060 * SECOND, 5)), spans) == ([], [])


def test_without_a_host_one_row_far_from_many_is_on_another_clock():
    rows, notes = corrected(work((0, 9), *((900 * SECOND + at, 1) for at in range(0, 90, 10))))
    assert rows == [(0, None, None)]
    assert notes == [("clock-outlier", 1, RAW_TIMES)]


@pytest.mark.parametrize(
    "starts",
    [
        [0, 900 * SECOND],  # one of two
        [0, 1, 900 * SECOND, 900 * SECOND + 1],  # as many here as there
        [0, 59 * SECOND, 59 * SECOND + 9, 59 * SECOND + 99],  # less than a minute
        [0, 300 * SECOND, 310 * SECOND, 340 * SECOND],  # less than ten times the rest
    ],
)
def test_without_a_host_an_idle_time_alone_is_no_other_clock(starts):
    assert corrected(work(*((start, 1) for start in starts))) == ([], [])


def test_work_that_later_work_of_its_stream_ended_inside_of_is_cut_where_that_began():
    rows, notes = corrected(work((0, SECOND), (50, 10), (70, 10), (2 * SECOND, 5)))
    assert rows == [(0, 0, 50)]
    assert notes == [("impossible-duration", 1, RAW_TIMES)]


def test_the_note_names_the_first_work_and_its_stream():
    _, (note,) = corrected_times(work((0, SECOND), (50, 10), (70, 10)), NO_HOST)
    assert "k0 on stream 7" in note.message


@pytest.mark.parametrize(
    "device",
    [
        work((0, 900_000), (50, 10), (70, 10)),  # by less than a millisecond
        work((0, SECOND), (50, 10), (70, 2 * SECOND)),  # one inside: the next began early
        work((0, SECOND), (50, 10)),  # one inside, and nothing after it
        work((0, SECOND, 1), (50, 10, 1), (70, 10, 1)),  # one graph's kernels run beside each other
        work((0, SECOND), (0, 10), (0, 10)),  # nothing to be cut to
        pl.concat([work((0, SECOND)), work((50, 10), (70, 10), stream=8)]),  # other streams
    ],
)
def test_work_that_may_really_overlap_is_not_cut(device):
    assert corrected(device.with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32))) == ([], [])


def test_neighbours_that_are_both_too_long_are_both_cut():
    rows, _ = corrected(work((0, SECOND), (50, SECOND), (70, 10), (90, 10)))
    assert rows == [(0, 0, 50), (1, 50, 20)]


def test_no_rule_finds_anything_in_real_recordings(shared, read):
    for file in sorted((shared / "traces").glob("**/*.json.gz")):
        if "rocprofv3" in file.name or "malformed" in str(file) or file.stat().st_size > 2 << 20:
            continue
        told = {note.kind for note in read(file).notes}
        assert not told & {"zero-timestamp", "clock-outlier", "impossible-duration"}, file.name


def test_a_device_that_is_all_on_another_clock_keeps_its_times_and_is_told():
    device = work((0, 5), (10, 5), (1000 * SECOND, 5))
    rows, notes = corrected(device, host(1000 * SECOND, 1001 * SECOND))
    assert rows == []
    assert notes == [("clock-outlier", 2, RAW_TIMES)]


def kernel_text(name, start_us, dur_us, correlation=1):
    args = f'{{"device": 0, "stream": 7, "correlation": {correlation}}}'
    return (
        f'{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {start_us}, '
        f'"dur": {dur_us}, "args": {args}}}'
    )


def test_one_later_launch_inside_of_a_kernel_proves_nothing_wrong(tmp_path):
    inside = read_text(tmp_path, [kernel_text("a", 0, 10_000), kernel_text("b", 5000, 1000, 2)])
    assert inside.device_work["dur_ns"].to_list() == [10_000_000, 1_000_000]


def test_the_clock_of_one_document_is_no_measure_of_another_s(tmp_path):
    many = [kernel_text("a", place, 1, place) for place in range(1000)]
    few = [kernel_text("b", 10**10 + place, 1, place) for place in range(5)]
    host = ['{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 0, "dur": 1}']
    opened = read_text(tmp_path, many, few, host)
    assert opened.device_work["start_ns"].null_count() == 0
    assert "clock-outlier" not in opened.notes["kind"]
