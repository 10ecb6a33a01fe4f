"""How each report is shown: which columns, in what units, under which titles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from fgtrace import units
from fgtrace.analysis import matrix
from fgtrace.views.model import Column


@dataclass(frozen=True)
class Shown:
    """A column of a table: the frame's columns that it is made of, and how their values are shown.

    An optional one is left out where no row has a value.
    """

    title: str
    sources: tuple[str, ...]
    text: Callable[..., str]
    drop: int = 0
    optional: bool = False
    wrap: bool = False

    def column(self) -> Column:
        """Names stand to the left, everything that is counted to the right."""
        align: Literal["left", "right"] = "left" if self.text in (named, _indented) else "right"
        return Column(self.title, align, self.drop, self.wrap)


@dataclass(frozen=True)
class Layout:
    """How a report is shown, and which of its columns hold the names that `--filter` looks at.

    `empty` says why the report can have no rows; without it, the notes of the trace do.
    """

    title: str
    shown: tuple[Shown, ...]
    names: tuple[str, ...]
    footnotes: tuple[str, ...] = ()
    empty: str | None = None


def named(value: str | None) -> str:
    """Show a name as it is, its control characters escaped."""
    return units.MISSING if value is None else units.printable(value)


def _indented(name: str | None, depth: int | None) -> str:
    return "  " * (depth or 0) + named(name)


def _yes_no(value: bool | None) -> str:
    return units.MISSING if value is None else "yes" if value else "no"


def _saving(saving: int | None, low: int | None, high: int | None) -> str:
    return units.interval(low, high) if saving is None else units.duration(saving)


def _call(index: int, left_out: bool) -> str:
    return f"{index}†" if left_out else str(index)


_ENDS = ("interval_low_ns", "interval_high_ns")

CALLS = Layout(
    title="Calls",
    names=("case", "route"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named),
        Shown("generation", ("generation",), units.count, drop=2),
        Shown("call", ("index", "left_out"), _call),
        Shown("time", ("call_ns",), units.duration),
        Shown("kernels", ("kernel_count",), units.count),
        Shown("copies", ("copy_count",), units.count, drop=1),
        Shown("readbacks", ("readback_count",), units.count),
        Shown("device time", ("device_time_ns",), units.duration),
    ),
    footnotes=(
        "Times are under the profiler, which makes host work longer.",
        "† a first call over three times the median: not in medians.",
    ),
)

CALLS_BY_CASE = Layout(
    title="Calls by case",
    names=("case", "route"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named),
        Shown("generation", ("generation",), units.count, drop=2, optional=True),
        Shown("calls", ("calls",), units.count),
        Shown("median", ("median_ns",), units.duration),
        Shown("p95", ("p95_ns",), units.duration),
        Shown("worst", ("worst_ns",), units.duration),
        Shown("which", ("worst_index",), units.count),
        Shown("kernels", ("kernel_count",), units.count, drop=1),
        Shown("copies", ("copy_count",), units.count, drop=3),
        Shown("readbacks", ("readback_count",), units.count, drop=1),
        Shown("device time", ("device_time_ns",), units.duration),
    ),
    footnotes=(
        "Times are under the profiler, which makes host work longer.",
        "The worst is of all calls; the median and p95 leave a slow first call out.",
    ),
)

PHASES = Layout(
    title="Phases of a call",
    names=("case", "route", "phase"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named),
        Shown("phase", ("phase",), named),
        Shown("calls", ("calls",), units.count, drop=2),
        Shown("kernels", ("kernel_count",), units.count),
        Shown("copies", ("copy_count",), units.count, drop=1),
        Shown("readbacks", ("readback_count",), units.count),
        Shown("device time", ("device_time_ns",), units.duration),
        Shown("host time", ("host_time_ns",), units.duration),
        Shown("waiting", ("waiting_ns",), units.duration),
        Shown("rule", ("rule",), named, drop=3),
    ),
    footnotes=(
        "Counts and times are medians a call, under the profiler, which makes host work longer.",
    ),
)

EXPLAINED = Layout(
    title="Phases, and the rules that tell them",
    names=("case", "route", "phase", "rule", "example"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named, optional=True),
        Shown("phase", ("phase",), named),
        Shown("rule", ("rule",), named),
        Shown("calls", ("calls",), units.count),
        Shown("marks", ("count",), units.count),
        Shown("first", ("example",), named, drop=2),
        Shown("event", ("event_id",), units.count, drop=3),
        Shown("because", ("sentence",), named, wrap=True),
        Shown("source", ("source",), named, drop=4),
    ),
)

BREAKDOWN = Layout(
    title="Where one call goes",
    names=("case", "route", "side", "phase", "piece"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named, optional=True),
        Shown("side", ("side",), named),
        Shown("phase", ("phase",), named),
        Shown("piece", ("piece",), named),
        Shown("median", ("median_ns",), units.duration),
        Shown("95 %", _ENDS, units.interval, drop=1),
        Shown("share", ("share",), units.share),
        Shown("total", ("total_ns",), units.duration, drop=2),
        Shown("calls", ("calls",), units.count, drop=3),
    ),
    footnotes=(
        "Under the profiler, which makes host work longer. Totals and shares of a side add up; "
        "medians need not.",
        "The device's side is from its first start to its last end, gaps included.",
    ),
)

WHATIF = Layout(
    title="What a call would take without a part",
    names=("case", "route", "without"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named, optional=True),
        Shown("without", ("without",), named),
        Shown("call", ("call_ns",), units.duration, optional=True),
        Shown("predicted", ("predicted_ns",), units.duration, optional=True),
        Shown("saving", ("saving_ns",), units.duration, optional=True),
        Shown("saving, from to", _ENDS, units.interval),
        Shown("bound by", ("bound_before",), named, drop=3),
        Shown("then by", ("bound_after",), named, drop=2),
        Shown("calls", ("calls",), units.count, drop=4),
        Shown("instead", ("instead",), named, drop=1),
    ),
    footnotes=(
        "Predicted by replaying the recorded calls back to back, the profiler's cost taken off so "
        "that the whole call takes what the stopwatch says.",
        "Without a stopwatch, or --call-time, there is only an interval: profiled calls take 1.9 "
        "to 3.0 times as long.",
    ),
    empty="no call has a part that it could be without",
)

ATTRIBUTION = Layout(
    title="What each part of a call costs",
    names=("case", "route", "part"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named, optional=True),
        Shown("part", ("part",), named),
        Shown("recorded", ("recorded_ns",), units.duration),
        Shown("predicted", ("predicted_ns",), units.duration),
        Shown("from to", ("predicted_low_ns", "predicted_high_ns"), units.interval, drop=1),
        Shown("measured", ("measured_ns",), units.duration, optional=True),
        Shown("95 %", _ENDS, units.interval, drop=2, optional=True),
        Shown("agrees", ("agrees",), _yes_no, optional=True),
    ),
    footnotes=(
        "Recorded: host time under the profiler, which makes it longer. Predicted: what an "
        "unprofiled call would save. Measured: with and without the part, all others being on.",
        "They agree when their intervals meet, or they differ by less than 10 %.",
    ),
    empty="no call has a part that it could be without",
)

EFFECTS = Layout(
    title="Effects of parts, measured",
    names=("case", "route", "part"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named, optional=True),
        Shown("effect", ("kind",), named),
        Shown("part", ("part",), named),
        Shown("given", ("given",), named, drop=1),
        Shown("time", ("effect_ns",), units.duration),
        Shown("95 %", _ENDS, units.interval),
        Shown("rounds", ("rounds",), units.count, drop=2),
        Shown("generations", ("generations",), units.count, drop=3),
    ),
    footnotes=(
        "How much longer a call with the part takes by the stopwatch; main: over all states of the "
        "others; simple: given their state; interaction: what one adds to the other's effect.",
        "Medians of differences within a round, whose batches follow each other.",
    ),
    empty="no factorial was timed: fgtrace collect --factorial PARTS",
)

HOST = Layout(
    title="The host's time in a call",
    names=("case", "route", "group", "module", "function"),
    shown=(
        Shown("case", ("case",), named, drop=2, optional=True),
        Shown("route", ("route",), named, drop=1, optional=True),
        Shown("group", ("group",), named),
        Shown("scaled", ("scaled_ns",), units.duration, optional=True),
        Shown("with stacks", ("recorded_ns",), units.duration),
        Shown("share", ("share",), units.share),
        Shown("count", ("count",), units.count, drop=3),
        Shown("function", ("function",), named),
        Shown("module", ("module",), named),
    ),
    footnotes=(
        "Own times a call, under a profiler that records every Python call: it makes Python many "
        "times as slow. Scaled: without that, by a model, so that the whole is the unstacked call.",
    ),
    empty="no Python stacks were recorded: fgtrace collect records them, and torch.profiler does "
    "with with_stack=True",
)

HOST_BY_GROUP = replace(
    HOST,
    names=("case", "route", "group"),
    shown=tuple(shown for shown in HOST.shown if shown.title not in ("function", "module")),
)

IDLE = Layout(
    title="Idle devices",
    names=("cause", "where"),
    shown=(
        Shown("cause", ("cause",), named),
        Shown("idle", ("idle_ns",), units.duration),
        Shown("share", ("share",), units.share),
        Shown("gaps", ("count",), units.count),
        Shown("longest", ("longest_ns",), units.duration),
        Shown("before event", ("event_id",), units.count, drop=1),
        Shown("where", ("where",), named),
    ),
    footnotes=(
        "The share is of the span of the device's work. A gap is what the launching thread did "
        "until its launch, then the launch's latency.",
    ),
    empty="no device was idle between two pieces of work",
)

FINDINGS = Layout(
    title="Findings",
    names=("rule", "sentence"),
    shown=(
        Shown("saving", ("saving_ns", "saving_low_ns", "saving_high_ns"), _saving),
        Shown("rule", ("rule",), named, drop=1),
        Shown("finding", ("sentence",), named, wrap=True),
    ),
    footnotes=("By what an unprofiled call would save, as predicted; --format json has the rows.",),
    empty="nothing stands out",
)

WITNESSES = Layout(
    title="Witnesses",
    names=("case", "route", "witness", "value"),
    shown=(
        Shown("case", ("case",), named, optional=True),
        Shown("route", ("route",), named),
        Shown("generation", ("generation",), units.count, drop=1),
        Shown("process", ("process",), units.count, drop=2),
        Shown("witness", ("witness",), named),
        Shown("value", ("value",), named),
    ),
    empty="nothing was witnessed: only fgtrace collect does",
)

KERNELS = Layout(
    title="Kernels",
    names=("name",),
    shown=(
        Shown("count", ("count",), units.count),
        Shown("total", ("total_ns",), units.duration),
        Shown("share", ("share",), units.share),
        Shown("min", ("min_ns",), units.duration, drop=2),
        Shown("median", ("median_ns",), units.duration),
        Shown("p95", ("p95_ns",), units.duration, drop=3),
        Shown("max", ("max_ns",), units.duration, drop=1),
        # Last, so that one long name does not push the numbers of all rows apart.
        Shown("kernel", ("name",), named),
    ),
    footnotes=("The share is of device time: kernels, copies and fills.",),
    empty="no kernel was recorded",
)

_OPS_FOOTNOTES = (
    "Self, total, median and max are host time; self is without the operators inside.",
    "Device work belongs to the innermost operator around its launch.",
)

OPS = Layout(
    title="Operators",
    names=("name",),
    shown=(
        Shown("count", ("count",), units.count),
        Shown("self", ("self_host_ns",), units.duration),
        Shown("total", ("total_host_ns",), units.duration, drop=1),
        Shown("median", ("median_ns",), units.duration, drop=3),
        Shown("max", ("max_ns",), units.duration, drop=4),
        Shown("device time", ("device_time_ns",), units.duration),
        Shown("kernels", ("kernel_count",), units.count, drop=2),
        Shown("launches", ("launch_count",), units.count, drop=5),
        Shown("operator", ("name",), named),
    ),
    footnotes=_OPS_FOOTNOTES,
    empty="no operator was recorded",
)

OPS_BY_SHAPE = replace(
    OPS,
    title="Operators by their inputs",
    names=("name", "shapes", "types"),
    shown=(
        *OPS.shown,
        Shown("shapes", ("shapes",), named, optional=True),
        Shown("types", ("types",), named, drop=6, optional=True),
    ),
)

LAUNCHES = Layout(
    title="Launches",
    names=("api",),
    shown=(
        Shown("API call", ("api",), named),
        Shown("count", ("count",), units.count),
        Shown("host time", ("host_time_ns",), units.duration),
        Shown("median delay", ("delay_median_ns",), units.duration),
        Shown("p95 delay", ("delay_p95_ns",), units.duration, drop=1),
        Shown("queued", ("queue_depth_median",), units.count, drop=3),
        Shown("most queued", ("queue_depth_max",), units.count, drop=4),
        Shown("without device row", ("without_device_row",), units.count, drop=2),
    ),
    footnotes=(
        "The delay is from the start of the call to the start of what it launched, of a graph to "
        "its first kernel. Queued: what the stream had still to do when the launch began.",
    ),
    empty="no launch was recorded",
)

SYNCS = Layout(
    title="Waits",
    names=("api", "op", "call_site"),
    shown=(
        Shown("API call", ("api",), named),
        Shown("class", ("class",), named),
        Shown("count", ("count",), units.count),
        Shown("host time", ("host_time_ns",), units.duration),
        Shown("earlier work", ("earlier_ns",), units.duration, drop=4, optional=True),
        Shown("this work", ("this_ns",), units.duration, drop=4, optional=True),
        Shown("wake", ("wake_ns",), units.duration, drop=3, optional=True),
        Shown("device idle", ("device_idle_ns",), units.duration),
        Shown("bytes", ("bytes",), units.size, drop=1),
        Shown("operator", ("op",), named),
        Shown("call site", ("call_site",), named, drop=2, optional=True),
    ),
    footnotes=(
        "In an event_wait a stream waits, and the host does not; its host time is the call's own.",
        "In calls a wait is for earlier work, for this call's work, and then the host wakes.",
        "Bytes are those of the copies waited for. Device idle: while no work ran on any device.",
    ),
    empty="no wait was recorded",
)

TREE = Layout(
    title="Call tree of the host",
    names=("name",),
    shown=(
        Shown("count", ("count",), units.count),
        Shown("total", ("total_ns",), units.duration),
        Shown("self", ("self_ns",), units.duration, drop=1),
        Shown("device time", ("device_time_ns",), units.duration),
        Shown("kernels", ("kernel_count",), units.count, drop=2),
        Shown("kind", ("kind",), named, drop=3),
        Shown("name", ("name", "depth"), _indented),
    ),
    footnotes=("Totals, device time and kernels are with what is inside; self is without.",),
    empty="nothing was recorded on the host",
)

LEVEL = units.level(matrix.LEVEL)
"""The level of the intervals, as a column's title."""

