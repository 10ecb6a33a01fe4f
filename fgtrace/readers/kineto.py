"""torch.profiler's Kineto traces: Chrome-trace JSON, plain, gzip or zstd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from fgtrace.frames.nesting import nest
from fgtrace.frames.notes import Note
from fgtrace.frames.provenance import Device, Provenance
from fgtrace.frames.schema import COPY_KIND, DEVICE_WORK, EVENTS, HOST_API, KIND, LAUNCH_ATTRIBUTES
from fgtrace.readers.inputs import read_bytes, truncated, unreadable
from fgtrace.readers.recorded import Recorded
from fgtrace.readers.times import nanoseconds

_KINDS = {
    "cpu_op": "op",
    "Operator": "op",
    "Runtime": "runtime",
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "Memcpy": "memcpy",
    "gpu_memset": "memset",
    "Memset": "memset",
    "user_annotation": "range",
    "gpu_user_annotation": "device_range",
    "cuda_sync": "sync_record",
    "python_function": "python",
    "overhead": "overhead",
}
"""Kinds by category; `…_runtime` and `…_driver` of any device are added by their ending."""

_ON_DEVICE = (*DEVICE_WORK, "device_range", "sync_record")

# ROCm 7.1 and older records copies and fills as kernels with names of its runtime.
_ROCM_COPY = r"^(__amd_rocclr_copy|MEMORY_COPY_|Copy(Device|Host)To(Device|Host)$)"
_ROCM_FILL = r"^(__amd_rocclr_fill|FillBuffer$)"

_COPY_NAMES = {
    "HtoD": r"\bHtoD\b|(?i)host_?to_?device",
    "DtoH": r"\bDtoH\b|(?i)device_?to_?host",
    "DtoD": r"\bDtoD\b|(?i)device_?to_?device",
    "HtoH": r"\bHtoH\b|(?i)host_?to_?host",
    "PtoP": r"\bPtoP\b",
}
_HIP_COPY_KINDS = {0: "HtoH", 1: "HtoD", 2: "DtoH", 3: "DtoD"}

_COMPLETE, _COUNTER = "X", "C"
_INSTANTS = ("i", "I", "R", _COUNTER)
_NO_EVENTS = ("M", "s", "t", "f")  # names of rows, and arrows between events

_OPTIONS = ("record_shapes", "with_stack", "with_modules", "with_flops", "profile_memory")
_PROPERTIES = (
    "computeMajor",
    "computeMinor",
    "maxThreadsPerBlock",
    "maxThreadsPerMultiprocessor",
    "numSms",
    "regsPerBlock",
    "regsPerMultiprocessor",
    "sharedMemPerBlock",
    "sharedMemPerBlockOptin",
    "sharedMemPerMultiprocessor",
    "totalGlobalMem",
    "warpSize",
)


class _Args(msgspec.Struct, gc=False):
    # Each of them was met as a number and as text.
    correlation: Any = None
    external_id: Any = msgspec.field(default=None, name="External id")
    old_external_id: Any = msgspec.field(default=None, name="external id")
    device: Any = None
    stream: Any = None
    bytes: Any = None
    kind: Any = None
    grid: Any = None
    block: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared_bytes: Any = msgspec.field(default=None, name="shared memory")


class _Event(msgspec.Struct, gc=False):
    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    args: _Args | list[Any] | str | int | float | bool | None = None


class _File(msgspec.Struct):
    # The allow-list: what else a file says about its making is never decoded.
    events: list[_Event] | None = msgspec.field(default=None, name="traceEvents")
    device_properties: Any = msgspec.field(default=None, name="deviceProperties")
    distributed: Any = msgspec.field(default=None, name="distributedInfo")
    cuda_driver_version: Any = None
    cuda_runtime_version: Any = None
    hip_driver_version: Any = None
    hip_runtime_version: Any = None
    record_shapes: Any = None
    with_stack: Any = None
    with_modules: Any = None
    with_flops: Any = None
    profile_memory: Any = None


def read_kineto(path: Path) -> Recorded:
    """Read one file that `torch.profiler` exported."""
    file = _decode(path, read_bytes(path))
    assert file.events is not None
    phases = Counter(str(event.ph) for event in file.events)
    raw = _raw([event for event in file.events if event.ph in (_COMPLETE, *_INSTANTS)])
    timed = raw.filter(pl.col("start_ns").is_not_null())
    rows = _typed(timed, _rank(file)).sort(
        "start_ns", pl.col("dur_ns").fill_null(0), "place", descending=[False, True, False]
    )
    rows = rows.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("event_id"))
    events = nest(rows).select(EVENTS.names()).cast(EVENTS)
    return Recorded(
        events=events,
        launch_attributes=_launch_attributes(rows),
        notes=_notes(phases, raw.height - timed.height),
        provenance=_provenance(file, events),
    )


def _decode(path: Path, data: bytes) -> _File:
    try:
        if data.lstrip()[:1] == b"[":
            return _File(events=msgspec.json.decode(data, type=list[_Event]))
        file = msgspec.json.decode(data, type=_File)
    except msgspec.ValidationError as error:
        raise _unknown(path, f"its JSON is no trace: {error}") from None
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            raise truncated(path) from None
        raise unreadable(
            f"{path} is not JSON that can be read: {error}",
            hint="a Kineto trace is what torch.profiler's export_chrome_trace writes",
            kind="not-json",
        ) from None
    if file.events is None:
        raise _unknown(path, "it has no traceEvents")
    return file


def _unknown(path: Path, reason: str) -> Exception:
    return unreadable(
        f"{path} is not a trace: {reason}",
        hint="a Kineto trace is what torch.profiler's export_chrome_trace writes",
        kind="unknown-format",
    )


def _raw(kept: Sequence[_Event]) -> pl.DataFrame:
    nothing = _Args()
    args = [event.args if isinstance(event.args, _Args) else nothing for event in kept]
    timeless = [event.ph in _INSTANTS for event in kept]
    return pl.DataFrame(
        {
            "place": range(len(kept)),
            "counter": pl.Series([event.ph == _COUNTER for event in kept], dtype=pl.Boolean),
            "source_category": _texts([event.cat for event in kept]),
            "name": _texts([event.name for event in kept]).fill_null(""),
            "process": _texts([event.pid for event in kept]),
            "thread": _texts([event.tid for event in kept]),
            "process_number": _integers([event.pid for event in kept]),
            "thread_number": _integers([event.tid for event in kept]),
            "start_ns": nanoseconds([bytes(event.ts).decode() for event in kept]),
            "dur_ns": nanoseconds(
                [
                    "0" if instant else bytes(event.dur).decode()
                    for event, instant in zip(kept, timeless, strict=True)
                ]
            ),
            "device": _integers([arg.device for arg in args]),
            "stream": _integers([arg.stream for arg in args]),
            "correlation": _integers([arg.correlation for arg in args]),
            "external_id": _integers(
                [
                    arg.old_external_id if arg.external_id is None else arg.external_id
                    for arg in args
                ]
            ),
            "bytes": _integers([arg.bytes for arg in args]),
            "copy_argument": _texts([arg.kind for arg in args]),
            "grid": _sizes([arg.grid for arg in args]),
            "block": _sizes([arg.block for arg in args]),
            "registers": _numbers([arg.registers for arg in args]),
            "shared_bytes": _numbers([arg.shared_bytes for arg in args]),
        }
    )


def _typed(raw: pl.DataFrame, rank: int | None) -> pl.DataFrame:
    on_device = pl.col("kind").is_in(_ON_DEVICE)
    is_copy = pl.col("kind") == "memcpy"
    moves_bytes = pl.col("kind").is_in(["memcpy", "memset"])
    rows = raw.with_columns(kind=_kind()).with_columns(
        part=pl.lit(0, pl.UInt32),
        rank=pl.lit(rank, pl.Int32),
        thread=pl.when(~on_device).then("thread"),
        device=pl.when(on_device).then(pl.coalesce("device", "process_number")),
        stream=pl.when(on_device).then(pl.coalesce("stream", "thread_number")),
        copy_kind=pl.when(is_copy).then(_copy_kind()),
    )
    # ROCm's device row can call a readback a device copy, or leave its size out: the API's own
    # arguments are right.
    api = (
        rows.filter(
            pl.col("kind").is_in(HOST_API),
            pl.col("name").str.starts_with("hip"),
            pl.col("correlation").is_not_null(),
        )
        .unique("correlation", keep="first", maintain_order=True)
        .select(
            "correlation",
            api_bytes="bytes",
            api_copy=pl.col("copy_argument")
            .cast(pl.Int64, strict=False)
            .replace_strict(_HIP_COPY_KINDS, default=None, return_dtype=COPY_KIND),
        )
    )
    return rows.join(api, on="correlation", how="left", maintain_order="left").with_columns(
        copy_kind=pl.when(is_copy).then(pl.coalesce("api_copy", "copy_kind")),
        bytes=pl.when(moves_bytes).then(pl.coalesce("bytes", "api_bytes")),
    )


def _kind() -> pl.Expr:
    category, name = pl.col("source_category"), pl.col("name")
    by_category = (
        pl.when(category.str.ends_with("_runtime"))
        .then(pl.lit("runtime"))
        .when(category.str.ends_with("_driver"))
        .then(pl.lit("driver"))
        .when((category == "cpu_instant_event") & (name == "[memory]"))
        .then(pl.lit("memory"))
        .otherwise(category.replace_strict(_KINDS, default="other", return_dtype=pl.String))
    )
    is_kernel = by_category == "kernel"
    return (
        pl.when("counter")
        .then(pl.lit("counter"))
        .when(is_kernel & name.str.contains(_ROCM_COPY))
        .then(pl.lit("memcpy"))
        .when(is_kernel & name.str.contains(_ROCM_FILL))
        .then(pl.lit("memset"))
        # Older releases call the profiler's own step an operator.
        .when((by_category == "op") & name.str.starts_with("ProfilerStep#"))
        .then(pl.lit("range"))
        .otherwise(by_category)
        .cast(KIND)
    )


def _copy_kind() -> pl.Expr:
    by_name = [
        pl.when(pl.col("name").str.contains(pattern)).then(pl.lit(copy))
        for copy, pattern in _COPY_NAMES.items()
    ]
    argument = pl.when(pl.col("copy_argument").is_in(list(_COPY_NAMES))).then("copy_argument")
    return pl.coalesce(*by_name, argument, pl.lit("other")).cast(COPY_KIND)


def _launch_attributes(rows: pl.DataFrame) -> pl.DataFrame:
    values = pl.col("grid", "block", "registers", "shared_bytes")
    return (
        rows.filter(pl.col("kind") == "kernel", pl.any_horizontal(values.is_not_null()))
        .select(LAUNCH_ATTRIBUTES.names())
        .cast(LAUNCH_ATTRIBUTES, strict=False)
    )


def _notes(phases: Counter[str], timeless: int) -> list[Note]:
    notes = []
    read = (_COMPLETE, *_INSTANTS, *_NO_EVENTS)
    left = {phase: count for phase, count in phases.items() if phase not in read}
    if left:
        listed = ", ".join(f"{count} of phase {phase!r}" for phase, count in sorted(left.items()))
        notes.append(
            Note("warning", "events-not-read", sum(left.values()), f"events not read: {listed}")
        )
    if timeless:
        notes.append(
            Note(
                "warning",
                "event-without-time",
                timeless,
                f"events left out, whose start cannot be read: {timeless}",
            )
        )
    return notes


def _rank(file: _File) -> int | None:
    rank = file.distributed.get("rank") if isinstance(file.distributed, dict) else None
    return rank if type(rank) is int else None


def _provenance(file: _File, events: pl.DataFrame) -> Provenance:
    options = {name: getattr(file, name) for name in _OPTIONS}
    return Provenance(
        profiler="kineto",
        profiler_options={
            name: bool(value) for name, value in options.items() if isinstance(value, int)
        },
        device=_device(file, events),
    )


def _device(file: _File, events: pl.DataFrame) -> Device | None:
    listed = file.device_properties if isinstance(file.device_properties, list) else []
    known = [entry for entry in listed if isinstance(entry, dict)]
    if not known:
        return None
    used = events.filter(pl.col("kind").is_in(DEVICE_WORK))["device"].drop_nulls()
    index = used.item(0) if len(used) else None
    chosen = next((entry for entry in known if entry.get("id") == index), known[0])
    properties = {
        **{name: chosen.get(name) for name in _PROPERTIES},
        "cuda_runtime_version": file.cuda_runtime_version,
        "hip_runtime_version": file.hip_runtime_version,
    }
    driver = file.cuda_driver_version or file.hip_driver_version
    name = chosen.get("name")
    return Device(
        kind="cuda",
        index=chosen.get("id") if type(chosen.get("id")) is int else None,
        name=name if isinstance(name, str) else None,
        driver=str(driver) if type(driver) is int else None,
        properties={key: value for key, value in properties.items() if type(value) is int},
    )


def _texts(values: Sequence[Any]) -> pl.Series:
    return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _integers(values: Sequence[Any]) -> pl.Series:
    return pl.Series([_integer(value) for value in values], dtype=pl.Int64)


def _integer(value: Any) -> int | None:
    if type(value) is str:
        # "7", "0x0", "stream 7"
        words = value.split()
        try:
            value = int(words[-1], 0) if words else None
        except ValueError:
            return None
    elif type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def _numbers(values: Sequence[Any]) -> pl.Series:
    # Text is not taken: a tracer that writes these as text was seen to make them up.
    return pl.Series([_integer(v) if type(v) is int else None for v in values], dtype=pl.Int64)


def _sizes(values: Sequence[Any]) -> pl.Series:
    return pl.Series(
        [
            value
            if isinstance(value, list) and value and all(_integer(v) == v for v in value)
            else None
            for value in values
        ],
        dtype=pl.List(pl.Int64),
    )
