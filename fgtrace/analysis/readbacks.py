"""Waits: the API calls in which the host waits for the device, and the copies it waits for."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import THREAD, TRACK, names_of
from fgtrace.analysis.intervals import outermost
from fgtrace.analysis.links import launches
from fgtrace.analysis.names import matching
from fgtrace.frames.trace import Trace

READBACKS = pl.Schema(
    {
        "device_event_id": pl.UInt32(),  # a copy from the device to the host
        "readback": pl.Boolean(),  # whether the host waits for it; null where it cannot be known
        "scalar": pl.Boolean(),  # of at most SCALAR_BYTES; null where the size is not known
        "wait_event_id": pl.UInt32(),  # the API call in which it waits; null where none is known
    }
)

WAITS = pl.Schema(
    {
        "event_id": pl.UInt32(),  # an API call
        "wait": pl.Enum(["sync", "blocking_copy"]),
        "dur_ns": pl.Int64(),
    }
)

SCALAR_BYTES = 16

_SYNC = r"^(cuda|hip|cu)(Device|Stream|Event|Ctx|Thread)Synchronize"
_COPY = r"(?i)memcpy"
_ASYNC = r"(?i)async"
_READING_OPS = (
    r"^aten::(item|_local_scalar_dense|is_nonzero|nonzero|masked_select|unique|_unique2?"
    r"|equal|cpu|to|_to_copy|copy_)$"
)
"""Operators whose copy from the device the host needs, where the file has no byte counts."""


def syncs(trace: Trace) -> pl.DataFrame:
    """Select the synchronise calls, in order; a driver call inside a runtime call is not another.

    Blocking copies are not among them, nor is a wait of a stream for an event.
    """
    api = trace.api_calls
    return trace.once("syncs", lambda: outermost(api.filter(matching(api["name"], _SYNC))))


def waits(trace: Trace) -> pl.DataFrame:
    """Make a row for each API call in which the host waits: synchronise calls, blocking copies."""
    return trace.once("waits", lambda: _waits(trace))


def _waits(trace: Trace) -> pl.DataFrame:
    blocking = _copies(trace).filter("blocks").unique("launch_event_id")
    rows = [
        syncs(trace).select("event_id", "dur_ns", wait=pl.lit("sync")),
        blocking.select("dur_ns", event_id="launch_event_id", wait=pl.lit("blocking_copy")).select(
            "event_id", "dur_ns", "wait"
        ),
    ]
    return pl.concat(rows).select(WAITS.names()).cast(WAITS).sort("event_id")


def readbacks(trace: Trace) -> pl.DataFrame:
    """Say of each copy from the device to the host whether the host waits for it.

    It does when the copy's API call blocks, or when the same thread waits until after the copy's
    end before its next launch. Without byte counts the operator's name is enough.
    """
    return trace.once("readbacks", lambda: _readbacks(trace))


def _readbacks(trace: Trace) -> pl.DataFrame:
    copies = _copies(trace, pl.col("copy_kind") == "DtoH")
    next_launch = launches(trace).select(*TRACK, "start_ns", next_launch_ns="start_ns")
    first_sync = (
        syncs(trace)
        .select(
            *TRACK,
            sync_event_id="event_id",
            sync_start_ns="start_ns",
            sync_end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        )
        .drop_nulls("sync_end_ns")
        .sort("sync_end_ns", "sync_event_id")
    )
    # One that ends after the copy's call began, on the same thread, also began after it.
    waited_for = pl.col("sync_start_ns") <= pl.col("next_launch_ns")
    ops = names_of(trace, copies.filter(pl.col("bytes").is_null())["op_event_id"])
    reading = ops.filter(matching(ops["name"], _READING_OPS))["event_id"].implode()
    named = pl.col("bytes").is_null() & pl.col("op_event_id").is_in(reading)
    return (
        copies.sort("start_ns", "device_event_id")
        .join_asof(
            next_launch,
            on="start_ns",
            by=THREAD,
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .with_columns(pl.col("next_launch_ns").fill_null(2**63 - 1))
        # The clocks are not one: a copy can seem to end before its call. Of one whose end is not
        # known any wait after its call is taken to be for it.
        .with_columns(needed_until_ns=pl.max_horizontal("start_ns", "copy_end_ns"))
        .sort("needed_until_ns", "device_event_id")
        .join_asof(
            first_sync,
            left_on="needed_until_ns",
            right_on="sync_end_ns",
            by=THREAD,
            strategy="forward",
            check_sortedness=False,
        )
        .select(
            "device_event_id",
            readback=pl.when(pl.col("launch_event_id").is_not_null()).then(
                pl.col("blocks") | waited_for.fill_null(False) | named.fill_null(False)
            ),
            scalar=pl.col("bytes") <= SCALAR_BYTES,
            wait_event_id=pl.when("blocks")
            .then("launch_event_id")
            .when(waited_for)
            .then("sync_event_id"),
        )
        .sort("device_event_id")
        .select(READBACKS.names())
        .cast(READBACKS)
    )


def _copies(trace: Trace, wanted: pl.Expr | bool = True) -> pl.DataFrame:
    # A row a copy, with its API call (`start_ns`, `dur_ns`, `thread`, ...) where that is known.
    copies = (
        trace.device_work.filter(pl.col("kind") == "memcpy")
        .filter(wanted)
        .select(
            "bytes",
            "copy_kind",
            device_event_id="event_id",
            copy_end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        )
    )
    links = trace.links.join(copies, on="device_event_id", how="semi")
    api = trace.api_calls.join(links, left_on="event_id", right_on="launch_event_id", how="semi")
    api = api.select(
        *TRACK,
        "start_ns",
        "dur_ns",
        launch_event_id="event_id",
        is_copy_call=matching(api["name"], _COPY),
        is_async=matching(api["name"], _ASYNC),
    )
    # A copy to pageable memory blocks in spite of its name: it returns after the copy's end. The
    # same order of a copy within the device or to it says nothing.
    outlasts = (pl.col("copy_kind") == "DtoH") & (
        pl.col("start_ns") + pl.col("dur_ns") >= pl.col("copy_end_ns")
    )
    return (
        copies.join(links, on="device_event_id", how="left", maintain_order="left")
        .join(api, on="launch_event_id", how="left", maintain_order="left")
        .with_columns(
            blocks=(pl.col("is_copy_call") & (~pl.col("is_async") | outlasts)).fill_null(False)
        )
    )
