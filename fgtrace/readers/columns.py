"""What is taken from an event of a Kineto trace, and the columns that it becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import msgspec
import polars as pl

from fgtrace.frames.schema import COPY_KIND, DEVICE_WORK, EVENTS, KIND
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

_KINDS_BY_PROCESS = {"CPU functions": "op", "CUDA functions": "kernel"}
"""Kinds where events have no category: what the profiler before Kineto wrote."""

PROFILER_CATEGORY = "Trace"
"""The category of the profiler's own marks."""

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
HIP_COPY_KINDS = {"0": "HtoH", "1": "HtoD", "2": "DtoH", "3": "DtoD"}
"""The values of `hipMemcpyKind`, as the arguments of a call have them."""

COMPLETE, BEGIN, END, COUNTER = "X", "B", "E", "C"
INSTANTS = ("i", "I", "R", COUNTER)
NO_EVENTS = ("M", "s", "t", "f")
"""Names of rows, and arrows between events."""

_WITH_ROWS = frozenset((COMPLETE, BEGIN, END, *INSTANTS))

_WITHOUT_ARGUMENTS = ("python_function",)
"""Categories of whose arguments nothing is taken; with Python stacks most events are of them."""


class Args(msgspec.Struct, gc=False):
    """The arguments that are taken. Each was met as a number and as text."""

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


