"""What a diff shows: what may be concluded first, then what stands out, then the rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

import msgspec
import polars as pl

from fgtrace import units
from fgtrace.analysis import verdicts
from fgtrace.analysis.comparing import ONE_PROCESS
from fgtrace.analysis.diff import Diff
from fgtrace.analysis.gates import Judged
from fgtrace.analysis.outcome import Outcome
from fgtrace.analysis.tree import SEPARATOR
from fgtrace.analysis.trend import trend_report
from fgtrace.views.build import filtered, laid_out
from fgtrace.views.layout import LEVEL_OF_VERDICTS, Layout, Shown, indented, named
from fgtrace.views.model import Answer, Column, Table

LETTERS = ascii_uppercase
"""What recordings are called: the base is A."""

TOLD = 10
"""Findings that are shown; data has all."""


def _counts(a: int | None, b: int | None) -> str:
    if a is None or b is None:
        return units.MISSING
    return units.count(a) if a == b else f"{units.count(a)} → {units.count(b)}"


def _percent(a: int | None, b: int | None) -> str:
    return units.MISSING if not a or b is None else units.change((b - a) / a)


def _status(status: str) -> str:
    return units.MISSING if status == "matched" else status


PERCENT = Shown("%", ("time_a_ns", "time_b_ns"), _percent, drop=2)

ROWS = Layout(
    title="Differences",
    names=("path", "name"),
    shown=(
        Shown("case", ("case",), named, optional=True),
        Shown("route", ("route",), named, optional=True),
        Shown("name", ("name", "depth"), indented),
        Shown("time", ("time",), named),
        Shown("status", ("status",), _status, optional=True),
        Shown("count", ("count_a", "count_b"), _counts, drop=1, optional=True),
        Shown("A", ("time_a_ns",), units.duration),
        Shown("B", ("time_b_ns",), units.duration),
        Shown("B − A", ("delta_ns",), units.duration),
        PERCENT,
        Shown(
            LEVEL_OF_VERDICTS,
            ("interval_low_ns", "interval_high_ns"),
            units.interval,
            3,
            optional=True,
        ),
        Shown("could see", ("detectable_ns",), units.duration, drop=4, optional=True),
        Shown("verdict", ("verdict",), named, optional=True),
    ),
)

CHANGES = Layout(
    title="What stands out",
    names=("sentence",),
    shown=(
        Shown("B − A", ("delta_ns",), units.duration),
        Shown("finding", ("sentence",), named, wrap=True),
    ),
)


@dataclass(frozen=True)
class Chosen:
    """Which rows are shown."""

    pattern: re.Pattern[str] | None = None
    limit: int | None = None
    all: bool = False
    """Those that did not change, too."""
    force: bool = False
    """Percentages across profilers, too."""


def diff_answer(
    found: Sequence[Diff],
    sources: Sequence[str],
    told: Outcome,
    judged: Sequence[Judged],
    chosen: Chosen,
) -> Answer:
    """Answer with diffs: of each of `sources` but the first, the base, with that one."""
    letters = LETTERS[: len(sources)]
    each = [
        one.rows.with_columns(recording=pl.lit(letter))
        for one, letter in zip(found, letters[1:], strict=True)
    ]
    rows = pl.concat(each)
    if chosen.pattern is not None:
        rows = filtered(rows, ROWS.names, chosen.pattern)
    table = _rows_table(found[0], rows, chosen) if len(found) == 1 else _trend_table(rows, chosen)
    compared = [
        {
            "comparability": msgspec.to_builtins(one.comparability),
            "missing": list(one.missing),
            "findings": one.changes.to_dicts(),
        }
        for one in found
    ]
    if len(found) == 1:
        rows = rows.drop("recording")
        beside = compared[0]
    else:
        beside = {
            "comparisons": [
                {"recording": letter, **one}
                for letter, one in zip(letters[1:], compared, strict=True)
            ],
            "trend": _trend(rows).to_dicts(),
        }
    cuts = [line for one in found for line in _missing(one)]
    if chosen.limit is not None and rows.height > chosen.limit:
        cuts.append(_left_out(rows.height, chosen.limit))
        rows = rows.head(chosen.limit)
    document: dict[str, Any] = {
        **msgspec.to_builtins(told),
        "recordings": dict(zip(letters, sources, strict=True)),
        "by": found[0].by,
        **beside,
        "gates": [msgspec.to_builtins(one) for one in judged],
        "rows": rows.to_dicts(),
    }
    above = [
        table
        for one, letter, source in zip(found, letters[1:], sources[1:], strict=True)
        for table in (
            _comparability_table(one, {"A": sources[0], letter: source}),
            *_findings_table(one, letter),
        )
    ]
    above += [_gates_table(judged)] if judged else []
    return Answer(
        table=table,
        document=document,
        header=tuple(rows.columns),
        rows=tuple(rows.iter_rows()),
        cuts=tuple(cuts),
        above=tuple(above),
    )


def _rows_table(found: Diff, rows: pl.DataFrame, chosen: Chosen) -> Table:
    shown, cuts = _cut(rows if chosen.all else changed(rows), rows.height, chosen)
    table = row_table(found, shown, percentages=chosen.force)
    return replace(table, footnotes=(*cuts, *_legend(found, shown)))


def row_table(found: Diff, rows: pl.DataFrame, *, percentages: bool = False) -> Table:
    """Make the table of rows of a diff; percentages where they may be read, or anyway."""
    without = () if percentages or found.comparability.percentages else (PERCENT,)
    return laid_out(_titled(ROWS, rows, found.by, without), rows)


def _trend_table(rows: pl.DataFrame, chosen: Chosen) -> Table:
    trend = _trend(rows)
    flat = (pl.col("trend") == "flat").fill_null(False) & (pl.col("kind") != "call")
    shown, cuts = _cut(trend if chosen.all else trend.filter(~flat), trend.height, chosen)
    letters = LETTERS[: 1 + rows["recording"].n_unique()]
    shown = shown.with_columns(
        pl.col("times_ns").list.get(place).alias(letter) for place, letter in enumerate(letters)
    )
    times = tuple(Shown(letter, (letter,), units.duration) for letter in letters)
    changed = Shown(f"{letters[-1]} − A", ("A", letters[-1]), _percent)
    kept = [one for one in ROWS.shown if one.title in ("case", "route", "name", "time")]
    layout = replace(
        ROWS, shown=(*kept, *times, changed, Shown("trend", ("trend",), named, optional=True))
    )
    table = laid_out(_titled(layout, shown, "recording"), shown)
    return replace(table, footnotes=tuple(cuts))


def _trend(rows: pl.DataFrame) -> pl.DataFrame:
    each = rows.partition_by("recording", maintain_order=True)
    return trend_report([one.drop("recording") for one in each])


def _cut(shown: pl.DataFrame, total: int, chosen: Chosen) -> tuple[pl.DataFrame, list[str]]:
    cuts = []
    same = total - shown.height
    if same:
        cuts.append(f"{same} row{'' if same == 1 else 's'} did not change; --all shows them.")
    if chosen.limit is not None and shown.height > chosen.limit:
        cuts.append(_left_out(shown.height, chosen.limit))
        shown = shown.head(chosen.limit)
    return shown, cuts


def _left_out(there: int, limit: int) -> str:
    return f"{there - limit} of {there} rows are left out by --limit {limit}."


def changed(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out the rows that did not change; what is around one that did stays."""
    a, b, verdict = pl.col("time_a_ns"), pl.col("time_b_ns"), pl.col("verdict")
    near = (b - a).abs() <= verdicts.MARGIN * pl.max_horizontal(a, b)
    same = (
        (pl.col("status") == "matched")
        & pl.col("count_a").eq_missing(pl.col("count_b"))
        & pl.coalesce(verdict == "unchanged", near)
    )
    paths = rows.filter(~same)["path"].unique().to_list()
    around = {
        SEPARATOR.join(names[:depth])
        for names in (path.split(SEPARATOR) for path in paths)
        for depth in range(1, len(names))
    }
    return rows.filter(~same | (pl.col("kind") == "call") | pl.col("path").is_in(sorted(around)))


