"""What a screen, page or table shows, as frozen data without a trace behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Column:
    """A column's heading, its alignment, and how soon it may be left out.

    Where there is not enough room, the columns with the highest `drop` go first; those with 0 stay.
    Left-aligned cells are names and may be cut; right-aligned ones are numbers and are never cut.
    """

    title: str
    align: Literal["left", "right"] = "right"
    drop: int = 0
    wrap: bool = False
    """Its cells are sentences: of the last column, they go on in lines of their own."""


@dataclass(frozen=True)
class Table:
    """Rows of ready text; names in them are escaped already.

    `banners` say what holds for every number in the table and are shown above it.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    banners: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A report in every form: as a table, as rows for CSV and as a document for JSON."""

    table: Table
    document: dict[str, Any]
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cuts: tuple[str, ...] = ()
    """What is missing from the rows, and why."""
    above: tuple[Table, ...] = ()
    """Tables that are read before the table, and are beside the rows in a document."""
