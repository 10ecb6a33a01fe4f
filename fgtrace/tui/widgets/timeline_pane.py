"""The timeline, and what is said of the selected event below it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Static

from fgtrace.tui.bindings import Key
from fgtrace.tui.loaded import Loaded
from fgtrace.tui.widgets.panes import Pane
from fgtrace.tui.widgets.timeline import TIMELINE_KEYS, Timeline
from fgtrace.views.lanes import Lanes


class TimelinePane(Pane):
    """Lanes, filled when they are first looked at."""

    KEYS: ClassVar[tuple[Key, ...]] = TIMELINE_KEYS

    def __init__(self, *, id: str, ascii_only: bool = False) -> None:
        super().__init__(id=id)
        self._ascii_only = ascii_only
        self._wanted: int | None = None

    def compose(self) -> ComposeResult:
        """Place the lanes above the selected event."""
        yield Timeline(ascii_only=self._ascii_only)
        yield Static("", classes="detail selected")

    def fill(self, loaded: Loaded) -> None:
        """Make the lanes."""
        self._make(loaded)

    def show_event(self, event_id: int) -> None:
        """Select an event as soon as there are lanes."""
        self._wanted = event_id
        timeline = self.query_one(Timeline)
        if self._filled and timeline.lanes is not None and not timeline.show_event(event_id):
            self.notify("that event is in no lane", timeout=2)

    def find(self, pattern: re.Pattern[str] | None) -> None:
        """Find events by name."""
        timeline = self.query_one(Timeline)
        timeline.pattern = pattern
        timeline.action_find(back=False)
        timeline.refresh()

    def focus_table(self) -> None:
        """Give the keys to the lanes."""
        self.query_one(Timeline).focus()

    @work(thread=True, exclusive=True, group="lanes", exit_on_error=False)
    def _make(self, loaded: Loaded) -> None:
        self.app.call_from_thread(self._show, loaded.lanes)

    def _show(self, lanes: Lanes) -> None:
        timeline = self.query_one(Timeline)
        timeline.show(lanes)
        if self._wanted is not None:
            timeline.show_event(self._wanted)

    @on(Timeline.Selected)
    def _selected(self, message: Timeline.Selected) -> None:
        if self.loaded is not None and message.event_id is not None:
            self._describe(self.loaded, message.event_id)

    @on(Timeline.Followed)
    def _followed(self, message: Timeline.Followed) -> None:
        if self.loaded is not None:
            self._jump(self.loaded, message.event_id)

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _describe(self, loaded: Loaded, event_id: int) -> None:
        lines, ends = loaded.about(event_id), loaded.arrows(event_id)
        self.app.call_from_thread(self._tell, lines, ends)

    def _tell(self, lines: Sequence[str], ends: Sequence[int]) -> None:
        self.query_one(".selected", Static).update(Text("\n".join(lines)))
        self.query_one(Timeline).link(ends)

    @work(thread=True, exclusive=True, group="arrow", exit_on_error=False)
    def _jump(self, loaded: Loaded, event_id: int) -> None:
        ends = loaded.arrows(event_id)
        if ends:
            self.app.call_from_thread(self.show_event, ends[0])
        else:
            self.app.call_from_thread(self.notify, "nothing is joined to it", timeout=2)
