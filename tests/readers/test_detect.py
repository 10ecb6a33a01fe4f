import gzip
import io
import json
import pickle
import sqlite3
import zipfile

import pytest

from fgtrace.errors import FgtraceError
from fgtrace.readers.detect import FORMATS, KINETO, recognise
from fgtrace.readers.inputs import BLOCK, open_input

EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1}


def name_of(content):
    found = recognise(content)
    return found and found.name


def as_json(value):
    return json.dumps(value).encode()


def database(tmp_path, *tables):
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        for table in tables:
            connection.execute(f'CREATE TABLE "{table}" (id INTEGER, "dev-id" INTEGER)')
    connection.close()
    return path.read_bytes()


def archive(member):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(member, b"x")
    return buffer.getvalue()


def message(field, content):
    """A field of a protobuf message that holds bytes shorter than 128."""
    return bytes([field << 3 | 2, len(content)]) + content


XPLANE = message(1, b"\x08\x01" + message(2, b"/device:GPU:0")) * 2
PPROF = message(1, b"\x08\x01\x10\x02") + message(1, b"\x08\x03\x10\x04") + message(2, b"\x0a\x00")
PERFETTO = message(1, b"\x40\x05\x50\x01") * 3
GUID = "_00003fdc_92cb"

JSON = {
    KINETO: {"schemaVersion": 1, "traceEvents": [EVENT]},
    "hipprof JSON": {
        "traceEvents": [{"ph": "M", "name": "process_name"}, {"ph": "X", "cat": "HIPOPS"}]
    },
    "rocprof JSON": {"traceEvents": [{}, {"ph": "X", "args": {"BeginNs": "5", "EndNs": "9"}}]},
    "rocprofv3 JSON": {"rocprofiler-sdk-tool": [{"metadata": {"pid": 7}}]},
    "a PyTorch execution trace": {"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": []},
    "a CUDA memory snapshot": {"segments": [], "device_traces": [[]]},
    "a speedscope profile": {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": []},
        "profiles": [],
    },
    "a Chrome CPU profile": {
        "nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}}],
        "startTime": 1,
        "endTime": 2,
    },
    "a Firefox profile": {"meta": {"version": 27}, "libs": [], "threads": []},
    "a Proton profile": [{"children": [], "frame": {"name": "ROOT"}, "metrics": {}}],
    "the manifest of a run": {"schema_version": 1, "provenance": {}, "frames": {}},
}

TABLES = {
    "a rocpd database": (f"rocpd_metadata{GUID}", f"rocpd_kernel_dispatch{GUID}"),
    "an rpd database": ("rocpd_metadata", "rocpd_api", "rocpd_op", "rocpd_string"),
    "a hipprof database": ("SUMMARY", "STR_TABLE", "HIP_1_42", "HIPOPS_1_42"),
    "a rocprof database": ("COPY", "KERN", "HIP", "OPS"),
    "an Nsight Systems database": ("StringIds", "CUPTI_ACTIVITY_KIND_KERNEL"),
    "an SQLite database": ("users",),
}

LINES = {
    "rocprofv3 CSV": (
        '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp"',
        "Guid,Kind,Agent_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp",
        '"Correlation_Id","Dispatch_Id","Kernel_Name","Counter_Name","Counter_Value"',
        '"Node_Id","Logical_Node_Id","Agent_Type","Cpu_Cores_Count"',
    ),
    "CSV of rocprof or hipprof": (
        '"Index","KernelName","gpu-id","queue-id","pid","tid","BeginNs","EndNs"',
        "kernel-name,dispatch,gpu-id,queue-id,tid,grd,wgr,time,SQ_WAVES",
    ),
    "a table of totals by rocprof or hipprof": (
        '"Name","Calls","TotalDurationNs","AverageNs","Percentage"',
    ),
    "a table of Nsight Systems or Nsight Compute": (
        "Time (%),Total Time (ns),Instances,Avg (ns),Name",
        '"ID","Process ID","Kernel Name","Metric Name","Metric Value"',
    ),
    "stacks for a flame graph": ("train.py: main;model.py: forward;aten::add 1234",),
}

