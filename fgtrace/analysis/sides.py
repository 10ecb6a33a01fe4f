"""The two sides of a comparison: which calls of one stand against which calls of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from msgspec import structs

from fgtrace.analysis.calls import call_ranges
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.trace import Trace
from fgtrace.units import printable

COMPARED = pl.Schema(
    {
        "call_id": pl.UInt32(),  # the call's range; the part, where a whole part is one call
        "part": pl.UInt32(),  # a process
        "case": pl.String(),
        "route": pl.String(),
    }
)
"""The calls that count, process after process, in the order in which they were made."""


@dataclass(frozen=True)
class Pair:
    """Calls of both sides that stand against each other: of a case, by a route."""

    cases: tuple[str | None, str | None]
    routes: tuple[str | None, str | None]
    calls: tuple[pl.DataFrame, pl.DataFrame]
    """COMPARED, of each side."""

    @property
    def case(self) -> str | None:
        """Name the case, or both where they differ; a call without one is of the other's."""
        a, b = self.cases
        return _both(a, b) if a and b else a or b

    @property
    def route(self) -> str | None:
        """Name the route, or both where they differ."""
        return _both(*self.routes)


def _both(a: str | None, b: str | None) -> str | None:
    return b if a == b else f"{a or '?'} → {b or '?'}"


def compared_calls(trace: Trace, *, whole: bool) -> pl.DataFrame:
    """Select the calls that count in medians; with `whole`, each part is a call by itself."""
    if whole:
        none = pl.lit(None, pl.String)
        rows = trace.parts.select("part", call_id="part", case=none, route=none).sort("part")
    else:
        rows = (
            trace.calls.filter(~pl.col("left_out"))
            .sort("part", "start_ns", "range_event_id")
            .rename({"range_event_id": "call_id"})
        )
    return rows.select(COMPARED.names()).cast(COMPARED)


def has_steps(trace: Trace) -> bool:
    """Say whether the calls are a profiler's steps, and so none of a single operator."""
    names = call_ranges(trace)["name"].cast(pl.String)
    return bool(names.str.starts_with("ProfilerStep#").any())


def pairs(
    a: Trace, b: Trace, *, whole: bool, any_case: bool = False
) -> tuple[list[Pair], list[str]]:
    """Match the calls of both sides by case, then by route; and name what only one side has.

    Where each side has one route for a case, these two are compared, whatever their names; the
    same goes for cases with `any_case`. Raises FgtraceError (usage) where nothing matches.
    """
    sides = (compared_calls(a, whole=whole), compared_calls(b, whole=whole))
    cases = _cases(*sides, any_case=any_case)
    found, alone = [], []
    for ours, theirs in cases:
        of_case = (_of(sides[0], "case", ours), _of(sides[1], "case", theirs))
        case = ours if ours is not None else theirs
        routes = _routes(*of_case)
        found += [
            Pair(
                (ours, theirs),
                (one, other),
                (_of(of_case[0], "route", one), _of(of_case[1], "route", other)),
            )
            for one, other in routes
        ]
        for side, calls, place in (("A", of_case[0], 0), ("B", of_case[1], 1)):
            left = set(calls["route"]) - {route[place] for route in routes}
            alone += [f"route {_name(route)} of {_name(case)} in {side}" for route in _sorted(left)]
    for side, calls, place in (("A", sides[0], 0), ("B", sides[1], 1)):
        left = set(calls["case"]) - {case[place] for case in cases}
        alone += [f"case {_name(case)} in {side}" for case in _sorted(left)]
    if not found:
        raise FgtraceError(
            f"nothing to compare: {'; '.join(alone) or 'no calls'}",
            hint="say what stands against what: A@case:NAME B@case:NAME, or @route:NAME; "
            "--whole compares whole traces",
            kind="usage",
            exit_code=ExitCode.USAGE,
        )
    return found, alone


def _cases(
    a: pl.DataFrame, b: pl.DataFrame, *, any_case: bool
) -> list[tuple[str | None, str | None]]:
    ours, theirs = set(a["case"]), set(b["case"])
    common = ours & theirs
    if common:
        return [(case, case) for case in _sorted(common)]
    if len(ours) == len(theirs) == 1 and (any_case or None in ours | theirs):
        return [(ours.pop(), theirs.pop())]
    return []


def _routes(a: pl.DataFrame, b: pl.DataFrame) -> list[tuple[str | None, str | None]]:
    ours, theirs = set(a["route"]), set(b["route"])
    if len(ours) == len(theirs) == 1:
        return [(ours.pop(), theirs.pop())]
    return [(route, route) for route in _sorted(ours & theirs)]


def _of(calls: pl.DataFrame, column: str, value: str | None) -> pl.DataFrame:
    return calls.filter(pl.col(column).eq_missing(pl.lit(value, pl.String)))


def _sorted(names: set[str | None]) -> list[str | None]:
    return sorted(names, key=lambda name: (name is not None, name or ""))


def _name(name: str | None) -> str:
    return "without a name" if name is None else printable(name)


_SELECTORS = {"call": "index", "step": "index", "case": "case", "route": "route"}
"""What selects calls, and by which of their columns."""


def narrowed(trace: Trace, selectors: Sequence[tuple[str, str | None]]) -> Trace:
    """Keep the calls that each selector (its name and its value) takes.

    `call` and `step` take a number, `case` and `route` a name; `median` takes all, whose medians
    are what is compared in any case. Raises FgtraceError (usage) where one takes nothing.
    """
    for name, value in selectors:
        if name == "median":
            continue
        if name not in _SELECTORS:
            raise FgtraceError(
                f"there is no selector @{printable(name)}",
                hint="@call:N, @step:N, @case:NAME, @route:NAME or @median",
                kind="usage",
                exit_code=ExitCode.USAGE,
            )
        column = _SELECTORS[name]
        calls = trace.calls.filter(pl.col(column).cast(pl.String) == value)
        if calls.is_empty():
            raise _no_such(trace, name, column, value)
        if column == "index":
            # A call that was asked for counts, however slow.
            calls = _one(calls, f"{name}:{value}").with_columns(left_out=pl.lit(False))
        trace = trace.having(calls=calls)
        if column == "route":
            trace = _of_route(trace, value)
    return trace


def _of_route(trace: Trace, route: str | None) -> Trace:
    own = [one for one in trace.provenance.environments if one.route == route]
    return trace.having(
        samples=trace.samples.filter(route=route),
        witnesses=trace.witnesses.filter(route=route),
        provenance=structs.replace(trace.provenance, environments=tuple(own)),
    )


def _one(calls: pl.DataFrame, what: str) -> pl.DataFrame:
    if calls.select("case", "route", "part").n_unique() == 1:
        return calls
    raise FgtraceError(
        f"@{what} is {calls.height} calls: of other cases, routes or processes",
        hint="say of which: @case:NAME@route:NAME before it",
        kind="usage",
        exit_code=ExitCode.USAGE,
    )


def _no_such(trace: Trace, name: str, column: str, value: str | None) -> FgtraceError:
    known = trace.calls[column].drop_nulls()
    if known.is_empty():
        hint = f"its calls name no {name}" if trace.calls.height else "it marks no calls: --range"
    elif column == "index":
        hint = f"they are numbered {known.min()!s} to {known.max()!s}"
    else:
        names = known.unique().sort().to_list()
        hint = f"there are {', '.join(map(printable, names[:5]))}" + (" …" if names[5:] else "")
    return FgtraceError(
        f"{printable(trace.source)} has no {name} {printable(value or '')}",
        hint=hint,
        kind="usage",
        exit_code=ExitCode.USAGE,
    )
