"""Launches by the API call that makes them: what they cost the host, and when the device begins."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.links import launches
from fgtrace.analysis.queues import queue_depths
from fgtrace.analysis.work import recorded_parts
from fgtrace.frames.trace import Trace

LAUNCHES = pl.Schema(
    {
        "api": pl.String,
        "count": pl.Int64,
        "host_time_ns": pl.Int64,
        # From the start of the call to the start of what it launched, a graph's first kernel; null
        # where no launch has a device row. Below 0 where the clocks of host and device disagree.
        "delay_median_ns": pl.Int64,
        "delay_p95_ns": pl.Int64,  # a delay that occurred
        "without_device_row": pl.Int64,  # null where the device was not recorded
        # Launched work of the same stream that was not done when the launch began; null as above.
        "queue_depth_median": pl.Int64,
        "queue_depth_max": pl.Int64,
    }
)


def launches_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each API call that starts kernels or graphs, the longest host time first.

    A call inside another that launches the same is not counted again.
    """
    keys = ["part", "correlation"]
    start, is_kernel = pl.col("start_ns"), pl.col("kind") == "kernel"
    work = trace.device_work.select(*keys, "kind", "start_ns")
    first = (
        work.filter(pl.col("correlation").is_not_null())
        .group_by(keys)
        .agg(first_ns=pl.coalesce(start.filter(is_kernel).min(), start.min()))
    )
    delay = pl.col("first_ns") - start
    silent = ~pl.col("owns_device_work") & pl.col("device_recorded")
    launched = launches(trace)
    depth = pl.col("queue_depth")
    return (
        launched.with_columns(queue_depths(trace, launched))
        .select("queue_depth", *keys, "name", "start_ns", "dur_ns", "owns_device_work")
        .join(first, on=keys, how="left")
        .join(recorded_parts(trace), on="part", how="left")
        .group_by(api=pl.col("name").cast(pl.String))
        .agg(
            count=pl.len(),
            host_time_ns=pl.col("dur_ns").sum(),
            delay_median_ns=delay.median().floor(),
            delay_p95_ns=delay.quantile(0.95, "higher"),
            queue_depth_median=depth.median().floor(),
            queue_depth_max=depth.max(),
            without_device_row=pl.when(pl.col("device_recorded").any()).then(silent.sum()),
        )
        .sort("host_time_ns", "api", descending=[True, False])
        .select(LAUNCHES.names())
        .cast(LAUNCHES)
    )
