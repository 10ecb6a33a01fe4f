import json

import pytest

from fgtrace.opening import open_trace
from fgtrace.readers.metadata import read_metadata

from .conftest import notes, rows

DEVICES = [
    {"id": 0, "name": "A", "numSms": 1},
    {"id": 1, "name": "B", "numSms": 132, "totalGlobalMem": 2**37, "token": 12345678},
]


def test_only_named_metadata_is_kept(trace, read):
    trace.metadata |= {
        "deviceProperties": DEVICES,
        "cuda_driver_version": 13000,
        "with_stack": 1,
        "environment": {"HF_TOKEN": "hf_planted"},
    }
    recorded = read(trace.work("k", 0, 1, device=1).write())
    device = recorded.provenance.device
    assert device is not None
    assert (device.name, device.index, device.driver) == ("B", 1, "13000")
    assert device.properties == {"numSms": 132, "totalGlobalMem": 2**37}
    assert recorded.provenance.profiler_options == {"with_stack": True}
    assert "planted" not in repr(recorded)


def test_the_rank_is_on_every_event(trace, read):
    trace.metadata["distributedInfo"] = {"rank": 3, "world_size": 8}
    assert rows(read(trace.op("a", 0, 1).op("b", 5, 1).write()), "rank") == [(3,), (3,)]


def test_what_stands_after_the_events_is_read_as_well(trace, read):
    text = trace.work("k", 0, 1).text()
    after = {"deviceProperties": DEVICES, "distributedInfo": {"rank": 2}, "with_stack": 0}
    for size in (1 << 20, 7):
        recorded = read(text[:-1] + ", " + json.dumps(after)[1:], size=size)
        assert recorded.provenance.device is not None
        assert recorded.provenance.device.name == "A"
        assert recorded.provenance.profiler_options == {"with_stack": False}
        assert rows(recorded, "rank") == [(2,)]


@pytest.mark.parametrize(
    "value", ["null", "[]", "{}", '"x"', "5", "[1, null]", '[{"id": "x", "name": 5, "numSms": []}]']
)
def test_metadata_of_another_form_is_not_known(read, value):
    text = f'{{"deviceProperties": {value}, "distributedInfo": {value}, "traceEvents": []}}'
    recorded = read(text)
    assert recorded.notes == []
    device = recorded.provenance.device
    assert device is None or (device.name, device.properties) == (None, {})


@pytest.mark.parametrize("rank", ["null", '"3"', "1.5", "true", str(2**31), "[3]"])
def test_a_rank_that_is_no_number_is_not_known(read, rank):
    mark = '{"ph": "X", "ts": 1, "dur": 1}'
    text = f'{{"distributedInfo": {{"rank": {rank}}}, "traceEvents": [{mark}]}}'
    assert rows(read(text), "rank") == [(None,)]


def test_damaged_metadata_is_repaired(read):
    text = (
        b'{"path": "C:\\dir", "power": nan, "host": "\xff\x01", "distributedInfo": {"rank": 4,},'
        b' "traceEvents": [{"ph": "X", "ts": 1, "dur": 1}], "say": "a "word"", }'
    )
    for size in (1 << 20, 3):
        recorded = read(text, size=size)
        assert rows(recorded, "rank") == [(4,)]
        assert notes(recorded) == {"metadata-repaired": 1}


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, {, "traceEvents": [MARK]}', '{"traceEvents": [MARK], "a" 1 2}'],
)
def test_metadata_that_cannot_be_read_are_told_and_cost_no_event(read, text):
    recorded = read(text.replace("MARK", '{"ph": "X", "ts": 1, "dur": 1}'))
    assert recorded.tally.decoded == 1
    assert notes(recorded) == {"metadata-not-read": 1}


def test_metadata_before_the_end_of_a_file_that_is_cut_off_are_read(read):
    text = '{"distributedInfo": {"rank": 4}, "traceEvents": [{"ph": "X", "ts": 1, "dur": 1}'
    for end in ("", ",", "]", '], "a": [1,', '], "a'):
        recorded = read(text + end)
        assert rows(recorded, "rank") == [(4,)], end
        assert notes(recorded) == {"truncated": 1}, end


def test_nothing_that_is_too_deep_is_followed():
    assert read_metadata(b'{"a": ' + b"[" * 100_000) is None
    assert read_metadata(b'{"a": "' + b'\\"' * 1_000_000) is None


def test_metadata_that_is_nested_too_deep_is_a_note(tmp_path):
    path = tmp_path / "trace.json"
    event = '{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 0, "dur": 1}'
    path.write_text(f'{{"a": {"[" * 100_000}{"]" * 100_000}, "traceEvents": [{event}]}}')
    opened = open_trace(path)
    assert opened.events.collect().height == 1
    assert "metadata-not-read" in opened.notes["kind"]
