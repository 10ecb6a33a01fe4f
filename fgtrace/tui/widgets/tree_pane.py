"""The host's calls inside each other, opened and closed."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType

from fgtrace.tui.bindings import Key
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.tui.widgets.panes import ReportPane
from fgtrace.views.browse import ReportRows, Rows, TreeRows


class TreePane(ReportPane):
    """The call tree."""

    KEYS = (
        Key("tree.fold", "h,left", "fold(True)", "close", "h ←", footer=True),
        Key("tree.unfold", "l,right", "fold(False)", "open", "l →", footer=True),
        Key("tree.open-all", "E", "open_all", "open all", "E", footer=True),
        Key("tree.close-all", "Z", "close_all", "close all", "Z"),
        Key("tree.small", "u", "small", "hide under 1 %", "u", footer=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in KEYS]

    def action_fold(self, fold: bool) -> None:
        """Close a row, or go to the one around it; open it, or go to the first inside."""
        table = self.query_one(FrameTable)
        rows = table.all_rows
        if not isinstance(rows, TreeRows) or not len(rows):
            return
        changed = rows.toggled(table.marked, fold=fold)
        if len(changed) != len(rows):
            table.show(changed)
        elif fold:
            table.mark(rows.parent(table.marked))
        else:
            table.action_move(1)

    def action_open_all(self) -> None:
        """Open all rows."""
        self._change("opened")

    def action_close_all(self) -> None:
        """Leave the outer levels open."""
        self._change("closed")

    def action_small(self) -> None:
        """Hide, or show, what takes little of the time."""
        table = self.query_one(FrameTable)
        if isinstance(rows := table.all_rows, TreeRows):
            table.show(replace(rows, large_only=not rows.large_only))

    def _change(self, how: str) -> None:
        table = self.query_one(FrameTable)
        if isinstance(rows := table.all_rows, TreeRows):
            table.show(getattr(rows, how)())

    def _show(self, kind: str, rows: Rows) -> None:
        assert isinstance(rows, ReportRows)
        super()._show(kind, TreeRows.of(rows))
