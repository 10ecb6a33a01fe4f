"""Queues: how much launched work a stream had still to do when more was launched."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.trace import Trace

_STREAM = ("part", "device", "stream")


def queue_depths(trace: Trace, launched: pl.DataFrame) -> pl.Series:
    """Count for each launch the pieces of work of its stream that were launched and not done yet.

    `launched` has `event_id` and `start_ns` of API calls. The result, `queue_depth` (Int64), has a
    value for each, null for one that owns no device row. A graph launch counts as one piece.
    """
    links = trace.links.select("launch_event_id", event_id="device_event_id").drop_nulls()
    end = pl.col("start_ns") + pl.col("dur_ns").fill_null(0)
    work = (
        trace.device_work.select(*_STREAM, "event_id", end_ns=end)
        .join(links, on="event_id")
        .group_by(*_STREAM, "launch_event_id")
        .agg(pl.col("end_ns").max())
        .join(
            trace.api_calls.select(launch_event_id="event_id", launch_ns="start_ns"),
            on="launch_event_id",
        )
    )
    change = pl.concat(
        [
            work.select(*_STREAM, at_ns="launch_ns", change=1),
            work.select(*_STREAM, at_ns="end_ns", change=-1),
        ]
    )
    depth = change.sort("at_ns", "change").select(
        *_STREAM, "at_ns", queue_depth=pl.col("change").cum_sum().over(_STREAM)
    )
    asked = launched.select(
        launch_event_id="event_id", at_ns="start_ns", place=pl.int_range(pl.len())
    )
    # One launch of work on several streams has the depth of the fullest.
    found = (
        asked.join(work.select(*_STREAM, "launch_event_id"), on="launch_event_id")
        .sort("at_ns")
        .join_asof(depth, on="at_ns", by=_STREAM, allow_exact_matches=False, check_sortedness=False)
        .group_by("place")
        .agg(pl.col("queue_depth").fill_null(0).max().cast(pl.Int64).clip(0))
    )
    return asked.join(found, on="place", how="left", maintain_order="left")["queue_depth"]
