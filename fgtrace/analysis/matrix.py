"""The matrix: what each route took for each case, by the stopwatch and by the profile."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.calls import calls_report
from fgtrace.analysis.spread import spreads
from fgtrace.analysis.stopwatch import batches, full_variants, undisturbed
from fgtrace.analysis.sweeps import IN_ORDER
from fgtrace.frames.trace import Trace

MATRIX = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "result": pl.String,  # ok, or what was wrong; null where nobody compared
        "generations": pl.Int64,  # of the stopwatch
        "batches": pl.Int64,  # of mode throughput, by the stopwatch
        "throughput_ns": pl.Int64,  # a call, back to back
        "throughput_low_ns": pl.Int64,
        "throughput_high_ns": pl.Int64,
        "enqueue_ns": pl.Int64,  # a call, back to back, without the final wait
        "enqueue_low_ns": pl.Int64,
        "enqueue_high_ns": pl.Int64,
        "latency_ns": pl.Int64,  # a call with a wait after it
        "latency_low_ns": pl.Int64,
        "latency_high_ns": pl.Int64,
        "graph_ns": pl.Int64,  # a replay of the captured call, back to back
        "overhead_factor": pl.Float64,  # profiled over unprofiled call, in the same process
        "kernel_count": pl.Int64,  # a call, like those below; null: no device activity recorded
        "copy_count": pl.Int64,
        "readback_count": pl.Int64,
        "device_time_ns": pl.Int64,
    }
)

_ROW = ("case", "route")


def matrix_report(trace: Trace) -> pl.DataFrame:
    """Report a row a case and route, in the order of their names and sizes.

    Stopwatch values come from processes that no profiler ever ran in, and are medians over
    generations of the median within. Of a factorial only the variant with every part on counts: it
    is the one that is profiled. The overhead factor is the median over profiled processes,
    counts and device time are medians over the recorded calls.
    """
    timed = _timed(trace)
    throughput = undisturbed(timed)
    graph = timed.filter((pl.col("mode") == "graph") & pl.col("plain"))
    columns = [
        _results(trace.witnesses),
        throughput.group_by(_ROW).agg(
            generations=pl.col("generation").n_unique(), batches=pl.len()
        ),
        _spreads(throughput, "call_ns", "throughput"),
        _spreads(throughput, "call_enqueue_ns", "enqueue"),
        _spreads(undisturbed(timed, "latency"), "call_ns", "latency"),
        _spreads(graph, "call_ns", "graph"),
        _overheads(timed),
        _device(calls_report(trace)),
    ]
    report = pl.concat([part.select(_ROW) for part in columns]).unique()
    for part in columns:
        report = report.join(part, on=_ROW, how="left", nulls_equal=True)
    return report.select(pl.col(name).cast(dtype) for name, dtype in MATRIX.items()).sort(
        *IN_ORDER, "route", nulls_last=True
    )


def call_times(trace: Trace) -> pl.DataFrame:
    """Report `case`, `route` and the `throughput` columns of the matrix alone."""
    return _spreads(undisturbed(_timed(trace)), "call_ns", "throughput")


def overhead_factors(trace: Trace) -> pl.DataFrame:
    """Report the `overhead_factor` of the matrix alone, by `case` and `route`."""
    return _overheads(_timed(trace)).drop_nulls("overhead_factor").sort(_ROW)


def _timed(trace: Trace) -> pl.DataFrame:
    return batches(full_variants(trace.samples))


def _results(witnesses: pl.DataFrame) -> pl.DataFrame:
    """Take one result a case and route: the worst that any of its processes saw."""
    return (
        witnesses.filter(pl.col("witness") == "result")
        # "wrong…" comes before "not run", and "ok" after everything.
        .sort(pl.col("value") == "ok", "value", descending=[False, True])
        .group_by(_ROW, maintain_order=True)
        .agg(result=pl.col("value").first())
    )


def _spreads(samples: pl.DataFrame, value: str, metric: str) -> pl.DataFrame:
    return spreads(samples, _ROW, value, (f"{metric}_ns", f"{metric}_low_ns", f"{metric}_high_ns"))


def _overheads(timed: pl.DataFrame) -> pl.DataFrame:
    plain = pl.col("plain") & (pl.col("mode") == "throughput")
    medians = timed.group_by(*_ROW, "generation", "process").agg(
        profiled=pl.col("call_ns").filter(~pl.col("plain")).median(),
        unprofiled=pl.col("call_ns").filter(plain).median(),
    )
    ratio = pl.col("profiled") / pl.col("unprofiled")
    return medians.group_by(_ROW).agg(overhead_factor=ratio.median())


def _device(calls: pl.DataFrame) -> pl.DataFrame:
    # A count is one that some call had: of 4 and 5 the median is 4, not 4.5.
    counts = pl.col("kernel_count", "copy_count", "readback_count")
    return (
        calls.filter(~pl.col("left_out"), pl.col("case").is_not_null())
        .group_by(_ROW)
        .agg(
            counts.quantile(0.5, interpolation="lower"),
            pl.col("device_time_ns").median().round(),
        )
    )
