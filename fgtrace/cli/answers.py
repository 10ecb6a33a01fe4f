"""Writing a report in the form that was asked for: data to stdout, what is beside it to stderr."""

from __future__ import annotations

from fgtrace.cli.output import emit, tell, terminal_width
from fgtrace.text import data, markdown, tables
from fgtrace.views.model import Answer
from fgtrace.views.notices import Notices


def emit_answer(answer: Answer, beside: Notices, form: str, *, raw_names: bool = False) -> None:
    """Write a report as table, json, csv or markdown; on stderr what that form has no room for."""
    if form == "json":
        emit(data.json_text(answer.document))
    elif form == "csv":
        emit(data.csv_text(answer.header, answer.rows, raw_names=raw_names))
    elif form == "markdown":
        emit(markdown.render(answer.table))
    else:
        emit(tables.render(answer.table, terminal_width()))
    if form in ("csv", "json"):
        tell(answer.cuts, "note")
    if form == "csv":
        tell(beside.banners, "note")
    if form != "json":
        tell(beside.lines())
