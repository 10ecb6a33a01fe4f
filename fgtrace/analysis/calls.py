"""Calls: the executions that a recording is about, and what each of them launched."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import THREAD, around_in
from fgtrace.analysis.intervals import outermost
from fgtrace.analysis.names import checked_pattern, matching
from fgtrace.analysis.readbacks import readbacks
from fgtrace.analysis.work import recorded_parts
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.notes import Note, notes_frame
from fgtrace.frames.schema import CALLS
from fgtrace.frames.trace import Trace
from fgtrace.units import printable

CALLS_REPORT = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "generation": pl.UInt32,
        "index": pl.UInt32,
        "call_ns": pl.Int64,
        "kernel_count": pl.Int64,  # null, as the three below, where the device was not recorded
        "copy_count": pl.Int64,
        "readback_count": pl.Int64,  # null where it cannot be known
        "device_time_ns": pl.Int64,  # sum of kernels, copies and fills
        "left_out": pl.Boolean,
    }
)

CALLS_BY_CASE = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "generation": pl.UInt32,
        "calls": pl.Int64,
        # Over the calls that are not left out; the worst is of all.
        "median_ns": pl.Int64,
        "p95_ns": pl.Int64,  # a time that occurred
        "worst_ns": pl.Int64,
        "worst_index": pl.UInt32,  # which call that is
        "kernel_count": pl.Int64,  # medians, like those below; null as in CALLS_REPORT
        "copy_count": pl.Int64,
        "readback_count": pl.Int64,
        "device_time_ns": pl.Int64,
    }
)

_FORMS = (
    r"^fgtrace::call::(?<case>.+)::(?<route>.+)::(?<index>[0-9]+)$",
    r"^fgtrace::(?:call::)?(?<case>.+)$",
    r"^call(?<case>)$",
    r"^ProfilerStep#(?<index>[0-9]+)(?<case>)$",
)
"""What a call's range is named, the first form that a part has counts."""

PHASE = r"^(?:fgtrace::)?phase::(.+)$"
"""What a phase's range is named; it is no call."""

SLOW_FIRST_CALL = 3
"""A first call of more than this many medians is left out of medians."""


def find_calls(trace: Trace) -> tuple[pl.DataFrame, list[Note]]:
    """Find the calls of each part by the names of its ranges; nested ones count once."""
    ranges = trace.ranges.drop_nulls("dur_ns")
    named = ranges.join(_forms(ranges["name"].unique()), on="name").filter(
        pl.col("form") == pl.col("form").min().over("part")
    )
    calls = _numbered(trace, outermost(named.sort("event_id")))
    return calls, _notes(calls)


def _numbered(trace: Trace, named: pl.DataFrame) -> pl.DataFrame:
    # The calls of ranges whose case, route and index are known as far as their names say.
    group = ["part", "case", "route"]
    return (
        named.join(trace.parts.select("part", "route", "generation"), on="part", how="left")
        .rename({"event_id": "range_event_id"})
        .with_columns(route=pl.coalesce("range_route", "route"))
        .sort("part", "start_ns", "range_event_id")
        .with_columns(order=pl.int_range(pl.len(), dtype=pl.UInt32).over(group))
        .with_columns(
            index=pl.coalesce("range_index", "order"),
            left_out=(pl.col("order") == 0)
            & (pl.col("dur_ns") > SLOW_FIRST_CALL * pl.col("dur_ns").median().over(group)),
        )
        .select(CALLS.names())
        .cast(CALLS)
    )


def _forms(names: pl.Series) -> pl.DataFrame:
    # The names that mark calls, and what they say of them.
    name = pl.col("name").cast(pl.String)
    form = pl.coalesce(
        pl.when(name.str.contains(pattern)).then(pl.lit(number))
        for number, pattern in enumerate(_FORMS)
    )
    return (
        names.to_frame()
        .filter(~name.str.contains(PHASE))
        .with_columns(form=form)
        .filter(pl.col("form").is_not_null())
        .with_columns(
            case=_field("case", forms=(0, 1)),
            range_route=_field("route", forms=(0,)),
            range_index=_field("index", forms=(0, 3)).cast(pl.UInt32, strict=False),
        )
    )


def _field(field: str, *, forms: tuple[int, ...]) -> pl.Expr:
    name = pl.col("name").cast(pl.String)
    return pl.coalesce(
        pl.when(pl.col("form") == number).then(
            name.str.extract_groups(_FORMS[number]).struct.field(field)
        )
        for number in forms
    )


def _notes(calls: pl.DataFrame) -> list[Note]:
    if calls.is_empty():
        return [Note("info", "no-calls", 0, "no range marks the calls")]
    slow = int(calls["left_out"].sum())
    if not slow:
        return []
    message = f"first calls over {SLOW_FIRST_CALL} times the median, not in medians: {slow}"
    return [Note("info", "first-call-left-out", slow, message)]


def call_ranges(trace: Trace) -> pl.DataFrame:
    """Select the ranges of calls; operators, where `select_calls` took those."""
    ids = trace.calls.select(event_id="range_event_id")
    found = trace.ranges.join(ids, on="event_id", how="semi", maintain_order="left")
    if found.height == ids.height:
        return found
    host = trace.host_events.select(found.columns)
    return host.join(ids, on="event_id", how="semi", maintain_order="left")


