"""Phases: the parts of a call that have a meaning, and what each costs."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.calls import COUNTS, call_work, counts, counts_or_zero
from fgtrace.analysis.marks import device_phases, phase_marks
from fgtrace.analysis.pieces import OTHER, host_pieces
from fgtrace.analysis.rules import RANGE, RULES, Rule
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
        # `range`: explicit ranges mark it; else the rules that do; null: no mark, see LEFTOVERS.
        "rule": pl.String,
    }
)

EXPLAINED = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "phase": pl.String,
        "rule": pl.String,
        "calls": pl.Int64,  # calls in which it marks something
        "count": pl.Int64,  # of what it marks
        "example": pl.String,  # the name of the first event that it marks
        "event_id": pl.UInt32,  # of the same
        "sentence": pl.String,  # what the rule looks for
        "source": pl.String,  # where that can be read
    }
)


def phases_report(trace: Trace, *, rules: tuple[Rule, ...] = RULES) -> pl.DataFrame:
    """Make a row for each case, route and phase, in order of place in a call, the unmarked last.

    Device work belongs to the phase of its launch. What no range and no rule marks is told apart by
    what the host does, so that the host times of a call's phases add up to the call.
    """
    marks = phase_marks(trace, rules)
    work = call_work_phases(trace, rules).group_by("call_id", "phase").agg(counts())
    calls = trace.calls.select("part", "case", "route", "left_out", call_id="range_event_id")
    rows = (
        _host_times(trace, rules)
        .join(work, on=["call_id", "phase"], how="full", coalesce=True)
        .join(calls, on="call_id")
        .with_columns(pl.col("host_time_ns", "waiting_ns").fill_null(0))
    )
    medians = pl.col(*COUNTS, "host_time_ns", "waiting_ns").filter(~pl.col("left_out")).median()
    return (
        counts_or_zero(trace, rows)
        .group_by("case", "route", "phase")
        .agg(medians.floor(), pl.col("offset_ns").min(), calls=pl.len())
        .join(_rules(marks, calls), on=["case", "route", "phase"], how="left", nulls_equal=True)
        .sort("case", "route", pl.col("rule").is_null(), "offset_ns", "phase", nulls_last=True)
        .select(PHASES.names())
        .cast(PHASES)
    )


def explained_report(trace: Trace, *, rules: tuple[Rule, ...] = RULES) -> pl.DataFrame:
    """Make a row for each case, route, phase and rule: what it looks for and what it found."""
    marks = phase_marks(trace, rules)
    told = pl.DataFrame(
        [(RANGE, "a range with the phase's name", "docs/phases.md")]
        + [(rule.name, rule.sentence, rule.source) for rule in rules],
        schema=["rule", "sentence", "source"],
        orient="row",
    ).unique("rule", keep="first")
    calls = trace.calls.select("case", "route", call_id="range_event_id")
    names = trace.host_events.select("event_id", pl.col("name").cast(pl.String))
    return (
        marks.join(calls, on="call_id")
        .join(names, on="event_id")
        .sort("event_id")
        .group_by("case", "route", "phase", "rule", maintain_order=True)
        .agg(
            pl.col("event_id").first(),
            calls=pl.col("call_id").n_unique(),
            count=pl.len(),
            example=pl.col("name").first(),
        )
        .join(told, on="rule", how="left", maintain_order="left")
        .sort("case", "route", nulls_last=True, maintain_order=True)
        .select(EXPLAINED.names())
        .cast(EXPLAINED)
    )


def call_work_phases(trace: Trace, rules: tuple[Rule, ...] = RULES) -> pl.DataFrame:
    """Add `phase` to the device work of calls, `call_work`.

    Where nothing marks the launch of a kernel, it is `launch`, and so is what it launches.
    """
    kernel = pl.col("kind") == "kernel"
    phases = device_phases(trace, rules).select("phase", event_id="device_event_id")
    return (
        call_work(trace)
        .join(phases, on="event_id", how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("phase", pl.when(kernel).then(pl.lit("launch")).otherwise(pl.lit(OTHER)))
        )
    )


def _host_times(trace: Trace, rules: tuple[Rule, ...]) -> pl.DataFrame:
    starts = trace.host_events.select("event_id", "start_ns")
    waiting = pl.col("piece").cast(pl.String).str.starts_with("waiting")
    return (
        host_pieces(trace, rules)
        .filter("own_thread")
        .join(starts, on="event_id", maintain_order="left")
        .with_columns(offset_ns=pl.col("start_ns") - pl.col("start_ns").min().over("call_id"))
        .group_by("call_id", "phase")
        .agg(
            pl.col("offset_ns").min(),
            host_time_ns=pl.col("time_ns").sum(),
            waiting_ns=pl.col("time_ns").filter(waiting).sum(),
        )
    )


def _rules(marks: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    return (
        marks.join(calls, on="call_id")
        .group_by("case", "route", "phase")
        .agg(pl.col("rule").unique().sort().str.join(", "))
    )
