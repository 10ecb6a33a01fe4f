"""A table as plain text, fitted into a terminal where there is one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import replace

from fgtrace.units import text_width
from fgtrace.views.model import Column, Table

_GAP = "  "
_CUT = "…"
_LONGEST_RULE = 120
"""Columns under which the rule below the headings is drawn, however long a name is."""

_NARROW_NAME = 24
"""Names are cut down to this before whole columns are left out."""


def render(table: Table, width: int | None = None) -> str:
    """Lay `table` out in at most `width` columns; None is as wide as it comes.

    In a narrow terminal names are cut in the middle, then columns are left out, and said to be.
    """
    natural = _widths(table)
    widths = natural
    if width is not None and _total(natural) > width:
        table = _dropped(table, width)
        widths = _fitted(table, _widths(table), width)
    lines = _wrapped((table.title, *table.banners), width)
    if table.columns:
        lines += ["", _line([column.title for column in table.columns], table.columns, widths)]
        lines += ["─" * min(_total(widths), width or _LONGEST_RULE)]
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


def cut(text: str, width: int) -> str:
    """Shorten `text` to at most `width` columns by taking out its middle."""
    if text_width(text) <= width:
        return text
    room = max(width - 1, 0)
    head = _prefix(text, room - room // 2)
    tail = _prefix(text[::-1], room // 2)[::-1]
    return head + _CUT + tail


def _prefix(text: str, width: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += text_width(character)
        if used > width:
            return text[:place]
    return text


def _widths(table: Table) -> list[int]:
    cells = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    return [
        max(map(text_width, (column.title, *texts)))
        for column, texts in zip(table.columns, cells, strict=True)
    ]


def _total(widths: list[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _dropped(table: Table, width: int) -> Table:
    """Leave columns out, the most droppable first, until narrow names make the rest fit."""
    kept = list(range(len(table.columns)))
    natural = _widths(table)

    def narrowest() -> int:
        return _total(
            [
                min(natural[place], _NARROW_NAME)
                if table.columns[place].align == "left"
                else natural[place]
                for place in kept
            ]
        )

    while narrowest() > width:
        place = max(kept, key=lambda place: table.columns[place].drop)
        if not table.columns[place].drop:
            break
        kept.remove(place)
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


def _fitted(table: Table, widths: list[int], width: int) -> list[int]:
    """Take what is too much from the widest names, down to their headings."""
    widths = list(widths)
    names = [place for place, column in enumerate(table.columns) if column.align == "left"]
    while _total(widths) > width:
        place = max(names, key=lambda place: widths[place], default=None)
        if place is None or widths[place] <= text_width(table.columns[place].title):
            break
        widths[place] -= 1
    return widths


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
    padded = []
    for text, column, width in zip(cells, columns, widths, strict=True):
        text = cut(text, width)
        space = " " * (width - text_width(text))
        padded.append(text + space if column.align == "left" else space + text)
    return _GAP.join(padded).rstrip(" ")
