"""The phase marks: in order when a profile listens, nothing otherwise."""

import contextlib

import pytest
import torch

from fgtrace_kernels.index_select import index_select
from fgtrace_kernels.phases import PHASES, phase, record_phases
from fgtrace_kernels.repeat_interleave import repeat_interleave, repeat_interleave_readback
from fgtrace_kernels.repeat_select import repeat_values


class Recorder:
    def __init__(self):
        self.names = []
        self.open = 0

    @contextlib.contextmanager
    def __call__(self, label):
        assert self.open == 0, "phases do not nest"
        self.open += 1
        self.names.append(label)
        yield
        self.open -= 1


def phases_of(operator, *arguments, **named):
    recorder = Recorder()
    with record_phases(recorder):
        operator(*arguments, **named)
    assert recorder.open == 0
    prefix = "fgtrace::phase::"
    assert all(label.startswith(prefix) for label in recorder.names)
    return [label[len(prefix) :] for label in recorder.names]


def test_phases_come_in_the_order_of_the_work(device):
    x = torch.tensor([7, 8, 9], device=device)
    repeats = torch.tensor([1, 0, 2], device=device)
    expansion, gather = ["allocate", "expand"], ["allocate", "gather"]
    reads = ["length_readback", "negative_check"]
    scan = ["prefix_scan"]
    dynamic, known = [*scan, *reads, *expansion], [*scan, *expansion]
    specimen = [*scan, "length_readback", *expansion]
    assert phases_of(repeat_interleave, repeats) == dynamic
    assert phases_of(repeat_interleave, repeats, output_size=3) == known
    assert phases_of(repeat_interleave, x, repeats) == [*dynamic, *gather]
    assert phases_of(repeat_interleave, x, repeats, output_size=3) == [*known, *gather]
    assert phases_of(repeat_interleave_readback, repeats, output_size=3) == specimen
    on = {"output_size": 3, "readback": True, "index_check": True}
    assert phases_of(repeat_values, x, repeats, **on) == [*specimen, "index_check", *gather]
    assert phases_of(index_select, x, 0, repeats) == ["index_check", *gather]
    assert phases_of(repeat_interleave, x, 2) == ["gather"]


def test_nothing_is_emitted_outside_a_recording(device):
    recorder = Recorder()
    with record_phases(recorder):
        pass
    repeat_interleave(torch.tensor([1, 0, 2], device=device))
    assert recorder.names == []
    assert phase("expand") is phase("gather")


def test_a_recording_ends_with_its_block_even_when_the_call_fails(device):
    inner, outer = Recorder(), Recorder()
    with record_phases(outer):
        with pytest.raises(RuntimeError), record_phases(inner):
            repeat_interleave(torch.tensor([1, -2], device=device))
        with phase("expand"):
            pass
    with phase("gather"):
        pass
    assert inner.names[-1] == "fgtrace::phase::negative_check"
    assert outer.names == ["fgtrace::phase::expand"]


def test_the_profiler_records_the_ranges(device):
    repeats = torch.tensor([1, 0, 2], device=device)
    with torch.profiler.profile() as profile, record_phases(torch.profiler.record_function):
        repeat_interleave(repeats, output_size=3)
    recorded = {event.key for event in profile.key_averages()}
    assert {f"fgtrace::phase::{name}" for name in ("prefix_scan", "allocate", "expand")} <= recorded


def test_the_names_are_the_documented_ones():
    assert PHASES == (
        "prefix_scan",
        "length_readback",
        "negative_check",
        "expand",
        "index_check",
        "gather",
        "allocate",
    )
