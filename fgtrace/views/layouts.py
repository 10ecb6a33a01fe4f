"""How each report is shown: which columns, in what units, under which titles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

    def column(self) -> Column:
        """Names stand to the left, everything that is counted to the right."""
        align: Literal["left", "right"] = "left" if self.text in (named, _indented) else "right"
        return Column(self.title, align, self.drop)


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


def _call(index: int, left_out: bool) -> str:
    return f"{index}†" if left_out else str(index)


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
    footnotes=(
        "Self, total, median and max are host time; self is without the operators inside.",
        "Device work belongs to the innermost operator around its launch.",
    ),
    empty="no operator was recorded",
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
        Shown("without device row", ("without_device_row",), units.count, drop=2),
    ),
    footnotes=(
        "The delay is from the start of the call to the start of what it launched, of a graph to "
        "its first kernel.",
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
        Shown("device idle", ("device_idle_ns",), units.duration),
        Shown("bytes", ("bytes",), units.size, drop=1),
        Shown("operator", ("op",), named),
        Shown("call site", ("call_site",), named, drop=2, optional=True),
    ),
    footnotes=(
        "In an event_wait a stream waits, and the host does not; its host time is the call's own.",
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
    "calls": CALLS,
    "phases": PHASES,
    "kernels": KERNELS,
    "ops": OPS,
    "launches": LAUNCHES,
    "syncs": SYNCS,
    "tree": TREE,
    "matrix": MATRIX,
    "notes": NOTES,
}
"""How each report frame is shown, by the report's name."""
