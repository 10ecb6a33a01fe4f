"""Where one call goes: the host's time and the device's, in pieces that add up."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.intervals import union_length
from fgtrace.analysis.phases import call_work_phases
from fgtrace.analysis.pieces import host_pieces
from fgtrace.analysis.rules import RULES, Rule
from fgtrace.analysis.spread import spreads
from fgtrace.frames.trace import Trace

SIDES = ("host", "host, other threads", "device")

BREAKDOWN = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        # host: the call's own thread, whose pieces add up to the call; host, other threads: what
        # others did for it; device: what it launched, from the first start to the last end.
        "side": pl.String,
        "phase": pl.String,  # null for the gaps of the device
        # Of the host: one of PIECE. Of the device: kernel, memcpy, memset; gap: nothing of the
        # call's runs; overlap: more than one thing does, below 0.
        "piece": pl.String,
        "calls": pl.Int64,  # those that are not left out
        "total_ns": pl.Int64,  # in all of them: the rows of a side add up exactly
        "share": pl.Float64,  # of the side
        "median_ns": pl.Int64,  # a call; of calls without it 0
        "interval_low_ns": pl.Int64,
        "interval_high_ns": pl.Int64,
    }
)


def breakdown_report(trace: Trace, *, rules: tuple[Rule, ...] = RULES) -> pl.DataFrame:
    """Make a row for each case, route, side, phase and piece of a call, the longest first."""
    kept = trace.calls.filter(~pl.col("left_out")).select(
        "case",
        "route",
        "generation",
        call_id="range_event_id",
        calls=pl.len().over("case", "route"),
    )
    place = ["side", "phase", "piece"]
    of_call = ["call_id", *place]
    columns = [*of_call, "time_ns"]
    of_calls = (
        pl.concat([_host(trace, rules).select(columns), _device(trace, rules).select(columns)])
        .group_by(of_call)
        .agg(pl.col("time_ns").sum())
    )
    row = ["case", "route", *place]
    # A row has a time of each call: of one without the piece, 0.
    times = (
        of_calls.join(kept, on="call_id")
        .select(row)
        .unique()
        .join(kept, on=["case", "route"], nulls_equal=True)
        .join(of_calls, on=of_call, how="left", nulls_equal=True)
        .with_columns(pl.col("time_ns").fill_null(0))
        .sort("call_id")
    )
    side = pl.col("total_ns").sum().over("case", "route", "side")
    return (
        times.group_by(row)
        .agg(pl.col("calls").first(), total_ns=pl.col("time_ns").sum())
        .join(
            spreads(times, row, "time_ns", ("median_ns", "interval_low_ns", "interval_high_ns")),
            on=row,
            nulls_equal=True,
        )
        .with_columns(share=pl.col("total_ns") / side)
        .sort(
            "case",
            "route",
            pl.col("side").cast(pl.Enum(SIDES)),
            "total_ns",
            "phase",
            "piece",
            descending=[False, False, False, True, False, False],
            nulls_last=True,
        )
        .select(BREAKDOWN.names())
        .cast(BREAKDOWN)
    )


def _host(trace: Trace, rules: tuple[Rule, ...]) -> pl.DataFrame:
    side = pl.when("own_thread").then(pl.lit(SIDES[0])).otherwise(pl.lit(SIDES[1]))
    return host_pieces(trace, rules).select(
        "call_id", "phase", pl.col("piece").cast(pl.String), "time_ns", side=side
    )


def _device(trace: Trace, rules: tuple[Rule, ...]) -> pl.DataFrame:
    times = trace.device_work.select("event_id", "start_ns")
    work = (
        call_work_phases(trace, rules)
        .join(times, on="event_id")
        .drop_nulls(["start_ns", "dur_ns"])
        .with_columns(pl.col("kind").cast(pl.String))
    )
    parts = work.group_by("call_id", "phase", piece="kind").agg(time_ns=pl.col("dur_ns").sum())
    end = pl.col("start_ns") + pl.col("dur_ns")
    whole = (
        work.group_by("call_id")
        .agg(span_ns=end.max() - pl.col("start_ns").min(), sum_ns=pl.col("dur_ns").sum())
        .join(union_length(work, ["call_id"]), on="call_id")
    )
    rest = {
        "gap": pl.col("span_ns") - pl.col("busy_ns"),
        "overlap": pl.col("busy_ns") - pl.col("sum_ns"),
    }
    rows = [
        whole.select(
            "call_id", phase=pl.lit(None, pl.String), piece=pl.lit(piece), time_ns=time
        ).filter(pl.col("time_ns") != 0)
        for piece, time in rest.items()
    ]
    columns = ["call_id", "phase", "piece", "time_ns"]
    return pl.concat([parts.select(columns), *rows]).with_columns(side=pl.lit(SIDES[2]))
