"""Marks: which events of a call's host have a phase, by explicit ranges and by rules."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from fgtrace.analysis.around import INTERVAL, THREAD, TRACK, around_in
from fgtrace.analysis.calls import PHASE, owning_calls
from fgtrace.analysis.intervals import outermost
from fgtrace.analysis.names import matching
from fgtrace.analysis.readbacks import readbacks
from fgtrace.analysis.rules import RANGE, RULES, Rule
from fgtrace.frames.trace import Trace

MARKS = pl.Schema(
    {
        "event_id": pl.UInt32(),  # a range, an operator or an API call
        "call_id": pl.UInt32(),  # the call's range
        "phase": pl.String(),
        "rule": pl.String(),  # RANGE, or the rule's name
    }
)

_OLD_NAMES = {"scan": "prefix_scan", "readback": "length_readback"}

_PICKING = r"^aten::(select|slice|view|reshape|squeeze)$"
_COPYING = r"^aten::copy_$"
_READING = r"^aten::(item|is_nonzero|_local_scalar_dense|equal|_to_copy|to|copy_)$"


def phase_marks(
    trace: Trace, rules: tuple[Rule, ...] = RULES, *, explicit: bool = True
) -> pl.DataFrame:
    """Find the host events of calls that have a phase: MARKS and INTERVAL, in order.

    Marks can lie inside each other; the innermost one around an event, or at it, counts. Inside an
    explicit range rules say nothing; without `explicit` there are none.
    """
    return trace.once(("marks", rules, explicit), lambda: _marks(trace, rules, explicit=explicit))


def phases_of(marks: pl.DataFrame, host_events: pl.DataFrame) -> pl.DataFrame:
    """Look up the `phase` and `rule` of host events: a row for each that has a mark."""
    found = host_events.select("event_id", mark_id=around_in(marks, host_events))
    return found.join(
        marks.select("phase", "rule", mark_id="event_id"), on="mark_id", maintain_order="left"
    ).select("event_id", "phase", "rule", "mark_id")


def device_phases(trace: Trace, rules: tuple[Rule, ...] = RULES) -> pl.DataFrame:
    """Say which phase device work of calls belongs to: `device_event_id`, `phase`, `rule`.

    It is that of its launch. The kernels of one graph launch can be of several phases: where no
    explicit range is around it, rules for kernels say which, by the other kernels of the launch.
    """
    return trace.once(("device phases", rules), lambda: _device_phases(trace, rules))


def composites(trace: Trace, rules: tuple[Rule, ...] = RULES) -> dict[str, set[str]]:
    """Find the explicit phases in whose device work rules see others too, and which these are."""
    explicit = device_phases(trace, rules).filter(pl.col("rule") == RANGE)
    links = trace.links.select("device_event_id", event_id="launch_event_id")
    starters = trace.api_calls.join(links, on="event_id", how="semi", maintain_order="left")
    ruled = phases_of(phase_marks(trace, rules, explicit=False), starters)
    inside = (
        explicit.select("device_event_id", whole="phase")
        .join(links, on="device_event_id")
        .join(ruled.select("event_id", "phase"), on="event_id")
        .select("whole", "phase")
        .unique()
    )
    found: dict[str, set[str]] = {}
    for whole, part in inside.iter_rows():
        found.setdefault(whole, {whole}).add(part)
    return {whole: parts for whole, parts in found.items() if len(parts) > 1}


def _device_phases(trace: Trace, rules: tuple[Rule, ...]) -> pl.DataFrame:
    links = trace.links.select("device_event_id", "how", event_id="launch_event_id")
    starters = trace.api_calls.join(links, on="event_id", how="semi", maintain_order="left")
    by_launch = links.join(phases_of(phase_marks(trace, rules), starters), on="event_id")
    columns = ("device_event_id", "phase", "rule")
    explicit = pl.col("rule") == RANGE
    asked = _Found.in_graphs(trace)
    by_kernel = [
        asked.marked_by(rule).rename({"event_id": "device_event_id"}).select(columns)
        for rule in rules
        if rule.kernel is not None and not asked.kernels.is_empty()
    ]
    by_launch = by_launch.select(columns)
    found = [by_launch.filter(explicit), *by_kernel, by_launch.filter(~explicit)]
    return pl.concat(found).unique("device_event_id", keep="first", maintain_order=True)


def _ranges(trace: Trace) -> pl.DataFrame:
    phase = pl.col("name").cast(pl.String).str.extract(PHASE, 1).replace(_OLD_NAMES)
    names = trace.ranges.select(pl.col("name").unique()).with_columns(phase=phase)
    ranges = trace.ranges.join(names.drop_nulls("phase"), on="name", maintain_order="left")
    return (
        ranges.join(owning_calls(trace, ranges), on="event_id", maintain_order="left")
        .with_columns(rule=pl.lit(RANGE))
        .select(MARKS.names())
        .cast(MARKS)
    )


def _marks(trace: Trace, rules: tuple[Rule, ...], *, explicit: bool) -> pl.DataFrame:
    intervals = trace.host_events.select(INTERVAL)
    ranges = _ranges(trace) if explicit else MARKS.to_frame()
    found = [ranges]
    if not trace.calls.is_empty():
        asked = _Found.in_calls(trace)
        # Inside an explicit range rules say nothing, and inside any mark generic rules do not.
        for generic in (False, True):
            marked = [asked.marked_by(rule) for rule in rules if rule.generic == generic]
            around = pl.concat(found)
            found.append(_outside(intervals, pl.concat([around.clear(), *marked]), around))
    return (
        pl.concat(found)
        .join(intervals, on="event_id", maintain_order="right")
        .unique("event_id", keep="first", maintain_order=True)
        .select(*MARKS.names(), *INTERVAL[1:])
    )


def _outside(intervals: pl.DataFrame, rows: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    around = intervals.join(marks, on="event_id", how="semi", maintain_order="left")
    events = intervals.join(rows, on="event_id", how="semi", maintain_order="left")
    free = events.filter(around_in(around, events).is_null())
    return rows.join(free, on="event_id", how="semi", maintain_order="left")


_OPS = ("event_id", "call_id", "name", "start_ns")


@dataclass(frozen=True)
class _Found:
    """What rules are asked about: the operators, launches and readbacks of calls."""

    ops: pl.DataFrame  # _OPS, `works`: whether something is launched or copied inside
    kernels: pl.DataFrame  # _OPS, where event_id is the launch
    readbacks: pl.DataFrame  # _OPS, where name is what made the value that is read

    @classmethod
    def in_calls(cls, trace: Trace) -> _Found:
        """Find those of a trace's calls; kernels of graphs are none, for their launch is all's."""
        host = trace.host_events
        work = trace.links.select("launch_event_id", "how", event_id="device_event_id").join(
            trace.device_work, on="event_id"
        )
        launching = work["launch_event_id"].drop_nulls().unique().implode()
        asked = host.filter((pl.col("kind") == "op") | pl.col("event_id").is_in(launching))
        owners = owning_calls(trace, asked)
        owned = asked.join(owners, on="event_id", maintain_order="left")
        ops = owned.filter(pl.col("kind") == "op")
        starters = owned.filter(pl.col("kind") != "op")
        copying = ops.filter(matching(ops["name"], _COPYING))
        working = _with_those_around(host, pl.concat([starters, copying])["event_id"])
        starts = starters.select("call_id", launch_event_id="event_id", launch_ns="start_ns")
        work = work.join(starts, on="launch_event_id")
        kernels = work.filter(pl.col("kind") == "kernel", pl.col("how") != "graph")
        return cls(
            ops.select(*_OPS, works=pl.col("event_id").is_in(working.implode())),
            kernels.select("call_id", "name", event_id="launch_event_id", start_ns="launch_ns"),
            _readbacks(trace, work),
        )

    @classmethod
    def in_graphs(cls, trace: Trace) -> _Found:
        """Find the kernels of graphs: a graph's launch stands for the call."""
        kernels = trace.device_work.filter(pl.col("kind") == "kernel").join(
            trace.links.filter(pl.col("how") == "graph").select(
                event_id="device_event_id", call_id="launch_event_id"
            ),
            on="event_id",
        )
        kernels = kernels.select(_OPS)
        return cls(kernels.clear(), kernels, kernels.clear())

    def marked_by(self, rule: Rule) -> pl.DataFrame:
        """Give the MARKS of a rule; those that lie inside explicit ranges too."""
        if rule.operator is not None:
            chosen = self.ops.filter(matching(self.ops["name"], rule.operator))
            if rule.workless:
                chosen = chosen.filter(~pl.col("works"))
        elif rule.kernel is not None:
            chosen = self.kernels.filter(matching(self.kernels["name"], rule.kernel))
        else:
            assert rule.readback_of is not None
            chosen = self.readbacks.filter(matching(self.readbacks["name"], rule.readback_of))
        if rule.followed_by is not None and not chosen.is_empty():
            last = self._times(rule.followed_by).agg(limit_ns=pl.col("start_ns").max())
            chosen = chosen.join(last, on="call_id").filter(pl.col("start_ns") < pl.col("limit_ns"))
        if rule.preceded_by is not None and not chosen.is_empty():
            first = self._times(rule.preceded_by).agg(limit_ns=pl.col("start_ns").min())
            chosen = chosen.select("event_id", "call_id", "start_ns").join(first, on="call_id")
            chosen = chosen.filter(pl.col("start_ns") > pl.col("limit_ns"))
        return (
            chosen.select("event_id", "call_id", phase=pl.lit(rule.phase), rule=pl.lit(rule.name))
            .unique("event_id", keep="first", maintain_order=True)
            .cast(MARKS)
        )

    def _times(self, pattern: str) -> pl.dataframe.group_by.GroupBy:
        # When operators and launches happen whose names have the pattern.
        rows = [
            named.filter(matching(named["name"], pattern)).select("call_id", "start_ns")
            for named in (self.ops, self.kernels)
        ]
        return pl.concat(rows).group_by("call_id")


