"""Answers from report frames: rows as ready text, and the same as data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import polars as pl

from fgtrace import units
from fgtrace.analysis.summary import Summary
from fgtrace.views.layout import Layout
from fgtrace.views.layouts import LAYOUTS
from fgtrace.views.layouts_of_matrix import FITTED
from fgtrace.views.model import Answer, Column, Table
from fgtrace.views.notices import Notices


def report_answer(
    report: str,
    frame: pl.DataFrame,
    beside: Notices,
    pattern: re.Pattern[str] | None = None,
    limit: int | None = None,
) -> Answer:
    """Answer with the rows of a report: those in whose names `pattern` is, and `limit` of them."""
    cuts: tuple[str, ...] = ()
    if frame.is_empty():
        empty = LAYOUTS[report].empty
        cuts = (f"No rows: {empty}.",) if empty else beside.why_empty()
    if pattern is not None:
        frame = filtered(frame, LAYOUTS[report].names, pattern)
    if limit is not None and frame.height > limit:
        cuts = (f"{frame.height - limit} of {frame.height} rows are left out by --limit {limit}.",)
        frame = frame.head(limit)
    table = build_table(report, frame, beside.banners)
    return Answer(
        table=replace(table, footnotes=(*cuts, *table.footnotes)),
        document={**msgspec.to_builtins(beside.told), "rows": frame.to_dicts()},
        header=tuple(frame.columns),
        rows=tuple(frame.iter_rows()),
        cuts=cuts,
    )


def summary_answer(summary: Summary, source: str, beside: Notices) -> Answer:
    """Answer with a summary: a row a metric over the whole trace."""
    document = msgspec.to_builtins(summary)
    metrics = document["metrics"]
    missing = [name.replace("_", " ") for name, was in document["recorded"].items() if not was]
    parts = len(document["parts"])
    table = Table(
        title=f"Summary of {units.printable(source)}",
        columns=(Column("metric", "left"), Column("value")),
        rows=tuple(_metric(name, value) for name, value in metrics.items()),
        banners=beside.banners,
        footnotes=(
            *([f"Not recorded: {', '.join(missing)}."] if missing else []),
            *([f"Over {parts} parts; --format json has each."] if parts > 1 else []),
        ),
    )
    return Answer(table, document, ("metric", "value"), tuple(metrics.items()))


def build_table(report: str, frame: pl.DataFrame, banners: Sequence[str] = ()) -> Table:
    """Make the table of a report, `banners` above it."""
    layout = LAYOUTS[report]
    if report in FITTED:
        layout, frame = FITTED[report](frame)
    return laid_out(layout, frame, banners)


def laid_out(layout: Layout, frame: pl.DataFrame, banners: Sequence[str] = ()) -> Table:
    """Make the table of a layout."""
    columns = []
    cells = []
    for shown in layout.shown:
        column = [shown.text(*values) for values in frame.select(shown.sources).iter_rows()]
        if shown.optional and set(column) <= {units.MISSING}:
            continue
        columns.append(shown.column())
        cells.append(column)
    return Table(
        title=layout.title,
        columns=tuple(columns),
        rows=tuple(zip(*cells, strict=True)),
        banners=tuple(banners),
        footnotes=layout.footnotes,
    )


def _metric(name: str, value: int | None) -> tuple[str, str]:
    """Read the unit off the end of a metric's name."""
    for ending, text in (("_ns", units.duration), ("_bytes", units.size)):
        if name.endswith(ending):
            return name.removesuffix("_ns").replace("_", " "), text(value)
    return name.replace("_", " "), units.count(value)


def filtered(frame: pl.DataFrame, names: tuple[str, ...], pattern: re.Pattern[str]) -> pl.DataFrame:
    """Select the rows in one of whose `names` the pattern is found."""
    found = [
        any(name is not None and pattern.search(name) for name in row)
        for row in frame.select(pl.col(names).cast(pl.String)).iter_rows()
    ]
    return frame.filter(pl.Series(found, dtype=pl.Boolean))
