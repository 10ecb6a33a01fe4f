"""Operators by name: what each took on the host, and what it gave the device to do."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import INTERVAL, THREAD, around_in
from fgtrace.analysis.intervals import union_length
from fgtrace.analysis.links import launches
from fgtrace.analysis.work import work_by_owner
from fgtrace.frames.nesting import nest
from fgtrace.frames.trace import Trace

OPS = pl.Schema(
    {
        "name": pl.String,
        "count": pl.Int64,
        "self_host_ns": pl.Int64,  # without the operators inside; API calls are part of it
        "total_host_ns": pl.Int64,  # with them; a call inside one of the same name adds nothing
        # Of the work whose innermost operator it is. Null where the device was not recorded.
        "device_time_ns": pl.Int64,  # sum of kernels, copies and fills
        "kernel_count": pl.Int64,
        "launch_count": pl.Int64,  # kernels and graphs; null where the API was not recorded
        "median_ns": pl.Int64,  # of a call, with the operators inside
        "max_ns": pl.Int64,
    }
)


OPS_BY_SHAPE = pl.Schema(
    [
        *OPS.items(),
        ("shapes", pl.String),  # of the inputs, as the profiler wrote them; null: not recorded
        ("types", pl.String),  # of the inputs, the same
    ]
)


def ops_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each operator name, the longest host time of its own first.

    Host times of their own add up to the time in operators; threads are added up.
    """
    return _report(trace, _operators(trace), ["name"]).select(OPS.names()).cast(OPS)


def ops_by_shape_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each operator name, input shapes and types, as `ops_report` does."""
    # Profilers break long lists into lines.
    inputs = trace.op_attributes.select(
        "event_id",
        shapes=pl.col("input_shapes").str.replace_all(r"\s*\n\s*", " "),
        types=pl.col("input_types").str.replace_all(r"\s*\n\s*", " "),
    ).collect()
    ops = _operators(trace).join(inputs, on="event_id", how="left", maintain_order="left")
    rows = _report(trace, ops, ["name", "shapes", "types"])
    return rows.select(OPS_BY_SHAPE.names()).cast(OPS_BY_SHAPE)


def _operators(trace: Trace) -> pl.DataFrame:
    return nest(trace.events.filter(pl.col("kind") == "op").select(*INTERVAL, "name").collect())


def _report(trace: Trace, ops: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    duration = pl.col("dur_ns")
    rows = (
        ops.group_by(by)
        .agg(
            count=pl.len(),
            self_host_ns=pl.col("own_ns").sum(),
            median_ns=duration.median().floor(),
            max_ns=duration.max(),
        )
        .with_row_index("group")
    )
    ops = ops.join(rows.select("group", *by), on=by, nulls_equal=True, maintain_order="left")
    total = (
        union_length(ops, [*THREAD, "group"])
        .group_by("group")
        .agg(total_host_ns=pl.col("busy_ns").sum())
    )
    for found in (total, _device_work(trace, ops), _launches(trace, ops)):
        rows = rows.join(found, on="group", how="left")
    device, api = not trace.device_work.is_empty(), not trace.api_calls.is_empty()
    return (
        rows.with_columns(
            pl.col("total_host_ns").fill_null(0),
            pl.when(device).then(pl.col("device_time_ns", "kernel_count").fill_null(0)),
            pl.when(api).then(pl.col("launch_count").fill_null(0)),
        )
        .cast({"name": pl.String})
        .sort("self_host_ns", *by, descending=[True, *[False] * len(by)])
    )


def _device_work(trace: Trace, ops: pl.DataFrame) -> pl.DataFrame:
    return (
        work_by_owner(trace, pl.col("op_event_id"))
        .join(ops.select("group", "event_id"), on="event_id")
        .group_by("group")
        .agg(pl.col("device_time_ns", "kernel_count").sum())
    )


def _launches(trace: Trace, ops: pl.DataFrame) -> pl.DataFrame:
    groups = ops.select("group", outer_id="event_id")
    return (
        around_in(ops, launches(trace))
        .to_frame()
        .join(groups, on="outer_id")
        .group_by("group")
        .agg(launch_count=pl.len())
    )
