"""Phases: the parts of a call that have a meaning, and what each costs."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import around_in
from fgtrace.analysis.calls import (
    COUNTS,
    PHASE,
    call_ranges,
    call_work,
    counts,
    counts_or_zero,
)
from fgtrace.analysis.readbacks import waits
from fgtrace.frames.nesting import nest
from fgtrace.frames.trace import Trace

PHASES = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "phase": pl.String,
        "calls": pl.Int64,  # calls that have the phase, left-out ones included
        # Medians over those of them that are not left out.
        "kernel_count": pl.Int64,  # null, as the three below, where the device was not recorded
        "copy_count": pl.Int64,
        "readback_count": pl.Int64,
        "device_time_ns": pl.Int64,
        "host_time_ns": pl.Int64,  # on the call's thread, without the phases inside
        "waiting_ns": pl.Int64,  # of it: synchronise calls and blocking copies
        "rule": pl.String,  # range: an explicit range marks it; null: no rule does
    }
)

OTHER = "other"

_OLD_NAMES = {"scan": "prefix_scan", "readback": "length_readback"}


def phases_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each case, route and phase, in order of the phases' place in a call.

    Device work belongs to the phase around its launch. What a call does outside any phase is
    `other`, so that the host times of a call's phases add up to the call.
    """
    ranges = _phase_ranges(trace)
    key = ["call_id", "phase"]
    calls = trace.calls.select("part", "case", "route", "left_out", call_id="range_event_id")
    rows = (
        _host_times(trace, ranges)
        .join(_device_work(trace, ranges), on=key, how="full", coalesce=True)
        .join(_waiting(trace, ranges), on=key, how="left")
        .join(calls, on="call_id")
        .with_columns(pl.col("host_time_ns", "waiting_ns").fill_null(0))
    )
    medians = pl.col(*COUNTS, "host_time_ns", "waiting_ns").filter(~pl.col("left_out")).median()
    return (
        counts_or_zero(trace, rows)
        .group_by("case", "route", "phase")
        .agg(medians.floor(), pl.col("offset_ns").min(), calls=pl.len())
        .with_columns(rule=pl.when(pl.col("phase") != OTHER).then(pl.lit("range")))
        .sort("case", "route", pl.col("phase") == OTHER, "offset_ns", "phase", nulls_last=True)
        .select(PHASES.names())
        .cast(PHASES)
    )


def _phase_ranges(trace: Trace) -> pl.DataFrame:
    phase = pl.col("name").cast(pl.String).str.extract(PHASE, 1).replace(_OLD_NAMES)
    names = trace.ranges.select(pl.col("name").unique()).with_columns(phase=phase)
    return trace.ranges.join(names.drop_nulls("phase"), on="name", maintain_order="left")


def _host_times(trace: Trace, ranges: pl.DataFrame) -> pl.DataFrame:
    # A row for each call and phase on the call's thread, and one for what is left of the call.
    owned = (
        ranges.with_columns(
            call_id=around_in(call_ranges(trace), ranges),
            around=nest(ranges)["parent_id"],
        )
        .filter(pl.col("call_id").is_not_null())
        .join(trace.calls.select(call_id="range_event_id", call_start_ns="start_ns"), on="call_id")
    )
    inside = owned.group_by(event_id="around").agg(inside_ns=pl.col("dur_ns").sum())
    marked = owned.join(inside, on="event_id", how="left").select(
        "call_id",
        "phase",
        host_time_ns=pl.col("dur_ns") - pl.col("inside_ns").fill_null(0),
        offset_ns=pl.col("start_ns") - pl.col("call_start_ns"),
    )
    covered = marked.group_by("call_id").agg(covered_ns=pl.col("host_time_ns").sum())
    rest = trace.calls.join(
        covered, left_on="range_event_id", right_on="call_id", how="left"
    ).select(
        call_id="range_event_id",
        phase=pl.lit(OTHER),
        host_time_ns=pl.col("dur_ns") - pl.col("covered_ns").fill_null(0),
        offset_ns=pl.lit(None, pl.Int64),
    )
    return (
        pl.concat([marked, rest])
        .group_by("call_id", "phase")
        .agg(pl.col("host_time_ns").sum(), pl.col("offset_ns").min())
    )


def _device_work(trace: Trace, ranges: pl.DataFrame) -> pl.DataFrame:
    work = call_work(trace)
    starters = work.select(event_id="launch_event_id").unique()
    starts = trace.api_calls.join(starters, on="event_id", how="semi", maintain_order="left")
    phases = _phases_around(starts, ranges).rename({"event_id": "launch_event_id"})
    return work.join(phases, on="launch_event_id").group_by("call_id", "phase").agg(counts())


def _waiting(trace: Trace, ranges: pl.DataFrame) -> pl.DataFrame:
    waiting = trace.api_calls.join(waits(trace), on="event_id", how="semi", maintain_order="left")
    return (
        waiting.with_columns(call_id=around_in(call_ranges(trace), waiting))
        .join(_phases_around(waiting, ranges), on="event_id")
        .filter(pl.col("call_id").is_not_null())
        .group_by("call_id", "phase")
        .agg(waiting_ns=pl.col("dur_ns").sum())
    )


def _phases_around(host_events: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    names = ranges.select("phase", outer_id="event_id")
    return (
        host_events.select("event_id", outer_id=around_in(ranges, host_events))
        .join(names, on="outer_id", how="left")
        .select("event_id", pl.col("phase").fill_null(OTHER))
    )
