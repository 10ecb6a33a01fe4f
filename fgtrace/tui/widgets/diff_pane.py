"""Two recordings against each other."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.binding import BindingType

from fgtrace.tui.bindings import Key
from fgtrace.tui.loaded import Loaded
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.tui.widgets.panes import GROUPING_KEY, ReportPane
from fgtrace.views.browse_diffs import DiffRows

GROUPINGS = ("phase", "kernel", "op", "tree")


class DiffPane(ReportPane):
    """What changed against the base."""

    KEYS: ClassVar[tuple[Key, ...]] = (
        GROUPING_KEY,
        Key("diff.unchanged", "u", "unchanged", "all rows", "u", footer=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in KEYS]

    def __init__(self, *, id: str) -> None:
        super().__init__(*GROUPINGS, id=id)
        self.base: Loaded | None = None
        self._by: str | None = None

    def compare(self, base: Loaded, new: Loaded) -> None:
        """Compare a recording with a base."""
        self.base = base
        self.take(new)

    def fill(self, loaded: Loaded) -> None:
        """Compare, and show the rows."""
        if self.base is None:
            self._say("Nothing to compare with", "c opens a second recording, the new one")
            return
        self._say("comparing …")
        self._compare(self.base, loaded, self._by)

    def show_kind(self, kind: str) -> None:
        """Show another grouping."""
        self._by = kind
        super().show_kind(kind)

    def action_unchanged(self) -> None:
        """Show all rows, or those that changed."""
        table = self.query_one(FrameTable)
        if isinstance(rows := table.all_rows, DiffRows):
            table.show(rows.toggled())

    @work(thread=True, exclusive=True, group="report", exit_on_error=False)
    def _compare(self, base: Loaded, new: Loaded, by: str | None) -> None:
        rows = new.compared(base, by)
        self.app.call_from_thread(self._show_diff, rows)

    def _show_diff(self, rows: DiffRows) -> None:
        self._kind = rows.found.by
        self._say(rows.title, *rows.notes)
        self.query_one(FrameTable).show(rows)

    def _detail(self, place: int | None) -> None:
        """Say nothing more: the row has it all."""
