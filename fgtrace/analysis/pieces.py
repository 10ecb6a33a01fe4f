"""What the host does during each call: disjoint pieces that add up to it, to the nanosecond."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import around_in
from fgtrace.analysis.calls import call_ranges, owning_calls
from fgtrace.analysis.intervals import outermost
from fgtrace.analysis.links import launches
from fgtrace.analysis.marks import phase_marks, phases_of
from fgtrace.analysis.names import matching
from fgtrace.analysis.queues import queue_depths
from fgtrace.analysis.readbacks import readbacks, waits
from fgtrace.analysis.rules import RULES, Rule
from fgtrace.analysis.work import recorded_parts
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

PIECE = pl.Enum(
    [
        "python",  # outside any operator and API call
        "op",  # in an operator, outside API calls
        "launch call",  # starting a kernel or a graph
        "launch blocked",  # of such a call: until the full queue of the device has room
        "allocate",  # in the device's memory functions
        "module load or compile",  # loading device code
        "other runtime API",
        "profiler overhead",  # recorded as such
        "waiting: earlier work",  # for what was launched before the call
        "waiting: this work",  # for what the call launched
        "waiting: wake latency",  # after the device is done, or where it had nothing to do
        "waiting",  # for work that was not recorded
    ]
)
"""What a piece of the host's time is spent in."""

PIECES = pl.Schema(
    {
        "call_id": pl.UInt32(),  # the call's range
        "event_id": pl.UInt32(),  # the host event whose own time this is
        "own_thread": pl.Boolean(),  # on the call's thread; false: others worked for it
        "phase": pl.String(),
        "piece": PIECE,
        "time_ns": pl.Int64(),
    }
)

QUEUE_FULL = 1000
"""Pieces of work in a device's queue from which on a launch may have to wait: CUDA takes 1,024."""

API_PIECES = {
    "allocate": r"(?i)malloc|free(async|array|host)?(_v\d+)?$|mem(pool|alloc|create|map|unmap|"
    r"release|addressreserve|addressfree|hostalloc|hostregister|hostunregister)",
    "module load or compile": r"(?i)module(load|unload|get)|library(load|unload|get)|funcload|"
    r"link(create|add|complete)|nvrtc|hiprtc",
}
"""API calls by name, the first that fits; launches and waits are told apart before."""

LEFTOVERS = {
    "python": "python",
    "launch call": "launch",
    "launch blocked": "launch",
    "allocate": "allocate",
}
"""The phase of a piece that no range and no rule gives one; that of the others is `other`."""

OTHER = "other"


def host_pieces(trace: Trace, rules: tuple[Rule, ...] = RULES) -> pl.DataFrame:
    """Cut the host's time in each call into pieces.

    A row a host event and piece. Those of a call on its own thread add up to its duration; those of
    other threads, which did the backward pass for it, stand apart. The innermost mark around an
    event, or at it, gives the phase (`fgtrace.analysis.marks`). A wait is for earlier work
    until what was launched before the call is done, then for this work until what the call launched
    before the wait is done, for a readback until its copy is.
    """
    return trace.once(("pieces", rules), lambda: _host_pieces(trace, rules))


def _host_pieces(trace: Trace, rules: tuple[Rule, ...]) -> pl.DataFrame:
    host = events_in_calls(trace)
    phases = phases_of(phase_marks(trace, rules), host)
    is_api = pl.col("kind").is_in(HOST_API)
    api, rest = host.filter(is_api), host.filter(~is_api)
    pieces = pl.concat([_outside_api(rest), _in_api(trace, api)])
    left_over = pl.col("piece").cast(pl.String).replace_strict(LEFTOVERS, default=OTHER)
    return (
        pieces.join(phases.select("event_id", "phase"), on="event_id", how="left")
        .join(host.select("event_id", "call_id", "own_thread"), on="event_id")
        .with_columns(phase=pl.coalesce("phase", left_over))
        .select(PIECES.names())
        .cast(PIECES)
        .sort("event_id", "piece")
    )


def events_in_calls(trace: Trace) -> pl.DataFrame:
    """Select the host's events in calls, the calls' own ranges too, in order.

    `call_id` and `own_thread`, as in PIECES, and `call_ns` are added. What outlasts a call is not
    part of it; until the call ends, its time is the call's own.
    """
    return trace.once("events in calls", lambda: _events_in_calls(trace))