class Event(msgspec.Struct, gc=False):
    """What is taken of an event; everything else is skipped without being kept."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    args: Args | list[Any] | str | int | float | bool | None = None


TYPED = pl.Schema(
    {
        "place": pl.UInt32(),  # in the file
        **{
            name: kind
            for name, kind in EVENTS.items()
            if name not in ("event_id", "rank", "depth", "parent_id")
        },
        "phase": pl.Categorical(),
        "copy_argument": pl.Categorical(),  # what an API call says of the copy's direction
    }
)
"""The columns of events before they are numbered and nested. `part` is the document of the file."""

ATTRIBUTES = pl.Schema(
    {
        "place": pl.UInt32(),
        "grid": pl.List(pl.Int64()),
        "block": pl.List(pl.Int64()),
        "registers": pl.Int64(),
        "shared_bytes": pl.Int64(),
    }
)
"""How kernels were launched, by their place in the file."""


@dataclass(frozen=True)
class Columns:
    """Some events as columns."""

    rows: pl.DataFrame
    """As the file has them; `typed` gives them a meaning."""
    attributes: pl.DataFrame
    phases: Counter[Any]
    """How many events there were of each phase, those without a row too."""


def columns_of(events: Sequence[Event], first: int, part: int) -> Columns:
    """Take the columns of events, of which the first has the place `first` in the file."""
    phases = [event.ph for event in events]
    try:
        counts = Counter(phases)
    except TypeError:  # a list or an object
        phases = [str(phase) for phase in phases]
        counts = Counter(phases)
    frames = []
    attributes = [ATTRIBUTES.to_frame()]
    all_places = pl.int_range(first, first + len(events), dtype=pl.UInt32, eager=True)
    for phase in counts.keys() & _WITH_ROWS:
        rows, places = _chosen(events, all_places, [found == phase for found in phases])
        bare = [event.cat in _WITHOUT_ARGUMENTS for event in rows]
        for without in set(bare):
            some, at = _chosen(rows, places, [is_bare is without for is_bare in bare])
            columns = _columns(some) | {"place": at}
            if phase not in INSTANTS:
                columns["dur_ns"] = _times([event.dur for event in some])
            if not without:
                args = [event.args if type(event.args) is Args else _NO_ARGS for event in some]
                columns |= _argument_columns(args)
                attributes.append(_attributes(at, args))
            frames.append(pl.DataFrame(columns).with_columns(phase=pl.lit(phase)))
    return Columns(
        rows=pl.concat(frames, how="diagonal").with_columns(part=pl.lit(part, pl.UInt32))
        if frames
        else pl.DataFrame(),
        attributes=pl.concat(attributes),
        phases=counts,
    )


def _chosen(
    events: Sequence[Event], places: pl.Series, wanted: list[bool]
) -> tuple[Sequence[Event], pl.Series]:
    if all(wanted):
        return events, places
    return list(compress(events, wanted)), places.filter(pl.Series(wanted, dtype=pl.Boolean))


_NO_ARGS = Args()


def _columns(events: Sequence[Event]) -> dict[str, pl.Series]:
    return {
        "source_category": _texts([event.cat for event in events]),
        "name": _texts([event.name for event in events]),
        "process": _labels([event.pid for event in events]),
        "thread": _labels([event.tid for event in events]),
        "start_ns": _times([event.ts for event in events]),
    }


def _argument_columns(args: Sequence[Args]) -> dict[str, pl.Series]:
    external = [arg.external_id for arg in args]
    old = [arg.old_external_id for arg in args]
    return {
        "device": _integers([arg.device for arg in args]),
        "stream": _integers([arg.stream for arg in args]),
        "correlation": _integers([arg.correlation for arg in args]),
        "external_id": _integers(
            [o if e is None else e for e, o in zip(external, old, strict=True)]
        ),
        "bytes": _integers([arg.bytes for arg in args]),
        "copy_argument": _texts([arg.kind for arg in args]),
    }


def _attributes(places: pl.Series, args: Sequence[Args]) -> pl.DataFrame:
    has_some = [arg.grid is not None or arg.registers is not None for arg in args]
    found = list(compress(args, has_some))
    return pl.DataFrame(
        {
            "place": places.filter(pl.Series(has_some, dtype=pl.Boolean)),
            "grid": _sizes([arg.grid for arg in found]),
            "block": _sizes([arg.block for arg in found]),
            "registers": _numbers([arg.registers for arg in found]),
            "shared_bytes": _numbers([arg.shared_bytes for arg in found]),
        },
        schema=ATTRIBUTES,
    )


def typed(rows: pl.DataFrame) -> pl.DataFrame:
    """Say what each row is, and put process, thread, device and stream where they belong."""
    rows = (
        pl.concat([_UNTYPED.to_frame(), rows], how="diagonal")
        .with_columns(pl.col("name").fill_null(""))
        .with_columns(pl.col(_REPEATING).cast(pl.Categorical))
        .with_columns(dur_ns=pl.when(pl.col("phase").is_in(INSTANTS)).then(0).otherwise("dur_ns"))
    )
    key = ["source_category", "name", "process"]
    rows = rows.join(_kinds(rows.select(key).unique()), on=key, how="left", nulls_equal=True)
    counter = pl.col("phase") == COUNTER
    rows = rows.with_columns(kind=pl.when(counter).then(pl.lit("counter", KIND)).otherwise("kind"))
    on_device = pl.col("kind").is_in(_ON_DEVICE)
    moved = pl.col("kind").is_in(["memcpy", "memset"])
    device = rows.filter(on_device).with_columns(
        thread=pl.lit(None, pl.Categorical),
        device=pl.coalesce("device", _number("process")),
        stream=pl.coalesce("stream", _number("thread")),
        bytes=pl.when(moved).then("bytes"),
        copy_kind=pl.when(pl.col("kind") == "memcpy").then(
            pl.coalesce("copy_kind", _copy_argument(), pl.lit("other", COPY_KIND))
        ),
    )
    host = rows.filter(~on_device).with_columns(
        device=pl.lit(None), stream=pl.lit(None), copy_kind=pl.lit(None)
    )
    return pl.concat([rows.select(TYPED.names()).cast(TYPED) for rows in (device, host)])


_REPEATING = ("source_category", "name", "process", "thread", "phase", "copy_argument")

_UNTYPED = pl.Schema(
    {
        name: pl.String() if name in _REPEATING else kind
        for name, kind in TYPED.items()
        if name not in ("kind", "copy_kind")
    }
    | {"device": pl.Int64()}
)


def _kinds(pairs: pl.DataFrame) -> pl.DataFrame:
    """Find kind and direction of copies for each category, name and process that there is."""
    category, name = pl.col("source_category").cast(pl.String), pl.col("name").cast(pl.String)
    process = pl.col("process").cast(pl.String)
    by_category = (
        pl.when(category.str.ends_with("_runtime"))
        .then(pl.lit("runtime"))
        .when(category.str.ends_with("_driver"))
        .then(pl.lit("driver"))
        .when((category == "cpu_instant_event") & (name == "[memory]"))
        .then(pl.lit("memory"))
        .when(category.is_null())
        .then(process.replace_strict(_KINDS_BY_PROCESS, default="other", return_dtype=pl.String))
        .otherwise(category.replace_strict(_KINDS, default="other", return_dtype=pl.String))
    )
    is_kernel = by_category == "kernel"
    uncategorised = is_kernel & category.is_null()
    kind = (
        pl.when(is_kernel & name.str.contains(_ROCM_COPY))
        .then(pl.lit("memcpy"))
        .when(is_kernel & name.str.contains(_ROCM_FILL))
        .then(pl.lit("memset"))
        .when(uncategorised & name.str.contains(r"^(?i)memcpy"))
        .then(pl.lit("memcpy"))
        .when(uncategorised & name.str.contains(r"^(?i)memset"))
        .then(pl.lit("memset"))
        # Older releases call the profiler's own step an operator.
        .when((by_category == "op") & name.str.starts_with("ProfilerStep#"))
        .then(pl.lit("range"))
        .otherwise(by_category)
        .cast(KIND)
    )
    copies = [
        pl.when(name.str.contains(pattern)).then(pl.lit(copy))
        for copy, pattern in _COPY_NAMES.items()
    ]
    return pairs.with_columns(kind=kind, copy_kind=pl.coalesce(copies).cast(COPY_KIND))


def _copy_argument() -> pl.Expr:
    argument = pl.col("copy_argument").cast(pl.String)
    return pl.when(argument.is_in(list(_COPY_NAMES))).then(argument).cast(COPY_KIND)


def _number(column: str) -> pl.Expr:
    """Read the number of a label: `7`, `0x0`, `stream 7`."""
    word = pl.col(column).cast(pl.String).str.extract(r"(\S+)\s*$")
    hexadecimal = word.str.extract(r"^0[xX]([0-9a-fA-F]+)$")
    return pl.coalesce(
        word.cast(pl.Int64, strict=False), hexadecimal.str.to_integer(base=16, strict=False)
    )


def _texts(values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(values, dtype=pl.String, strict=True)
    except TypeError:
        return pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)


def _labels(values: Sequence[Any]) -> pl.Series:
    """Make text of numbers and words."""
    try:
        return pl.Series(values, dtype=pl.Int64, strict=True).cast(pl.String)
    except (TypeError, OverflowError):
        return pl.Series([None if v is None else str(v) for v in values], dtype=pl.String)


def _times(values: Sequence[msgspec.Raw]) -> pl.Series:
    texts = b"\n".join(values).decode().split("\n")
    if len(texts) != len(values):  # what is no number can have line breaks
        texts = [bytes(value).decode() for value in values]
    return nanoseconds(texts)


def _integers(values: Sequence[Any]) -> pl.Series:
    try:
        return pl.Series(values, dtype=pl.Int64, strict=True)
    except (TypeError, OverflowError):
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
    """Make lists of three whole numbers; what is none is null."""
    # A series of lists takes 9 us a list to make, one of numbers much less.
    fits = [_is_size(value) for value in values]
    numbers = [number for value in compress(values, fits) for number in value]
    sizes = pl.Series(numbers, dtype=pl.Int64).reshape((-1, 3)).cast(pl.List(pl.Int64))
    fitting = pl.Series(fits, dtype=pl.Boolean)
    return sizes.gather(pl.select(pl.when(fitting).then(fitting.cum_sum() - 1)).to_series())


def _is_size(value: Any) -> bool:
    return (
        type(value) is list
        and len(value) == 3
        and all(type(number) is int and 0 <= number < 2**63 for number in value)
    )
