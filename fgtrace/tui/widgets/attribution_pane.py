"""What each part of a call costs, and what a call takes without those that are switched off."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from fgtrace.tui.bindings import Key
from fgtrace.tui.loaded import Loaded
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.tui.widgets.panes import ReportPane
from fgtrace.views.whatif import Prediction

BAR = 50
"""Cells of a call as it is."""


class AttributionPane(ReportPane):
    """The parts as a table, the switches below it."""

    KEYS = (
        *ReportPane.KEYS[:1],
        Key("attribution.switch", "space", "switch", "without this part", "space", footer=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in KEYS]

    def __init__(self, *kinds: str, id: str) -> None:
        super().__init__(*kinds, id=id)
        self._off: dict[tuple[str | None, str | None], list[str]] = {}

    def compose(self) -> ComposeResult:
        """Place the prediction below the parts."""
        yield Static("", classes="title")
        yield FrameTable()
        yield Static("", classes="detail whatif")

    def fill(self, loaded: Loaded) -> None:
        """Begin with all parts there."""
        self._off = {}
        super().fill(loaded)

    def action_switch(self) -> None:
        """Take the marked part out of the call, or put it back."""
        table = self.query_one(FrameTable)
        if self.loaded is None or table.rows is None or not len(table.rows):
            return
        row = table.rows.row(table.marked)
        part = row.get("part") or row.get("without")
        off = self._off.setdefault((row["case"], row["route"]), [])
        if part in off:
            off.remove(part)
        else:
            off.append(str(part))
        self._detail(table.marked)

    def _detail(self, place: int | None) -> None:
        rows = self.query_one(FrameTable).rows
        if self.loaded is None or rows is None or place is None:
            return
        row = rows.row(place)
        of = (row.get("case"), row.get("route"))
        self._predict(self.loaded, of, tuple(self._off.get(of, ())))

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _predict(
        self, loaded: Loaded, of: tuple[str | None, str | None], off: tuple[str, ...]
    ) -> None:
        found = loaded.predict(of, off)
        self.app.call_from_thread(self._show_prediction, found)

    def _show_prediction(self, found: Prediction | None) -> None:
        panel = self.query_one(".whatif", Static)
        if found is None:
            panel.update(
                Text("space takes the marked part out of the call: what it would take then")
            )
            return
        text = Text()
        text.append(f"What if: {found.title}", style="bold")
        for line in found.lines:
            text.append(f"\n  {line.name:10}")
            text.append("█" * round(BAR * min(line.share, 1.0)))
            text.append(f" {line.text}")
        text.append(f"\n  {found.note}", style="dim")
        panel.update(text)
