"""The parts of the screen that the numbers switch between."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from fgtrace.tui.bindings import Key
from fgtrace.tui.loaded import Loaded
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.views.browse import Rows

GROUPING_KEY = Key("report.grouping", "p", "regroup", "regroup", "p", footer=True)
BESIDE_KEY = Key("report.beside", "m", "beside", "keep beside", "m", footer=True)


class Pane(Vertical):
    """What a number switches to; it is filled when it is first looked at."""

    KEYS: ClassVar[tuple[Key, ...]] = ()

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.loaded: Loaded | None = None
        self._filled = False

    def take(self, loaded: Loaded) -> None:
        """Show another recording."""
        self.loaded, self._filled = loaded, False
        if self.display:
            self.look()

    def look(self) -> None:
        """Fill the pane where that is still to be done."""
        if self.loaded is not None and not self._filled:
            self._filled = True
            self.fill(self.loaded)

    def fill(self, loaded: Loaded) -> None:
        """Show the recording."""

    def table(self) -> FrameTable | None:
        """Give the table that filters and keys are for."""
        found = self.query(FrameTable)
        return found.first() if found else None

    def focus_table(self) -> None:
        """Give the keys to the table."""
        if (table := self.table()) is not None:
            table.focus()


class ReportPane(Pane):
    """A report as a table, and what is said of the marked row below it."""

    KEYS: ClassVar[tuple[Key, ...]] = (GROUPING_KEY, BESIDE_KEY)
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in KEYS]

    def __init__(self, *kinds: str, id: str) -> None:
        super().__init__(id=id)
        self.kinds = kinds
        self._kind = kinds[0]
        self._beside: int | None = None
        self._some = False

    @property
    def kind(self) -> str:
        """The report that is shown."""
        return self._kind

    def compose(self) -> ComposeResult:
        """Place the title, the table and the detail."""
        yield Static("", classes="title")
        yield FrameTable()
        yield VerticalScroll(Static("", classes="detail"), classes="beside")

    def show_kind(self, kind: str) -> None:
        """Show another report."""
        self._kind, self._filled, self._beside = kind, False, None
        self.look()

    def show_rows(self, rows: Rows) -> None:
        """Show some rows of the report instead of all."""
        self._filled = self._some = True
        self._show(self._kind, rows)

    def show_all(self) -> None:
        """Show all rows again."""
        if self._some:
            self._some = self._filled = False
            self.look()

    def fill(self, loaded: Loaded) -> None:
        """Make the report, and show it."""
        self._say(f"{self._kind} …")
        self._make(loaded, self._kind)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only what there is."""
        if action == "regroup":
            return len(self.kinds) > 1
        if action == "beside":
            return self._kind in ("kernels", "ops")
        return True

    def action_regroup(self) -> None:
        """Show the next of the pane's reports."""
        at = self.kinds.index(self._kind) if self._kind in self.kinds else -1
        self.show_kind(self.kinds[(at + 1) % len(self.kinds)])
        self.refresh_bindings()

    def action_beside(self) -> None:
        """Keep the marked row, to compare others with it."""
        table = self.query_one(FrameTable)
        self._beside = None if self._beside == table.marked else table.marked
        self._detail(table.marked)

    @work(thread=True, exclusive=True, group="report", exit_on_error=False)
    def _make(self, loaded: Loaded, kind: str) -> None:
        rows = loaded.rows(kind)
        self.app.call_from_thread(self._show, kind, rows)

    def _show(self, kind: str, rows: Rows) -> None:
        if kind != self._kind:
            return
        self._say(rows.title, *rows.notes[:2])
        self.query_one(FrameTable).show(rows)

    def _say(self, title: str, *notes: str) -> None:
        text = Text()
        text.append(title, style="bold")
        for note in notes:
            text.append(f"\n{note}", style="dim")
        self.query_one(".title", Static).update(text)

    @on(FrameTable.Marked)
    def _row_marked(self, message: FrameTable.Marked) -> None:
        self._detail(message.place)

    def _detail(self, place: int | None) -> None:
        rows = self.query_one(FrameTable).rows
        if self.loaded is None or rows is None or place is None:
            self.query_one(".detail", Static).update("")
            return
        beside = None if self._beside in (None, place) else self._beside
        self._describe(self.loaded, rows, place, beside)

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _describe(self, loaded: Loaded, rows: Rows, place: int, beside: int | None) -> None:
        lines = loaded.detail(self._kind, rows, place, beside)
        self.app.call_from_thread(self._tell, lines)

    def _tell(self, lines: tuple[str, ...]) -> None:
        self.query_one(".detail", Static).update(Text("\n".join(lines)))
