"""The app: one recording, or two, behind the numbered screens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer, Input, Static
from textual.worker import Worker, WorkerState, get_current_worker

from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.trace import Trace
from fgtrace.tui.bindings import APP_KEYS, SCREENS
from fgtrace.tui.loaded import Loaded
from fgtrace.tui.screens.ask import AskPath
from fgtrace.tui.screens.help import Help
from fgtrace.tui.widgets.attribution_pane import AttributionPane
from fgtrace.tui.widgets.diff_pane import DiffPane
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.tui.widgets.overview_pane import OverviewPane
from fgtrace.tui.widgets.panes import Pane, ReportPane
from fgtrace.tui.widgets.timeline_pane import TimelinePane
from fgtrace.tui.widgets.tree_pane import TreePane
from fgtrace.units import printable, reading
from fgtrace.views.browse import Rows
from fgtrace.views.browse_diffs import DiffRows
from fgtrace.views.reports import REPORTS

SMALLEST = (60, 16)
"""Columns and rows under which the screen says that it is too small."""


TABLES = tuple(report for report in REPORTS if report != "summary")
"""The reports that are tables."""

PANES: tuple[type[Pane], ...] = (
    OverviewPane,
    ReportPane,
    TreePane,
    AttributionPane,
    DiffPane,
    TimelinePane,
)

KEY_IDS = {
    key.id: key
    for key in (*APP_KEYS, *FrameTable.KEYS, *(key for pane in PANES for key in pane.KEYS))
}
"""Every key by its name: what a user can set to another."""


class _StoppedError(Exception):
    """Reading was ended by the user."""


Opener = Callable[[str, Callable[[str, int, int], None]], Trace]
"""Opens a recording; it tells the file's name, and how much of how many bytes of it is read."""


