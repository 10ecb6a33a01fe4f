"""The layouts of what is said of calls: their parts, what these cost, what stands out."""

from __future__ import annotations

from dataclasses import replace

from fgtrace import units
from fgtrace.views.layout import LEVEL, Layout, Shown, named


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
        Shown(LEVEL, _ENDS, units.interval, drop=1),
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
        Shown(LEVEL, _ENDS, units.interval, drop=2, optional=True),
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
        Shown(LEVEL, _ENDS, units.interval),
        Shown("rounds", ("rounds",), units.count, drop=2),
        Shown("generations", ("generations",), units.count, drop=3),
    ),
    footnotes=(
        "How much longer a call with the part takes by the stopwatch; main: over all states of the "
        "others; simple: given their state; interaction: what one adds to the other's effect.",
        "Medians of differences within a round, whose batches follow each other; the interval is "
        "over generations and blocks of rounds.",
    ),
    empty="no full factorial was timed: fgtrace collect --factorial PARTS",
)

HOST = Layout(
    title="The host's time in a call",
    names=("case", "route", "group", "module", "function"),
    shown=(
        Shown("case", ("case",), named, drop=3, optional=True),
        Shown("route", ("route",), named, drop=1, optional=True),
        Shown("group", ("group",), named),
        Shown("scaled", ("scaled_ns",), units.duration, optional=True),
        Shown("with stacks", ("recorded_ns",), units.duration),
        Shown("share", ("share",), units.share, drop=2),
        Shown("count", ("count",), units.count, drop=4),
        Shown("function", ("function",), named),
        Shown("module", ("module",), named),
    ),
    footnotes=(
        "Own times a call, with stacks under a profiler that records every Python call: it makes "
        "Python many times as slow. The share is of that.",
        "Scaled to the call without a profiler, whose time the stopwatch tells: a model, not a "
        "measurement.",
    ),
    empty="no Python stacks were recorded: fgtrace collect records them, and torch.profiler does "
    "with with_stack=True",
)

HOST_BY_GROUP = replace(
    HOST,
    names=("case", "route", "group"),
    shown=tuple(shown for shown in HOST.shown if shown.title not in ("function", "module")),
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
