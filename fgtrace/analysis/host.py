"""The host's time by module and function, from a recording with Python's stacks."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.functions import LAUNCHING, WAITING, named
from fgtrace.analysis.groups import PROFILER
from fgtrace.analysis.links import COPY_OR_FILL
from fgtrace.analysis.matrix import call_times
from fgtrace.analysis.names import matching
from fgtrace.analysis.overhead import EventCosts, event_costs
from fgtrace.analysis.pieces import events_in_calls
from fgtrace.analysis.replay import FLOOR
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

HOST = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "group": pl.String,  # one of GROUPS, USER, or what is no Python: see `functions`
        "module": pl.String,  # the file; null for what is no Python
        "function": pl.String,  # the function, the operator or the API call
        "count": pl.Int64,  # in all calls together
        "calls": pl.Int64,  # calls that are looked at; 1: the whole recording, which marks none
        "total_ns": pl.Int64,  # its own time in all of them, with stacks: the rows add up to them
        "recorded_ns": pl.Int64,  # the same a call
        "scaled_ns": pl.Int64,  # a call's without the recording's cost, by a model; null: not known
        "share": pl.Float64,  # of the time of the calls, 0 to 1
    }
)

HOST_BY_GROUP = pl.Schema({name: HOST[name] for name in HOST if name not in ("module", "function")})
"""As in HOST."""


def host_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each case, route, group, module and function, the longest groups first.

    The longest is the one that takes longest when scaled, where that is known.

    Of a run, it is taken from the recording with stacks; of another trace, from its Python frames.
    Without frames there are no rows. Times are own times: of Python without the frames, operators
    and API calls inside.

    `scaled_ns` says what is left of it in an unrecorded call; of the profiler's own, nothing. From
    each own time half the cost of recording the event is taken off, and half the cost of those
    directly inside. All Python, all operators, and each kind of API call are then brought to what
    the run's profile has of them without its cost, and all but waits, which recording does not make
    longer, to the call by the stopwatch.
    """
    stacked = trace if trace.stacks is None else trace.stacks
    if not (stacked.host_events["kind"] == "python").any():
        return pl.DataFrame(schema=HOST)
    costs = event_costs(trace)
    charged = without_costs(stacked, costs)
    if trace.stacks is not None and costs is not None:
        charged = _as_profiled(charged, without_costs(trace, costs))
    group = ["case", "route", "group", "module", "function"]
    rows = (
        charged.group_by(group)
        .agg(
            pl.col("calls").first(),
            count=pl.col("owned").sum(),
            total_ns=pl.col("own_ns").sum(),
            left_ns=pl.when(pl.col("left_ns").null_count() == 0).then(pl.col("left_ns").sum()),
        )
        .with_columns(
            recorded_ns=(pl.col("total_ns") / pl.col("calls")).round(),
            share=pl.col("total_ns") / pl.col("total_ns").sum().over("case", "route"),
        )
    )
    rows = rows.join(_unstacked(trace), on=["case", "route"], how="left", nulls_equal=True)
    return (
        rows.with_columns(scaled_ns=_scaled())
        .with_columns(time_ns=pl.coalesce("scaled_ns", "total_ns"))
        .with_columns(group_ns=pl.col("time_ns").sum().over("case", "route", "group"))
        .sort(
            "case",
            "route",
            "group_ns",
            "group",
            "time_ns",
            "total_ns",
            "module",
            "function",
            descending=[False, False, True, False, True, True, False, False],
            nulls_last=True,
        )
        .select(HOST.names())
        .cast(HOST)
    )


