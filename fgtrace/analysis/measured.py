"""What each call of one side took, by phase, kernel or operator: the numbers that are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from fgtrace.analysis.around import THREAD
from fgtrace.analysis.calls import call_work, counts, owning_calls
from fgtrace.analysis.intervals import union_length
from fgtrace.analysis.links import launches
from fgtrace.analysis.normal_names import normal_names
from fgtrace.analysis.phases import call_work_phases
from fgtrace.analysis.pieces import events_in_calls, host_pieces
from fgtrace.analysis.readbacks import readbacks, waits
from fgtrace.analysis.rules import RULES, Rule
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

MEASURED = pl.Schema(
    {
        "call_id": pl.UInt32(),
        "name": pl.String(),  # of the phase, kernel or operator
        "kind": pl.String(),  # phase, or the kind of the events
        "metric": pl.String(),  # one of METRICS
        "value": pl.Int64(),
    }
)

METRICS = {
    "device_time": "ns",  # sum of kernels, copies and fills
    "host_time": "ns",  # under the profiler; of a phase without what is inside of another phase
    "waiting_time": "ns",  # of it: synchronise calls and blocking copies
    "count": "count",  # of the events of a name; of a phase, of its device work
    "kernel_count": "count",
    "copy_count": "count",
    "readback_count": "count",
    "launch_count": "count",
}
"""What is measured, and in what unit."""

LEVELS = ("call", "phase", "kernel", "op")

NO_OPERATOR = "(no operator)"
"""The name that device work has whose operator is not known."""

HOST_KINDS = ("op", "range", *HOST_API)
"""The kinds of host events that are compared."""


@dataclass(frozen=True)
class Measure:
    """How a trace is measured: which calls, under which names, by which rules."""

    whole: bool = False
    """Each part is a call by itself."""
    raw_names: bool = False
    rules: tuple[Rule, ...] = RULES

    def of(self, trace: Trace, level: str) -> pl.DataFrame:
        """Make MEASURED of one of LEVELS; a call that lacks a name has no row for it.

        A value is null where it cannot be known. Parts have no phases.
        """
        levels: dict[str, Callable[[Trace], list[pl.DataFrame]]] = {
            "call": self._calls,
            "phase": self._phases,
            "kernel": self._kernels,
            "op": self._operators,
        }
        rows = [frame.select(MEASURED.names()).cast(MEASURED) for frame in levels[level](trace)]
        return pl.concat([MEASURED.to_frame(), *rows])

    def work(self, trace: Trace) -> pl.DataFrame:
        """Select the device work of calls: `call_id`, `event_id`, `kind`, `name`, `dur_ns`.

        `readback` and `is_dtoh` are as in `call_work`.
        """
        names = trace.device_work.select("event_id", "name")
        if not self.whole:
            return call_work(trace).join(names, on="event_id", maintain_order="left")
        copies = readbacks(trace).select("readback", event_id="device_event_id", is_dtoh=True)
        work = trace.device_work.select("event_id", "kind", "name", "dur_ns", call_id="part")
        return work.join(copies, on="event_id", how="left", maintain_order="left")

    def host(self, trace: Trace) -> pl.DataFrame:
        """Select the operators, ranges and API calls of calls, with `call_id`."""
        host = (
            trace.host_events.with_columns(call_id="part") if self.whole else events_in_calls(trace)
        )
        return host.filter(pl.col("kind").is_in(HOST_KINDS))

    def named(self, events: pl.DataFrame) -> pl.Series:
        """Give the names under which events are compared."""
        if self.raw_names:
            return events["name"].cast(pl.String)
        return normal_names(events["name"], events["kind"])

    def _calls(self, trace: Trace) -> list[pl.DataFrame]:
        call = pl.lit("call")
        launched, waited = self._owned(trace, launches(trace)), self._owned(trace, waits(trace))
        rows = [
            _metrics(self.work(trace), call, call, {**_device_metrics(), "count": pl.len()}),
            _metrics(launched, call, call, {"launch_count": pl.len()}),
            _metrics(waited, call, call, {"waiting_time": pl.col("dur_ns").sum()}),
        ]
        if not self.whole:
            calls = trace.calls.select("dur_ns", call_id="range_event_id")
            rows.append(_metrics(calls, call, call, {"host_time": pl.col("dur_ns").sum()}))
        return rows

    def _phases(self, trace: Trace) -> list[pl.DataFrame]:
        if self.whole:
            return []
        phase, kind = pl.col("phase"), pl.lit("phase")
        host = host_pieces(trace, self.rules).filter("own_thread")
        waiting = pl.col("piece").cast(pl.String).str.starts_with("waiting")
        time = pl.col("time_ns")
        times = {"host_time": time.sum(), "waiting_time": time.filter(waiting).sum()}
        device = {**_device_metrics(), "count": pl.len()}
        return [
            _metrics(call_work_phases(trace, self.rules), phase, kind, device),
            _metrics(host, phase, kind, times),
        ]

    def _kernels(self, trace: Trace) -> list[pl.DataFrame]:
        work = self.work(trace)
        metrics = {"device_time": pl.col("dur_ns").sum(), "count": pl.len()}
        return [_metrics(work, self.named(work), pl.col("kind"), metrics)]

    def _operators(self, trace: Trace) -> list[pl.DataFrame]:
        host = self.host(trace)
        host = host.with_columns(name=self.named(host))
        name, kind = pl.col("name"), pl.col("kind")
        # A call inside one of the same name adds nothing to the time.
        times = union_length(host, [*THREAD, "call_id", "name", "kind"])
        ops = trace.links.select("op_event_id", event_id="device_event_id")
        names = host.filter(kind == "op").select("name", op_event_id="event_id")
        work = (
            self.work(trace)
            .drop("name")
            .join(ops, on="event_id", how="left")
            .join(names, on="op_event_id", how="left")
        )
        device = {"device_time": pl.col("dur_ns").sum(), "kernel_count": pl.len()}
        return [
            _metrics(times, name, kind, {"host_time": pl.col("busy_ns").sum()}),
            _metrics(host, name, kind, {"count": pl.len()}),
            _metrics(work, name.fill_null(NO_OPERATOR), pl.lit("op"), device),
        ]

    def _owned(self, trace: Trace, api: pl.DataFrame) -> pl.DataFrame:
        found = trace.api_calls.join(api, on="event_id", how="semi", maintain_order="left")
        if self.whole:
            owners = found.select("event_id", call_id="part")
        else:
            owners = owning_calls(trace, found)
        return api.join(owners, on="event_id")


def _device_metrics() -> dict[str, pl.Expr]:
    return {each.meta.output_name().removesuffix("_ns"): each for each in counts()}


def _metrics(
    rows: pl.DataFrame, name: pl.Expr | pl.Series, kind: pl.Expr, metrics: dict[str, pl.Expr]
) -> pl.DataFrame:
    # The metrics of each call, name and kind, below each other.
    key = ["call_id", "name", "shown_kind"]
    return (
        rows.with_columns(name=name, shown_kind=kind.cast(pl.String))
        .group_by(key)
        .agg(value.cast(pl.Int64).alias(metric) for metric, value in metrics.items())
        .unpivot(list(metrics), index=key, variable_name="metric")
        .rename({"shown_kind": "kind"})
    )
