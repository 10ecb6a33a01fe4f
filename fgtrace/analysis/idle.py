"""Idle devices: the gaps between their work, by what the host did meanwhile."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import THREAD, TRACK
from fgtrace.analysis.links import GRAPH_LAUNCH, launches
from fgtrace.analysis.names import matching
from fgtrace.analysis.pieces import outer_calls
from fgtrace.analysis.readbacks import waits
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

CAUSES = {
    "host in python": "the thread that launches was outside of operators and API calls",
    "host in op": "it was in an operator, outside of API calls",
    "host in API": "it was in an API call that does not wait",
    "host waiting": "it waited for the device, or for what the device had done",
    "launch latency": "the launch was under way: from its call to the start of the work",
    "other stream": "the work was launched before, and its stream waited for another one",
    "inside a graph": "between two kernels of one graph launch",
    "not known": "the launch was not recorded, or a graph's replay only in part",
}
"""Why a device was idle."""

IDLE = pl.Schema(
    {
        "cause": pl.String,  # one of CAUSES
        "where": pl.String,  # the operator or API call; null for the others
        "count": pl.Int64,  # gaps that it has a part in
        "idle_ns": pl.Int64,  # devices added up
        "share": pl.Float64,  # of the span of the devices' work, 0 to 1
        "longest_ns": pl.Int64,  # the longest part of one gap
        "event_id": pl.UInt32,  # the work that ends that gap
    }
)

_FEWEST_REPLAYS = 3


def idle_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each cause and place of idle time, the longest first.

    A gap lies between the end of all earlier work of a device and the start of its next work. Until
    the launch of that work, the gap is what the launching thread did meanwhile; from then on it is
    the launch's latency. So the rows add up to the spans of the devices' work less the time in
    which they were busy.
    """
    span = _span(trace)
    return (
        idle_gaps(trace)
        .group_by("cause", "where", maintain_order=True)
        .agg(
            pl.col("event_id").first(),
            count=pl.len(),
            idle_ns=pl.col("idle_ns").sum(),
            longest_ns=pl.col("idle_ns").first(),
        )
        .with_columns(share=pl.col("idle_ns") / span if span else 0.0)
        .sort("idle_ns", "cause", "where", descending=[True, False, False])
        .select(IDLE.names())
        .cast(IDLE)
    )


def idle_gaps(trace: Trace) -> pl.DataFrame:
    """Make a row for each gap, cause and place, the longest first.

    `event_id` is the work that ends the gap, `idle_ns` its part of the gap.
    """
    return trace.once("idle gaps", lambda: _idle_gaps(trace))


def _idle_gaps(trace: Trace) -> pl.DataFrame:
    gaps = _gaps(trace)
    pieces = pl.concat([_without_host(gaps), _launching(gaps), _on_host(trace, gaps)])
    return (
        pieces.filter(pl.col("idle_ns") > 0)
        .group_by("cause", "where", "gap_id")
        .agg(pl.col("idle_ns").sum(), pl.col("event_id").first())
        .sort("idle_ns", "event_id", descending=[True, False])
    )


def _span(trace: Trace) -> int:
    end = pl.col("start_ns") + pl.col("dur_ns").fill_null(0)
    spans = trace.device_work.group_by("part", "device").agg(
        span_ns=end.max() - pl.col("start_ns").min()
    )
    return int(spans["span_ns"].sum())