def _with_those_around(host: pl.DataFrame, inner: pl.Series) -> pl.Series:
    # Some host events, and all that are around them.
    ids = host["event_id"]
    found, level = [inner], inner
    while not level.is_empty():
        level = host["parent_id"].gather(ids.search_sorted(level)).drop_nulls().unique()
        found.append(level)
    return pl.concat(found).unique()


def _readbacks(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """Make a row an event that reads a scalar back: the outermost reading operator around the copy.

    The view just before it, which picks the scalar, is another. Where no operator is around, the
    copy's call and the wait's are. `name` is the kernel before the copy on its stream, which made
    what is read.
    """
    queue = ["part", "device", "stream"]
    scalars = readbacks(trace).filter("readback", "scalar").rename({"device_event_id": "event_id"})
    copies = work.join(scalars, on="event_id").sort("start_ns")
    makers = work.filter(pl.col("kind") == "kernel").sort("start_ns")
    copies = copies.drop("name").join_asof(
        makers.select(*queue, "start_ns", "name"),
        on="start_ns",
        by=queue,
        allow_exact_matches=False,
        check_sortedness=False,
    )
    host = trace.host_events
    reading = host.filter(pl.col("kind") == "op")
    reading = outermost(reading.filter(matching(reading["name"], _READING)))
    calls = host.join(copies.select(event_id="launch_event_id"), on="event_id", how="semi")
    around = calls.select(launch_event_id="event_id", op_id=around_in(reading, calls))
    views = _views_before(host, reading).select(op_id="event_id", view_id="view_id")
    around = around.join(views, on="op_id", how="left", maintain_order="left")
    found = copies.join(around, on="launch_event_id", how="left").select(
        "call_id",
        "name",
        start_ns="launch_ns",
        event_id=pl.when(pl.col("op_id").is_not_null())
        .then(pl.concat_list("op_id", "view_id"))
        .otherwise(pl.concat_list("launch_event_id", "wait_event_id")),
    )
    return found.explode("event_id").drop_nulls("event_id").drop_nulls("name")


def _views_before(host: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    # The view operator that is the last one before each operator, side by side with it.
    beside = [*TRACK, pl.col("parent_id").fill_null(2**32 - 1)]
    before = host.filter(pl.col("kind") == "op").select(
        *beside, "event_id", "name", view_id="event_id"
    )
    found = ops.select(*beside, "event_id").join_asof(
        before,
        on="event_id",
        by=[*THREAD, "parent_id"],
        allow_exact_matches=False,
        check_sortedness=False,
    )
    return found.filter(matching(found["name"], _PICKING))
