from dataclasses import replace

import polars as pl

from fgtrace.frames import schema
from fgtrace.frames.notes import Note
from fgtrace.frames.provenance import Provenance
from fgtrace.joining import analysed
from fgtrace.opening import open_trace
from fgtrace.readers.inputs import open_input
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.recorded import PartSource


def read(path):
    with open_input(path) as source:
        return read_kineto(source, path=path)


def recording(builder, name, dur):
    """The same process, device and correlation numbers each time."""
    builder.range(f"fgtrace::call::c::{name}::0", 0, 9000).op("aten::mul", 500, 5000)
    builder.kernel(name, 1000, 20_000, dur).event("python_function", "main", 0, 9, pid=0, tid=0)
    return read(builder.write(f"{name}.json"))


def test_parts_with_the_same_numbers_never_mix(new_trace):
    parts = [
        PartSource(recording(new_trace(), name, dur), name, route=name, generation=number)
        for number, (name, dur) in enumerate([("a", 100), ("b", 200)])
    ]
    opened = analysed(parts, source="two", provenance=Provenance())
    events = opened.events.collect()
    names = dict(events.select("event_id", pl.col("name").cast(pl.String)).rows())
    part_of = dict(events.select("event_id", "part").rows())
    assert events["event_id"].to_list() == list(range(events.height))
    assert opened.links.height == 2
    for device, launch, op, around in opened.links.select(
        "device_event_id", "launch_event_id", "op_event_id", "range_event_id"
    ).iter_rows():
        assert part_of[device] == part_of[launch] == part_of[op] == part_of[around]
        assert names[around] == f"fgtrace::call::c::{names[device]}::0"
    assert opened.calls.select("part", "route", "generation").rows() == [(0, "a", 0), (1, "b", 1)]
    assert opened.parts.select("part", "route", "generation").rows() == [(0, "a", 0), (1, "b", 1)]


def test_launch_attributes_follow_their_kernels_into_the_trace(new_trace):
    parts = []
    for grid in (4, 8):
        builder = new_trace().op("aten::add", 0, 10)
        builder.work("k", 50, 5, grid=[grid, 1, 1])
        parts.append(PartSource(read(builder.write(f"{grid}.json")), str(grid)))
    opened = analysed(parts, source="two", provenance=Provenance())
    kernels = opened.device_work["event_id"].to_list()
    attributes = opened.launch_attributes.collect()
    assert attributes.select("event_id", pl.col("grid").list.first()).rows() == [
        (kernels[0], 4),
        (kernels[1], 8),
    ]


def test_attributes_of_operators_follow_them_into_the_trace(new_trace):
    parts = []
    for size in (4, 8):
        recorded = read(new_trace().kernel("k", 100, 50, 5).op("a", 0, 10).write(f"{size}.json"))
        shapes = [{"event_id": 0, "input_shapes": f"[[{size}]]"}]
        attributes = pl.LazyFrame(shapes, schema=schema.OP_ATTRIBUTES)
        parts.append(PartSource(replace(recorded, op_attributes=attributes), str(size)))
    opened = analysed(parts, source="two", provenance=Provenance())
    ops = opened.events.filter(pl.col("kind") == "op").select("event_id").collect()
    attributes = opened.op_attributes.select("event_id", "input_shapes").collect()
    assert attributes.rows() == list(zip(ops["event_id"], ["[[4]]", "[[8]]"], strict=True))


def test_the_documents_of_one_file_are_parts_of_their_own(new_trace, kernels_by_part):
    first, second, other = (
        read(new_trace().kernel(name, 1000, 9000, 10).write(f"{name}.json"))
        for name in ("k0", "k1", "k2")
    )
    later = second.events.with_columns(pl.col("event_id") + 2, part=pl.lit(1, pl.UInt32))
    both = replace(
        first,
        events=pl.concat([first.events, later]),
        notes=[Note("warning", "second-document", 1, "another")],
    )
    opened = analysed(
        [PartSource(both, "a.json"), PartSource(other, "b.json")],
        source="job",
        provenance=Provenance(),
    )
    assert opened.parts.select("part", "source", "process").rows() == [
        (0, "a.json", "1"),
        (1, "a.json", "1"),
        (2, "b.json", "1"),
    ]
    assert kernels_by_part(opened) == [("k0", 0), ("k1", 1), ("k2", 2)]
    assert opened.events.select("event_id").collect()["event_id"].to_list() == list(range(6))
    assert opened.links["launch_event_id"].n_unique() == 3
    assert opened.notes.filter(kind="second-document")["part"].to_list() == [0]


def test_what_was_collected_of_events_stays_when_other_fields_change(trace):
    opened = open_trace(trace.kernel("k", 0, 5000, 10).write())
    assert opened.having(source="x").device_work is opened.device_work
    other = opened.having(events=opened.events.clear())
    assert other.device_work.is_empty()


def test_notes_of_the_caller_the_reader_and_the_analyses_are_collected(trace):
    trace.op("a", 0, 1).event("cpu_op", "b", 0, 0, ph="b")
    recorded = read(trace.write())
    opened = analysed(
        [PartSource(recorded, "x")],
        source="x",
        provenance=Provenance(),
        notes=[Note("info", "quick", 1, "one generation")],
    )
    assert opened.notes.select("kind", "part").rows() == [
        ("quick", None),
        ("events-not-read", 0),
        ("no-device-activity", None),
        ("no-calls", None),
    ]


def test_a_trace_of_no_recordings_has_empty_frames(assert_documented_columns):
    opened = analysed([], source="nothing", provenance=Provenance())
    assert_documented_columns(opened)
    assert opened.events.collect().is_empty()