def _events_in_calls(trace: Trace) -> pl.DataFrame:
    host = trace.host_events.filter(pl.col("kind") != "memory")
    calls = call_ranges(trace).select(
        call_process="process", call_thread="thread", call_ns="dur_ns", call_id="event_id"
    )
    own_thread = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(f"call_{name}")) for name in ("process", "thread")
    )
    is_call = pl.col("event_id") == pl.col("call_id")
    recorded = pl.col("own_ns").filter("own_thread").sum().over("call_id")
    return (
        host.join(owning_calls(trace, host), on="event_id", maintain_order="left")
        .join(calls, on="call_id", maintain_order="left")
        .with_columns(own_thread=own_thread)
        .with_columns(
            own_ns=pl.col("own_ns")
            + pl.when(is_call).then(pl.col("call_ns") - recorded).otherwise(0)
        )
    )


def _outside_api(host: pl.DataFrame) -> pl.DataFrame:
    kind = pl.col("kind")
    frames = host.filter(~kind.is_in(("op", "overhead")))
    inside = frames.select("event_id", op_id=around_in(host.filter(kind == "op"), frames))
    return host.join(inside, on="event_id", how="left", maintain_order="left").select(
        "event_id",
        piece=pl.when(kind == "overhead")
        .then(pl.lit("profiler overhead", PIECE))
        .when((kind == "op") | pl.col("op_id").is_not_null())
        .then(pl.lit("op", PIECE))
        .otherwise(pl.lit("python", PIECE)),
        time_ns="own_ns",
    )


def _in_api(trace: Trace, api: pl.DataFrame) -> pl.DataFrame:
    own = (
        api.join(outer_calls(api), on="event_id")
        .group_by("outer_id")
        .agg(total_ns=pl.col("own_ns").sum())
    )
    calls = api.join(own, left_on="event_id", right_on="outer_id", maintain_order="left")
    waiting = waits(trace)["event_id"].implode()
    launching = launches(trace)["event_id"].implode()
    waited = calls.filter(pl.col("event_id").is_in(waiting))
    launched = calls.filter(
        pl.col("event_id").is_in(launching) & ~pl.col("event_id").is_in(waiting)
    )
    others = calls.join(pl.concat([waited, launched]), on="event_id", how="anti")
    piece = pl.lit("other runtime API", PIECE)
    for name, pattern in reversed(API_PIECES.items()):
        piece = (
            pl.when(matching(others["name"], pattern)).then(pl.lit(name, PIECE)).otherwise(piece)
        )
    return pl.concat(
        [
            _waits_cut(trace, waited),
            _launches_cut(trace, launched),
            others.select("event_id", piece=piece, time_ns="total_ns"),
        ]
    )


def outer_calls(api: pl.DataFrame) -> pl.DataFrame:
    """Give for each API call the one that it is part of: itself, or a runtime call around it."""
    outer = outermost(api)
    inner = api.join(outer, on="event_id", how="anti", maintain_order="left")
    return pl.concat(
        [
            outer.select("event_id", outer_id="event_id"),
            inner.select("event_id", outer_id=around_in(outer, inner)),
        ]
    )


def _waits_cut(trace: Trace, waited: pl.DataFrame) -> pl.DataFrame:
    rows = waited.join(wait_parts(trace, waited), on="event_id", maintain_order="left")
    known = pl.col("wake_ns").is_not_null()
    parts = {
        "waiting: earlier work": pl.col("earlier_ns"),
        "waiting: this work": pl.col("this_ns"),
        "waiting: wake latency": pl.col("wake_ns"),
        "waiting": pl.when(~known).then("total_ns"),
    }
    cut = [
        rows.select("event_id", piece=pl.lit(name, PIECE), time_ns=time)
        for name, time in parts.items()
    ]
    return pl.concat(cut).filter(pl.col("time_ns") > 0)


