"""The host's time by module and function, from a recording with Python's stacks."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.groups import GROUPS, USER
from fgtrace.analysis.matrix import call_times
from fgtrace.analysis.names import matching
from fgtrace.analysis.overhead import EventCosts, event_costs
from fgtrace.analysis.pieces import events_in_calls, host_pieces
from fgtrace.analysis.rules import ALLOCATES
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

HOST = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "group": pl.String,  # one of GROUPS, USER, or what is no Python: see OTHERS
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

OTHERS = {
    "op": "operator",
    "range": "outside of frames",
    "overhead": "profiler",
}
_API_GROUPS = {
    "launch call": "launch call",
    "launch blocked": "launch call",
    "allocate": "allocator",
    "module load or compile": "other API call",
    "other runtime API": "other API call",
}
WAITING = "waiting"
"""Waits are not made longer by recording, so they are not scaled."""

FLOOR = 0.05

_FRAME = r"^(?<module>.*)\((?:\d+)\): (?<function>.*)$"
_ADDRESS = r" at 0x[0-9a-f]+"


def host_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each case, route, group, module and function, the longest groups first.

    Of a run, it is taken from the recording with stacks; of another trace, from its Python frames.
    Without frames there are no rows. Times are own times: of Python without the frames, operators
    and API calls inside.

    `scaled_ns` says what is left of it in an unrecorded call. From each own time half the cost of
    recording the event is taken off, and half the cost of those directly inside; all but waits are
    then multiplied by one factor, so that the whole is the call by the stopwatch.
    """
    stacked = trace if trace.stacks is None else trace.stacks
    if not (stacked.host_events["kind"] == "python").any():
        return pl.DataFrame(schema=HOST)
    events = _events(stacked)
    named = _named(stacked, events)
    costs = event_costs(trace)
    charged = _charged(named, costs)
    group = ["case", "route", "group", "module", "function"]
    rows = (
        charged.group_by(group)
        .agg(
            pl.col("calls").first(),
            count=pl.len(),
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
        .with_columns(group_ns=pl.col("total_ns").sum().over("case", "route", "group"))
        .sort(
            "case",
            "route",
            "group_ns",
            "group",
            "total_ns",
            "module",
            "function",
            descending=[False, False, True, False, True, False, False],
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


def _named(trace: Trace, events: pl.DataFrame) -> pl.DataFrame:
    name, kind = pl.col("name").cast(pl.String), pl.col("kind")
    group = pl.lit(USER)
    for one in reversed(GROUPS):
        group = (
            pl.when(matching(events["name"], one.pattern)).then(pl.lit(one.name)).otherwise(group)
        )
    events = events.with_columns(python_group=group)
    frame = name.str.extract_groups(_FRAME).struct
    pieces = (
        host_pieces(trace, ())
        .select("event_id", piece=pl.col("piece").cast(pl.String))
        .unique("event_id", keep="first")
        if not trace.calls.is_empty()
        else pl.DataFrame(schema={"event_id": pl.UInt32, "piece": pl.String})
    )
    api = kind.is_in(HOST_API)
    waiting = pl.col("piece").str.starts_with(WAITING)
    return events.join(pieces, on="event_id", how="left", maintain_order="left").with_columns(
        group=pl.when(kind == "python")
        .then("python_group")
        .when(api & waiting)
        .then(pl.lit(WAITING))
        .when(api)
        .then(pl.col("piece").replace_strict(_API_GROUPS, default="other API call"))
        .when((kind == "op") & matching(events["name"], ALLOCATES))
        .then(pl.lit("allocator"))
        .otherwise(kind.cast(pl.String).replace_strict(OTHERS, default=USER)),
        module=pl.when(kind == "python").then(frame.field("module")),
        function=pl.coalesce(
            pl.when(kind == "python").then(frame.field("function")),
            name.str.replace_all(_ADDRESS, ""),
        ),
    )


def _charged(events: pl.DataFrame, costs: EventCosts | None) -> pl.DataFrame:
    # What is left of each own time when the cost of recording is taken off.
    if costs is None or costs.frame_ns is None:
        return events.with_columns(left_ns=pl.lit(None, pl.Float64))
    kind = pl.col("kind")
    cost = (
        pl.when(kind == "python")
        .then(costs.frame_ns)
        .when(kind == "range")
        .then(costs.range_ns)
        .when(kind == "op")
        .then(costs.operator_ns)
        .when(pl.col("group") == "launch call")
        .then(costs.launch_ns)
        .when(pl.col("group") == WAITING)
        .then(costs.wait_ns)
        .otherwise(0.0)
    )
    events = events.with_columns(cost_ns=cost)
    inside = events.group_by(event_id="parent_id").agg(inside_ns=pl.col("cost_ns").sum())
    own = pl.col("own_ns")
    left = own - (pl.col("cost_ns") + pl.col("inside_ns").fill_null(0)) / 2
    return events.join(inside, on="event_id", how="left", maintain_order="left").with_columns(
        left_ns=pl.when(pl.col("group") == WAITING)
        .then(own.cast(pl.Float64))
        .otherwise(pl.max_horizontal(FLOOR * own, left))
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
