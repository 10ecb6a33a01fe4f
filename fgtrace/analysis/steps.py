"""The steps of recorded calls, for `replay`: from a trace's events to a `Program`."""

from __future__ import annotations

from collections import defaultdict

import polars as pl

from fgtrace.analysis.around import around_in
from fgtrace.analysis.names import matching
from fgtrace.analysis.overhead import H200, EventCosts, in_launch_latencies
from fgtrace.analysis.pieces import events_in_calls, outer_calls, wait_ends
from fgtrace.analysis.readbacks import readbacks, waits
from fgtrace.analysis.replay import Kind, Latencies, Program, Step
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

MOST_CALLS = 200
"""Calls that are replayed, the first of the recording; more say nothing new, and take time."""

MOST_EVENTS = 200_000
"""Host events that are replayed, so that training steps have their limit too."""

QUEUED = 2
"""Work whose launch returned so many launch latencies before its stream was free waited for its
stream alone."""

QUEUED_GAP = 0.52
"""From the end of work to the start of work queued behind it, in launch latencies, where the
recording has too few: 1.15 us of 2.23 on an NVIDIA H200, a median of 683 pairs in training."""

WAKE = 1.48
"""From the end of work to the end of the wait for it, in launch latencies, where the recording has
too few waits: 3.30 us of 2.23 on the same GPU."""

READ = r"^aten::(item|_local_scalar_dense)$"
"""The operator that reads a scalar, of which the calibration's `read_idle` loop consists."""

_FEWEST = 5


class Steps:
    """The host events, device work and latencies of some calls, from which programs are made."""

    def __init__(self, trace: Trace, calls: pl.DataFrame, costs: EventCosts | None) -> None:
        """Take `calls`, rows of `trace.calls` of one case and route.

        Without `costs` those of the H200 sample are taken, in launch latencies.
        """
        ids = calls.sort("start_ns")["range_event_id"].head(MOST_CALLS)
        found = events_in_calls(trace).filter(pl.col("call_id").is_in(ids.implode()))
        events = found.filter("own_thread")
        fitting = (events.group_by("call_id").len().sort("call_id"))["len"].cum_sum() <= MOST_EVENTS
        self.calls = ids.sort().head(max(1, int(fitting.sum())))
        events = events.filter(pl.col("call_id").is_in(self.calls.implode()))
        api = events.filter(pl.col("kind").is_in(HOST_API))
        self._work = _work(trace, api)
        self._waits = _waits(trace, api)
        self.latencies = _latencies(self._work, self._waits)
        costs = costs or in_launch_latencies(H200, self.latencies.launch_ns)
        blocking = self._waits.filter(pl.col("wait") == "blocking_copy")["event_id"]
        self._boundaries = _boundaries(
            events.join(_costs(events, api, self._work, self._waits, costs), on="event_id"),
            actors=pl.concat([self._work["event_id"], self._waits["event_id"]]).unique(),
            blocking=blocking,
            reading=_reading(events),
        )
        inside_waits = outer_calls(api).filter(
            pl.col("outer_id").is_in(self._waits["event_id"].implode())
        )
        self._waited = inside_waits["event_id"]

    def program(self, removed: pl.Series, silent: pl.Series) -> Program:
        """Make the program without the host time of the events in `removed`.

        Time between two of them that follow each other goes with them: the Python that only leads
        from one to the next. What the events in `silent` launch or wait for is not replayed either.
        """
        without = removed.implode()
        gone = pl.col("owner").is_in(pl.concat([removed, self._waited]).implode())
        between = (
            pl.col("event_id").is_in(without) & pl.col("event_id").shift(-1).is_in(without)
        ).over("call_id")
        pieces = self._boundaries.filter(~(gone | between), pl.col("recorded_ns") > 0).select(
            "run", "recorded_ns", "cost_ns", "calibrated"
        )
        works, waited = self._actions(set(silent))
        calls: dict[int, list[Step]] = defaultdict(list)
        steps = self._boundaries.filter("acts").select("call_id", "event_id", "run")
        for call, event, run in steps.iter_rows():
            # A boundary's own run begins after it.
            kind: Kind = "end"
            if event in waited:
                kind = "wait" if event not in works else "blocking copy"
            elif event in works:
                kind = "launch"
            calls[call].append(
                Step(run - 1, kind, tuple(works.get(event, ())), waited.get(event, ()))
            )
        for call, run in self._boundaries.group_by("call_id").agg(pl.col("run").max()).iter_rows():
            calls[call].append(Step(run, "end"))
        return Program(
            tuple(tuple(calls[call]) for call in self.calls.to_list()), pieces, self.latencies
        )

    def _actions(
        self, silent: set[int]
    ) -> tuple[dict[int, list[tuple[int, int, float]]], dict[int, tuple[int, ...]]]:
        late = {False: self.latencies.launch_ns, True: self.latencies.copy_ns}
        works: dict[int, list[tuple[int, int, float]]] = defaultdict(list)
        rows = self._work.select("event_id", "queue", "busy_ns", "is_copy")
        for event, queue, busy, is_copy in rows.iter_rows():
            if event not in silent:
                works[event].append((queue, busy, late[is_copy]))
        waited: dict[int, tuple[int, ...]] = {
            event: () if queue is None else (queue,)
            for event, queue in self._waits.select("event_id", "queue").iter_rows()
            if event not in silent
        }
        return dict(works), waited


