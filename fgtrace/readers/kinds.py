"""What each event of a trace file is, and which process, thread, device and stream it is on."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.schema import COPY_KIND, DEVICE_WORK, EVENTS, HOST_API, KIND
from fgtrace.readers.marks import Begin, Complete, Counter, End, Timed

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

_HIP_COPY_KINDS = {"0": "HtoH", "1": "HtoD", "2": "DtoH", "3": "DtoD"}
"""The values of `hipMemcpyKind`, as the arguments of a call have them."""

TYPED = pl.Schema(
    {
        "place": pl.UInt32(),
        **{
            name: kind
            for name, kind in EVENTS.items()
            if name not in ("event_id", "rank", "depth", "parent_id")
        },
    }
)
"""Events before they are numbered and nested: `place` is their place in the file, `part` the
document of the file."""

HIP_COPIES = pl.Schema(
    {
        "place": pl.UInt32(),
        "correlation": pl.Int64(),
        "api_bytes": pl.Int64(),
        "api_copy": COPY_KIND,
    }
)
"""What HIP's API calls say of the copies that they start."""


def typed_python(rows: pl.DataFrame, mark: type[Timed]) -> pl.DataFrame:
    """Do what `typed` does for rows that are known to be Python frames."""
    return _labelled(rows, mark).with_columns(kind=pl.lit("python", KIND))


def _labelled(rows: pl.DataFrame, mark: type[Timed]) -> pl.DataFrame:
    if not issubclass(mark, (Complete, Begin, End)):
        rows = rows.with_columns(dur_ns=pl.lit(0, pl.Int64))
    return rows.with_columns(
        pl.col("source_category", "process", "thread").cast(pl.Categorical),
        pl.col("name").fill_null("").cast(pl.Categorical),
    )


def typed(rows: pl.DataFrame, mark: type[Timed]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Say what each row is; give the rows, and the `HIP_COPIES` among them.

    `rows` has the columns that `fgtrace.readers.columns` takes of marks of one phase. The result
    has those of `TYPED` that such rows can have.
    """
    rows = _labelled(rows, mark)
    key = ["source_category", "name", "process"]
    rows = rows.join(_kinds(rows.select(key).unique()), on=key, how="left", nulls_equal=True)
    if mark is Counter:
        rows = rows.with_columns(kind=pl.lit("counter", KIND))
    if "copy_argument" not in rows.columns:
        rows = rows.with_columns(_NO_ARGUMENTS)
    hip = _hip_copies(rows)
    on_device = pl.col("kind").is_in(_ON_DEVICE)
    is_copy = pl.col("kind") == "memcpy"
    if not rows.filter(on_device, pl.col("stream").is_null()).is_empty():
        rows = rows.with_columns(stream=pl.coalesce("stream", _number("thread")))
    argument = pl.col("copy_argument")
    named = pl.when(argument.is_in(list(_COPY_NAMES))).then(argument).cast(COPY_KIND)
    rows = rows.with_columns(
        thread=pl.when(~on_device).then("thread"),
        device=pl.when(on_device).then(pl.coalesce("device", "process_number")),
        stream=pl.when(on_device).then("stream"),
        bytes=pl.when(is_copy | (pl.col("kind") == "memset")).then("bytes"),
        copy_kind=pl.when(is_copy).then(
            pl.coalesce("copy_kind", named, pl.lit("other", COPY_KIND))
        ),
    )
    return rows.select(
        pl.col(name).cast(kind, strict=name != "device")
        for name, kind in TYPED.items()
        if name in rows.columns
    ), hip


_NO_ARGUMENTS = tuple(
    pl.lit(None, pl.String if name == "copy_argument" else pl.Int64).alias(name)
    for name in ("device", "stream", "correlation", "external_id", "bytes", "copy_argument")
)


def _hip_copies(rows: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.filter(
            pl.col("bytes").is_not_null() | pl.col("copy_argument").is_not_null(),
            pl.col("kind").is_in(HOST_API),
            pl.col("correlation").is_not_null(),
        )
        .filter(pl.col("name").cast(pl.String).str.starts_with("hip"))
        .select(
            "place",
            "correlation",
            api_bytes="bytes",
            api_copy=pl.col("copy_argument").replace_strict(
                _HIP_COPY_KINDS, default=None, return_dtype=COPY_KIND
            ),
        )
    )


def _kinds(combinations: pl.DataFrame) -> pl.DataFrame:
    """Find kind, direction of a copy and number of the process for each combination there is."""
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
    return combinations.with_columns(
        kind=kind,
        copy_kind=pl.coalesce(copies).cast(COPY_KIND),
        process_number=_number("process"),
    )


def _number(column: str) -> pl.Expr:
    """Read the number of a label: `7`, `0x0`, `stream 7`."""
    word = pl.col(column).cast(pl.String).str.extract(r"(\S+)\s*$")
    hexadecimal = word.str.extract(r"^0[xX]([0-9a-fA-F]+)$")
    return pl.coalesce(
        word.cast(pl.Int64, strict=False), hexadecimal.str.to_integer(base=16, strict=False)
    )
