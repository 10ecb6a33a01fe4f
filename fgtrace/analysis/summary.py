"""The numbers that describe a whole recording."""

from __future__ import annotations

from typing import Literal

import msgspec
import polars as pl

from fgtrace.analysis.intervals import union_length
from fgtrace.analysis.links import (
    GRAPH_LAUNCH,
    device_work,
    launches,
    launches_without_device_row,
)
from fgtrace.analysis.readbacks import readbacks, syncs
from fgtrace.frames.trace import Trace


class Notice(msgspec.Struct, frozen=True):
    """A note, as scripts get it."""

    kind: str
    count: int
    message: str


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


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What `show summary` prints."""

    outcome: Literal["ok", "ok-with-warnings"]
    warnings: list[Notice]
    notes: list[Notice]
    recorded: Recorded
    parts: list[PartSummary]
    metrics: Metrics


def summarise(trace: Trace) -> Summary:
    """Describe a trace and each of its parts."""
    warnings = notes_of(trace, "warning")
    return Summary(
        outcome="ok-with-warnings" if warnings else "ok",
        warnings=warnings,
        notes=notes_of(trace, "info"),
        recorded=_recorded(trace.events),
        parts=[
            PartSummary(
                part["process"],
                part["rank"],
                part["source"],
                _metrics(
                    trace.events.filter(pl.col("part") == part["part"]), trace.links, aligned=True
                ),
            )
            for part in trace.parts.sort("part").iter_rows(named=True)
        ],
        metrics=_metrics(trace.events, trace.links, aligned=trace.parts.height < 2),
    )


def notes_of(trace: Trace, level: str) -> list[Notice]:
    """Give the notes of a level, in the order in which they were made."""
    notes = trace.notes.filter(pl.col("level") == level)
    return [Notice(*row) for row in notes.select("kind", "count", "message").iter_rows()]


def _recorded(events: pl.DataFrame) -> Recorded:
    kinds = set(events["kind"].unique())
    copies = events.filter(pl.col("kind") == "memcpy")
    device = bool(kinds & {"kernel", "memcpy", "memset"})
    return Recorded(
        host_api=bool(kinds & {"runtime", "driver"}),
        device=device,
        bytes=device and copies["bytes"].null_count() == 0,
        ranges="range" in kinds,
        python="python" in kinds,
    )


def _metrics(events: pl.DataFrame, links: pl.DataFrame, *, aligned: bool) -> Metrics:
    work = device_work(events)
    kernels = work.filter(pl.col("kind") == "kernel")
    copies = work.filter(pl.col("kind") == "memcpy")
    dtoh = copies.filter(pl.col("copy_kind") == "DtoH")
    read = readbacks(events, links)
    started = launches(events)
    waited = syncs(events)
    linked = links.filter(pl.col("launch_event_id").is_not_null())
    return Metrics(
        kernel_count=kernels.height,
        kernel_time_ns=int(kernels["dur_ns"].sum()),
        kernel_busy_ns=_busy(kernels),
        device_busy_ns=_busy(work),
        launch_count=started.height,
        graph_launch_count=int(started["name"].cast(pl.String).str.contains(GRAPH_LAUNCH).sum()),
        memcpy_count=copies.height,
        memset_count=work.height - kernels.height - copies.height,
        dtoh_count=dtoh.height,
        dtoh_time_ns=int(dtoh["dur_ns"].sum()),
        dtoh_bytes=_known_sum(dtoh["bytes"]),
        sync_count=waited.height,
        sync_host_ns=int(waited["dur_ns"].sum()),
        readback_count=_known_sum(read["readback"]),
        scalar_readback_count=_known_sum(read["readback"] & read["scalar"]),
        unlinked_count=work.join(
            linked, left_on="event_id", right_on="device_event_id", how="anti"
        ).height,
        launches_without_device_row=launches_without_device_row(events),
        span_ns=_span(work) if aligned else None,
    )


def _busy(work: pl.DataFrame) -> int:
    return int(union_length(work, ["part", "device"])["busy_ns"].sum())


def _known_sum(values: pl.Series) -> int | None:
    return None if values.null_count() else int(values.sum())


def _span(work: pl.DataFrame) -> int | None:
    if work.is_empty():
        return None
    ends = work["start_ns"] + work["dur_ns"].fill_null(0)
    first, last = work["start_ns"].min(), ends.max()
    assert isinstance(first, int)
    assert isinstance(last, int)
    return last - first
