"""The diff of two recordings: what changed, whether that is real, and what may be concluded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from fgtrace.analysis.comparability import Comparability, comparability
from fgtrace.analysis.comparing import (
    CALL_TIME,
    Batches,
    Calls,
    Compared,
    compared,
)
from fgtrace.analysis.diff_findings import changes_report
from fgtrace.analysis.diff_tree import aligned_trees, nodes
from fgtrace.analysis.gates import MEASURES
from fgtrace.analysis.marks import composites
from fgtrace.analysis.measured import LEVELS, Measure
from fgtrace.analysis.rules import PHASE_ORDER
from fgtrace.analysis.sides import Pair, has_steps, pairs
from fgtrace.analysis.stopwatch import by_generation
from fgtrace.analysis.verdicts import MARGIN, VERDICT
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.trace import Trace
from fgtrace.units import count, duration, printable

STATUS = pl.Enum(["matched", "added", "removed", "renamed", "moved"])

DIFF = pl.Schema(
    {
        "case": pl.String(),
        "route": pl.String(),  # both, where they differ
        "path": pl.String(),  # of a tree the names from the outermost down; else the name
        "name": pl.String(),
        "depth": pl.Int64(),  # in a tree, from 0; else 0
        "kind": pl.String(),  # call, phase, or that of the events
        "time": pl.String(),  # which: stopwatch, host or device
        "status": STATUS,
        "count_a": pl.Int64(),  # a call; null where it means nothing or is not known
        "count_b": pl.Int64(),
        "time_a_ns": pl.Int64(),  # a call: the mean over processes of the median over calls
        "time_b_ns": pl.Int64(),
        "delta_ns": pl.Int64(),  # b less a
        "interval_low_ns": pl.Int64(),  # null with fewer than five calls a side
        "interval_high_ns": pl.Int64(),
        "verdict": VERDICT,  # null where there is no interval, or sides are not comparable
        "detectable_ns": pl.Int64(),  # the smallest difference that would have got a verdict
    }
)

TIMES = {"host_time": "host", "device_time": "device", CALL_TIME: "stopwatch"}
"""The metrics that are times of rows."""

OF_DEVICE = pl.col("metric").is_in(
    ("device_time", "kernel_count", "copy_count", "readback_count")
) | ((pl.col("metric") == "count") & pl.col("level").is_in(("call", "phase", "kernel")))
"""Which rows of a comparison mean nothing where the device was not recorded."""


@dataclass(frozen=True)
class Asked:
    """How two recordings are to be compared."""

    by: str | None = None
    """phase, kernel, op or tree; None: phase where calls name a case, else op or kernel."""
    measure: Measure = field(default_factory=Measure)
    margin: float = MARGIN
    any_case: bool = False
    """Where each side has one case, the two are compared, whatever their names."""


@dataclass(frozen=True)
class Diff:
    """What came of comparing two recordings."""

    by: str
    margin: float
    comparability: Comparability
    comparison: pl.DataFrame
    """COMPARISON of the whole calls, and by phase, kernel and operator."""
    rows: pl.DataFrame
    """DIFF: the whole calls first."""
    changes: pl.DataFrame
    """CHANGES: what stands out."""
    missing: tuple[str, ...]
    """What could not be compared, in sentences."""


def diff(a: Trace, b: Trace, asked: Asked | None = None) -> Diff:
    """Compare b with a, the base.

    Raises FgtraceError (usage) where nothing on one side corresponds to anything on the other.
    """
    asked = asked or Asked()
    marks_none = a.calls.is_empty() or b.calls.is_empty()
    measure = replace(asked.measure, whole=asked.measure.whole or marks_none)
    found, alone = pairs(a, b, whole=measure.whole, any_case=asked.any_case)
    # Steps are of many operators, and their phases those of all of them.
    phased = not (measure.whole or has_steps(a) or has_steps(b))
    by = asked.by or ("phase" if phased else _by(a, b))
    _check(by, a, b, measure)
    axes = comparability(a, b)
    levels = [level for level in LEVELS if level != "phase" or phased or by == "phase"]
    compare = _Comparing(a, b, found, measure, phased, asked.margin, axes.verdicts)
    comparison = pl.concat(compare.by_name(level) for level in levels)
    missing = list(_missing(a, b, found, measure, alone))
    if by == "tree":
        of_tree, places, only_some = compare.by_place()
        comparison = pl.concat([comparison, of_tree])
        missing += only_some
    if a.device_work.is_empty() or b.device_work.is_empty():
        comparison = comparison.filter(~OF_DEVICE)
    missing += _no_common_names(comparison, by)
    rows = _rows(comparison, by)
    if by == "tree":
        rows = in_places(rows, places)
    return Diff(
        by, asked.margin, axes, comparison, rows, changes_report(comparison), tuple(missing)
    )


def _by(a: Trace, b: Trace) -> str:
    has_ops = all("op" in trace.host_events["kind"].unique() for trace in (a, b))
    return "op" if has_ops else "kernel"


def _check(by: str, a: Trace, b: Trace, measure: Measure) -> None:
    problem, hint = None, ""
    if by == "phase" and measure.whole:
        problem = "whole traces have no phases"
        hint = "--by kernel, op or tree; or say what the calls are: --range RE, --call OPERATOR"
    elif by == "kernel":
        for name, trace in (("A", a), ("B", b)):
            if trace.device_work.is_empty():
                problem = f"{name}, {printable(trace.source)}, has no device work"
                hint = "--by op compares what the hosts did"
    if problem is not None:
        raise FgtraceError(problem, hint=hint, kind="usage", exit_code=ExitCode.USAGE)


@dataclass(frozen=True)
class _Comparing:
    """Two recordings, which calls of them are compared, and how."""

    a: Trace
    b: Trace
    pairs: list[Pair]
    measure: Measure
    phased: bool
    margin: float
    verdicts: bool

    def by_name(self, level: str) -> pl.DataFrame:
        """Make COMPARISON of a level."""
        measured = [self.measure.of(trace, level) for trace in (self.a, self.b)]
        if level == "phase":
            parts = [composites(trace, self.measure.rules) for trace in (self.a, self.b)]
            measured = [_united(rows, unions(*parts)) for rows in measured]
        both = []
        for pair in self.pairs:
            sides = [
                rows.join(calls, on="call_id", how="semi")
                for rows, calls in zip(measured, pair.calls, strict=True)
            ]
            both.append(self._of_calls(pair, sides))
            if level == "call":
                both += self._of_batches(pair)
        return compared(both, level, margin=self.margin, verdicts=self.verdicts)

    def by_place(self) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
        """Make COMPARISON of trees, their PLACES by case and route, and say what is in none."""
        both, places, missing = [], [], []
        for pair in self.pairs:
            trees = [
                nodes(trace, self.measure, calls, phased=self.phased)
                for trace, calls in zip((self.a, self.b), pair.calls, strict=True)
            ]
            found = aligned_trees(*trees)
            both.append(self._of_calls(pair, found.measured))
            places.append(
                found.places.with_row_index("place").with_columns(
                    case=pl.lit(pair.case, pl.String), route=pl.lit(pair.route, pl.String)
                )
            )
            missing += [
                f"{count(number)} of {count(tree.height)} events of {side} are in some of its "
                "calls only, and in no row"
                for side, tree, number in zip("AB", trees, found.elsewhere, strict=True)
                if number
            ]
        rows = compared(both, "tree", margin=self.margin, verdicts=self.verdicts)
        return rows, pl.concat(places), missing

    def _of_calls(self, pair: Pair, measured: Sequence[pl.DataFrame]) -> Compared:
        order = [
            calls.select("part")
            .unique(maintain_order=True)
            .join(trace.parts, on="part", maintain_order="left")["generation"]
            for trace, calls in zip((self.a, self.b), pair.calls, strict=True)
        ]
        paired = self._recorded_together(*(one.to_list() for one in order))
        a, b = (Calls(*side, paired) for side in zip(pair.calls, measured, strict=True))
        return Compared(pair.case, pair.route, a, b)

    def _of_batches(self, pair: Pair) -> list[Compared]:
        frames = [
            _generations(trace, case, route)
            for trace, case, route in zip((self.a, self.b), pair.cases, pair.routes, strict=True)
        ]
        if any(frame.is_empty() for frame in frames):
            return []
        paired = self._recorded_together(*(frame["generation"].to_list() for frame in frames))
        a, b = (Batches(frame["call_ns"].to_list(), paired) for frame in frames)
        return [Compared(pair.case, pair.route, a, b)]

    def _recorded_together(self, a: list[int], b: list[int]) -> object:
        """Give what both sides share where their processes ran side by side: routes of one run."""
        made = [(one.provenance.created, one.provenance.command) for one in (self.a, self.b)]
        together = made[0] == made[1] and made[0][0] is not None and a == b and None not in a
        return (*made[0], a) if together else None


def _generations(trace: Trace, case: str | None, route: str | None) -> pl.DataFrame:
    return by_generation(trace.samples).filter(
        pl.col("case").eq_missing(pl.lit(case, pl.String)),
        pl.col("route").eq_missing(pl.lit(route, pl.String)),
    )


def unions(a: dict[str, set[str]], b: dict[str, set[str]]) -> dict[str, str]:
    """Say as part of which union phases are compared: of composites that only one side has.

    Each side's composites are given by their parts. A union is named after them:
    `prefix_scan+expand`.
    """
    groups: list[set[str]] = []
    for phase in sorted({*a, *b}):
        if a.get(phase) != b.get(phase):
            group = {*a.get(phase, ()), *b.get(phase, ())}
            for other in [other for other in groups if other & group]:
                groups.remove(other)
                group |= other
            groups.append(group)
    order = {phase: place for place, phase in enumerate(PHASE_ORDER)}
    return {
        phase: "+".join(sorted(group, key=lambda one: (order.get(one, len(order)), one)))
        for group in groups
        for phase in group
    }


def _united(measured: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    key = ["call_id", "name", "kind", "metric"]
    # A sum that has something unknown in it is not known.
    value = pl.when(pl.col("value").null_count() == 0).then(pl.col("value").sum())
    return (
        measured.with_columns(pl.col("name").replace(names))
        .group_by(key, maintain_order=True)
        .agg(value)
    )


def _rows(comparison: pl.DataFrame, level: str) -> pl.DataFrame:
    """Make DIFF of a comparison: the whole calls, then the rows of a level, the largest first."""
    chosen = comparison.filter(pl.col("level").is_in(("call", level)))
    key = ["case", "route", "level", "name", "kind"]
    there = chosen.group_by(key).agg(pl.col("in_a", "in_b").any())
    counts = chosen.filter(unit="count").select(*key, count_a="a", count_b="b", counted="metric")
    is_device = pl.col("time") == "device"
    # An operator's device time is that of what it launched, which has a count of its own.
    counted = (
        pl.when(is_device & (pl.col("level") == "op"))
        .then(pl.lit("kernel_count"))
        .when(is_device | pl.col("level").is_in(("op", "tree")))
        .then(pl.lit("count"))
    )
    status = (
        pl.when(~pl.col("in_a"))
        .then(pl.lit("added"))
        .when(~pl.col("in_b"))
        .then(pl.lit("removed"))
        .otherwise(pl.lit("matched"))
    )
    return (
        chosen.filter(pl.col("metric").is_in(list(TIMES)))
        .drop("in_a", "in_b")
        .with_columns(time=pl.col("metric").replace_strict(TIMES))
        .with_columns(counted=counted)
        .join(there, on=key, nulls_equal=True)
        .join(counts, on=[*key, "counted"], how="left", nulls_equal=True)
        .with_columns(status=status, path="name", depth=0, delta=pl.col("b") - pl.col("a"))
        .sort(
            pl.col("level") != "call",
            "case",
            "route",
            -pl.col("delta").abs(),
            "name",
            "kind",
            "time",
        )
        .rename({name: f"{new}_ns" for name, new in _IN_NANOSECONDS.items()})
        .with_columns(pl.col(f"{new}_ns").round() for new in _IN_NANOSECONDS.values())
        .select(DIFF.names())
        .cast(DIFF)
    )


def in_places(rows: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Put the rows of trees in their order, and say what their places are."""
    key = ["case", "route", "name"]
    return (
        rows.join(places, on=key, how="left", nulls_equal=True, suffix="_there")
        .with_columns(
            path=pl.coalesce("path_there", "path"),
            name=pl.coalesce("shown", "name"),
            depth=pl.coalesce("depth_there", "depth"),
            status=pl.coalesce(pl.col("status_there").cast(STATUS), "status"),
        )
        .sort(pl.col("kind") != "call", "case", "route", "place", "time", maintain_order=True)
        .select(DIFF.names())
    )


