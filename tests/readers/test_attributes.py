import os

import pytest

from fgtrace.errors import FgtraceError
from fgtrace.frames.schema import LAUNCH_ATTRIBUTES, OP_ATTRIBUTES
from fgtrace.readers import attributes

SHAPES = {
    "Input Dims": [[8, 3], []],
    "Input type": ["float", "Scalar"],
    "Input Strides": [[3, 1], []],
    "Concrete Inputs": ["", "1.5"],
}


def test_launch_attributes_are_kept_for_kernels_as_far_as_they_are_numbers(trace, read):
    trace.work("a", 0, 1, grid=[4, 1, 1], block=[32, 1, 1], **{"registers per thread": 16})
    trace.work("made up", 1, 1, **{"registers per thread": "32", "grid": "grid(64,)"})
    trace.work("odd", 2, 1, grid=[4, 1], block=[1, None, 2], **{"shared memory": 2**70})
    trace.work("some", 3, 1, block=[1, 2, 3], **{"shared memory": 48})
    trace.op("host", 4, 1, grid=[1, 1, 1])
    found = read(trace.write()).launch_attributes
    assert found.collect_schema() == LAUNCH_ATTRIBUTES
    assert found.collect().rows() == [
        (0, [4, 1, 1], [32, 1, 1], 16, None),
        (3, None, [1, 2, 3], None, 48),
    ]


def test_what_operators_were_called_with_is_json_as_the_file_has_it(trace, read):
    trace.op("late", 9, 1, **SHAPES).op("none", 0, 1).op("stack", 5, 1, **{"Call stack": "a;b"})
    trace.work("k", 6, 1, **SHAPES)
    found = read(trace.write()).op_attributes
    assert found.collect_schema() == OP_ATTRIBUTES
    assert found.collect().rows() == [
        (1, None, None, None, None, "a;b"),
        (3, "[[8, 3], []]", '["float", "Scalar"]', "[[3, 1], []]", '["", "1.5"]', None),
    ]


def test_shapes_under_their_older_name_are_the_same(trace, read):
    trace.op("a", 0, 1, **{"Input dims": [[2]]})
    assert read(trace.write()).op_attributes.collect()["input_shapes"].to_list() == ["[[2]]"]


def test_arguments_that_are_no_object_have_no_attributes(trace, read):
    trace.lines.append('{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 2, "args": [1]}')
    recorded = read(trace.write())
    assert recorded.op_attributes.collect().is_empty()


def test_attributes_are_those_of_their_event_whatever_is_damaged_before_it(trace, read):
    trace.op("a", 0, 1, **SHAPES).op("b", 1, 1, **{"Input Dims": [[7]]})
    text = trace.text().replace('"name": "a"', '"name": "\\q"')
    path = trace.folder / "damaged.json"
    path.write_text(text.replace('"traceEvents": [', '"traceEvents": [{"ph": "X", :},'))
    recorded = read(path)
    assert recorded.tally.skipped == 1
    shapes = recorded.op_attributes.collect().select("event_id", "input_shapes").rows()
    assert shapes == [(0, "[[8, 3], []]"), (1, "[[7]]")]


def test_a_file_is_not_read_for_its_attributes_until_they_are_collected(trace, read, monkeypatch):
    def refuse(*_):
        raise AssertionError

    path = trace.op("a", 0, 1, **SHAPES).write()
    monkeypatch.setattr(attributes, "EventStream", refuse)
    assert read(path).events.collect().height == 1


def test_a_file_that_was_changed_since_has_no_attributes_any_more(trace, read):
    path = trace.op("a", 0, 1, **SHAPES).write()
    recorded = read(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(FgtraceError, match="no longer the file") as raised:
        recorded.op_attributes.collect()
    assert raised.value.kind == "changed"
