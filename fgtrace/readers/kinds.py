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

_STEPS = {"range": "^ProfilerStep#"}
"""Older releases call the profiler's own step an operator."""

_ROCM_WORK = {
    "memcpy": r"^(__amd_rocclr_copy|MEMORY_COPY_|Copy(Device|Host)To(Device|Host)$)",
    "memset": r"^(__amd_rocclr_fill|FillBuffer$)",
}
"""ROCm 7.1 and older records copies and fills as kernels with names of its runtime."""

_KINDS_BY_NAME = {
    "cpu_instant_event": {"memory": r"^\[memory\]$"},
    "cpu_op": _STEPS,
    "Operator": _STEPS,
    "kernel": _ROCM_WORK,
    "Kernel": _ROCM_WORK,
    None: {"memcpy": "^Memcpy", "memset": "^Memset"},
}
"""Kinds of those rows of a category that have such a name."""

_ON_DEVICE = (*DEVICE_WORK, "device_range", "sync_record")

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
        **{name: kind for name, kind in EVENTS.items() if name not in ("event_id", "rank")},
    }
)
"""Events before they are numbered and nested: `place` is their place in the file, `part` the
document of the file."""

HIP_COPIES = pl.Schema(
    {
        "part": pl.UInt32(),
        "place": pl.UInt32(),
        "correlation": pl.Int64(),
        "api_bytes": pl.Int64(),
        "api_copy": COPY_KIND,
    }
)
"""What HIP's API calls say of the copies that they start."""


def typed(rows: pl.DataFrame, mark: type[Timed]) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """Say what each row is; give the rows, and the `HIP_COPIES` among them, in some frames.

    `rows` has the columns that `fgtrace.readers.columns` takes of marks of one phase. The results
    have those of `TYPED` that their rows can have.
    """
    if not issubclass(mark, (Complete, Begin, End)):
        rows = rows.with_columns(dur_ns=pl.lit(0, pl.Int64))
    rows = rows.with_columns(
        pl.col("source_category", "process", "thread").cast(pl.Categorical),
        pl.col("name").fill_null("").cast(pl.Categorical),
    )
    frames = []
    copies = []
    for of_category in _divided_by_category(rows):
        kinds = pl.lit("counter", KIND) if mark is Counter else _kind(of_category)
        for of_kind in _divided(of_category.with_columns(kind=kinds), "kind"):
            kind = of_kind["kind"][0]
            if kind in HOST_API and "bytes" in of_kind.columns:
                copies.append(_hip_copies(of_kind))
            frames.append(_on_device(of_kind) if kind in _ON_DEVICE else _on_host(of_kind))
    return frames, copies


def _divided_by_category(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Divide rows by category; those of categories without a meaning stay together."""
    strange = [
        category
        for category in rows["source_category"].unique().drop_nulls()
        if category not in _KINDS_BY_NAME and _kind_of_category(category) == "other"
    ]
    if len(strange) < 2:
        return _divided(rows, "source_category")
    is_strange = pl.col("source_category").is_in(strange, nulls_equal=True)
    known = rows.filter(~is_strange)
    return [rows.filter(is_strange), *known.partition_by("source_category")]


def _divided(rows: pl.DataFrame, column: str) -> list[pl.DataFrame]:
    # Most often there is nothing to divide, and dividing copies.
    return [rows] if rows[column].n_unique() == 1 else rows.partition_by(column)


def _kind_of_category(category: str) -> str:
    ending = category.rpartition("_")[2]
    by_ending = ending if ending in HOST_API and ending != category else "other"
    return _KINDS.get(category, by_ending)


def _kind(rows: pl.DataFrame) -> pl.Expr:
    """Find the kinds of rows of one category, or of several without a meaning."""
    category = rows["source_category"][0]
    if category is None:
        process = pl.col("process").cast(pl.String)
        kind = process.replace_strict(_KINDS_BY_PROCESS, default="other", return_dtype=KIND)
    else:
        kind = pl.lit(_kind_of_category(category), KIND)
    by_name = _KINDS_BY_NAME.get(category, {})
    names = rows["name"].unique().cast(pl.String) if by_name else pl.Series(dtype=pl.String)
    for named_kind, pattern in by_name.items():
        found = names.filter(names.str.contains(pattern)).cast(pl.Categorical)
        if len(found):
            named = pl.col("name").is_in(found.implode())
            kind = pl.when(named).then(pl.lit(named_kind, KIND)).otherwise(kind)
    return kind


def _on_host(rows: pl.DataFrame) -> pl.DataFrame:
    return _with_types(rows.drop("device", "stream", "bytes", strict=False))


def _on_device(rows: pl.DataFrame) -> pl.DataFrame:
    """Find device and stream in process and thread where no argument has them."""
    for column, label in (("device", "process"), ("stream", "thread")):
        if column not in rows.columns:
            rows = rows.with_columns(_number(label).alias(column))
        elif rows[column].null_count():
            rows = rows.with_columns(pl.coalesce(column, _number(label)))
    kind = rows["kind"][0]
    if kind == "memcpy":
        rows = rows.with_columns(copy_kind=_copy_kind("copy_argument" in rows.columns))
    if kind not in ("memcpy", "memset"):
        rows = rows.drop("bytes", strict=False)
    return _with_types(rows.drop("thread"))


def _copy_kind(has_argument: bool) -> pl.Expr:
    name = pl.col("name").cast(pl.String)
    by_name = [
        pl.when(name.str.contains(pattern)).then(pl.lit(copy))
        for copy, pattern in _COPY_NAMES.items()
    ]
    argument = pl.col("copy_argument") if has_argument else pl.lit(None, pl.String)
    by_argument = pl.when(argument.is_in(list(_COPY_NAMES))).then(argument)
    return pl.coalesce(*by_name, by_argument, pl.lit("other")).cast(COPY_KIND)


def _with_types(rows: pl.DataFrame) -> pl.DataFrame:
    # A number that a column cannot hold is not known.
    return rows.select(
        pl.col(name).cast(kind, strict=False)
        for name, kind in TYPED.items()
        if name in rows.columns
    )


def _hip_copies(rows: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.filter(
            pl.col("bytes").is_not_null() | pl.col("copy_argument").is_not_null(),
            pl.col("correlation").is_not_null(),
        )
        .filter(pl.col("name").cast(pl.String).str.starts_with("hip"))
        .select(
            "part",
            "place",
            "correlation",
            api_bytes="bytes",
            api_copy=pl.col("copy_argument").replace_strict(
                _HIP_COPY_KINDS, default=None, return_dtype=COPY_KIND
            ),
        )
    )


def _number(column: str) -> pl.Expr:
    """Read the number of a label: `7`, `0x0`, `stream 7`."""
    word = pl.col(column).cast(pl.String).str.extract(r"(\S+)\s*$")
    hexadecimal = word.str.extract(r"^0[xX]([0-9a-fA-F]+)$")
    return pl.coalesce(
        word.cast(pl.Int64, strict=False), hexadecimal.str.to_integer(base=16, strict=False)
    )