BYTES = {
    "a CUDA memory snapshot": (
        pickle.dumps({"segments": [], "device_traces": []}),
        b"<!DOCTYPE html><script src='MemoryViz.js'></script>",
    ),
    "an Nsight Compute report": (b"NVR\x00\x10\x00\x00\x00",),
    "an Nsight Systems report": (b"\x01\x00\x00\x00QDSTRM\x00\x00",),
    "a web page": (b"<!DOCTYPE html>\n<html>", b"\n<html lang='en'>", b"<!-- saved -->"),
    "a pointer of Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d",),
    "a PyTorch checkpoint": (
        archive("archive/data.pkl"),
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.",
    ),
    "a NumPy file": (archive("x.npy"), b"\x93NUMPY\x01\x00v\x00"),
    "a zip archive": (archive("trace.json"), b"PK\x05\x06" + bytes(18)),
    "a tar archive": (b"trace.json".ljust(257, b"\x00") + b"ustar\x0000",),
    "compressed twice": (gzip.compress(b"{}"),),
    "a Parquet file": (b"PAR1\x15\x04",),
    "a program or library": (b"\x7fELF\x02\x01",),
    "a Python pickle": (pickle.dumps({"a": 1}), pickle.dumps([1], protocol=2)),
    "nothing but zeros": (bytes(4096),),
    "an XLA profile (xplane)": (XPLANE,),
    "a pprof profile": (PPROF,),
    "a Perfetto trace": (PERFETTO,),
}


def samples(folder):
    yield from ((name, as_json(value)) for name, value in JSON.items())
    yield from ((name, f"{line}\n1,2\n".encode()) for name in LINES for line in LINES[name])
    yield from ((name, content) for name in BYTES for content in BYTES[name])
    for number, (name, tables) in enumerate(TABLES.items()):
        inside = folder / str(number)
        inside.mkdir()
        yield name, database(inside, *tables)


def test_every_format_is_recognised_by_a_sample_of_it(tmp_path):
    seen = list(samples(tmp_path))
    assert [(name, name_of(content)) for name, content in seen] == [
        (name, name) for name, _ in seen
    ]
    assert {name for name, _ in seen} == {one.name for one in FORMATS}


def test_every_format_that_cannot_be_read_has_a_hint():
    assert all(one.hint or one.name == KINETO for one in FORMATS)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "nodes"},
        {"name": "rocprofiler-sdk-tool"},
        {"name": "<!DOCTYPE html><html>"},
        {"name": '"cat": "HIPOPS"'},
        {"name": "chakra"},
        {"name": "Nsight Systems\x00QDSTRM"},
        {"name": "x", "args": {"schema": "1.0.2-chakra", "nodes": [], "$schema": "speedscope"}},
        {"name": "x", "args": {"segments": [], "device_traces": [], "BeginNs": "5"}},
        {"name": "x", "cat": "kernel", "args": {"cat": "HIP"}},
    ],
)
def test_a_kineto_trace_may_speak_of_anything(change):
    events = [EVENT, EVENT | change]
    assert name_of(as_json({"schemaVersion": 1, "traceEvents": events})) == KINETO
    assert name_of(as_json(events)) == KINETO
    assert name_of(as_json({"nodes": 1, "meta": 2, "traceEvents": events})) == KINETO


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + as_json(JSON[KINETO]),
        b"\r\n  " + as_json(JSON[KINETO]),
        b'{"traceEvents": []}',
        b'{"traceEvents":\n [{"ph": "X", "name": "\xff\xfe\x01',
        b'{"basePath": "C:\\", "traceEvents": [{"ph": "X"}]}',
        b'{"basePath": "C:\\", "end": "}", "traceEvents": [{"ph": "X"}]}',
        b'{"schemaVersion": 1, "deviceProp',
        b'{"schemaVersion": 1, "deviceProperties": [{"id": 0,',
        b'{"metadata": {"a": "' + b"x" * (2 << 20) + b'"}, "traceEvents": [{"ph": "X"}]}',
        b'{"metadata": [' + b'{"a": [1]}, ' * 200_000 + b'0], "traceEvents": [{"ph": "X"}]}',
        b'{"metadata": "' + b"x" * BLOCK,
        b"[" + as_json(EVENT) + b",",
        b'[{"name": "x", "ph": "X", "args": {"children": [',
    ],
    ids=lambda content: repr(content[:24]),
)
def test_a_kineto_trace_is_recognised_cut_damaged_or_with_its_events_late(content):
    assert name_of(content[:BLOCK]) == KINETO


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"42",
        b"[1, 2, 3]",
        b"[]",
        b"{}",
        b'{"schemaVersion": 1}',
        b'{"model": {"traceEvents": 1}}',
        b"print('\"traceEvents\": [')",
        b"a,b,c\n1,2,3\n",
        b"Nsight Systems is a profiler.\n",
        bytes(range(1, 200)),
    ],
)
def test_what_is_nothing_known_is_not_guessed(content):
    assert recognise(content) is None


