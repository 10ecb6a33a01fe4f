"""Columns fitted into a width: which are shown, how wide, and what of a long name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fgtrace.units import text_width
from fgtrace.views.model import Column

GAP = 2
"""Spaces between columns."""

_CUT = "…"

_NARROW_NAME = 24
"""Names are cut down to this before whole columns are left out."""


def natural_widths(columns: Sequence[Column], rows: Iterable[tuple[str, ...]]) -> list[int]:
    """Measure the widest cell of each column, its title being one."""
    widths = [text_width(column.title) for column in columns]
    for row in rows:
        widths = [max(width, text_width(text)) for width, text in zip(widths, row, strict=True)]
    return widths


def total(widths: Sequence[int]) -> int:
    """Add up columns and what is between them."""
    return sum(widths) + GAP * (len(widths) - 1)


def fitted(
    columns: Sequence[Column], natural: Sequence[int], width: int
) -> tuple[list[int], list[int]]:
    """Choose the columns that fit into `width`, by their places, and how wide each is.

    Names are cut first, then columns are left out, the most droppable first.
    """
    kept = list(range(len(columns)))

    def narrowest() -> int:
        return total(
            [
                min(natural[place], _NARROW_NAME)
                if columns[place].align == "left"
                else natural[place]
                for place in kept
            ]
        )

    while kept and narrowest() > width:
        place = max(kept, key=lambda place: columns[place].drop)
        if not columns[place].drop:
            break
        kept.remove(place)
    widths = [natural[place] for place in kept]
    names = [at for at, place in enumerate(kept) if columns[place].align == "left"]
    while total(widths) > width:
        # What is too much is taken from the widest names, down to their headings.
        widest = max(names, key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= text_width(columns[kept[widest]].title):
            break
        widths[widest] -= 1
    return kept, widths


def cut(text: str, width: int) -> str:
    """Shorten `text` to at most `width` columns by taking out its middle."""
    if text_width(text) <= width:
        return text
    room = max(width - 1, 0)
    head = _prefix(text, room - room // 2)
    tail = _prefix(text[::-1], room // 2)[::-1]
    return head + _CUT + tail


def padded(text: str, column: Column, width: int) -> str:
    """Cut a cell to its column's width, and fill it up."""
    text = cut(text, width)
    space = " " * (width - text_width(text))
    return text + space if column.align == "left" else space + text


def _prefix(text: str, width: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += text_width(character)
        if used > width:
            return text[:place]
    return text