class TraceApp(App[None]):
    """Browses recordings."""

    TITLE = "fgtrace"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in APP_KEYS]

    def __init__(
        self,
        paths: Sequence[str],
        open_trace: Opener,
        *,
        ascii_only: bool = False,
        theme: str | None = None,
        keymap: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        if theme is not None:
            if theme not in self.available_themes:
                raise _no_such("theme", theme, self.available_themes)
            self.theme = theme
        unknown = set(keymap or ()) - set(KEY_IDS)
        if unknown:
            raise _no_such("key", min(unknown), KEY_IDS)
        self.set_keymap(dict(keymap or {}))
        self.paths = list(paths)
        self._open_trace = open_trace
        self.ascii_only = ascii_only
        self.loaded: list[Loaded] = []
        self.animation_level = "none"

    def compose(self) -> ComposeResult:
        """Place the screens below their names."""
        yield Static("", id="head")
        yield Static("", id="tabs")
        with ContentSwitcher(initial="overview", id="screens"):
            yield OverviewPane(id="overview", ascii_only=self.ascii_only)
            yield ReportPane("kernels", "phases", "ops", "ops by shape", id="kernels")
            yield TimelinePane(id="timeline", ascii_only=self.ascii_only)
            yield TreePane("tree", id="tree")
            yield ReportPane("host", "host by group", id="host")
            yield AttributionPane("attribution", "whatif", id="attribution")
            yield ReportPane("matrix", "matrix by pair", "matrix by size", "effects", id="matrix")
            yield DiffPane(id="diff")
            yield ReportPane("events", id="events")
            yield ReportPane(*TABLES, id="report")
        yield Input(placeholder="regular expression; ! before it: not", id="filter")
        with Container(id="small"):
            yield Static(f"fgtrace needs {SMALLEST[0]} × {SMALLEST[1]} characters")
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Open what was asked for."""
        self.query_one("#filter").display = False
        self._say_where("opening …")
        if self.paths:
            self._open(self.paths)
        else:
            self.action_open()

    def on_resize(self, event: Resize) -> None:
        """Say when there is too little room."""
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        self.screen.set_class(small, "too-small")
        self._say_tabs()

    @property
    def pane(self) -> Pane:
        """The pane that is shown."""
        current = self.query_one("#screens", ContentSwitcher).current
        return self.query_one(f"#{current}", Pane)

    def get_system_commands(self, screen: Screen[object]) -> list[SystemCommand]:
        """Put every action and every report into the palette."""
        commands = list(super().get_system_commands(screen))
        for name, title in SCREENS.items():
            commands.append(
                SystemCommand(
                    f"Screen: {title}", f"go to {title}", lambda name=name: self.action_go(name)
                )
            )
        for report in TABLES:
            commands.append(
                SystemCommand(
                    f"Report: {report}",
                    f"what fgtrace show {report} shows",
                    lambda report=report: self.action_report(report),
                )
            )
        for key in (*APP_KEYS, *self.pane.KEYS):
            if key.id.startswith("app.screen"):
                continue
            commands.append(
                SystemCommand(
                    f"{key.does[0].upper()}{key.does[1:]}",
                    f"key {key.shown}",
                    lambda action=key.action: self.call_later(self.run_action, action, self.pane),
                )
            )
        return commands

    def action_go(self, name: str) -> None:
        """Show a screen."""
        self.query_one("#screens", ContentSwitcher).current = name
        self._say_tabs()
        pane = self.pane
        pane.look()
        pane.focus_table()

    def action_report(self, kind: str) -> None:
        """Show any report."""
        self.action_go("report")
        pane = self.pane
        assert isinstance(pane, ReportPane)
        pane.show_kind(kind)

    def action_filter(self) -> None:
        """Ask for what the rows are filtered by."""
        table = self.pane.table()
        if table is None and not isinstance(self.pane, TimelinePane):
            return
        box = self.query_one("#filter", Input)
        box.display = True
        box.value = "" if table is None else table.filter_text
        box.focus()

    def action_clear(self) -> None:
        """Close the filter; with none open, take it away."""
        box = self.query_one("#filter", Input)
        table = self.pane.table()
        pane = self.pane
        if self.workers.cancel_group(self, "open"):
            self._say_where("not opened")
            self.action_open()
        if table is not None and (box.display or table.filter_text):
            table.keep(None)
        elif isinstance(pane, ReportPane):
            pane.show_all()
        box.display = False
        pane.focus_table()

    def action_timeline(self) -> None:
        """Show the events behind the marked row in the timeline."""
        table = self.pane.table()
        if self.loaded and table is not None and table.rows is not None and len(table.rows):
            self._look_in_timeline(table, table.marked)

    @work(thread=True, exclusive=True, group="behind", exit_on_error=False)
    def _look_in_timeline(self, table: FrameTable, place: int) -> None:
        rows = table.rows
        assert rows is not None
        if self._side(rows, place) is not self.loaded[-1]:
            told = "only the base has it: open that alone to see it"
            self.call_from_thread(self.notify, told, timeout=4)
            return
        ids = self.loaded[-1].behind(rows, place)
        self.call_from_thread(self._show_in_timeline, ids)

    def _show_in_timeline(self, ids: list[int]) -> None:
        if not ids:
            self.notify("no events are behind this row", timeout=2)
            return
        self.query_one(TimelinePane).show_event(ids[0])
        self.action_go("timeline")

    def action_copy_row(self) -> None:
        """Copy the marked row, names in full."""
        table = self.pane.table()
        if table is None or table.rows is None or not len(table.rows):
            return
        row = table.rows.row(table.marked)
        self.copy_to_clipboard("\t".join(str(value) for value in row.values()))
        self.notify("copied", timeout=1)

    def action_open(self) -> None:
        """Ask for a recording, and open it."""
        self.push_screen(AskPath("Open a recording"), self._chosen)

    def action_compare(self) -> None:
        """Ask for a second recording, and compare it with the first."""
        if self.loaded:
            self.push_screen(AskPath("Compare with"), self._chosen_second)

    def action_help(self) -> None:
        """Show the keys of this screen, and what words mean."""
        table_keys = () if self.pane.table() is None else FrameTable.KEYS
        self.push_screen(Help(SCREENS[str(self.pane.id)], (*self.pane.KEYS, *table_keys)))

    @on(Input.Submitted, "#filter")
    def _filter(self, message: Input.Submitted) -> None:
        pane, table = self.pane, self.pane.table()
        inverse = message.value.startswith("!")
        try:
            pattern = re.compile(message.value.removeprefix("!"))
        except re.error as error:
            self.notify(f"no regular expression: {error}", severity="error")
            return
        if table is not None:
            table.keep(pattern if message.value else None, inverse=inverse)
        elif isinstance(pane, TimelinePane):
            pane.find(pattern if message.value else None)
        self.query_one("#filter").display = False
        pane.focus_table()

    @on(FrameTable.Followed)
    def _follow(self, message: FrameTable.Followed) -> None:
        if self.loaded and message.table.rows is not None and self.pane.id != "events":
            self._look_behind(message.table, message.place)

    @work(thread=True, exclusive=True, group="behind", exit_on_error=False)
    def _look_behind(self, table: FrameTable, place: int) -> None:
        rows = table.rows
        assert rows is not None
        loaded = self._side(rows, place)
        ids = loaded.behind(rows, place)
        title = " ".join(cell for cell in rows.cells(place, 1)[0])[:60]
        self.call_from_thread(self._show_events, loaded, ids, title)

    def _side(self, rows: Rows, place: int) -> Loaded:
        """Give the recording whose events are behind a row."""
        return self.loaded[rows.side_of(place) if isinstance(rows, DiffRows) else -1]

    def _show_events(self, loaded: Loaded, ids: list[int], of: str) -> None:
        if not ids:
            self.notify("no events are behind this row", timeout=2)
            return
        self.query_one("#events", ReportPane).show_rows(loaded.events.only(ids, of))
        self.action_go("events")

    def _chosen(self, path: str | None) -> None:
        if path:
            self._open([path])

    def _chosen_second(self, path: str | None) -> None:
        if path:
            self._open([self.loaded[0].name, path])

    @work(thread=True, exclusive=True, group="open", exit_on_error=False)
    def _open(self, paths: list[str]) -> None:
        worker = get_current_worker()

        def progress(name: str, consumed: int, size: int) -> None:
            if worker.is_cancelled:
                raise _StoppedError
            self._progress(name, consumed, size)

        known = {one.name: one for one in self.loaded}
        opened = [
            known.get(path) or Loaded(path, self._open_trace(path, progress)) for path in paths
        ]
        self.call_from_thread(self._opened, opened)

    def _progress(self, name: str, consumed: int, size: int) -> None:
        self.call_from_thread(self._say_where, reading(name, consumed, size))

    def _opened(self, opened: list[Loaded]) -> None:
        self.loaded = opened
        new = opened[-1]
        self._say_where("   ".join(printable(one.name) for one in opened))
        for pane in self.query(Pane):
            if not isinstance(pane, DiffPane):
                pane.take(new)
        if len(opened) > 1:
            self.query_one(DiffPane).compare(opened[0], new)
            self.action_go("diff")
        else:
            self.action_go("overview")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Say in a line what could not be done."""
        if event.state is not WorkerState.ERROR:
            return
        error = event.worker.error
        if not isinstance(error, FgtraceError):
            raise error or RuntimeError(event.worker.name)
        self.notify(f"{printable(error.message)}\nhint: {error.hint}", severity="error", timeout=20)
        if not self.loaded:
            self._say_where(printable(error.message))
            self.action_open()

    def _say_where(self, text: str) -> None:
        self.query_one("#head", Static).update(Text(f" fgtrace   {text}"))

    def _say_tabs(self) -> None:
        current = self.query_one("#screens", ContentSwitcher).current
        line = Text(" ")
        narrow = self.size.width < 100
        for number, (name, title) in enumerate(SCREENS.items(), 1):
            if number > 9:
                break
            label = f"{number} {title}" if not narrow or name == current else str(number)
            line.append(
                f"[{label}]" if name == current else f" {label} ", "bold" if name == current else ""
            )
        self.query_one("#tabs", Static).update(line)


def _no_such(what: str, name: str, names: Iterable[str]) -> FgtraceError:
    return FgtraceError(
        f"config.toml: there is no {what} {name!r}",
        hint=f"one of: {', '.join(sorted(names))}",
        kind="usage",
        exit_code=ExitCode.USAGE,
    )
