import io
import json
import zipfile
from dataclasses import replace

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames import schema
from fgtrace.frames.notes import Note, notes_frame
from fgtrace.frames.provenance import Device, Provenance
from fgtrace.frames.store import MANIFEST, SCHEMA_VERSION, load_run, save_run
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES, Trace
from fgtrace.opening import open_trace


@pytest.fixture
def opened(trace):
    trace.range("fgtrace::call::c::r::0", 0, 50_000).op("aten::item", 1000, 40_000)
    trace.kernel("k", 2000, 5000, 3000).readback(9000, 12_000)
    trace.metadata["deviceProperties"] = [{"id": 0, "name": "NVIDIA H200"}]
    return open_trace(trace.write())


def with_gates(opened, *gates):
    return opened.having(provenance=msgspec.structs.replace(opened.provenance, gates=gates))


@pytest.fixture
def run(opened, tmp_path):
    folder = tmp_path / "case.fgtrace"
    folder.mkdir()
    save_run(opened, folder, name="case")
    return folder


def zipped(folder, *, inside=""):
    path = folder.with_name("case.fgtrace.zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"{inside}{file.name}")
    return path


def assert_same(loaded, saved):
    assert loaded.provenance == saved.provenance
    for name, expected in FRAMES.items():
        frame = getattr(loaded, name)
        assert frame.schema == expected
        assert_frame_equal(frame, getattr(saved, name))
    for name, expected in LAZY_FRAMES.items():
        frame = getattr(loaded, name).collect()
        assert frame.schema == expected
        assert_frame_equal(frame, getattr(saved, name).collect())


def test_a_run_is_what_was_saved(opened, run):
    loaded = load_run(run)
    assert_same(loaded, opened)
    assert loaded.source == "case.fgtrace"


@pytest.mark.parametrize("inside", ["", "case.fgtrace/"])
def test_a_zip_is_read_as_the_folder_is_and_not_extracted(opened, run, tmp_path, inside):
    path = zipped(run, inside=inside)
    before = sorted(tmp_path.rglob("*"))
    assert_same(load_run(path), opened)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_manifest_describes_every_file(run):
    manifest = json.loads((run / MANIFEST).read_text())
    assert manifest["schema_version"] == SCHEMA_VERSION
    assert manifest["name"] == "case"
    assert {f"{frame}.parquet" for frame in manifest["frames"]} | {MANIFEST} == {
        file.name for file in run.iterdir()
    }
    assert manifest["frames"]["events"]["rows"] == load_run(run).events.collect().height


def test_the_manifest_is_written_last(opened, tmp_path):
    (tmp_path / "notes.parquet").mkdir()  # in the way of the last but one
    with pytest.raises(OSError, match="notes"):
        save_run(opened, tmp_path, name="case")
    assert not (tmp_path / MANIFEST).exists()


@pytest.mark.parametrize("frame", ["launch_attributes", "op_attributes"])
def test_attributes_are_not_read_before_they_are_asked_for(run, frame):
    loaded = load_run(run)
    (run / f"{frame}.parquet").unlink()
    with pytest.raises(FileNotFoundError):
        getattr(loaded, frame).collect()


def test_a_run_of_before_operators_had_attributes_has_none(opened, run):
    manifest = json.loads((run / MANIFEST).read_text())
    del manifest["frames"]["op_attributes"]
    (run / MANIFEST).write_text(json.dumps(manifest))
    (run / "op_attributes.parquet").unlink()
    loaded = load_run(run)
    assert loaded.op_attributes.collect().equals(schema.OP_ATTRIBUTES.to_frame())
    assert_frame_equal(loaded.events.collect(), opened.events.collect())


def test_a_run_keeps_its_gates(opened, tmp_path):
    gates = ("readback_count > 0", 'kernel:"f<x>".device_time > +5%')
    save_run(with_gates(opened, *gates), tmp_path, name="case")
    assert load_run(tmp_path).provenance.gates == gates


def test_a_run_of_before_there_were_gates_has_none(opened, run):
    manifest = json.loads((run / MANIFEST).read_text())
    assert manifest["provenance"].pop("gates") == []
    (run / MANIFEST).write_text(json.dumps(manifest))
    assert load_run(run).provenance == opened.provenance


def refused(path):
    with pytest.raises(FgtraceError) as raised:
        load_run(path)
    assert raised.value.kind == "unknown-format"
    assert raised.value.exit_code is ExitCode.UNREADABLE
    assert "\n" not in raised.value.message
    return raised.value


def test_a_folder_without_a_manifest_is_no_run(run):
    (run / MANIFEST).unlink()
    assert "not a run, or an incomplete one" in refused(run).message


def test_a_newer_format_is_refused_with_both_versions(run):
    manifest = json.loads((run / MANIFEST).read_text())
    (run / MANIFEST).write_text(json.dumps({"schema_version": 7, "later": manifest}))
    error = refused(run)
    assert "version 7" in error.message
    assert f"version {SCHEMA_VERSION}" in error.message
    assert "upgrade" in error.hint


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema_version": 1}', '{"schema_version": "x"}']
)
def test_a_damaged_manifest_is_named(run, text):
    (run / MANIFEST).write_text(text)
    assert MANIFEST in refused(run).message


