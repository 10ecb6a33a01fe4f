"""The first screen: what one call takes, where that goes, and what stands out."""

from __future__ import annotations

from itertools import zip_longest
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from fgtrace.tui.bindings import Key
from fgtrace.tui.loaded import Loaded
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.tui.widgets.panes import Pane
from fgtrace.units import printable
from fgtrace.views.overview import Bar, Overview

ROOMY = 100
"""Columns from which there is room for what explains the numbers."""


class OverviewPane(Pane):
    """Numbers and bars of one case and route above the findings of all."""

    KEYS: ClassVar[tuple[Key, ...]] = (
        Key("overview.next", "right_square_bracket", "place(1)", "next case and route", "]"),
        Key("overview.previous", "left_square_bracket", "place(-1)", "previous one", "["),
    )
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in KEYS]

    def __init__(self, *, id: str, ascii_only: bool = False) -> None:
        super().__init__(id=id)
        self._at = 0
        self._full, self._waits = ("#", ".") if ascii_only else ("█", "░")

    def compose(self) -> ComposeResult:
        """Place the numbers above the findings."""
        yield Static("", classes="overview")
        yield FrameTable()
        yield Static("", classes="finding")

    def fill(self, loaded: Loaded) -> None:
        """Show the numbers first, the findings when they are there."""
        self._at = 0
        self._look(loaded, 0)
        self._find(loaded)

    def action_place(self, by: int) -> None:
        """Show another case and route."""
        if self.loaded is not None and self.loaded.places:
            self._at = (self._at + by) % len(self.loaded.places)
            self._look(self.loaded, self._at)

    @work(thread=True, exclusive=True, group="overview", exit_on_error=False)
    def _look(self, loaded: Loaded, at: int) -> None:
        place = loaded.places[at] if loaded.places else None
        for found in (loaded.glance, loaded.overview):
            self.app.call_from_thread(self._draw, found(place), at, len(loaded.places))

    @work(thread=True, exclusive=True, group="findings", exit_on_error=False)
    def _find(self, loaded: Loaded) -> None:
        self.app.call_from_thread(self.query_one(FrameTable).show, loaded.rows("findings"))

    def _draw(self, found: Overview, at: int, of: int) -> None:
        assert self.loaded is not None
        text = Text()
        text.append(found.of, style="bold")
        text.append(f"   {at + 1} of {of}, [ and ] for the others" if of > 1 else "", style="dim")
        for banner in self.loaded.notices.banners:
            text.append(f"\n{banner}", style="dim")
        text.append("\n\n")
        for tile in found.tiles:
            text.append(f"{tile.title} ", style="dim")
            text.append(tile.value, style="bold")
            below = tile.below if self.size.width >= ROOMY else ""
            text.append(f" {below}   " if below else "   ", style="dim")
        if found.host:
            self._bars(text, found)
        if trouble := self._trouble():
            text.append(f"\n\n{trouble}")
        self.query_one(".overview", Static).update(text)

    def _bars(self, text: Text, found: Overview) -> None:
        """Draw the host's parts beside the device's."""
        half = max(self.size.width // 2 - 2, 30)
        left = ["Where one call goes on the host", *self._parts(found.host, half)]
        right = ["and on the device", *self._parts(found.device, half)]
        text.append("\n")
        for host, device in zip_longest(left, right, fillvalue=""):
            text.append(f"\n{host:{half}} {device}", style="bold" if host == left[0] else "")
        text.append(f"\n{self._waits} waiting. {found.note}", style="dim")

    def _parts(self, bars: tuple[Bar, ...], width: int) -> list[str]:
        names = max((len(bar.name) for bar in bars), default=0)
        room = max(width - names - 17, 4)
        lines = []
        for bar in bars:
            cells, waits = round(room * bar.share), round(room * bar.waiting)
            drawn = self._full * (cells - waits) + self._waits * waits
            lines.append(f"  {bar.name:{names}} {bar.time:>8} {100 * bar.share:2.0f} % {drawn}")
        return lines

    def _trouble(self) -> str:
        assert self.loaded is not None
        warnings = self.loaded.notices.lines()
        if not warnings:
            return ""
        more = f" (and {len(warnings) - 1} more: notes)" if len(warnings) > 1 else ""
        return f"! {warnings[0]}{more}"

    @on(FrameTable.Marked)
    def _tell(self, message: FrameTable.Marked) -> None:
        rows = message.table.rows
        told = "" if rows is None or message.place is None else rows.row(message.place)["sentence"]
        self.query_one(".finding", Static).update(Text(printable(told)))