def wait_parts(trace: Trace, waited: pl.DataFrame) -> pl.DataFrame:
    """Cut waits in three: `event_id`, `earlier_ns`, `this_ns` and `wake_ns`, which add up.

    `waited` has `event_id`, `part`, `start_ns`, `total_ns`, and `call_id`: null outside of calls,
    where earlier work and this work are not told apart and both are null. All are null where no
    device work was recorded.
    """
    total, start = pl.col("total_ns"), pl.col("start_ns")
    done = (pl.col("done_ns") - start).fill_null(0).clip(0, total)
    earlier = pl.min_horizontal(
        (pl.col("earlier_done_ns") - start).fill_null(0).clip(0, total), done
    )
    in_call = pl.col("call_id").is_not_null()
    return (
        waited.join(wait_ends(trace, waited), on="event_id", how="left", maintain_order="left")
        .join(recorded_parts(trace), on="part", how="left", maintain_order="left")
        .select(
            "event_id",
            earlier_ns=pl.when("device_recorded", in_call).then(earlier),
            this_ns=pl.when("device_recorded", in_call).then(done - earlier),
            wake_ns=pl.when("device_recorded").then(total - done),
        )
    )


def wait_ends(trace: Trace, waited: pl.DataFrame) -> pl.DataFrame:
    """Say of each wait when the device was done with what the host waited for.

    `waited` has `event_id`, `part`, `start_ns` and `call_id`. The result has `event_id`, `done_ns`,
    when all that was launched before the wait (of a readback: its copy) was done, and
    `earlier_done_ns`, when what was launched before the call was. Null where that is nothing.
    """
    starts = trace.api_calls.select("part", "start_ns", launch_event_id="event_id")
    work = trace.device_work.select(
        device_event_id="event_id", end_ns=pl.col("start_ns") + pl.col("dur_ns")
    )
    launched = (
        trace.links.select("device_event_id", "launch_event_id")
        .join(starts, on="launch_event_id")
        .join(work, on="device_event_id")
        .drop_nulls("end_ns")
        .sort("start_ns", "device_event_id")
        .select("part", "start_ns", done_ns=pl.col("end_ns").cum_max().over("part"))
    )
    copies = (
        readbacks(trace)
        .drop_nulls("wait_event_id")
        .join(work, on="device_event_id")
        .group_by(event_id="wait_event_id")
        .agg(copy_done_ns=pl.col("end_ns").max())
    )
    calls = trace.calls.select(call_id="range_event_id", call_start_ns="start_ns")

    def done_by(column: str, name: str, at_start: bool) -> pl.DataFrame:
        return (
            waited.join(calls, on="call_id", how="left")
            .select("event_id", "part", at_ns=column)
            .drop_nulls("at_ns")
            .sort("at_ns")
            .join_asof(
                launched,
                left_on="at_ns",
                right_on="start_ns",
                by="part",
                allow_exact_matches=at_start,
                check_sortedness=False,
            )
            .select("event_id", pl.col("done_ns").alias(name))
        )

    return (
        done_by("start_ns", "all_done_ns", True)
        .join(done_by("call_start_ns", "earlier_done_ns", False), on="event_id", how="left")
        .join(copies, on="event_id", how="left")
        .select("event_id", "earlier_done_ns", done_ns=pl.coalesce("copy_done_ns", "all_done_ns"))
    )


def _launches_cut(trace: Trace, launched: pl.DataFrame) -> pl.DataFrame:
    usual = trace.api_calls.group_by("name").agg(usual_ns=pl.col("dur_ns").median().cast(pl.Int64))
    rows = launched.with_columns(queued=queue_depths(trace, launched)).join(
        usual, on="name", how="left"
    )
    over = (pl.col("total_ns") - pl.col("usual_ns")).clip(lower_bound=0)
    blocked = pl.when(pl.col("queued") >= QUEUE_FULL).then(over).otherwise(0)
    rows = rows.with_columns(blocked_ns=blocked)
    return pl.concat(
        [
            rows.select(
                "event_id",
                piece=pl.lit("launch call", PIECE),
                time_ns=pl.col("total_ns") - pl.col("blocked_ns"),
            ),
            rows.filter(pl.col("blocked_ns") > 0).select(
                "event_id", piece=pl.lit("launch blocked", PIECE), time_ns="blocked_ns"
            ),
        ]
    )