MATRIX = Layout(
    title="Routes",
    names=("case", "route"),
    shown=(
        Shown("case", ("case",), named),
        Shown("route", ("route",), named),
        Shown("throughput", ("throughput_ns",), units.duration),
        Shown(LEVEL, ("throughput_low_ns", "throughput_high_ns"), units.interval, drop=2),
        Shown("enqueue", ("enqueue_ns",), units.duration, drop=3),
        Shown(LEVEL, ("enqueue_low_ns", "enqueue_high_ns"), units.interval, drop=6),
        Shown("latency", ("latency_ns",), units.duration, drop=4),
        Shown(LEVEL, ("latency_low_ns", "latency_high_ns"), units.interval, drop=7),
        Shown("graph", ("graph_ns",), units.duration, drop=8, optional=True),
        Shown("device", ("device_time_ns",), units.duration),
        Shown("kernels", ("kernel_count",), units.count, drop=1),
        Shown("copies", ("copy_count",), units.count, drop=5),
        Shown("readbacks", ("readback_count",), units.count),
        Shown("overhead", ("overhead_factor",), units.factor, drop=5),
        Shown("result", ("result",), named),
    ),
    footnotes=(
        "A call's time by the stopwatch: back to back (throughput), the same without the final "
        "wait (enqueue), with a wait after each call (latency).",
        "Kernels, copies, readbacks and device time a call come from the profile; overhead is how "
        "many times longer a profiled call took.",
    ),
    empty="no case was timed, and no call names one",
)

NOTES = Layout(
    title="Notes",
    names=("kind", "message"),
    shown=(
        Shown("level", ("level",), named),
        Shown("kind", ("kind",), named),
        Shown("count", ("count",), units.count),
        Shown("part", ("part",), units.count, drop=2, optional=True),
        Shown("option", ("option",), named, drop=1, optional=True),
        Shown("message", ("message",), named),
    ),
)

LAYOUTS = {
    "findings": FINDINGS,
    "calls": CALLS,
    "calls by case": CALLS_BY_CASE,
    "phases": PHASES,
    "phases explained": EXPLAINED,
    "breakdown": BREAKDOWN,
    "attribution": ATTRIBUTION,
    "whatif": WHATIF,
    "effects": EFFECTS,
    "host": HOST,
    "host by group": HOST_BY_GROUP,
    "kernels": KERNELS,
    "ops": OPS,
    "ops by shape": OPS_BY_SHAPE,
    "launches": LAUNCHES,
    "syncs": SYNCS,
    "idle": IDLE,
    "tree": TREE,
    "matrix": MATRIX,
    "witnesses": WITNESSES,
    "notes": NOTES,
}
"""How each report frame is shown, by the report's name."""
