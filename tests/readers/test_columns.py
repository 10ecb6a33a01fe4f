import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgtrace.frames.schema import EVENTS
from fgtrace.readers.kineto import read_kineto

from .blocks import Blocks
from .conftest import names, notes, read_text, rows
from .reference import Row, reference

BASE_NS = 4_812_000_000_000_000


def document(**values):
    """One event, of which some values are replaced by JSON text."""
    mark = {"ph": '"X"', "cat": '"cpu_op"', "name": '"a"', "pid": "1", "tid": "2", "ts": "5",
            "dur": "1"} | values  # fmt: skip
    members = ", ".join(f'"{name}": {value}' for name, value in mark.items())
    return f'{{"displayTimeUnit": "ns", "traceEvents": [{{{members}}}]}}'


def test_times_are_exact_nanoseconds_on_a_clock_that_no_float_holds(trace, read):
    trace.metadata |= {"displayTimeUnit": "ns", "baseTimeNanoseconds": 1_700_000_000_000_000_000}
    recorded = read(trace.op("a", 1, 3).op("b", 250, 1).write())
    assert rows(recorded, "start_ns", "dur_ns") == [(BASE_NS + 1, 3), (BASE_NS + 250, 1)]
    assert recorded.events.collect_schema() == EVENTS
    assert recorded.provenance.base_time_ns == 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ("0", 0),
        ("5202528070438.997", 5_202_528_070_438_997),
        ("1615207264500005", 1_615_207_264_500_005_000),
        ("1615207264500005.123", 1_615_207_264_500_005_123),
        ('"1615207264500005.123"', 1_615_207_264_500_005_123),
        ('" 7.5 "', 7500),
        ("-3.5", -3500),
        ("1e3", 1_000_000),
        ("4.812e12", 4_812_000_000_000_000),
        ("0.0005", 1),
    ],
)
def test_a_time_is_read_in_whatever_way_it_is_written(read, written, ns):
    assert rows(read(document(ts=written)), "start_ns") == [(ns,)]
    assert rows(read(document(dur=written), raw_times=True), "dur_ns") == [(ns,)]
    # One after another, each is read as well as alone.
    others = document(ts=written)[:-2] + "," + document()[document().index("[") + 1 :]
    assert set(rows(read(others), "start_ns")) == {(ns,), (5000,)}


@pytest.mark.parametrize("written", ["null", '"soon"', '""', "[]", "{}", "1e30", "9" * 30])
def test_what_is_no_time_is_not_known(read, written):
    recorded = read(document(ts=written))
    assert (names(recorded), notes(recorded)) == ([], {"event-without-time": 1})
    recorded = read(document(dur=written))
    assert rows(recorded, "name", "dur_ns") == [("a", None)]
    assert notes(recorded) == {"event-without-duration": 1}


def test_a_duration_below_0_is_not_known_unless_it_is_asked_for(read):
    recorded = read(document(dur="-0.001"))
    assert rows(recorded, "dur_ns") == [(None,)]
    (note,) = recorded.notes
    assert (note.kind, note.count, note.option) == ("negative-duration", 1, "--raw-times")
    recorded = read(document(dur="-0.001"), raw_times=True)
    assert (rows(recorded, "dur_ns"), recorded.notes) == ([(-1,)], [])


def test_an_event_without_times_is_left_out_and_counted(read):
    text = (
        '{"traceEvents": [{"ph": "X", "name": "a", "dur": 1}, {"ph": "X", "name": "b", "ts": 1}]}'
    )
    recorded = read(text)
    assert rows(recorded, "name", "dur_ns") == [("b", None)]
    assert notes(recorded) == {"event-without-time": 1, "event-without-duration": 1}


@pytest.mark.parametrize("phase", ["i", "I", "R"])
def test_instants_are_events_without_a_length(trace, read, phase):
    trace.event("cpu_instant_event", "[memory]", 5, 9, ph=phase)
    assert rows(read(trace.write()), "kind", "dur_ns") == [("memory", 0)]


def test_counters_are_events_without_a_length_of_whatever_category(trace, read):
    trace.event("", "queue", 6, 9, ph="C").event("kernel", "k", 7, 9, ph="C")
    assert rows(read(trace.write()), "kind", "dur_ns") == [("counter", 0), ("counter", 0)]


def test_arrows_and_row_names_are_no_events_and_need_no_note(trace, read):
    trace.op("a", 0, 1)
    for phase in "stfM":
        trace.event("ac2g", "ac2g", 0, 0, ph=phase)
    recorded = read(trace.write())
    assert (names(recorded), recorded.notes, recorded.tally.decoded) == (["a"], [], 5)


@pytest.mark.parametrize("phase", ["b", "e", "n", "N", "D", "P", "Z", "new", ""])
def test_what_is_not_read_is_counted_in_a_note(trace, read, phase):
    trace.op("a", 0, 1).event("cpu_op", "b", 0, 0, ph=phase).event("cpu_op", "b", 5, 0, ph=phase)
    recorded = read(trace.write())
    (note,) = recorded.notes
    assert (note.level, note.kind, note.count) == ("warning", "events-not-read", 2)
    assert f"({phase})" in note.message
    assert recorded.tally.decoded == 3


@pytest.mark.parametrize("phase", ["5", "null", '["X"]', '{"X": 1}', "true", '"B", "ph": "X"'])
def test_a_phase_that_is_none_is_counted_in_a_note(read, phase):
    recorded = read(document(ph=phase))
    assert (names(recorded), notes(recorded)) == ([], {"events-not-read": 1})


def test_a_mark_without_a_phase_is_no_event(trace, read):
    trace.op("a", 0, 1)
    trace.lines.append('{"name": "b", "ts": 1, "dur": 2}')
    assert notes(read(trace.write())) == {"events-not-read": 1}