def host_by_group_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each case, route and group of `host_report`, the longest first."""
    rows = host_report(trace)
    known = pl.col("scaled_ns").null_count() == 0
    return (
        rows.group_by("case", "route", "group", maintain_order=True)
        .agg(
            pl.col("calls").first(),
            pl.col("count", "total_ns", "recorded_ns", "share").sum(),
            scaled_ns=pl.when(known).then(pl.col("scaled_ns").sum()),
        )
        .select(HOST_BY_GROUP.names())
        .cast(HOST_BY_GROUP)
    )


def _events(trace: Trace) -> pl.DataFrame:
    # Host events of calls on their threads, or of the whole trace where it marks no call.
    if trace.calls.is_empty():
        host = trace.host_events.filter(pl.col("kind") != "memory")
        none = pl.lit(None, pl.String)
        return host.with_columns(case=none, route=none, calls=pl.lit(1, pl.Int64))
    kept = trace.calls.filter(~pl.col("left_out")).select(
        "case", "route", call_id="range_event_id", calls=pl.len().over("case", "route")
    )
    return (
        events_in_calls(trace).filter("own_thread").join(kept, on="call_id", maintain_order="left")
    )


def without_costs(trace: Trace, costs: EventCosts | None) -> pl.DataFrame:
    """Name the host events of calls; `left_ns` is each own time without the cost of recording."""
    events = named(trace, _events(trace))
    if costs is None or costs.frame_ns is None:
        return events.with_columns(left_ns=pl.lit(None, pl.Float64))
    kind, group = pl.col("kind"), pl.col("group")
    cost = (
        pl.when(kind == "python")
        .then(costs.frame_ns)
        .when(kind == "range")
        .then(costs.range_ns)
        .when(kind == "op")
        .then(costs.operator_ns)
        .when(group == LAUNCHING)
        .then(costs.launch_ns)
        .when(group == WAITING)
        .then(costs.wait_ns)
        .when(kind.is_in(HOST_API) & matching(events["name"], COPY_OR_FILL))
        .then(costs.copy_ns)
        .otherwise(0.0)
    )
    events = events.with_columns(cost_ns=cost)
    inside = events.group_by(event_id="parent_id").agg(inside_ns=pl.col("cost_ns").sum())
    own = pl.col("own_ns")
    left = own - (pl.col("cost_ns") + pl.col("inside_ns").fill_null(0)) / 2
    return events.join(inside, on="event_id", how="left", maintain_order="left").with_columns(
        left_ns=pl.when(group == PROFILER)
        .then(0.0)
        .when(group == WAITING)
        .then(own.cast(pl.Float64))
        .otherwise(pl.max_horizontal(FLOOR * own, left))
    )


def _as_profiled(stacked: pl.DataFrame, profiled: pl.DataFrame) -> pl.DataFrame:
    # Stacks make Python slower than their calibration says; how much of a call is Python, operators
    # and each kind of API call is better known from the profile.
    kind = pl.col("kind")
    sort = (
        pl.when(kind == "op")
        .then(pl.lit("op"))
        .when(kind.is_in(HOST_API))
        .then("group")
        .otherwise(pl.lit("python"))
    )
    key = ["case", "route", "sort"]
    a_call = pl.col("left_ns").sum() / pl.col("calls").first()
    stacked = stacked.with_columns(sort=sort)
    sums = [
        events.group_by(key).agg(a_call.alias(name))
        for events, name in ((stacked, "stacked"), (profiled.with_columns(sort=sort), "profiled"))
    ]
    ratios = sums[0].join(sums[1], on=key, nulls_equal=True)
    ratio = pl.col("profiled") / pl.col("stacked")
    ratios = ratios.select(*key, ratio=pl.when(ratio.is_finite() & (ratio > 0)).then(ratio))
    return stacked.join(
        ratios, on=key, how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(
        left_ns=pl.when(pl.col("sort") == WAITING)
        .then("left_ns")
        .otherwise(pl.col("left_ns") * pl.col("ratio").fill_null(1))
    )


def _unstacked(trace: Trace) -> pl.DataFrame:
    return call_times(trace).select("case", "route", unstacked_ns="throughput_ns")


def _scaled() -> pl.Expr:
    # Rows of a case and route add up to the unstacked call; waits stay as they are.
    left = pl.col("left_ns") / pl.col("calls")
    waiting = pl.col("group") == WAITING
    waits = left.filter(waiting).sum().over("case", "route")
    others = left.filter(~waiting).sum().over("case", "route")
    factor = (pl.col("unstacked_ns") - waits) / others
    return (
        pl.when(factor > 0, factor.is_finite())
        .then(pl.when(waiting).then(left).otherwise(left * factor))
        .round()
    )
