"""Kernels by name: how often each ran and for how long."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.trace import Trace

KERNELS = pl.Schema(
    {
        "name": pl.String,
        "count": pl.Int64,
        "total_ns": pl.Int64,
        "share": pl.Float64,  # of the time of kernels, copies and fills; 0 to 1
        "min_ns": pl.Int64,
        "median_ns": pl.Int64,
        "p95_ns": pl.Int64,  # a duration that occurred
        "max_ns": pl.Int64,
    }
)


def kernels_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each kernel name, the longest total first."""
    work = trace.device_work
    device_time = work["dur_ns"].sum()
    duration = pl.col("dur_ns")
    return (
        work.filter(pl.col("kind") == "kernel")
        .group_by(pl.col("name").cast(pl.String))
        .agg(
            count=pl.len(),
            total_ns=duration.sum(),
            min_ns=duration.min(),
            median_ns=duration.median().floor(),
            p95_ns=duration.quantile(0.95, "higher"),
            max_ns=duration.max(),
        )
        .with_columns(share=pl.col("total_ns") / device_time if device_time else 0.0)
        .sort("total_ns", "name", descending=[True, False])
        .select(KERNELS.names())
        .cast(KERNELS)
    )