_IN_NANOSECONDS = {
    "a": "time_a",
    "b": "time_b",
    "delta": "delta",
    "low": "interval_low",
    "high": "interval_high",
    "detectable": "detectable",
}


def _missing(
    a: Trace, b: Trace, found: list[Pair], measure: Measure, alone: list[str]
) -> Iterator[str]:
    for one in alone:
        yield f"only on one side: {one}"
    for place, (side, trace) in enumerate((("A", a), ("B", b))):
        work = trace.device_work
        parts = pl.concat([pair.calls[place]["part"] for pair in found]).unique()
        if work.is_empty():
            yield f"{side} has no device work, so that device times are not compared"
            continue
        if measure.whole:
            continue
        calls = pl.concat([pair.calls[place] for pair in found])
        inside = measure.work(trace).join(calls, on="call_id", how="semi")
        work = work.filter(pl.col("part").is_in(parts.implode()))
        outside = work.join(inside, on="event_id", how="anti")
        if not outside.is_empty():
            lost, total = (duration(int(rows["dur_ns"].sum())) for rows in (outside, work))
            yield (
                f"{count(outside.height)} of {count(work.height)} device events of {side} "
                f"({lost} of {total}) belong to no compared call; --whole compares whole traces"
            )


def _no_common_names(comparison: pl.DataFrame, level: str) -> Iterator[str]:
    names = comparison.filter(level=level)
    sides = pl.col("in_a").any(), pl.col("in_b").any()
    there = names.group_by("case", "route", "name").agg(sides)
    if there.is_empty():
        yield f"neither side has anything to compare by {level}"
    elif there.filter("in_a", "in_b").is_empty():
        a, b = (count(int(there[side].sum())) for side in ("in_a", "in_b"))
        what = "place" if level == "tree" else "name"
        yield f"no {what} is on both sides: A has {a} of its own, B {b}"


def gated(comparison: pl.DataFrame) -> pl.DataFrame:
    """Make the MEASURES of gates of a comparison; of trees there are none."""
    columns = [name for name in MEASURES.names() if name != "name"]
    is_call = pl.col("level") == "call"
    ends = pl.col("low", "high", "b_low", "b_high")
    is_known = pl.col("a").is_not_null() & pl.col("b").is_not_null()
    sides = [pl.when(is_known & pl.col(f"in_{side}")).then(side).alias(side) for side in "ab"]
    return (
        comparison.filter(pl.col("level") != "tree")
        # What cannot be decided has no ends.
        .with_columns(pl.when(pl.col("why").is_null()).then(ends), *sides)
        .with_columns(name=pl.when(~is_call).then("name"))
        .select("name", *columns)
        .select(MEASURES.names())
        .cast(MEASURES)
    )
