from pathlib import Path

import polars as pl
import pytest

import fgtrace
from fgtrace.analysis.overhead import H200, STACKS, EventCosts, event_costs
from fgtrace.frames import schema
from fgtrace.opening import open_trace

SAMPLES = Path(__file__).parents[2] / "samples"

LOOPS = {
    ("none", "nothing"): 10,
    ("kineto", "nothing"): 11,
    ("none", "range"): 500,
    ("kineto", "range"): 811,
    ("none", "operator"): 60,
    ("kineto", "operator"): 181,
    ("none", "wait_idle"): 400,
    ("kineto", "wait_idle"): 531,
    ("none", "launch"): 600,
    ("kineto", "launch"): 971,
    ("none", "read_idle"): 800,
    ("kineto", "read_idle"): 1271,
}


def calibrated(trace, loops):
    rows = [
        {
            "route": "r",
            "generation": 0,
            "process": 1,
            "loop": loop,
            "profiler": profiler,
            "iterations": 100,
            "wall_ns": time * 100 + slower,
        }
        for (profiler, loop), time in loops.items()
        for slower in (0, 5000)
    ]
    opened = open_trace(trace.range("call", 0, 10).write())
    return opened.having(calibration=pl.DataFrame(rows, schema=schema.CALIBRATION))


def test_the_costs_are_the_shortest_times_with_the_profiler_less_those_without(trace):
    expected = EventCosts(range_ns=800, operator_ns=120, launch_ns=250, copy_ns=100, wait_ns=130)
    found = event_costs(calibrated(trace, LOOPS))
    assert found == pytest.approx(expected) if found is None else found == expected


def test_a_frame_costs_what_stacks_add_to_a_python_call(trace):
    more = {("none", "frame"): 20, (STACKS, "nothing"): 11, (STACKS, "frame"): 271}
    found = event_costs(calibrated(trace, LOOPS | more))
    assert found is not None
    assert found.frame_ns == 250


def test_a_trace_without_every_loop_has_no_costs(trace):
    loops = {key: time for key, time in LOOPS.items() if key[1] != "launch"}
    assert event_costs(calibrated(trace, loops)) is None
    assert event_costs(calibrated(trace, {})) is None


def test_a_host_whose_speed_changed_between_the_loops_tells_nothing(trace):
    assert event_costs(calibrated(trace, LOOPS | {("none", "nothing"): 18})) is None


def test_the_costs_of_other_recordings_are_those_of_the_h200_sample():
    found = event_costs(fgtrace.open(SAMPLES / "h200.fgtrace"))
    assert found is not None
    for name in ("range_ns", "operator_ns", "launch_ns", "copy_ns", "wait_ns"):
        assert round(getattr(found, name)) == getattr(H200, name)
