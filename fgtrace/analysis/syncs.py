"""Waits by the API call and the operator that waits, and what the device did meanwhile."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import around, names_of
from fgtrace.analysis.calls import owning_calls
from fgtrace.analysis.intervals import covered_length, outermost
from fgtrace.analysis.names import matching
from fgtrace.analysis.pieces import wait_parts
from fgtrace.analysis.readbacks import readbacks, waits
from fgtrace.analysis.work import recorded_parts
from fgtrace.frames.trace import Trace

SYNCS = pl.Schema(
    {
        "api": pl.String,
        "op": pl.String,  # the innermost operator around the call; null where there is none
        "class": pl.String,  # sync, blocking_copy, event_wait
        "count": pl.Int64,
        "host_time_ns": pl.Int64,
        "device_idle_ns": pl.Int64,  # of it, with no device work; null where none was recorded
        "bytes": pl.Int64,  # of the copies waited for; null where not known
        "call_site": pl.String,  # the innermost Python frame around the longest of them
        # Of the host time, in calls: for what was launched before the call, ...
        "earlier_ns": pl.Int64,  # null where any is outside of calls, or no device was recorded
        "this_ns": pl.Int64,  # ... for what the call launched, ...
        "wake_ns": pl.Int64,  # ... and after all that was done; null where no device was recorded
    }
)

_EVENT_WAIT = r"^(cuda|hip|cu)StreamWaitEvent"


def syncs_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each API call, operator and class of wait, the longest host time first.

    The host waits in synchronise calls (`sync`) and in copies that block (`blocking_copy`). In an
    `event_wait` a stream waits and the host goes on: its host time is that of the call, and what
    the stream waits for is not known. A device is idle when no kernel, copy or fill of the part
    runs on any of its devices.
    """
    calls = waiting_calls(trace)
    idle = pl.col("dur_ns") - covered_length(calls, trace.device_work, ["part"])
    row = ["api", "op", "class"]
    return (
        calls.with_columns(
            call_site=_around(trace, "python", calls),
            device_idle_ns=pl.when("device_recorded").then(idle),
        )
        .join(_parts(trace, calls), on="event_id", how="left", maintain_order="left")
        .sort("dur_ns", "event_id", descending=[True, False])
        .group_by(row, maintain_order=True)
        .agg(
            pl.col("call_site").drop_nulls().first(),
            *map(_known_sum, ("device_idle_ns", "earlier_ns", "this_ns", "wake_ns")),
            _known_sum("bytes"),
            count=pl.len(),
            host_time_ns=pl.col("dur_ns").sum(),
        )
        .sort("host_time_ns", *row, descending=[True, False, False, False], nulls_last=True)
        .select(SYNCS.names())
        .cast(SYNCS)
    )


def _parts(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    waited = calls.filter(pl.col("class") != "event_wait", pl.col("dur_ns").is_not_null())
    owners = owning_calls(trace, waited)
    rows = waited.join(owners, on="event_id", how="left", maintain_order="left")
    return wait_parts(trace, rows.with_columns(total_ns="dur_ns"))


def _around(trace: Trace, kind: str, calls: pl.DataFrame) -> pl.Series:
    found = calls.select(event_id=around(trace, kind, calls))
    names = names_of(trace, found["event_id"])
    return found.join(names, on="event_id", how="left", maintain_order="left")["name"].cast(
        pl.String
    )


def waiting_calls(trace: Trace) -> pl.DataFrame:
    """Select the API calls in which something waits.

    Added are `api`, `op` and `class`, as in SYNCS, `bytes` and `device_recorded`.
    """
    api = trace.api_calls
    waited = waits(trace).select("event_id", pl.col("wait").cast(pl.String))
    event_waits = outermost(api.filter(matching(api["name"], _EVENT_WAIT)))
    classes = pl.concat([waited, event_waits.select("event_id", wait=pl.lit("event_wait"))])
    known = pl.col("device_recorded") & (pl.col("class") != "event_wait")
    calls = (
        api.join(
            classes.rename({"wait": "class"}), on="event_id", how="inner", maintain_order="left"
        )
        .join(_bytes(trace), on="event_id", how="left", maintain_order="left")
        .join(recorded_parts(trace), on="part", how="left", maintain_order="left")
        .with_columns(
            api=pl.col("name").cast(pl.String),
            bytes=pl.when(pl.col("copies").is_null() & known).then(0).otherwise("bytes"),
        )
    )
    return calls.with_columns(op=_around(trace, "op", calls))


def _bytes(trace: Trace) -> pl.DataFrame:
    # By the call that waits for them: a copy is waited for in its own call or in a later one.
    copies = trace.device_work.filter(pl.col("kind") == "memcpy").select(
        "bytes", device_event_id="event_id"
    )
    found = readbacks(trace).select("device_event_id", "wait_event_id")
    own = trace.links.select("device_event_id", wait_event_id="launch_event_id").join(
        found, on="device_event_id", how="anti"
    )
    return (
        pl.concat([found, own])
        .join(copies, on="device_event_id")
        .group_by(event_id="wait_event_id")
        .agg(_known_sum("bytes"), copies=pl.len())
    )


def _known_sum(column: str) -> pl.Expr:
    values = pl.col(column)
    return pl.when(values.null_count() == 0).then(values.sum()).alias(column)