def _work(trace: Trace, api: pl.DataFrame) -> pl.DataFrame:
    # A row a launch and stream. What one graph launch starts is taken as one piece of work.
    work = trace.device_work.select(
        "start_ns",
        device_event_id="event_id",
        end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        is_copy=pl.col("kind") != "kernel",
        queue=pl.struct("part", "device", "stream").rank("dense").cast(pl.Int64),
    ).drop_nulls("end_ns")
    calls = api.select("name", event_id="event_id", call_start_ns="start_ns", call_ns="dur_ns")
    return (
        trace.links.select("device_event_id", event_id="launch_event_id")
        .join(calls, on="event_id")
        .join(work, on="device_event_id")
        .group_by("event_id", "queue")
        .agg(
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            pl.col("is_copy").first(),
            pl.col("call_start_ns", "call_ns", "name").first(),
        )
        .with_columns(busy_ns=pl.col("end_ns") - pl.col("start_ns"))
        .sort("start_ns", "event_id")
    )


def _waits(trace: Trace, api: pl.DataFrame) -> pl.DataFrame:
    # The waits in the calls: how each waits, the stream of the copy that it is for, when that or
    # everything before it was done.
    found = api.join(waits(trace).select("event_id", "wait"), on="event_id", maintain_order="left")
    queues = trace.device_work.select(
        device_event_id="event_id",
        queue=pl.struct("part", "device", "stream").rank("dense").cast(pl.Int64),
    )
    of_copies = (
        readbacks(trace)
        .select("device_event_id", event_id="wait_event_id")
        .drop_nulls()
        .join(queues, on="device_event_id")
        .group_by("event_id")
        .agg(pl.col("queue").first())
    )
    return (
        found.join(of_copies, on="event_id", how="left", maintain_order="left")
        .join(wait_ends(trace, found), on="event_id", how="left", maintain_order="left")
        .select(
            "event_id",
            "queue",
            "done_ns",
            "start_ns",
            pl.col("wait").cast(pl.String),
            end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        )
    )


def _latencies(work: pl.DataFrame, waited: pl.DataFrame) -> Latencies:
    blocking = waited.filter(pl.col("wait") == "blocking_copy")["event_id"].implode()
    returned = pl.col("call_start_ns") + pl.when(pl.col("event_id").is_in(blocking)).then(
        0
    ).otherwise("call_ns")
    rows = work.with_columns(
        returned_ns=returned, free_ns=pl.col("end_ns").shift(1).over("queue", order_by="start_ns")
    )
    idle = rows.filter((pl.col("free_ns") <= pl.col("returned_ns")).fill_null(True)).with_columns(
        late_ns=pl.col("start_ns") - pl.col("returned_ns")
    )
    launch = _median(idle.filter(~pl.col("is_copy"))["late_ns"], 0)
    queued = rows.filter(pl.col("returned_ns") + QUEUED * launch < pl.col("free_ns"))
    woken = waited.filter(pl.col("done_ns") > pl.col("start_ns"))
    return Latencies(
        launch_ns=launch,
        copy_ns=_median(idle.filter("is_copy")["late_ns"], launch),
        queued_ns=_median(queued["start_ns"] - queued["free_ns"], QUEUED_GAP * launch),
        wake_ns=_median((woken["end_ns"] - woken["done_ns"]).clip(0), WAKE * launch),
    )


