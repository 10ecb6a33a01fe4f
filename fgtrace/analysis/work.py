"""Device work: in which parts it was recorded, and what belongs to an event of the host."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.trace import Trace


def recorded_parts(trace: Trace) -> pl.DataFrame:
    """Select the parts with device work; `device_recorded` is true, and null after a left join."""
    return trace.device_work.select("part", device_recorded=True).unique()


def work_by_owner(trace: Trace, owner: pl.Expr) -> pl.DataFrame:
    """Add up the device work of each owner, which is an expression over `LINKS`.

    The result has the owner's `event_id`, `device_time_ns` (the sum of kernels, copies and fills)
    and `kernel_count`.
    """
    work = trace.device_work.select("kind", "dur_ns", device_event_id="event_id")
    return (
        trace.links.select("device_event_id", event_id=owner)
        .join(work, on="device_event_id")
        .group_by("event_id")
        .agg(
            device_time_ns=pl.col("dur_ns").sum(),
            kernel_count=(pl.col("kind") == "kernel").sum(),
        )
    )