def test_of_a_key_that_is_there_twice_the_last_counts(read):
    recorded = read(document(ts='1, "ts": 2', name='"a", "name": "b"'))
    assert rows(recorded, "name", "start_ns") == [("b", 2000)]


def test_keys_may_come_in_any_order(read):
    text = document(args='{"correlation": 3}', cat='"kernel"')
    mark = json.loads(text)["traceEvents"][0]
    turned = dict(reversed(mark.items()))
    assert rows(read(json.dumps([turned])), *Row._fields) == rows(read(text), *Row._fields)


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("7", "7"),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ('"stream 7"', "stream 7"),
        ('"0x0"', "0x0"),
        ('""', ""),
        ("99999999999999999999", "99999999999999999999"),
        ("null", None),
    ],
)
def test_processes_and_threads_are_labels(read, written, label):
    assert rows(read(document(pid=written, tid=written)), "process", "thread") == [(label, label)]


def test_a_label_is_the_same_among_numbers_and_among_words(read):
    one, other = document(pid="7"), document(pid='"Spans"')
    both = one[:-2] + "," + other[other.index("[") + 1 :]
    assert rows(read(both), "process") == [("7",), ("Spans",)]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("12", 12),
        ('"12"', 12),
        ('"0x10"', 16),
        ('"stream 12"', 12),
        ("12.0", 12),
        ("-1", -1),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        ("1.5", None),
        ("null", None),
        ('""', None),
        ('"twelve"', None),
        ("[1]", None),
        ('{"no": 1}', None),
    ],
)
def test_numbers_among_the_arguments_are_read_from_text_and_nonsense_is_null(read, written, number):
    args = f'{{"correlation": {written}, "External id": {written}, "bytes": {written}}}'
    recorded = read(document(cat='"gpu_memcpy"', args=args))
    assert rows(recorded, "correlation", "external_id", "bytes") == [(number, number, number)]


def test_an_older_name_of_the_external_id_is_read_too(read):
    assert rows(read(document(args='{"external id": 3}')), "external_id") == [(3,)]
    both = '{"external id": 3, "External id": 4}'
    assert rows(read(document(args=both)), "external_id") == [(4,)]


@pytest.mark.parametrize("args", ["null", "1", "1.5", '"x"', "true", "[1, {}]", "{}"])
def test_arguments_that_are_no_object_lose_nothing_else(read, args):
    recorded = read(document(args=args))
    assert rows(recorded, "name", "start_ns", "correlation") == [("a", 5000, None)]
    assert recorded.notes == []


@pytest.mark.parametrize(
    ("written", "name"),
    [("7", "7"), ("null", ""), ('""', ""), (r'"a\u0000b"', "a\0b"), (r'"\ud83d\ude00"', "😀")],
)
def test_names_are_text(read, written, name):
    assert names(read(document(name=written))) == [name]


labels = st.one_of(st.integers(0, 5), st.sampled_from(["stream 7", "0x1", "Spans", None, -1]))
times = st.one_of(
    st.integers(0, 100),
    st.integers(4 * 10**12, 4 * 10**12 + 100),
    st.decimals(0, 100, places=3).map(str),
    st.decimals(4 * 10**12, 4 * 10**12 + 100, places=3).map(float),
    st.floats(0, 100).map(lambda value: round(value, 3)),
    st.sampled_from([None, "x", "7.25"]),
)
numbers = st.one_of(st.none(), st.integers(-1, 9), st.sampled_from(["3", "0x3", "no", 2**64, 2.0]))
arguments = ("correlation", "device", "stream", "bytes", "External id", "external id")
categories = ("cpu_op", "kernel", "gpu_memcpy", "cuda_runtime", "Memset", "user_annotation",
              "cpu_instant_event", "python_function", "new")  # fmt: skip
marks = st.fixed_dictionaries(
    {
        "ph": st.sampled_from("XXXXXXiCBEsM"),
        "name": st.sampled_from(
            ["a", "ProfilerStep#1", "[memory]", "hipMemcpy", "__amd_rocclr_copyBuffer", None]
        ),
        "pid": labels,
        "tid": labels,
        "ts": times,
        "dur": times,
    },
    optional={
        "cat": st.sampled_from(categories),
        "args": st.one_of(
            st.none(),
            st.just([]),
            st.fixed_dictionaries({}, optional=dict.fromkeys(arguments, numbers)),
        ),
    },
)


@settings(max_examples=150)
@given(st.lists(marks, max_size=12), st.sampled_from([None, 1]), st.integers(50, 2000))
def test_all_columns_are_what_the_standard_library_reads(some, indent, size):
    text = json.dumps({"traceEvents": some}, indent=indent).encode()
    recorded = read_kineto(Blocks(text, size), raw_times=True)
    assert rows(recorded, *Row._fields) == [tuple(row) for row in reference(text)]
    assert (recorded.tally.decoded, recorded.tally.skipped) == (len(some), 0)


@pytest.mark.parametrize("key", ["cat", "name", "pid", "tid", "ts", "dur"])
@pytest.mark.parametrize(
    "value", ["[" * 900 + "]" * 900, '{"a": [1]}', "9" * 50], ids=["list", "object", "number"]
)
def test_what_no_column_can_hold_is_missing_and_costs_nothing(tmp_path, key, value):
    members = {"cat": '"cpu_op"', "name": '"x"', "pid": "1", "tid": "1", "ts": "0", "dur": "1"}
    texts = [
        "{" + ", ".join(f'"{name}": {text}' for name, text in one.items()) + ', "ph": "X"}'
        for one in (members | {key: value}, members | {"name": '"other"'})
    ]
    events = read_text(tmp_path, texts).events.collect()
    assert "other" in events["name"]
    assert events.height == (1 if key == "ts" else 2)