def _median(values: pl.Series, otherwise: float) -> float:
    found = values.median() if values.len() >= _FEWEST else None
    return otherwise if found is None else float(found)  # type: ignore[arg-type]


def _costs(
    events: pl.DataFrame,
    api: pl.DataFrame,
    work: pl.DataFrame,
    waited: pl.DataFrame,
    costs: EventCosts,
) -> pl.DataFrame:
    # What recording each event cost. A call that does nothing with the device costs little: no more
    # than lies between two of them.
    event, kind = pl.col("event_id"), pl.col("kind")
    gaps = (
        api.sort("call_id", "event_id")
        .select(
            gap=pl.col("start_ns") - (pl.col("start_ns") + pl.col("dur_ns")).shift(1),
            beside=(pl.col("parent_id") == pl.col("parent_id").shift(1)),
        )
        .filter("beside")["gap"]
    )
    shortest = gaps.quantile(0.1) if gaps.len() >= _FEWEST else 0.0
    quiet = min(max(0.0, shortest or 0.0), costs.wait_ns)
    copies = work.filter("is_copy")["event_id"].implode()
    launches = work.filter(~pl.col("is_copy"))["event_id"].implode()
    syncs = waited.filter(pl.col("wait") == "sync")["event_id"].implode()
    return events.select(
        "event_id",
        full_cost_ns=pl.when(kind == "range")
        .then(costs.range_ns)
        .when(kind == "op")
        .then(costs.operator_ns)
        .when(event.is_in(launches))
        .then(costs.launch_ns)
        .when(event.is_in(copies))
        .then(costs.copy_ns)
        .when(event.is_in(syncs))
        .then(costs.wait_ns)
        .when(kind.is_in(HOST_API))
        .then(quiet)
        .otherwise(0.0),
    )


def _reading(events: pl.DataFrame) -> pl.Series:
    # The events that read a scalar, as the calibration does: what recording them costs is known.
    ops = events.filter(pl.col("kind") == "op")
    reads = ops.filter(matching(ops["name"], READ))
    return events.filter(around_in(reads, events).is_not_null())["event_id"]


def _boundaries(
    events: pl.DataFrame, *, actors: pl.Series, blocking: pl.Series, reading: pl.Series
) -> pl.DataFrame:
    """Make a row a start and end of an event, in order, with the piece of host time after it.

    Columns: `call_id`, `event_id`, `owner` (the innermost event of the piece), `recorded_ns`,
    `cost_ns`, `calibrated`, `acts` (launches or waits at this boundary), and `run` (of the piece).
    """
    event = pl.col("event_id").cast(pl.Int64)
    columns = ("call_id", "event_id", "full_cost_ns")
    acts = pl.col("event_id").is_in(actors.implode())
    blocks = pl.col("event_id").is_in(blocking.implode())
    end = pl.col("start_ns") + pl.col("dur_ns")
    starts = events.select(
        *columns, owner="event_id", at_ns="start_ns", rank=1, order=event, acts=acts & blocks
    )
    # Of events that begin and end at once, the end comes after the start.
    ends = events.select(
        *columns,
        owner="parent_id",
        at_ns=end,
        rank=pl.when(pl.col("dur_ns") == 0).then(2).otherwise(0),
        order=-event,
        acts=acts & ~blocks,
    )
    return (
        pl.concat([starts, ends])
        .sort("call_id", "at_ns", "rank", "order")
        .with_columns(
            recorded_ns=(pl.col("at_ns").shift(-1) - pl.col("at_ns")).over("call_id").fill_null(0),
            cost_ns=(
                (pl.col("full_cost_ns") + pl.col("full_cost_ns").shift(-1)).over("call_id") / 4
            ).fill_null(0),
            run=pl.col("acts").cum_sum() + pl.col("call_id").rank("dense") - 1,
        )
        .select(
            "call_id",
            "event_id",
            "owner",
            "recorded_ns",
            "cost_ns",
            "acts",
            "run",
            calibrated=pl.col("owner").is_in(reading.implode()).fill_null(False),
        )
    )
