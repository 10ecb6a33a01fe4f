"""What is said of one row beside its table: distributions, launches, where it was called."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import polars as pl

from fgtrace import units
from fgtrace.analysis.evidence import evidence
from fgtrace.frames.trace import Trace
from fgtrace.units import MISSING

BLOCKS = " ▁▂▃▄▅▆▇█"
"""Heights from none to all."""

BINS = 40
"""Of a distribution, in cells."""

Row = Mapping[str, Any]


def detail(trace: Trace, kind: str, row: Row, beside: Row | None = None) -> tuple[str, ...]:
    """Give lines about a row; kernels and operators show their distributions.

    With another row of the same report beside it, both are drawn over the same times.
    """
    if kind not in ("kernels", "ops"):
        return (" · ".join(_told(name, value) for name, value in row.items()),)
    both = [row] if beside is None else [row, beside]
    times = [_durations(trace, kind, one) for one in both]
    duration = pl.col("dur_ns")
    low, high = pl.concat(times).select(low=duration.min(), high=duration.max()).row(0)
    if low is None:
        return (units.printable(row["name"]), "No times were recorded.")
    lines = []
    for one, found in zip(both, times, strict=True):
        lines += [
            units.printable(one["name"]),
            f"  times     {units.duration(low)} ┤{_histogram(found['dur_ns'], low, high)}├ "
            f"{units.duration(high)}",
            f"  over time {_over_time(found)}",
        ]
    return (*lines, *_launch(trace, kind, row))


def sparkline(values: list[float]) -> str:
    """Draw heights from 0 to the largest."""
    top = max(values, default=0) or 1
    return "".join(BLOCKS[ceil(8 * value / top)] for value in values)


def _told(name: str, value: Any) -> str:
    """Say what a value is, and what it is worth, in the unit that ends its name."""
    told = name.removesuffix("_ns").replace("_", " ")
    if value is None:
        return f"{told} {MISSING}"
    if name.endswith("_ns") and isinstance(value, int):
        return f"{told} {units.duration(value)}"
    if isinstance(value, float):
        return f"{told} {value:.3g}"
    return f"{told} {units.printable(str(value))}"


def _durations(trace: Trace, kind: str, row: Row) -> pl.DataFrame:
    ids = pl.Series(evidence(trace, kind, row), dtype=pl.UInt32)
    events = trace.device_work if kind == "kernels" else trace.host_events
    found = events.filter(pl.col("event_id").is_in(ids.implode()))
    return found.select("event_id", "start_ns", "dur_ns").drop_nulls().sort("start_ns")


def _histogram(times: pl.Series, low: int, high: int) -> str:
    width = max(high - low, 1)
    bins = ((times - low) * BINS // width).clip(0, BINS - 1)
    counts = dict(bins.value_counts().iter_rows())
    return sparkline([float(counts.get(place, 0)) for place in range(BINS)])


def _over_time(found: pl.DataFrame) -> str:
    """Draw medians of equally many, one after the other."""
    place = pl.int_range(pl.len()) * BINS // max(found.height, 1)
    medians = found.group_by(place.alias("bin"), maintain_order=True).agg(pl.col("dur_ns").median())
    return sparkline(medians["dur_ns"].to_list())


def _launch(trace: Trace, kind: str, row: Row) -> list[str]:
    if kind != "kernels":
        return []
    ids = pl.Series(evidence(trace, kind, row), dtype=pl.UInt32).implode()
    links = trace.links.filter(pl.col("device_event_id").is_in(ids))
    around = links.select(pl.coalesce("op_event_id", "range_event_id"))["op_event_id"].drop_nulls()
    named = trace.host_events.filter(pl.col("event_id").is_in(around.implode()))["name"]
    by = named.cast(pl.String).value_counts(sort=True).head(3)
    launched = ", ".join(f"{units.printable(name)} ({count})" for name, count in by.iter_rows())
    lines = [f"launched in {launched or MISSING}"]
    sizes = trace.launch_attributes.filter(pl.col("event_id").is_in(ids)).head(1).collect()
    for grid, block, registers, shared in sizes.select(
        "grid", "block", "registers", "shared_bytes"
    ).iter_rows():
        lines.append(
            f"grid {_times(grid)} · block {_times(block)} · {units.count(registers)} registers · "
            f"{units.size(shared)} shared"
        )
    return lines


def _times(sizes: list[int] | None) -> str:
    return MISSING if not sizes else "×".join(map(str, sizes))
