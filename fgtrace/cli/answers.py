"""Writing a report in the form that was asked for: data to stdout, what is beside it to stderr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fgtrace.cli.output import emit, tell, terminal_width
from fgtrace.text import data, markdown, tables
from fgtrace.units import printable
from fgtrace.views.model import Answer, Column, Table

if TYPE_CHECKING:
    # It imports Polars, which a listing needs none of.
    from fgtrace.views.notices import Notices


def emit_answer(answer: Answer, beside: Notices, form: str, *, raw_names: bool = False) -> None:
    """Write a report as table, json, csv or markdown; on stderr what that form has no room for."""
    if form == "json":
        emit(data.json_text(answer.document))
    elif form == "csv":
        emit(data.csv_text(answer.header, answer.rows, raw_names=raw_names))
    elif form == "markdown":
        emit("\n".join(map(markdown.render, (*answer.above, answer.table))))
    else:
        width = terminal_width()
        emit("\n".join(tables.render(table, width) for table in (*answer.above, answer.table)))
    if form in ("csv", "json"):
        tell(answer.cuts, "note")
    if form == "csv":
        tell(beside.banners, "note")
    if form != "json":
        tell(beside.lines())


def emit_listing(
    form: str,
    document: dict[str, Any],
    listed: Sequence[Table],
    header: Sequence[str],
    rows: Sequence[tuple[str, ...]],
) -> None:
    """Write what is no report of a trace: tables, a document for JSON, or rows for CSV."""
    if form == "json":
        emit(data.json_text(document))
    elif form == "csv":
        emit(data.csv_text(header, rows))
    elif form == "markdown":
        emit("\n".join(map(markdown.render, listed)))
    else:
        width = terminal_width()
        emit("\n".join(tables.render(table, width) for table in listed))


def listing(
    title: str,
    drops: dict[str, int],
    rows: Sequence[tuple[str, ...]],
    footnotes: Sequence[str] = (),
) -> Table:
    """Make a table of names; `drops` has each column's title and how soon it may be left out."""
    return Table(
        title=title,
        columns=tuple(Column(name, "left", drop) for name, drop in drops.items()),
        rows=tuple(tuple(map(printable, row)) for row in rows),
        footnotes=tuple(map(printable, footnotes)),
    )
