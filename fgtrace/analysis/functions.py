"""Which function, and which group of functions, the own time of a host event belongs to."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import around_in
from fgtrace.analysis.groups import CALLERS, DISPATCHER, GROUPS, PROFILER, USER
from fgtrace.analysis.links import launches
from fgtrace.analysis.names import matching
from fgtrace.analysis.pieces import API_PIECES, outer_calls
from fgtrace.analysis.readbacks import waits
from fgtrace.analysis.rules import ALLOCATES
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

WAITING = "waiting"
LAUNCHING = "launch call"
ALLOCATING = "allocator"
OUTSIDE = "outside of frames"

_OTHERS = {"op": "operator", "range": OUTSIDE, "overhead": PROFILER}
_OTHER_API = "other API call"

_FRAME = r"^(?<module>.*)\((?:\d+)\): (?<function>.*)$"
_ADDRESS = r" at 0x[0-9a-f]+"
_NUMBER = r"(::|#)\d+$"


def named(trace: Trace, events: pl.DataFrame) -> pl.DataFrame:
    """Add `group`, `module`, `function` and `owned` to host events, in order of `event_id`.

    Python's own functions belong to the group of the frame that calls them, but for those that hand
    over to an operator; all frames inside one of the profiler are the profiler's. The time of a
    range, in no frame inside it, is that of the frame around it; `owned` is false for those, which
    are no calls of the function.
    """
    name, kind = pl.col("name").cast(pl.String), pl.col("kind")
    frame = name.str.extract_groups(_FRAME).struct
    python = kind == "python"
    api = events.filter(kind.is_in(HOST_API))
    events = events.with_columns(
        group=pl.when(python).then(_python_groups(events)),
        module=pl.when(python).then(frame.field("module")),
        function=pl.coalesce(
            pl.when(python).then(frame.field("function")), name.str.replace_all(_ADDRESS, "")
        ),
    )
    grouped = events.with_columns(group=_from(events, pl.col("group").is_not_null(), ["group"])[0])
    grouped = grouped.with_columns(
        group=pl.when(python & _inside(grouped, PROFILER)).then(pl.lit(PROFILER)).otherwise("group")
    )
    around = _from(grouped, python, ["group", "module", "function"])
    unframed = (kind == "range") & around[2].is_null()
    others = kind.cast(pl.String).replace_strict(_OTHERS, default=USER)
    allocates = (kind == "op") & matching(events["name"], ALLOCATES)
    return (
        grouped.join(_api_groups(trace, api), on="event_id", how="left", maintain_order="left")
        .with_columns(
            group=pl.when(python)
            .then(pl.col("group").fill_null(USER))
            .when((kind == "range") & ~unframed)
            .then(around[0].fill_null(USER))
            .when(allocates)
            .then(pl.lit(ALLOCATING))
            .otherwise(pl.coalesce("api_group", others)),
            module=pl.when(kind == "range").then(around[1]).otherwise("module"),
            function=pl.when(kind == "range")
            .then(pl.coalesce(around[2], pl.col("function").str.replace(_NUMBER, "")))
            .otherwise("function"),
            owned=(kind != "range") | unframed,
        )
        .drop("api_group")
    )


def _python_groups(events: pl.DataFrame) -> pl.Expr:
    # Null: whoever calls it.
    names = events["name"]
    parents = events.filter(pl.col("kind") == "op")["parent_id"].drop_nulls().unique()
    binding = pl.col("event_id").is_in(parents.implode()) & matching(names, "^<built-in ")
    group: pl.Expr = pl.when(~matching(names, CALLERS)).then(pl.lit(USER))
    group = pl.when(binding).then(pl.lit(DISPATCHER)).otherwise(group)
    for one in reversed(GROUPS):
        group = pl.when(matching(names, one.pattern)).then(pl.lit(one.name)).otherwise(group)
    return group


def _inside(events: pl.DataFrame, group: str) -> pl.Series:
    chosen = pl.col("group").eq_missing(group) & (pl.col("kind") == "python")
    others = events.filter(~chosen)
    inside = others["event_id"].filter(around_in(events.filter(chosen), others).is_not_null())
    return events["event_id"].is_in(inside.implode())


def _from(events: pl.DataFrame, wanted: pl.Expr, columns: list[str]) -> list[pl.Series]:
    """Take columns of the innermost event that is wanted: each event itself, or one around it."""
    rows = events.select("event_id", "parent_id", *columns, wanted=wanted)
    found = [rows.filter("wanted").select("event_id", *columns)]
    seeking = rows.filter(~pl.col("wanted")).select("event_id", at="parent_id").drop_nulls()
    while not seeking.is_empty():
        reached = seeking.join(rows, left_on="at", right_on="event_id")
        found.append(reached.filter("wanted").select("event_id", *columns))
        seeking = reached.filter(~pl.col("wanted")).select("event_id", at="parent_id").drop_nulls()
    taken = rows.select("event_id").join(
        pl.concat(found), on="event_id", how="left", maintain_order="left"
    )
    return [taken[column] for column in columns]


def _api_groups(trace: Trace, api: pl.DataFrame) -> pl.DataFrame:
    # A driver call inside a runtime call is part of it.
    whole = pl.col("outer_id")
    waiting = whole.is_in(waits(trace)["event_id"].implode())
    launching = whole.is_in(launches(trace)["event_id"].implode())
    outer = outer_calls(api)
    names = outer.join(api, left_on="outer_id", right_on="event_id", maintain_order="left")["name"]
    allocates = matching(names, API_PIECES["allocate"])
    return outer.select(
        "event_id",
        api_group=pl.when(waiting)
        .then(pl.lit(WAITING))
        .when(launching)
        .then(pl.lit(LAUNCHING))
        .when(allocates)
        .then(pl.lit(ALLOCATING))
        .otherwise(pl.lit(_OTHER_API)),
    )