def owning_calls(trace: Trace, host_events: pl.DataFrame) -> pl.DataFrame:
    """Find the call that each host event belongs to.

    That is the call around it on its own thread or, on a thread that has no calls at all (the
    backward pass), the call of its process during which it started. The result has `event_id` and
    `call_id`, the call's `range_event_id`, for the host events that belong to one.
    """
    ranges = call_ranges(trace)
    on_thread = host_events.select("event_id", call_id=around_in(ranges, host_events))
    threads = ranges.select(THREAD).unique()
    elsewhere = (
        host_events.join(threads, on=THREAD, how="anti", nulls_equal=True)
        .sort("start_ns", "event_id")
        .join_asof(
            ranges.sort("start_ns", "event_id").select(
                "part",
                "process",
                "start_ns",
                call_id="event_id",
                call_end_ns=pl.col("start_ns") + pl.col("dur_ns"),
            ),
            on="start_ns",
            by=["part", "process"],
            check_sortedness=False,
        )
        .filter(pl.col("start_ns") < pl.col("call_end_ns"))
        .select("event_id", "call_id")
    )
    return pl.concat([on_thread, elsewhere]).drop_nulls("call_id").sort("event_id")


def call_work(trace: Trace) -> pl.DataFrame:
    """Make a row for each piece of device work whose launch belongs to a call.

    Columns: `call_id`, `launch_event_id`, `kind`, `dur_ns`, and `readback` of copies from the
    device (null where it cannot be known).
    """
    return trace.once("call work", lambda: _call_work(trace))


def _call_work(trace: Trace) -> pl.DataFrame:
    starters = trace.links.select(event_id="launch_event_id")
    starts = trace.api_calls.join(starters, on="event_id", how="semi", maintain_order="left")
    owners = owning_calls(trace, starts)
    return (
        trace.links.select("launch_event_id", event_id="device_event_id")
        .join(owners.rename({"event_id": "launch_event_id"}), on="launch_event_id")
        .join(trace.device_work.select("event_id", "kind", "dur_ns"), on="event_id")
        .join(
            readbacks(trace).select("readback", event_id="device_event_id", is_dtoh=True),
            on="event_id",
            how="left",
        )
        .sort("event_id")
    )


def counts() -> list[pl.Expr]:
    """Count the device work of a group of `call_work`."""
    unknown = (pl.col("is_dtoh").fill_null(False) & pl.col("readback").is_null()).any()
    return [
        (pl.col("kind") == "kernel").sum().cast(pl.Int64).alias("kernel_count"),
        (pl.col("kind") == "memcpy").sum().cast(pl.Int64).alias("copy_count"),
        pl.when(~unknown).then(pl.col("readback").sum().cast(pl.Int64)).alias("readback_count"),
        pl.col("dur_ns").sum().alias("device_time_ns"),
    ]


COUNTS = ("kernel_count", "copy_count", "readback_count", "device_time_ns")


def counts_or_zero(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame:
    """Fill counts that a join left null: 0 where the part has device work, else not known."""
    no_work = pl.col("kernel_count").is_null() & pl.col("device_recorded")
    return rows.join(
        recorded_parts(trace), on="part", how="left", maintain_order="left"
    ).with_columns(pl.when(no_work).then(0).otherwise(column).alias(column) for column in COUNTS)


def calls_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each call, sorted by case, route, generation and time."""
    work = call_work(trace).group_by("call_id").agg(counts())
    rows = trace.calls.join(work, left_on="range_event_id", right_on="call_id", how="left")
    return (
        counts_or_zero(trace, rows)
        .sort("case", "route", "generation", "part", "start_ns", "range_event_id")
        .with_columns(call_ns="dur_ns")
        .select(CALLS_REPORT.names())
        .cast(CALLS_REPORT)
    )


def calls_by_case_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each case, route and generation: how its calls are spread, and the worst."""
    call, kept = pl.col("call_ns"), ~pl.col("left_out")
    return (
        calls_report(trace)
        .group_by("case", "route", "generation", maintain_order=True)
        .agg(
            pl.col(COUNTS).filter(kept).median().floor(),
            calls=pl.len(),
            median_ns=call.filter(kept).median().floor(),
            p95_ns=call.filter(kept).quantile(0.95, "higher"),
            worst_ns=call.max(),
            worst_index=pl.col("index").sort_by("call_ns").last(),
        )
        .select(CALLS_BY_CASE.names())
        .cast(CALLS_BY_CASE)
    )


def select_calls(trace: Trace, *, ranges: str | None = None, operator: str | None = None) -> Trace:
    """Take other calls than the recording marks: `ranges`, or calls of an `operator`.

    Calls are the outermost ranges in whose names the regular expression `ranges` is found, or the
    outermost calls of the operator with just that name. Their case is the name, without a step's
    number. Raises FgtraceError (usage) where there are none.
    """
    if operator is not None:
        found = trace.host_events.filter(pl.col("kind") == "op")
        chosen = found.filter(found["name"].cast(pl.String) == operator)
        problem = f"no operator is named {operator!r}"
    else:
        assert ranges is not None
        found = trace.ranges.drop_nulls("dur_ns")
        chosen = found.filter(matching(found["name"], checked_pattern(ranges)))
        problem = f"no range's name matches {ranges!r}"
    if chosen.is_empty():
        names = found["name"].cast(pl.String).unique().sort().to_list()
        there = f"there are {', '.join(map(printable, names[:5]))}" if names else "there is none"
        raise FgtraceError(
            problem,
            hint=there + (f" and {len(names) - 5} more" if len(names) > 5 else ""),
            kind="usage",
            exit_code=ExitCode.USAGE,
        )
    name = pl.col("name").cast(pl.String)
    named = outermost(chosen).with_columns(
        case=name.str.replace(r"(#|::)[0-9]+$", ""), range_route=pl.lit(None, pl.String)
    )
    calls = _numbered(trace, named.with_columns(range_index=pl.lit(None, pl.UInt32)))
    notes = trace.notes.filter(~pl.col("kind").is_in(("no-calls", "first-call-left-out")))
    return trace.having(calls=calls, notes=pl.concat([notes, notes_frame(_notes(calls))]))