def test_hostile_text_takes_no_longer_than_a_pass():
    # Without possessive patterns, or a bound, each of these takes hours.
    half = BLOCK // 2
    for content in (
        b'{"' + b'\\"' * half,
        b'{"' + b"\\" * BLOCK,
        b"[" * BLOCK,
        b'{"a"' + b" " * BLOCK,
        b"a;" * half,
        b"SQLite format 3\x00" + b"CREATE TABLE " * (BLOCK // 13),
        b"\x0a\x02\x08\x01" * (BLOCK // 4),
    ):
        recognise(content)


def recognised(path):
    try:
        with open_input(path) as source:
            return name_of(source.head)
    except FgtraceError as error:
        return error.kind


def test_no_shared_kineto_file_is_taken_for_something_else(shared):
    others = {
        "tl_rocprofv3_908_results_37MB.json.gz": "rocprofv3 JSON",
        "factorial_stopwatch.json": None,
        "empty.json": "empty",
        "no_traceEvents.json": None,
    }
    files = sorted((shared / "traces").rglob("*.json*"))
    files += sorted((shared / "hip-samples/kineto-rocm").iterdir())
    assert len(files) > 60
    for file in files:
        assert recognised(file) == others.get(file.name, KINETO), file.name
    for case in sorted((shared / "cases").glob("S*")):
        for file in case.glob("input.json*"):
            expected = "hipprof JSON" if case.name == "S20-hipprof-json" else KINETO
            assert recognised(file) == expected, case.name


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("hip-samples/rocprofv3-*-docs/*_trace.csv", "rocprofv3 CSV"),
        ("cases/S1[67]*/*.csv", "rocprofv3 CSV"),
        ("hip-samples/rocprofv3-*-docs/*_stats.csv", "a table of totals by rocprof or hipprof"),
        ("hip-samples/hipprof/*.csv", "a table of totals by rocprof or hipprof"),
        ("hip-samples/rocprof-v1/*/results.csv", "CSV of rocprof or hipprof"),
        ("hip-samples/rocprof-v1/*/results.json", "rocprof JSON"),
        ("hip-samples/rocprof-v1/*/results.db", "a rocprof database"),
        ("hip-samples/rocpd/*.db", "a rocpd database"),
        ("cases/S19*/input.db", "a rocpd database"),
    ],
)
def test_files_of_the_rocm_profilers_are_recognised(shared, pattern, name):
    files = list(shared.glob(pattern))
    assert files
    assert {recognised(file) for file in files} == {name}
