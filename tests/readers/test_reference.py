"""Real recordings, event by event equal to what the standard library and decimals read."""

import json

import polars as pl

from fgtrace.frames.schema import DEVICE_WORK
from fgtrace.readers.inputs import open_input

from .conftest import rows
from .reference import Row, reference

NO_KINETO = ("tl_rocprofv3",)
DAMAGED_CASES = ("S01", "S02", "S03", "S04", "S05", "S16", "S17", "S18", "S19", "S20")


def content(path):
    with open_input(path) as source:
        return b"".join(source.blocks())


def sound_files(shared):
    traces = [*(shared / "traces").glob("*.json.gz"), *(shared / "traces/h200").glob("*.json.gz")]
    cases = [path for path in (shared / "cases").glob("S*/*") if path.name != "expect.json"]
    sound = [path for path in cases if not path.parent.name.startswith(DAMAGED_CASES)]
    found = [path for path in [*traces, *sound] if not path.name.startswith(NO_KINETO)]
    return sorted(found, key=lambda path: path.stat().st_size)


def test_every_sound_file_is_read_as_the_reference_reads_it(shared, read):
    files = sound_files(shared)
    assert len(files) == 65
    for path in files:
        recorded = read(path, raw_times=True)
        expected = reference(content(path))
        assert recorded.tally.skipped == 0, path.name
        assert rows(recorded, *Row._fields) == [tuple(row) for row in expected], path.name


def test_the_numbers_of_every_scored_file_are_exact(shared, read):
    oracle = json.loads((shared / "oracles/raw-ns.json").read_text())["traces"]
    files = {path.name: path for path in sound_files(shared)}
    scored = {name: files[name] for name in oracle if oracle[name]["kernel_count"] is not None}
    assert len(scored) >= 40
    for name, path in scored.items():
        expected = oracle[name]
        events = read(path, raw_times=True).events.filter(pl.col("kind").is_in(DEVICE_WORK))
        kernels = events.filter(pl.col("kind") == "kernel").collect()
        assert kernels.height == expected["kernel_count"], name
        assert kernels["dur_ns"].sum() == expected["kernel_time_ns"], name
