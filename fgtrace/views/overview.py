"""The overview of a recording: what one call takes, where that goes, on the host and the device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from fgtrace import units
from fgtrace.analysis.breakdown import breakdown_report
from fgtrace.analysis.calls import calls_report
from fgtrace.analysis.matrix import matrix_report
from fgtrace.analysis.summary import summarise
from fgtrace.frames.trace import Trace
from fgtrace.views.layout import named

Place = tuple[str | None, str | None]
"""A case and a route."""


@dataclass(frozen=True)
class Tile:
    """A number that is read first."""

    title: str
    value: str
    below: str = ""


@dataclass(frozen=True)
class Bar:
    """A part of a call; of it, the host waits for some."""

    name: str
    time: str
    share: float
    """Of the call, or of the device's time; 0 to 1."""
    waiting: float = 0.0
    """Of the same whole."""


@dataclass(frozen=True)
class Overview:
    """What the first screen says of one case and route, or of a whole trace without calls."""

    of: str
    tiles: tuple[Tile, ...]
    host: tuple[Bar, ...]
    device: tuple[Bar, ...]
    note: str


def places(trace: Trace) -> list[Place]:
    """Name the cases and routes that calls are of, in the order of their first calls."""
    return list(trace.calls.select("case", "route").unique(maintain_order=True).iter_rows())


def glance(trace: Trace, place: Place | None) -> Overview:
    """Tell of a case and route what is known at once; of None, of the trace as a whole."""
    if place is None:
        return Overview(
            units.printable(trace.source), _of_trace(trace), (), (), "It marks no calls."
        )
    case, route = place
    calls = _of(calls_report(trace), place).filter(~pl.col("left_out"))
    return Overview(
        of=" by ".join(map(named, filter(None, (case, route)))) or "call",
        tiles=_tiles(trace, place, calls),
        host=(),
        device=(),
        note=f"Means of {units.count(calls.height)} profiled calls, so that parts add up.",
    )


def overview(trace: Trace, place: Place | None) -> Overview:
    """Tell besides where a call goes, on the host and on the device."""
    found = glance(trace, place)
    if place is None:
        return found
    rows = _of(breakdown_report(trace), place)
    host, device = rows.filter(side="host"), rows.filter(pl.col("side") == "device")
    waiting = host.filter(pl.col("piece").str.starts_with("waiting"))["share"].sum()
    waits = Tile("host waits", units.share(float(waiting)), "of a profiled call")
    return replace(
        found,
        tiles=(*found.tiles, waits),
        host=_bars(host),
        device=_bars(device.filter(pl.col("phase").is_not_null())),
    )


def _of(rows: pl.DataFrame, place: Place) -> pl.DataFrame:
    case, route = (pl.lit(name, pl.String) for name in place)
    return rows.filter(pl.col("case").eq_missing(case), pl.col("route").eq_missing(route))


def _tiles(trace: Trace, place: Place, calls: pl.DataFrame) -> tuple[Tile, ...]:
    timed = _of(matrix_report(trace), place)
    throughput = timed["throughput_ns"].drop_nulls()
    profiled = _median(calls["call_ns"])
    if throughput.len():
        low, high = timed.select("throughput_low_ns", "throughput_high_ns").row(0)
        call = Tile("a call, stopwatch", units.duration(throughput[0]), units.interval(low, high))
        factor = timed["overhead_factor"][0]
        beside = Tile("profiled", units.duration(profiled), f"{units.factor(factor)} as long")
    else:
        call = Tile("a call, profiled", units.duration(profiled), "by no stopwatch")
        beside = Tile("calls", units.count(calls.height), "in medians")
    device = _median(calls["device_time_ns"])
    kernels, readbacks = (_median(calls[name]) for name in ("kernel_count", "readback_count"))
    return (
        call,
        beside,
        Tile("on the device", units.duration(device), _part_of(device, profiled)),
        Tile(
            "kernels a call",
            units.count(kernels),
            f"{units.count(readbacks)} readback{'' if readbacks == 1 else 's'}",
        ),
    )


def _part_of(part: int | None, whole: int | None) -> str:
    return "" if part is None or not whole else f"{units.share(part / whole)} of profiled"


def _median(values: pl.Series) -> int | None:
    middle = values.drop_nulls().quantile(0.5, interpolation="lower")
    return None if middle is None else int(middle)


def _bars(rows: pl.DataFrame) -> tuple[Bar, ...]:
    waits = pl.col("piece").str.starts_with("waiting")
    each = pl.col("total_ns") / pl.col("calls")
    bars = (
        rows.group_by("phase")
        .agg(time_ns=each.sum(), waiting_ns=each.filter(waits).sum())
        .sort("time_ns", "phase", descending=[True, False])
    )
    whole = bars["time_ns"].sum() or 1
    return tuple(
        Bar(named(phase), units.duration(round(time)), time / whole, waiting / whole)
        for phase, time, waiting in bars.iter_rows()
    )


def _of_trace(trace: Trace) -> tuple[Tile, ...]:
    metrics = summarise(trace).metrics
    busy = None if not metrics.span_ns else metrics.device_busy_ns / metrics.span_ns
    return (
        Tile("kernels", units.count(metrics.kernel_count)),
        Tile("kernel time", units.duration(metrics.kernel_time_ns)),
        Tile("device busy", units.duration(metrics.device_busy_ns), f"{units.share(busy)} of it"),
        Tile("span", units.duration(metrics.span_ns)),
        Tile("readbacks", units.count(metrics.readback_count)),
    )
