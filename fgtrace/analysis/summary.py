"""The numbers that describe a whole recording."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import polars as pl

from fgtrace.analysis.intervals import union_length
from fgtrace.analysis.links import GRAPH_LAUNCH, launches, without_device_row
from fgtrace.analysis.names import matching
from fgtrace.analysis.outcome import Outcome, outcome_of
from fgtrace.analysis.readbacks import readbacks, syncs
from fgtrace.frames.trace import Trace


class Recorded(msgspec.Struct, frozen=True):
    """What the recording holds: it tells 0 from not recorded."""

    host_api: bool
    device: bool
    bytes: bool
    """Every copy has its size."""
    ranges: bool
    python: bool


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and times; null where the recording does not say."""

    kernel_count: int
    kernel_time_ns: int
    kernel_busy_ns: int
    """Time with a kernel running: the union on each device, added up."""
    device_busy_ns: int
    """The same with copies and fills."""
    launch_count: int
    graph_launch_count: int
    memcpy_count: int
    memset_count: int
    dtoh_count: int
    dtoh_time_ns: int
    dtoh_bytes: int | None
    sync_count: int
    sync_host_ns: int
    readback_count: int | None
    scalar_readback_count: int | None
    unlinked_count: int
    launches_without_device_row: int
    span_ns: int | None
    """Last end minus first start of device work; null over parts, whose clocks are not aligned."""


class PartSummary(msgspec.Struct, frozen=True):
    """The metrics of one part."""

    process: str | None
    rank: int | None
    source: str | None
    metrics: Metrics


class Summary(Outcome, frozen=True, kw_only=True, omit_defaults=True):
    """What `show summary` prints."""

    recorded: Recorded
    parts: list[PartSummary]
    metrics: Metrics


@dataclass(frozen=True)
class _Rows:
    """The rows that the metrics are made of: of a trace, or of one part."""

    work: pl.DataFrame
    launched: pl.DataFrame
    waited: pl.DataFrame
    read: pl.DataFrame
    unlinked: pl.DataFrame


def summarise(trace: Trace) -> Summary:
    """Describe a trace and each of its parts."""
    rows = _rows(trace)
    numbers = trace.parts["part"].sort().to_list()
    metrics = [_metrics(part) for part in _by_part(rows, numbers)]
    parts = trace.parts.sort("part").iter_rows(named=True)
    return Summary(
        **msgspec.structs.asdict(outcome_of(trace)),
        recorded=_recorded(trace),
        parts=[
            PartSummary(part["process"], part["rank"], part["source"], of_part)
            for part, of_part in zip(parts, metrics, strict=True)
        ],
        metrics=metrics[0] if len(metrics) == 1 else _added(metrics),
    )


def _recorded(trace: Trace) -> Recorded:
    kind = pl.col("kind")
    ranges, python = (
        trace.events.select((kind == "range").any(), python=(kind == "python").any())
        .collect()
        .row(0)
    )
    work = trace.device_work
    copies = work.filter(kind == "memcpy")
    return Recorded(
        host_api=not trace.api_calls.is_empty(),
        device=not work.is_empty(),
        bytes=not work.is_empty() and copies["bytes"].null_count() == 0,
        ranges=ranges,
        python=python,
    )


def _rows(trace: Trace) -> _Rows:
    part_of = trace.device_work.select("part", device_event_id="event_id")
    return _Rows(
        work=trace.device_work,
        launched=launches(trace),
        waited=syncs(trace),
        read=part_of.join(readbacks(trace), on="device_event_id"),
        unlinked=part_of.join(
            trace.links.filter(pl.col("launch_event_id").is_null()), on="device_event_id"
        ),
    )


def _by_part(rows: _Rows, numbers: list[int]) -> list[_Rows]:
    if len(numbers) == 1:
        return [rows]
    of_part = {}
    for field in fields(_Rows):
        frame = getattr(rows, field.name)
        found = frame.partition_by("part", as_dict=True)
        of_part[field.name] = [found.get((number,), frame.clear()) for number in numbers]
    return [
        _Rows(**{name: frames[place] for name, frames in of_part.items()})
        for place in range(len(numbers))
    ]


def _metrics(rows: _Rows) -> Metrics:
    work, read = rows.work, rows.read
    kernels = work.filter(pl.col("kind") == "kernel")
    copies = work.filter(pl.col("kind") == "memcpy")
    dtoh = copies.filter(pl.col("copy_kind") == "DtoH")
    return Metrics(
        kernel_count=kernels.height,
        kernel_time_ns=int(kernels["dur_ns"].sum()),
        kernel_busy_ns=_busy(kernels),
        device_busy_ns=_busy(work),
        launch_count=rows.launched.height,
        graph_launch_count=int(matching(rows.launched["name"], GRAPH_LAUNCH).sum()),
        memcpy_count=copies.height,
        memset_count=work.height - kernels.height - copies.height,
        dtoh_count=dtoh.height,
        dtoh_time_ns=int(dtoh["dur_ns"].sum()),
        dtoh_bytes=_known_sum(dtoh["bytes"]),
        sync_count=rows.waited.height,
        sync_host_ns=int(rows.waited["dur_ns"].sum()),
        readback_count=_known_sum(read["readback"]),
        scalar_readback_count=_known_sum(read["readback"] & read["scalar"]),
        unlinked_count=rows.unlinked.height,
        launches_without_device_row=without_device_row(rows.launched, work).height,
        span_ns=_span(work),
    )


def _added(metrics: list[Metrics]) -> Metrics:
    values: dict[str, Any] = {}
    for name in Metrics.__struct_fields__:
        of_parts = [getattr(one, name) for one in metrics]
        values[name] = None if None in of_parts else sum(of_parts)
    return Metrics(**(values | {"span_ns": None}))


def _busy(work: pl.DataFrame) -> int:
    return int(union_length(work, ["part", "device"])["busy_ns"].sum())


def _known_sum(values: pl.Series) -> int | None:
    return None if values.null_count() else int(values.sum())


def _span(work: pl.DataFrame) -> int | None:
    start, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("dur_ns").fill_null(0)
    span: int | None = work.select(end.max() - start.min()).item()
    return span
