import json

import pytest

from fgtrace.errors import FgtraceError
from fgtrace.frames.schema import LAUNCH_ATTRIBUTES, OP_ATTRIBUTES

SHAPES = {"Input Dims": [[2, 3], []], "Input type": ["float", ""], "Concrete Inputs": ["", "1"]}


def test_launch_attributes_are_kept_for_kernels_as_far_as_they_are_numbers(trace, read):
    trace.work("a", 0, 1, grid=[4, 1, 1], block=[32, 1, 1], **{"registers per thread": 16})
    trace.work("made up", 1, 1, **{"registers per thread": "32", "grid": "grid(64,)"})
    trace.op("host", 2, 1, grid=[1, 1, 1])
    attributes = read(trace.write()).launch_attributes.collect()
    assert attributes.schema == LAUNCH_ATTRIBUTES
    assert attributes.rows() == [(0, [4, 1, 1], [32, 1, 1], 16, None)]


def test_shapes_types_and_call_sites_are_kept_for_operators(trace, read):
    trace.op("late", 9, 1, **{"Call stack": "b.py(2): b;a.py(1): a"})
    trace.op("first", 0, 1, **SHAPES).op("none", 5, 1).work("k", 6, 1, **SHAPES)
    attributes = read(trace.write()).op_attributes.collect()
    assert attributes.schema == OP_ATTRIBUTES
    ids, shapes, types, strides, concrete, sites = (
        attributes[name].to_list() for name in OP_ATTRIBUTES
    )
    assert ids == [0, 3]
    assert [json.loads(shape) if shape else None for shape in shapes] == [[[2, 3], []], None]
    assert json.loads(types[0]) == ["float", ""]
    assert strides == [None, None]
    assert json.loads(concrete[0]) == ["", "1"]
    assert sites == [None, "b.py(2): b;a.py(1): a"]


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"ph": "X", "name": "a\xff", "ts": 1, "dur": 2}',
        b'{"ph": "X", "name": "a\\q", "ts": 1, "dur": 2}',
        b'{"ph": "X", "name": "a", "pid": 1e999, "ts": 1, "dur": 2}',
        b'{"ph": "X", "name": "a", "ts": 1, "dur": 2',
        b'{"ph": "X", "name": "a", "args": {"Call stack": "\xff"}, "ts": 1, "dur": 2}',
        b'{"ph": "X", "name": "a", "args": {"Input Dims": ["\xff"]}, "ts": 1, "dur": 2}',
        b'{"ph": "new", "name": 1e999}',
        b'{"ph": 5}',
        b"{}",
        b"null",
        b'[{"ph": "X"}]',
        b'{"ph": "X", "args": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    ],
)
def test_whatever_is_damaged_before_them_attributes_stay_with_their_events(
    trace, read, tmp_path, damaged
):
    trace.op("b", 0, 1, **SHAPES)
    trace.work("k", 5, 1, grid=[4, 1, 1])
    text = trace.text().encode()
    begin = text.index(b"[\n") + 2
    path = tmp_path / "damaged.json"
    path.write_bytes(text[:begin] + damaged + b",\n" + text[begin:])
    recorded = read(path)
    events = recorded.events.collect()
    of_op = recorded.op_attributes.collect().filter(event_id=events.height - 2)
    assert json.loads(of_op["input_shapes"][0]) == SHAPES["Input Dims"]
    (launch,) = recorded.launch_attributes.collect().rows(named=True)
    assert (launch["event_id"], launch["grid"]) == (events.height - 1, [4, 1, 1])


def test_attributes_of_a_file_that_has_changed_are_an_error(trace, read):
    path = trace.op("a", 0, 1, **SHAPES).write()
    recorded = read(path)
    path.write_text(trace.op("b", 5, 1).text())
    with pytest.raises(FgtraceError, match="no longer the file") as raised:
        recorded.op_attributes.collect()
    assert raised.value.kind == "changed"
