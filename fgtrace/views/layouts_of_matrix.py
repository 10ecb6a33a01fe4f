"""The layouts of the matrix, and how they fit what is in it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from fgtrace import units
from fgtrace.analysis import verdicts
from fgtrace.views.layout import LEVEL, LEVEL_OF_VERDICTS, Layout, Shown, named

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
        Shown("generations", ("generations",), units.count, drop=9),
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

MATRIX_BY_PAIR = Layout(
    title="Pairs of routes",
    names=("case", "route_a", "route_b"),
    shown=(
        Shown("case", ("case",), named),
        Shown("a", ("route_a",), named),
        Shown("b", ("route_b",), named),
        Shown("a takes", ("a_ns",), units.duration, drop=2),
        Shown("b takes", ("b_ns",), units.duration, drop=3),
        Shown("b − a", ("effect_ns",), units.duration),
        Shown(LEVEL_OF_VERDICTS, ("interval_low_ns", "interval_high_ns"), units.interval, drop=1),
        Shown("b / a", ("ratio",), units.factor),
        Shown("could see", ("detectable_ns",), units.duration, drop=4),
        Shown("generations", ("generations",), units.count, drop=6),
        Shown("rounds", ("rounds",), units.count, drop=5),
        Shown("b is", ("verdict",), named),
    ),
    footnotes=(
        "A call by the stopwatch, back to back: the mean over generations of the median within. "
        f"{LEVEL_OF_VERDICTS}: the interval of b − a.",
        f"b is faster or slower where that does not reach 0 and b − a is more than "
        f"{units.share(verdicts.MARGIN)}; could see: the smallest difference that would have been.",
        "With one generation it is uncertain at best: host time differs between processes of the "
        "same code.",
    ),
    empty="no two routes of a case were timed by the stopwatch",
)

MATRIX_BY_SIZE = Layout(
    title="Routes by size",
    names=("case", "route"),
    shown=(
        Shown("case", ("case",), named),
        Shown("at", ("parameters",), named, optional=True),
        Shown("parameter", ("parameter",), named),
        Shown("size", ("size",), units.count),
        Shown("fastest", ("fastest",), named),
    ),
    footnotes=(
        "A call by the stopwatch, back to back; --format json has intervals and device times.",
        "Fastest: surely faster than each other route; --by pair has the differences.",
    ),
    empty="no case was timed at several sizes: fgtrace collect --case NAME --param rows=64,4096",
)


def _fitted_matrix(frame: pl.DataFrame) -> tuple[Layout, pl.DataFrame]:
    """Say what the intervals cover."""
    generations = max(frame["generations"].drop_nulls().to_list(), default=0)
    covered = (
        "the batches of one process; differences between processes are not in it."
        if generations == 1
        else f"up to {generations} generations and the blocks of batches within each."
    )
    has_intervals = frame["throughput_low_ns"].count() > 0
    level = (f"{LEVEL} is the interval at that level, over {covered}",) if has_intervals else ()
    replays = frame["graph_ns"].null_count() < frame.height
    graph = ("graph: a replay of the captured call, back to back.",) if replays else ()
    footnotes = (*level, *MATRIX.footnotes, *graph)
    return replace(_of_one_case(MATRIX, frame), footnotes=footnotes), frame


def _fitted_pairs(frame: pl.DataFrame) -> tuple[Layout, pl.DataFrame]:
    return _of_one_case(MATRIX_BY_PAIR, frame), frame


def _sizes_down_and_routes_across(frame: pl.DataFrame) -> tuple[Layout, pl.DataFrame]:
    layout = _of_one_case(MATRIX_BY_SIZE, frame)
    *names, size, fastest = layout.shown
    if frame["parameter"].n_unique() == 1:
        names = [one for one in names if one.title != "parameter"]
        size = replace(size, title=named(frame["parameter"][0]))
    routes = frame["route"].unique(maintain_order=True).to_list()
    times = {
        f"route {place}": pl.col("throughput_ns").filter(pl.col("route").eq_missing(pl.lit(route)))
        for place, route in enumerate(routes)
    }
    across = frame.group_by("case", "parameters", "parameter", "size", maintain_order=True).agg(
        *(time.first().alias(column) for column, time in times.items()),
        fastest=pl.col("route").filter("fastest").first(),
    )
    columns = [
        Shown(named(route), (column,), units.duration)
        for column, route in zip(times, routes, strict=True)
    ]
    return replace(layout, shown=(*names, size, *columns, fastest)), across


def _of_one_case(layout: Layout, frame: pl.DataFrame) -> Layout:
    """Name a single case in the title, and not in a column."""
    if frame["case"].n_unique() != 1:
        return layout
    title = f"{layout.title} of {named(frame['case'][0])}"
    return replace(layout, title=title, shown=layout.shown[1:])


FITTED = {
    "matrix": _fitted_matrix,
    "matrix by pair": _fitted_pairs,
    "matrix by size": _sizes_down_and_routes_across,
}
"""What fits a report to its layout, or the other way round, where what is in it matters."""
