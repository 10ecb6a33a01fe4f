"""Tables from report frames: which columns, in what units, under which titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec
import polars as pl

from fgtrace import units
from fgtrace.analysis import matrix
from fgtrace.analysis.summary import Summary
from fgtrace.views.model import Answer, Column, Table
from fgtrace.views.notices import Notices


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
        align: Literal["left", "right"] = "left" if self.text in (_name, _indented) else "right"
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


def _name(value: str | None) -> str:
    return units.MISSING if value is None else units.printable(value)


def _indented(name: str | None, depth: int | None) -> str:
    return "  " * (depth or 0) + _name(name)


def _call(index: int, left_out: bool) -> str:
    return f"{index}†" if left_out else str(index)


CALLS = Layout(
    title="Calls",
    names=("case", "route"),
    shown=(
        Shown("case", ("case",), _name),
        Shown("route", ("route",), _name),
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
        Shown("case", ("case",), _name),
        Shown("route", ("route",), _name),
        Shown("phase", ("phase",), _name),
        Shown("calls", ("calls",), units.count, drop=2),
        Shown("kernels", ("kernel_count",), units.count),
        Shown("copies", ("copy_count",), units.count, drop=1),
        Shown("readbacks", ("readback_count",), units.count),
        Shown("device time", ("device_time_ns",), units.duration),
        Shown("host time", ("host_time_ns",), units.duration),
        Shown("waiting", ("waiting_ns",), units.duration),
        Shown("rule", ("rule",), _name, drop=3),
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
        Shown("kernel", ("name",), _name),
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
        Shown("operator", ("name",), _name),
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
        Shown("API call", ("api",), _name),
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
        Shown("API call", ("api",), _name),
        Shown("class", ("class",), _name),
        Shown("count", ("count",), units.count),
        Shown("host time", ("host_time_ns",), units.duration),
        Shown("device idle", ("device_idle_ns",), units.duration),
        Shown("bytes", ("bytes",), units.size, drop=1),
        Shown("operator", ("op",), _name),
        Shown("call site", ("call_site",), _name, drop=2, optional=True),
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
        Shown("kind", ("kind",), _name, drop=3),
        Shown("name", ("name", "depth"), _indented),
    ),
    footnotes=("Totals, device time and kernels are with what is inside; self is without.",),
    empty="nothing was recorded on the host",
)

_LEVEL = units.level(matrix.LEVEL)

MATRIX = Layout(
    title="Routes",
    names=("case", "route"),
    shown=(
        Shown("case", ("case",), _name),
        Shown("route", ("route",), _name),
        Shown("throughput", ("throughput_ns",), units.duration),
        Shown(_LEVEL, ("throughput_low_ns", "throughput_high_ns"), units.interval, drop=2),
        Shown("enqueue", ("enqueue_ns",), units.duration, drop=3),
        Shown(_LEVEL, ("enqueue_low_ns", "enqueue_high_ns"), units.interval, drop=6),
        Shown("latency", ("latency_ns",), units.duration, drop=4),
        Shown(_LEVEL, ("latency_low_ns", "latency_high_ns"), units.interval, drop=7),
        Shown("graph", ("graph_ns",), units.duration, drop=8, optional=True),
        Shown("device", ("device_time_ns",), units.duration),
        Shown("kernels", ("kernel_count",), units.count, drop=1),
        Shown("copies", ("copy_count",), units.count, drop=5),
        Shown("readbacks", ("readback_count",), units.count),
        Shown("overhead", ("overhead_factor",), units.factor, drop=5),
        Shown("result", ("result",), _name),
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
        Shown("level", ("level",), _name),
        Shown("kind", ("kind",), _name),
        Shown("count", ("count",), units.count),
        Shown("part", ("part",), units.count, drop=2, optional=True),
        Shown("option", ("option",), _name, drop=1, optional=True),
        Shown("message", ("message",), _name),
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


def report_answer(
    report: str,
    frame: pl.DataFrame,
    beside: Notices,
    pattern: re.Pattern[str] | None = None,
    limit: int | None = None,
) -> Answer:
    """Answer with the rows of a report: those in whose names `pattern` is, and `limit` of them."""
    cuts: tuple[str, ...] = ()
    if frame.is_empty():
        empty = LAYOUTS[report].empty
        cuts = (f"No rows: {empty}.",) if empty else beside.why_empty()
    if pattern is not None:
        frame = _filtered(frame, LAYOUTS[report].names, pattern)
    if limit is not None and frame.height > limit:
        cuts = (f"{frame.height - limit} of {frame.height} rows are left out by --limit {limit}.",)
        frame = frame.head(limit)
    table = build_table(report, frame, beside.banners)
    return Answer(
        table=replace(table, footnotes=(*cuts, *table.footnotes)),
        document={**msgspec.to_builtins(beside.told), "rows": frame.to_dicts()},
        header=tuple(frame.columns),
        rows=tuple(frame.iter_rows()),
        cuts=cuts,
    )


def summary_answer(summary: Summary, source: str, beside: Notices) -> Answer:
    """Answer with a summary: a row a metric over the whole trace."""
    document = msgspec.to_builtins(summary)
    metrics = document["metrics"]
    missing = [name.replace("_", " ") for name, was in document["recorded"].items() if not was]
    parts = len(document["parts"])
    table = Table(
        title=f"Summary of {units.printable(source)}",
        columns=(Column("metric", "left"), Column("value")),
        rows=tuple(_metric(name, value) for name, value in metrics.items()),
        banners=beside.banners,
        footnotes=(
            *([f"Not recorded: {', '.join(missing)}."] if missing else []),
            *([f"Over {parts} parts; --format json has each."] if parts > 1 else []),
        ),
    )
    return Answer(table, document, ("metric", "value"), tuple(metrics.items()))


def build_table(report: str, frame: pl.DataFrame, banners: Sequence[str] = ()) -> Table:
    """Make the table of a report, `banners` above it."""
    layout = LAYOUTS[report]
    if layout is MATRIX:
        layout = _matrix_layout(frame)
    columns = []
    cells = []
    for shown in layout.shown:
        column = [shown.text(*values) for values in frame.select(shown.sources).iter_rows()]
        if shown.optional and set(column) <= {units.MISSING}:
            continue
        columns.append(shown.column())
        cells.append(column)
    return Table(
        title=layout.title,
        columns=tuple(columns),
        rows=tuple(zip(*cells, strict=True)),
        banners=tuple(banners),
        footnotes=layout.footnotes,
    )


def _matrix_layout(frame: pl.DataFrame) -> Layout:
    """Name a single case in the title, and say what the intervals cover."""
    title, shown = MATRIX.title, MATRIX.shown
    if frame["case"].n_unique() == 1:
        title, shown = f"Routes of {_name(frame['case'][0])}", shown[1:]
    generations = max(frame["generations"].drop_nulls().to_list(), default=0)
    covered = (
        "the batches of one process; differences between processes are not in it."
        if generations == 1
        else f"up to {generations} generations and the blocks of batches within each."
    )
    has_intervals = frame["throughput_low_ns"].count() > 0
    level = (f"{_LEVEL} is the interval at that level, over {covered}",) if has_intervals else ()
    replays = frame["graph_ns"].null_count() < frame.height
    graph = ("graph: a replay of the captured call, back to back.",) if replays else ()
    return replace(MATRIX, title=title, shown=shown, footnotes=(*level, *MATRIX.footnotes, *graph))


def _metric(name: str, value: int | None) -> tuple[str, str]:
    """Read the unit off the end of a metric's name."""
    for ending, text in (("_ns", units.duration), ("_bytes", units.size)):
        if name.endswith(ending):
            return name.removesuffix("_ns").replace("_", " "), text(value)
    return name.replace("_", " "), units.count(value)


def _filtered(
    frame: pl.DataFrame, names: tuple[str, ...], pattern: re.Pattern[str]
) -> pl.DataFrame:
    found = [
        any(name is not None and pattern.search(name) for name in row)
        for row in frame.select(pl.col(names).cast(pl.String)).iter_rows()
    ]
    return frame.filter(pl.Series(found, dtype=pl.Boolean))
