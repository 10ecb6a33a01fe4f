"""The events behind a row of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from fgtrace.analysis.phases import call_work_phases
from fgtrace.analysis.pieces import host_pieces
from fgtrace.analysis.syncs import waiting_calls
from fgtrace.analysis.tree import paths_of
from fgtrace.frames.schema import DEVICE_WORK, HOST_API
from fgtrace.frames.trace import Trace

Row = Mapping[str, Any]


def evidence(trace: Trace, kind: str, row: Row) -> list[int]:
    """Give the `event_id` of what a row of a report stands for, in order; of some, nothing.

    `kind` is one of `fgtrace.views.reports`. Findings have the first of theirs only.
    """
    find = _FINDERS.get(kind)
    return [] if find is None else find(trace, row).sort().to_list()


def _named(kinds: tuple[str, ...], column: str) -> Callable[[Trace, Row], pl.Series]:
    def find(trace: Trace, row: Row) -> pl.Series:
        is_it = pl.col("kind").is_in(kinds) & (pl.col("name") == row[column])
        return trace.events.filter(is_it).select("event_id").collect()["event_id"]

    return find


def _syncs(trace: Trace, row: Row) -> pl.Series:
    same = [
        pl.col(name).eq_missing(pl.lit(row[name], pl.String)) for name in ("api", "op", "class")
    ]
    return waiting_calls(trace).filter(*same)["event_id"]


def _idle(trace: Trace, row: Row) -> pl.Series:
    return pl.Series([row["event_id"]], dtype=pl.UInt32).drop_nulls()


def _findings(trace: Trace, row: Row) -> pl.Series:
    found = row["evidence"]
    return pl.Series(found["event_ids"] if found["frame"] == "events" else [], dtype=pl.UInt32)


def _calls(trace: Trace, row: Row) -> pl.Series:
    """Find the ranges of the calls that have what the row has."""
    same = [
        pl.col(name).eq_missing(pl.lit(row[name], trace.calls.schema[name]))
        for name in ("case", "route", "generation", "index")
        if name in row
    ]
    return trace.calls.filter(*same)["range_event_id"]


def _parts(phase: str) -> Callable[[Trace, Row], pl.Series]:
    def find(trace: Trace, row: Row) -> pl.Series:
        """Find what the host and the device did for a part of calls."""
        calls = _calls(trace, {name: row[name] for name in ("case", "route")})
        piece = row.get("piece")
        found = [
            frame.filter(
                pl.col("phase").eq_missing(pl.lit(row[phase], pl.String)),
                pl.col("call_id").is_in(calls.implode()),
                piece is None or pl.col(column).cast(pl.String) == piece,
            )["event_id"]
            for frame, column in ((host_pieces(trace), "piece"), (call_work_phases(trace), "kind"))
        ]
        return pl.concat(found).unique()

    return find


def _tree(trace: Trace, row: Row) -> pl.Series:
    return paths_of(trace).filter(path=row["path"])["event_id"]


_FINDERS: dict[str, Callable[[Trace, Row], pl.Series]] = {
    "findings": _findings,
    "kernels": _named(DEVICE_WORK, "name"),
    "ops": _named(("op",), "name"),
    "ops by shape": _named(("op",), "name"),
    "launches": _named(HOST_API, "api"),
    "syncs": _syncs,
    "idle": _idle,
    "tree": _tree,
    "calls": _calls,
    "calls by case": _calls,
    "matrix": _calls,
    "phases": _parts("phase"),
    "breakdown": _parts("phase"),
    "whatif": _parts("without"),
    "attribution": _parts("part"),
}
