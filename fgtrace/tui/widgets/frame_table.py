"""A table over rows of any number: only those in view are made into text and drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fgtrace.tui.bindings import Key
from fgtrace.views.browse import Rows
from fgtrace.views.fitting import GAP, fitted, natural_widths, padded

MEASURED = 500
"""Rows by which columns are measured: of many, text is made of those in view only."""

STRESSED = {
    "slower": "bad",
    "faster": "good",
    "added": "new",
    "removed": "new",
    "no": "bad",
}
"""Words that a colour stresses; each says by itself what it says."""

HEADINGS = 1
"""Lines above the rows."""

TABLE_KEYS = (
    Key("table.down", "j,down", "move(1)", "next row", "j ↓"),
    Key("table.up", "k,up", "move(-1)", "previous row", "k ↑"),
    Key("table.page-down", "ctrl+d,pagedown", "page(1)", "a page down", "^d PgDn"),
    Key("table.page-up", "ctrl+u,pageup", "page(-1)", "a page up", "^u PgUp"),
    Key("table.first", "g,home", "first", "first row", "g Home"),
    Key("table.last", "G,end", "last", "last row", "G End"),
    Key("table.sort", "s", "sort", "sort", "s", footer=True),
    Key("table.reverse", "S", "reverse", "sort the other way", "S"),
    Key("table.follow", "enter", "follow", "events", "⏎", footer=True),
)


class FrameTable(ScrollView, can_focus=True):
    """Shows `Rows`; the marked one can be followed to what is behind it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"heading", "marked", "row", "bad", "good", "new"}
    DEFAULT_CSS = """
    FrameTable {
        height: 1fr;
        scrollbar-size-horizontal: 0;
        & .heading { text-style: bold; color: $text-accent; }
        & .row { color: $foreground; }
        & .bad { color: $text-error; }
        & .good { color: $text-success; }
        & .new { color: $text-warning; }
        & .marked { background: $block-cursor-blurred-background; text-style: bold; }
        &:focus .marked { background: $block-cursor-background; color: $block-cursor-foreground; }
    }
    """
    KEYS: ClassVar[tuple[Key, ...]] = TABLE_KEYS
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in TABLE_KEYS]

    marked: reactive[int] = reactive(0, repaint=False)
    """The place of the marked row."""

    @dataclass
    class Marked(Message):
        """Another row is marked."""

        table: FrameTable
        place: int | None

    @dataclass
    class Followed(Message):
        """What is behind a row is asked for."""

        table: FrameTable
        place: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._all: Rows | None = None
        self._rows: Rows | None = None
        self._pattern: re.Pattern[str] | None = None
        self._inverse = False
        self._sorting: tuple[int, bool] | None = None
        self._block: tuple[int, Sequence[tuple[str, ...]]] = (0, ())
        self._kept: list[int] = []
        self._widths: list[int] = []

    @property
    def rows(self) -> Rows | None:
        """What is shown: sorted and filtered."""
        return self._rows

    @property
    def all_rows(self) -> Rows | None:
        """What was given to be shown, before it is sorted and filtered."""
        return self._all

    @property
    def filter_text(self) -> str:
        """The regular expression that rows are filtered by; `!` before it takes the others."""
        return "" if self._pattern is None else "!" * self._inverse + self._pattern.pattern

    def show(self, rows: Rows) -> None:
        """Show other rows; the filter and the sorting stay where they still make sense."""
        if self._all is not None and self._all.columns != rows.columns:
            self._sorting = None
        self._all = rows
        self._update()

    def keep(self, pattern: re.Pattern[str] | None, *, inverse: bool = False) -> None:
        """Show the rows in whose names the pattern is found; None: all."""
        self._pattern, self._inverse = pattern, inverse
        self._update()

    def mark(self, place: int) -> None:
        """Mark a row, and bring it into view."""
        if not self._rows or not len(self._rows):
            return
        place = min(max(place, 0), len(self._rows) - 1)
        before, self.marked = self.marked, place
        top = self.scroll_offset.y
        visible = max(self.size.height - HEADINGS, 1)
        if not top <= place < top + visible:
            target = place if place < top else place - visible + 1
            self.scroll_to(y=target, animate=False, force=True)
        self._refresh_row(before)
        self._refresh_row(place)
        self.post_message(self.Marked(self, place))

    def action_move(self, by: int) -> None:
        """Mark the next row, or the one before."""
        self.mark(self.marked + by)

    def action_page(self, by: int) -> None:
        """Go a page on, or back."""
        self.mark(self.marked + by * max(self.size.height - HEADINGS, 1))

    def action_first(self) -> None:
        """Mark the first row."""
        self.mark(0)

    def action_last(self) -> None:
        """Mark the last row."""
        if self._rows is not None:
            self.mark(len(self._rows) - 1)

    def action_sort(self) -> None:
        """Sort by the next column, numbers from the largest."""
        if self._all is not None and self._kept:
            shown = self._kept
            at = -1 if self._sorting is None else shown.index(self._sorting[0])
            self._sort(shown[(at + 1) % len(shown)])

    def action_reverse(self) -> None:
        """Sort by the same column the other way."""
        if self._sorting is not None:
            column, descending = self._sorting
            self._sorting = (column, not descending)
            self._update()

    def action_follow(self) -> None:
        """Ask for what is behind the marked row."""
        if self._rows is not None and len(self._rows):
            self.post_message(self.Followed(self, self.marked))

    def render_line(self, y: int) -> Strip:
        """Draw the headings, or a row."""
        if y < HEADINGS:
            return self._headings()
        rows, place = self._rows, self.scroll_offset.y + y - HEADINGS
        if rows is None or place >= len(rows):
            return Strip.blank(self.size.width, self.rich_style)
        cells = self._cells(rows, place)
        name = "marked" if place == self.marked else "row"
        return self._strip([cells[column] for column in self._kept], name)

    def _cells(self, rows: Rows, place: int) -> tuple[str, ...]:
        """Give the text of a row, made with that of the others in view."""
        first, block = self._block
        if not first <= place < first + len(block):
            first = self.scroll_offset.y
            block = rows.cells(first, max(self.size.height, place - first + 1))
            self._block = first, block
        return block[place - first]

    def on_click(self, event: events.Click) -> None:
        """Mark the row, or sort by the column, that is clicked."""
        if event.y >= HEADINGS:
            self.mark(self.scroll_offset.y + event.y - HEADINGS)
            if event.chain == 2:
                self.action_follow()
            return
        start = 0
        for column, width in zip(self._kept, self._widths, strict=True):
            if start <= event.x < start + width + GAP:
                if self._sorting is not None and self._sorting[0] == column:
                    self.action_reverse()
                else:
                    self._sort(column)
                return
            start += width + GAP

    def on_resize(self) -> None:
        """Fit the columns anew."""
        self._fit()

    def _sort(self, column: int) -> None:
        assert self._all is not None
        self._sorting = (column, self._all.columns[column].align == "right")
        self._update()

    def _update(self) -> None:
        rows = self._all
        if rows is None:
            return
        if self._pattern is not None:
            rows = rows.filtered(self._pattern, inverse=self._inverse)
        if self._sorting is not None:
            column, descending = self._sorting
            rows = rows.sorted(column, descending=descending)
        self._rows, self._block = rows, (0, ())
        self._fit()
        count = len(rows)
        self.virtual_size = Size(self.size.width, count + HEADINGS)
        self.set_reactive(FrameTable.marked, min(self.marked, max(count - 1, 0)))
        self.mark(self.marked)
        self.refresh()
        if not count:
            self.post_message(self.Marked(self, None))

    def _fit(self) -> None:
        if self._rows is None:
            return
        columns = self._rows.columns
        natural = natural_widths(columns, self._rows.cells(0, MEASURED))
        # Room for the arrow that says what rows are sorted by.
        natural = [width + 1 for width in natural]
        width = max(self.size.width - self.styles.scrollbar_size_vertical, 1)
        self._kept, self._widths = fitted(columns, natural, width)

    def _headings(self) -> Strip:
        if self._rows is None:
            return Strip.blank(self.size.width, self.rich_style)
        titles = []
        for place in self._kept:
            title = self._rows.columns[place].title
            if self._sorting is not None and self._sorting[0] == place:
                title += "▼" if self._sorting[1] else "▲"
            titles.append(title)
        return self._strip(titles, "heading")

    def _strip(self, texts: list[str], component: str) -> Strip:
        assert self._rows is not None
        style = self.get_component_rich_style(component)
        segments = []
        for text, place, width in zip(texts, self._kept, self._widths, strict=True):
            told = STRESSED.get(text) if component == "row" else None
            own = style if told is None else self.get_component_rich_style(told)
            segments.append(Segment(padded(text, self._rows.columns[place], width), own))
            segments.append(Segment(" " * GAP, style))
        return Strip(segments).adjust_cell_length(self.size.width, style)

    def _refresh_row(self, place: int) -> None:
        y = place - self.scroll_offset.y + HEADINGS
        if HEADINGS <= y < self.size.height:
            self.refresh_lines(y, 1)
