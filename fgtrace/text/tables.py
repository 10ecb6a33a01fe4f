"""A table as plain text, fitted into a terminal where there is one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace

from fgtrace.views.fitting import GAP, fitted, natural_widths, padded, total
from fgtrace.views.model import Column, Table

_LONGEST_RULE = 120
"""Columns under which the rule below the headings is drawn, however long a name is."""


def render(table: Table, width: int | None = None) -> str:
    """Lay `table` out in at most `width` columns; None is as wide as it comes.

    In a narrow terminal names are cut in the middle, then columns are left out, and said to be.
    """
    widths = natural_widths(table.columns, table.rows)
    if width is not None and total(widths) > width:
        kept, widths = fitted(table.columns, widths, width)
        table = _kept(table, kept, width)
    lines = _wrapped((table.title, *table.banners), width)
    if table.columns:
        lines += ["", _line([column.title for column in table.columns], table.columns, widths)]
        lines += ["─" * min(total(widths), width or _LONGEST_RULE)]
    for row in table.rows:
        lines += _row(row, table.columns, widths)
    if table.footnotes:
        lines += ["", *_wrapped(table.footnotes, width)]
    return "\n".join(lines) + "\n"


def _wrapped(texts: Iterable[str], width: int | None) -> list[str]:
    """Break sentences at the terminal's edge."""
    if width is None:
        return list(texts)
    return [line for text in texts for line in textwrap.wrap(text, width)]


def _kept(table: Table, kept: list[int], width: int) -> Table:
    """Leave the other columns out, and say so."""
    left_out = [column.title for place, column in enumerate(table.columns) if place not in kept]
    if not left_out:
        return table
    note = f"Left out in {width} columns: {', '.join(dict.fromkeys(left_out))}."
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        footnotes=(*table.footnotes, note),
    )


def _row(cells: tuple[str, ...], columns: tuple[Column, ...], widths: list[int]) -> list[str]:
    """Lay a row out; the sentence in its last cell goes on below itself."""
    if not columns or not columns[-1].wrap:
        return [_line(cells, columns, widths)]
    pieces = textwrap.wrap(cells[-1], max(widths[-1], 1)) or [""]
    before = ("",) * (len(cells) - 1)
    return [
        _line((*(cells[:-1] if place == 0 else before), piece), columns, widths)
        for place, piece in enumerate(pieces)
    ]


def _line(
    cells: tuple[str, ...] | list[str], columns: tuple[Column, ...], widths: list[int]
) -> str:
    texts = map(padded, cells, columns, widths)
    return (" " * GAP).join(texts).rstrip(" ")
