import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.readers import ordering
from fgtrace.readers.kinds import TYPED
from fgtrace.readers.ordering import NUMBERED, Order


def typed(rows, part=0):
    """Rows of (place, start, duration) in the columns that their events can have."""
    return pl.DataFrame(
        [{"place": place, "start_ns": start, "dur_ns": dur} for place, start, dur in rows],
        schema={name: TYPED[name] for name in ("place", "start_ns", "dur_ns")},
    ).with_columns(
        part=pl.lit(part, pl.UInt32),
        kind=pl.lit("op", TYPED["kind"]),
        name=pl.lit("a", pl.Categorical),
    )


def ordered(frames, patches=(), ranks=(None, None)):
    order = Order()
    for frame in frames:
        order.add(frame)
    return order.numbered(patches, ranks).collect()


def test_events_are_ordered_by_part_start_longest_and_place():
    events = ordered(
        [typed([(9, 5, 1), (2, 5, 1)]), typed([(4, 1, 7)], part=1), typed([(3, 5, 8), (1, 9, 0)])]
    )
    assert events["place"].to_list() == [3, 2, 9, 1, 4]
    assert events["event_id"].to_list() == [0, 1, 2, 3, 4]
    assert events["part"].to_list() == [0, 0, 0, 0, 1]
    assert events.schema == NUMBERED


def test_an_unknown_duration_counts_as_none_in_the_order():
    assert ordered([typed([(0, 5, None), (1, 5, 3)])])["place"].to_list() == [1, 0]


def test_no_events_are_a_frame_without_rows():
    assert ordered([]).schema == NUMBERED
    assert ordered([typed([])]).is_empty()


def test_a_patch_replaces_values_also_by_nothing_and_leaves_the_order():
    patch = pl.DataFrame(
        {"place": [7, 8], "start_ns": [None, 90], "dur_ns": [None, 1]},
        schema={"place": pl.UInt32, "start_ns": pl.Int64, "dur_ns": pl.Int64},
    )
    events = ordered([typed([(7, 1, 1), (8, 2, 50), (9, 3, 3)])], [patch])
    assert events.select("place", "start_ns", "dur_ns").rows() == [
        (7, None, None),
        (8, 90, 1),
        (9, 3, 3),
    ]


def test_a_rank_is_that_of_the_part():
    events = ordered([typed([(0, 1, 1)]), typed([(1, 1, 1)], part=1)], ranks=(3, None))
    assert events["rank"].to_list() == [3, None]


rows = st.lists(st.tuples(st.integers(-50, 50), st.none() | st.integers(0, 9)), max_size=60)


@given(rows, st.integers(1, 7), st.integers(1, 30), st.integers(1, 30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_what_goes_through_files_comes_out_as_from_memory(monkeypatch, rows, size, batch, memory):
    numbered = [(place, start, dur) for place, (start, dur) in enumerate(rows)]
    frames = [
        typed(numbered[at : at + size], part=at // 20) for at in range(0, len(numbered), size)
    ]
    if any(frame["part"].n_unique() > 1 for frame in frames):
        return
    ranks = [None] * 60
    expected = ordered(frames, ranks=ranks)
    with monkeypatch.context() as patched:
        patched.setattr(ordering, "_BATCH", batch)
        patched.setattr(ordering, "_IN_MEMORY", memory)
        patched.setattr(ordering, "_SAMPLED", 1)
        found = ordered(frames, ranks=ranks)
    assert_frame_equal(found, expected)


def test_a_full_disk_is_one_line_with_a_hint(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ordering, "_IN_MEMORY", 1)
    monkeypatch.setattr(pl.DataFrame, "write_ipc", full)
    order = Order()
    with pytest.raises(FgtraceError) as raised:
        order.add(typed([(0, 1, 1), (1, 2, 1)]))
    assert raised.value.exit_code is ExitCode.UNREADABLE
    assert "No space left on device" in raised.value.message
    assert "TMPDIR" in raised.value.hint