def _gaps(trace: Trace) -> pl.DataFrame:
    """Make a row a gap: `gap_ns` to `start_ns`, the work that ends it, and its launch."""
    launch = trace.api_calls.select(
        *TRACK, launch_event_id="event_id", launch_ns="start_ns", launch_name="name"
    )
    stream = pl.col("stream")
    work = trace.device_work.drop_nulls("start_ns").sort("start_ns", "event_id")
    end = pl.col("start_ns") + pl.col("dur_ns").fill_null(0)
    device = ["part", "device"]
    followed = (
        work.with_columns(end_ns=end)
        .with_columns(
            gap_ns=pl.col("end_ns").cum_max().shift(1).over(device),
            same_stream=(stream == stream.shift(1)).over(device),
        )
        .join(
            trace.links.select("launch_event_id", "how", event_id="device_event_id"),
            on="event_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(
            same_launch=(pl.col("launch_event_id") == pl.col("launch_event_id").shift(1)).over(
                device
            )
        )
    )
    gaps = followed.filter(pl.col("start_ns") > pl.col("gap_ns")).join(
        launch.drop("part"), on="launch_event_id", how="left", maintain_order="left"
    )
    return gaps.with_columns(
        gap_id=pl.int_range(pl.len()),
        doubtful=_doubtful(trace, gaps),
        # A launch that seems to be later than its work has another clock's time.
        launch_ns=pl.when(pl.col("launch_ns") > pl.col("start_ns"))
        .then("start_ns")
        .otherwise("launch_ns"),
    )


def _doubtful(trace: Trace, gaps: pl.DataFrame) -> pl.Series:
    # Gaps since whose predecessor a graph was launched whose kernels were not all recorded.
    lost = under_recorded(trace).select("part", lost_ns="start_ns").sort("lost_ns")
    rows = gaps.select("part", "device", "start_ns", place=pl.int_range(pl.len()))
    return (
        rows.with_columns(since_ns=pl.col("start_ns").shift(1).over("part", "device"))
        .sort("start_ns")
        .join_asof(lost, left_on="start_ns", right_on="lost_ns", by="part", check_sortedness=False)
        .sort("place")
        .select(
            doubtful=(pl.col("lost_ns") >= pl.col("since_ns").fill_null(-(2**63))).fill_null(False)
        )
        .to_series()
    )


def under_recorded(trace: Trace) -> pl.DataFrame:
    """Select the graph launches that own less than half the work that most of them own.

    With fewer than three nothing can be told.
    """
    found = launches(trace)
    graphs = found.filter(matching(found["name"], GRAPH_LAUNCH))
    owned = trace.links.group_by(event_id="launch_event_id").agg(owned=pl.len())
    counted = graphs.join(owned, on="event_id", how="left", maintain_order="left").with_columns(
        pl.col("owned").fill_null(0)
    )
    if counted.height < _FEWEST_REPLAYS:
        return counted.clear()
    return counted.filter(pl.col("owned") * 2 < pl.col("owned").median())


_IN_GRAPH = (pl.col("how") == "graph") & pl.col("same_launch").fill_null(False)
_KNOWN = ~pl.col("doubtful") & pl.col("launch_ns").is_not_null()


def _piece(cause: str | pl.Expr, where: pl.Expr, length: pl.Expr) -> list[pl.Expr]:
    return [
        pl.col("gap_id"),
        pl.col("event_id"),
        (pl.lit(cause) if isinstance(cause, str) else cause).alias("cause"),
        where.cast(pl.String).alias("where"),
        length.alias("idle_ns"),
    ]


_NOWHERE = pl.lit(None, pl.String)


