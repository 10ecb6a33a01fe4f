import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.replay import FLOOR, Latencies, Program, Step, fitted, replay

NONE = Latencies(launch_ns=0, copy_ns=0, queued_ns=0, wake_ns=0)


def program(*steps, latencies=NONE, cost=0.0):
    """A program of one call: (host time, kind, works or streams) a step."""
    made, times = [], []
    for run, (time, kind, *rest) in enumerate(steps):
        times.append((run, time, cost, False))
        works = rest[0] if kind in ("launch", "blocking copy") and rest else ()
        made.append(Step(run, kind, tuple(works), tuple(rest[1]) if len(rest) > 1 else ()))
    columns = {
        "run": pl.Int64,
        "recorded_ns": pl.Int64,
        "cost_ns": pl.Float64,
        "calibrated": pl.Boolean,
    }
    return Program((tuple(made),), pl.DataFrame(times, schema=columns, orient="row"), latencies)


def test_a_call_that_launches_nothing_takes_its_host_time():
    assert replay(program((700, "end")), 0).call_ns == 700


def test_the_host_runs_ahead_of_a_device_that_is_faster_and_is_bound_by_itself():
    found = replay(program((700, "launch", [(1, 300, 0)]), (100, "end")), 0)
    assert (found.call_ns, found.bound) == (800, "host")


def test_a_device_that_is_slower_bounds_the_call():
    found = replay(program((100, "launch", [(1, 900, 0)]), (0, "end")), 0)
    assert (found.call_ns, found.bound) == (900, "device")


def test_a_wait_ends_when_the_device_is_done_and_the_host_has_woken():
    late = Latencies(launch_ns=0, copy_ns=0, queued_ns=0, wake_ns=30)
    steps = [(100, "launch", [(1, 400, 20)]), (50, "wait"), (10, "end")]
    found = replay(program(*steps, latencies=late), 0)
    assert found.call_ns == 100 + 20 + 400 + 30 + 10
    assert (found.waiting_ns, found.bound) == (400, "host and device in turns")


def test_a_wait_for_one_stream_does_not_wait_for_another():
    steps = [(10, "launch", [(1, 500, 0), (2, 50, 0)]), (0, "wait", (), (2,)), (0, "end")]
    made = program(*steps)
    waiting = replay(made, 0)
    assert waiting.call_ns == 500  # the first stream is behind, and bounds the calls
    assert waiting.waiting_ns < 500


def test_queued_work_starts_a_gap_after_the_work_before_it():
    late = Latencies(launch_ns=0, copy_ns=0, queued_ns=40, wake_ns=0)
    steps = [(10, "launch", [(1, 100, 0)]), (0, "launch", [(1, 100, 0)]), (0, "end")]
    assert replay(program(*steps, latencies=late), 0).call_ns == 280


def test_the_profilers_share_is_taken_off_and_never_all_of_a_piece():
    made = program((1000, "end"), cost=300)
    assert replay(made, 2).call_ns == 400
    assert replay(made, 50).call_ns == 1000 * FLOOR


@given(st.integers(60, 1000))
def test_what_is_fitted_takes_what_it_is_fitted_to(target):
    made = program((600, "launch", [(1, 10, 0)]), (400, "end"), cost=100)
    scale = fitted(made, target)
    assert scale is not None
    assert replay(made, scale).call_ns == pytest.approx(target, rel=2e-3)


def test_a_time_that_no_share_explains_cannot_be_fitted():
    made = program((600, "launch", [(1, 500, 0)]), (400, "end"), cost=100)
    assert fitted(made, 1001) is None
    assert fitted(made, 499) is None