@pytest.mark.parametrize("frame", [*FRAMES, *LAZY_FRAMES])
def test_a_damaged_or_missing_frame_is_named(run, frame):
    file = run / f"{frame}.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    assert file.name in refused(run).message
    file.unlink()
    assert file.name in refused(run).message


def test_one_changed_byte_of_a_frame_is_noticed(run):
    file = run / "events.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert file.name in refused(run).message


def test_other_columns_are_named(opened, run):
    other = replace(opened, links=opened.links.rename({"cause": "reason"}))
    save_run(other, run, name="case")
    error = refused(run)
    assert "links.parquet" in error.message
    assert "cause" in error.message


def test_columns_of_another_version_are_left_out(opened, run):
    links = opened.links.with_columns(new=pl.lit(1))
    save_run(replace(opened, links=links), run, name="case")
    assert_frame_equal(load_run(run).links, opened.links)


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "..\\x", "C:\\x"])
def test_a_zip_whose_members_point_outside_is_refused(run, name):
    path = zipped(run)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"")
    assert "points outside" in refused(path).message


def test_a_damaged_zip_is_refused(run, tmp_path):
    data = zipped(run).read_bytes()
    path = tmp_path / "cut.zip"
    path.write_bytes(data[: len(data) // 2])
    refused(path)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("other.txt", "no run")
    path.write_bytes(buffer.getvalue())
    assert "not a run" in refused(path).message


texts = st.text(max_size=8).filter(lambda text: text.isprintable())
event_rows = st.fixed_dictionaries(
    {
        "event_id": st.integers(0, 2**32 - 1),
        "kind": st.sampled_from(schema.KIND.categories.to_list()),
        "name": texts,
        "start_ns": st.integers(-(2**63), 2**63 - 1),
        "thread": st.none() | texts,
        "copy_kind": st.none() | st.sampled_from(schema.COPY_KIND.categories.to_list()),
    }
)


@given(rows=st.lists(event_rows, max_size=5), names=st.lists(texts, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_every_frame_survives_the_round_trip(rows, names, tmp_path):
    empty = {name: expected.to_frame() for name, expected in FRAMES.items()}
    frames = {
        "calls": pl.DataFrame([{"case": name} for name in names], schema=schema.CALLS),
        "notes": notes_frame([Note("info", "no-calls", 1, name) for name in names]),
    }
    lazy = {
        "events": pl.LazyFrame(rows, schema=schema.EVENTS),
        "launch_attributes": pl.LazyFrame(
            [{"event_id": 1, "grid": [1, 2, 3]}], schema=schema.LAUNCH_ATTRIBUTES
        ),
        "op_attributes": pl.LazyFrame(
            [{"event_id": 1, "input_shapes": name} for name in names], schema=schema.OP_ATTRIBUTES
        ),
    }
    saved = Trace(
        source="x",
        provenance=Provenance(tool="fgtrace", device=Device(kind="cpu", name="".join(names))),
        **(empty | frames),
        **lazy,
    )
    save_run(saved, tmp_path, name="x")
    assert_same(load_run(tmp_path), saved)