def _without_host(gaps: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("start_ns") - pl.col("gap_ns")
    cause = pl.when(_IN_GRAPH).then(pl.lit("inside a graph")).otherwise(pl.lit("not known"))
    return gaps.filter(_IN_GRAPH | ~_KNOWN).select(_piece(cause, _NOWHERE, gap))


def _launching(gaps: pl.DataFrame) -> pl.DataFrame:
    since = pl.max_horizontal("gap_ns", "launch_ns")
    queued = pl.col("launch_ns") < pl.col("gap_ns")
    cause = (
        pl.when(queued & ~pl.col("same_stream").fill_null(True))
        .then(pl.lit("other stream"))
        .otherwise(pl.lit("launch latency"))
    )
    return gaps.filter(_KNOWN, ~_IN_GRAPH).select(
        _piece(cause, _NOWHERE, pl.col("start_ns") - since)
    )


def _on_host(trace: Trace, gaps: pl.DataFrame) -> pl.DataFrame:
    # What the launching thread did from the end of the work before until its launch.
    windows = gaps.filter(_KNOWN, ~_IN_GRAPH, pl.col("launch_ns") > pl.col("gap_ns")).select(
        "gap_id", "event_id", *THREAD, begin_ns="gap_ns", end_ns="launch_ns"
    )
    timeline = _timeline(trace, windows)
    first, last = (
        windows.with_row_index("place")
        .sort(at)
        .join_asof(
            timeline.select(*THREAD, "from_ns", "segment"),
            left_on=at,
            right_on="from_ns",
            by=THREAD,
            check_sortedness=False,
        )
        .sort("place")["segment"]
        for at in ("begin_ns", "end_ns")
    )
    lowest = timeline.group_by(THREAD).agg(lowest=pl.col("segment").min())
    rows = (
        windows.with_columns(first=first, last=last)
        .join(lowest, on=THREAD, how="left")
        # A thread's first segment begins with its first event: before that there is none.
        .with_columns(first=pl.coalesce("first", "lowest"))
        .drop_nulls("last")
        .with_columns(segment=pl.int_ranges("first", pl.col("last") + 1, dtype=pl.Int64))
        .explode("segment")
        .join(timeline.select("segment", "from_ns", "to_ns", "cause", "where"), on="segment")
    )
    met = pl.min_horizontal("to_ns", "end_ns") - pl.max_horizontal("from_ns", "begin_ns")
    inside = rows.select(_piece(pl.col("cause"), pl.col("where"), met)).filter(
        pl.col("idle_ns") > 0
    )
    known = inside.group_by("gap_id").agg(told_ns=pl.col("idle_ns").sum())
    length = pl.col("end_ns") - pl.col("begin_ns")
    rest = windows.join(known, on="gap_id", how="left").select(
        _piece("host in python", _NOWHERE, length - pl.col("told_ns").fill_null(0))
    )
    return pl.concat([inside, rest])


def _timeline(trace: Trace, windows: pl.DataFrame) -> pl.DataFrame:
    """Cut the threads of `windows` into segments with the innermost event's cause and name."""
    threads = windows.select(THREAD).unique()
    host = trace.host_events.with_columns(TRACK[1]).join(
        threads, on=THREAD, how="semi", maintain_order="left"
    )
    told = _told(trace, host)
    end = pl.col("start_ns") + pl.col("dur_ns")
    columns = [*THREAD, "event_id"]
    starts = host.select(*columns, owner="event_id", from_ns="start_ns")
    ends = host.select(*columns, owner="parent_id", from_ns=end)
    return (
        pl.concat([starts, ends])
        .sort(*THREAD, "from_ns", "event_id", maintain_order=True)
        .with_columns(to_ns=pl.col("from_ns").shift(-1).over(THREAD))
        .filter(pl.col("to_ns") > pl.col("from_ns"))
        .join(told, left_on="owner", right_on="event_id", how="left", maintain_order="left")
        .with_columns(pl.col("cause").fill_null("host in python"), segment=pl.int_range(pl.len()))
    )


def _told(trace: Trace, host: pl.DataFrame) -> pl.DataFrame:
    # Cause and place of each host event's own time.
    name = pl.col("name").cast(pl.String)
    kind = pl.col("kind")
    api = host.filter(kind.is_in(HOST_API))
    waiting = waits(trace)["event_id"].implode()
    outer = outer_calls(api).join(
        api.select(outer_id="event_id", outer_name=name), on="outer_id", maintain_order="left"
    )
    calls = outer.select(
        "event_id",
        cause=pl.when(pl.col("outer_id").is_in(waiting))
        .then(pl.lit("host waiting"))
        .otherwise(pl.lit("host in API")),
        where="outer_name",
    )
    ops = host.filter(kind == "op").select("event_id", cause=pl.lit("host in op"), where=name)
    return pl.concat([calls, ops])