def _titled(layout: Layout, rows: pl.DataFrame, by: str, without: tuple[Shown, ...] = ()) -> Layout:
    """Say in the title, and not in a column, what is the same in all rows."""
    title, same = f"By {by}", []
    for word, column in (("of", "case"), ("by", "route")):
        names = rows[column].unique()
        if len(names) == 1:
            same.append((column,))
            title += "" if names[0] is None else f", {word} {named(names[0])}"
    shown = tuple(one for one in layout.shown if one.sources not in same and one not in without)
    return replace(layout, title=title, shown=shown)


def _missing(found: Diff) -> list[str]:
    return [_sentence(one) for one in found.missing]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _legend(found: Diff, rows: pl.DataFrame) -> list[str]:
    told = _missing(found)
    if "host" in rows["time"]:
        told.append("Host times are under the profiler, which makes them longer.")
    intervals = rows["interval_low_ns"].drop_nulls()
    if intervals.len() < rows.height:
        told.append(f"With fewer than {verdicts.CALLS} calls a side nothing is said of chance.")
    if intervals.len():
        told.append(
            f"{LEVEL_OF_VERDICTS}: the interval of B − A, which are means over processes of the "
            f"medians of their calls. A verdict wants more than {units.share(found.margin)}; could "
            "see: the smallest difference that would have got one."
        )
    if "uncertain" in rows["verdict"] and ONE_PROCESS in found.comparison["why"]:
        told.append(f"{_sentence(ONE_PROCESS)} It is uncertain at best.")
    return told


def _comparability_table(found: Diff, sources: dict[str, str]) -> Table:
    axes = found.comparability.axes
    different = [axis for axis in axes if axis.state == "different"]
    unknown = [axis.name for axis in axes if axis.state == "unknown"]
    titles = ("different", *sources, "what that forbids")
    columns = tuple(
        Column(title, "left", drop=int(title in sources), wrap=place == len(titles) - 1)
        for place, title in enumerate(titles)
    )
    return Table(
        title="   ".join(f"{letter}: {units.printable(name)}" for letter, name in sources.items()),
        columns=columns if different else (),
        rows=tuple(
            tuple(map(named, (axis.name, axis.a, axis.b, axis.forbids))) for axis in different
        ),
        banners=(f"{found.comparability.summary}: {found.comparability.sentence}",),
        footnotes=(f"Not known: {', '.join(unknown)}.",) if unknown else (),
    )


def _findings_table(found: Diff, letter: str) -> list[Table]:
    if found.changes.is_empty():
        return []
    told = found.changes.head(TOLD)
    table = laid_out(CHANGES, told)
    more = found.changes.height - told.height
    if letter != "B":
        table = replace(table, title=f"{table.title} in {letter} (B in these sentences)")
    return [replace(table, footnotes=(f"{more} more in --format json.",) if more else ())]


def _gates_table(judged: Sequence[Judged]) -> Table:
    return Table(
        title="Gates",
        columns=(Column("gate", "left"), Column("", "left"), Column("why", "left", wrap=True)),
        rows=tuple(
            tuple(
                map(units.printable, (one.gate, one.outcome, "; ".join((one.sentence, *one.rows))))
            )
            for one in judged
        ),
    )
