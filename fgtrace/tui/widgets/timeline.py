"""The timeline: lanes over time, from the whole recording to a nanosecond."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from fgtrace.tui.bindings import Key
from fgtrace.units import duration, text_width
from fgtrace.views.fitting import cut
from fgtrace.views.lanes import WAITS, Drawn, Lanes, scale

GUTTER = 22
"""Columns of the lanes' names."""

TOP = 2
"""Lines above the lanes: the scale, and the whole recording."""

CHARACTERS, ASCII_CHARACTERS = " ▁▂▃▄▅▆▇█░", " ..::==##~"
"""Of the levels of a cell, the last being that it waits."""

ARROW_ENDS = ("▲▼│", "^v|")
"""An arrow's end above, its end below, and what is between; also without blocks."""

REVERSE = Style(reverse=True)

TIMELINE_KEYS = (
    Key("timeline.zoom-in", "w,plus", "zoom(0.5)", "zoom in", "w +", footer=True),
    Key("timeline.zoom-out", "s,minus", "zoom(2.0)", "zoom out", "s -", footer=True),
    Key("timeline.left", "a,h", "pan(-0.1)", "pan left", "a h", footer=True),
    Key("timeline.right", "d,l", "pan(0.1)", "pan right", "d l", footer=True),
    Key("timeline.page-left", "H", "pan(-1.0)", "a screen left", "H"),
    Key("timeline.page-right", "L", "pan(1.0)", "a screen right", "L"),
    Key("timeline.whole", "W", "whole", "whole recording", "W"),
    Key("timeline.fit", "f", "fit", "fit the event", "f", footer=True),
    Key("timeline.microsecond", "0", "microsecond", "1 cell = 1 µs", "0"),
    Key("timeline.next", "right", "step(1)", "next event", "→"),
    Key("timeline.previous", "left", "step(-1)", "previous event", "←"),
    Key("timeline.down", "down,j", "lane(1)", "lane below", "↓ j"),
    Key("timeline.up", "up,k", "lane(-1)", "lane above", "↑ k"),
    Key("timeline.next-call", "right_square_bracket", "outer(1)", "next range", "]"),
    Key("timeline.previous-call", "left_square_bracket", "outer(-1)", "previous range", "["),
    Key("timeline.arrow", "r", "arrow", "to its launch, or what it launched", "r", footer=True),
    Key("timeline.gap", "i", "gap", "the idle time before it", "i"),
    Key("timeline.measure", "m", "measure", "measure from here", "m", footer=True),
    Key("timeline.fold", "z", "fold", "fold the thread", "z"),
    Key("timeline.find-next", "n", "find(False)", "find the next", "n"),
    Key("timeline.find-previous", "N", "find(True)", "find the one before", "N"),
)


class Timeline(Widget, can_focus=True):
    """Draws `Lanes`, and selects events in them."""

    KEYS: ClassVar[tuple[Key, ...]] = TIMELINE_KEYS
    BINDINGS: ClassVar[list[BindingType]] = [key.binding() for key in TIMELINE_KEYS]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"scale", "host", "device", "waits", "chosen", "gutter"}
    DEFAULT_CSS = """
    Timeline {
        height: 1fr;
        & .scale { color: $text-muted; }
        & .gutter { color: $text-muted; }
        & .host { color: $text-primary; }
        & .device { color: $text-success; }
        & .waits { color: $text-warning; }
        & .chosen { background: $block-cursor-background; color: $block-cursor-foreground; }
    }
    """

    @dataclass
    class Selected(Message):
        """An event is selected; None: nothing is."""

        event_id: int | None

    @dataclass
    class Followed(Message):
        """The other end of an event's arrow is asked for."""

        event_id: int

    def __init__(self, *, id: str | None = None, ascii_only: bool = False) -> None:
        super().__init__(id=id)
        self.lanes: Lanes | None = None
        self.start, self.end = 0, 1
        self.selected: int | None = None
        """The place of the selected event among those of all lanes."""
        self.pattern: re.Pattern[str] | None = None
        self.mark: int | None = None
        self._lane = 0
        self._top = 0
        self._folded: set[str] = set()
        self._linked: list[int] = []
        self._drawn: dict[int, Drawn] = {}
        self._key: tuple[object, ...] = ()
        self._theme = ""
        self._styles: dict[str, Style] = {}
        self._ends = ARROW_ENDS[ascii_only]
        self._characters = ASCII_CHARACTERS if ascii_only else CHARACTERS

    @property
    def cells(self) -> int:
        """Columns of a lane."""
        return max(self.size.width - GUTTER, 1)

    @property
    def shown(self) -> list[int]:
        """The numbers of the lanes that are not folded away."""
        assert self.lanes is not None
        return [
            number
            for number, lane in enumerate(self.lanes.lanes)
            if lane.level == 0 or lane.group not in self._folded
        ]

    def show(self, lanes: Lanes) -> None:
        """Show a recording, from its begin to its end."""
        self.lanes, self.selected, self.mark = lanes, None, None
        self._lane = self._top = 0
        self._folded = set()
        self.action_whole()

    def look_at(self, start: int, end: int) -> None:
        """Show a window, at least a nanosecond a cell, within the recording."""
        if self.lanes is None:
            return
        width = min(max(end - start, self.cells), max(self.lanes.span, self.cells))
        middle = (start + end) // 2
        low = min(
            max(middle - width // 2, self.lanes.start),
            max(self.lanes.end - width, self.lanes.start),
        )
        self.start, self.end = low, low + width
        self.refresh()

    def show_event(self, event_id: int) -> bool:
        """Select an event, and zoom so that it is readable; False where it is in no lane."""
        place = None if self.lanes is None else self.lanes.place_of(event_id)
        if place is None:
            return False
        self._choose(place)
        self.action_fit()
        return True

    def link(self, event_ids: Sequence[int]) -> None:
        """Draw arrows between the selected event and others: its launch, or what it launched."""
        assert self.lanes is not None
        found = map(self.lanes.place_of, event_ids)
        self._linked = [place for place in found if place is not None]
        self.refresh()

    def action_whole(self) -> None:
        """Show the whole recording."""
        if self.lanes is not None:
            self.look_at(self.lanes.start, self.lanes.end)

    def action_zoom(self, factor: float) -> None:
        """Zoom about the selected event where it is in view, else about the middle."""
        self._zoom(factor, self._focus())

    def action_pan(self, part: float) -> None:
        """Pan by a part of what is in view."""
        by = round(part * (self.end - self.start)) or (1 if part > 0 else -1)
        self.look_at(self.start + by, self.end + by)

    def action_fit(self) -> None:
        """Zoom to the selected event, with as much around it."""
        if self.lanes is not None and self.selected is not None:
            start, end = self._times(self.selected)
            self.look_at(start - (end - start), end + (end - start))

    def action_microsecond(self) -> None:
        """Make a cell a microsecond."""
        middle = self._focus()
        half = self.cells * 500
        self.look_at(middle - half, middle + half)

    def action_step(self, by: int) -> None:
        """Select the next event of the lane, or the one before."""
        if self.lanes is None or not self.lanes.lanes:
            return
        lane = self.lanes.lanes[self._lane]
        if self.selected is None or self.lanes.lane_of(self.selected) != self._lane:
            place = self.lanes.at(self._lane, self._focus())
        else:
            place = min(max(self.selected + by, lane.first), lane.first + lane.count - 1)
        if place is not None:
            self._choose(place)

    def action_lane(self, by: int) -> None:
        """Go to another lane, to what happens there at the same time."""
        if self.lanes is None or not self.shown:
            return
        time = self._focus()
        shown = self.shown
        at = shown.index(self._lane) if self._lane in shown else 0
        self._lane = shown[min(max(at + by, 0), len(shown) - 1)]
        if (place := self.lanes.at(self._lane, time)) is not None:
            self._choose(place, keep_time=True)

    def action_outer(self, by: int) -> None:
        """Select the next of the outermost events of the thread, or the one before."""
        if self.lanes is None or not self.lanes.lanes:
            return
        group = self.lanes.lanes[self._lane].group
        outer = next(n for n, lane in enumerate(self.lanes.lanes) if lane.group == group)
        at = self.lanes.at(outer, self._focus())
        if at is None:
            return
        lane = self.lanes.lanes[outer]
        self._choose(min(max(at + by, lane.first), lane.first + lane.count - 1))

    def action_arrow(self) -> None:
        """Ask to follow the arrow of the selected event."""
        if self.selected is not None:
            self.post_message(self.Followed(self._id_of(self.selected)))

    def action_gap(self) -> None:
        """Zoom to the time before the selected event in which its lane had nothing to do."""
        if self.lanes is None or self.selected is None:
            return
        start, _ = self._times(self.selected)
        lane = self.lanes.lanes[self.lanes.lane_of(self.selected)]
        if self.selected == lane.first:
            return
        _, before = self._times(self.selected - 1)
        self.mark = before
        self.look_at(before - (start - before) // 4, start + (start - before) // 4)

    def action_measure(self) -> None:
        """Measure from the selected event on, or no more."""
        self.mark = None if self.mark is not None else self._focus()
        self.refresh()

    def action_fold(self) -> None:
        """Show only the outermost lane of the thread, or all."""
        if self.lanes is not None and self.lanes.lanes:
            group = self.lanes.lanes[self._lane].group
            self._folded ^= {group}
            if group in self._folded:
                self._lane = next(
                    n for n, lane in enumerate(self.lanes.lanes) if lane.group == group
                )
            self.refresh()

    def action_find(self, back: bool) -> None:
        """Select the next event of the name that was asked for, or the one before."""
        if self.lanes is None or self.pattern is None:
            return
        place = self.lanes.find(self.pattern, self.selected, back=back)
        if place is None:
            self.notify(f"no event is called {self.pattern.pattern}", timeout=2)
            return
        self._choose(place)

    def on_resize(self) -> None:
        """Keep the lane in view."""
        if self.lanes is not None and self._lane in self.shown:
            at = self.shown.index(self._lane)
            room = max(self.size.height - TOP, 1)
            self._top = min(max(self._top, at - room + 1), at)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a line: the scale, the whole recording, or a lane."""
        width = self.size.width
        if self.lanes is None or not self.lanes.lanes:
            text = "No lanes: no event lasts." if y == 0 and self.lanes is not None else ""
            return Strip([Segment(text)]).adjust_cell_length(width)
        if y == 0:
            return self._scale()
        if y == 1:
            return self._map()
        shown = self.shown
        at = self._top + y - TOP
        if at >= len(shown):
            return Strip.blank(width, self.rich_style)
        return self._lane_strip(shown[at])

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Zoom out about the pointer; with shift, pan."""
        self._wheel(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Zoom in about the pointer; with shift, pan."""
        self._wheel(event, -1)

    def on_click(self, event: events.Click) -> None:
        """Select what is under the pointer."""
        if self.lanes is None or event.y < TOP or event.x < GUTTER:
            return
        at = self._top + event.y - TOP
        if at < len(self.shown):
            self._lane = self.shown[at]
            place = self.lanes.at(self._lane, self._time_at(event.x))
            if place is not None:
                self._choose(place)

    def _wheel(self, event: events.MouseEvent, way: int) -> None:
        event.stop()
        if event.shift:
            self.action_pan(0.1 * way)
        else:
            self._zoom(1.25**way, self._time_at(event.x))

    def _zoom(self, factor: float, about: int) -> None:
        before, after = about - self.start, self.end - about
        self.look_at(about - round(before * factor), about + round(after * factor))

    def _time_at(self, x: int) -> int:
        return self.start + (self.end - self.start) * max(x - GUTTER, 0) // self.cells

    def _times(self, place: int) -> tuple[int, int]:
        assert self.lanes is not None
        start, end = self.lanes.events.select("start_ns", "end_ns").row(place)
        return int(start), int(end)

    def _id_of(self, place: int) -> int:
        assert self.lanes is not None
        return int(self.lanes.events["event_id"][place])

    def _focus(self) -> int:
        """The time that keys are about."""
        if self.selected is not None:
            start, end = self._times(self.selected)
            if self.start <= (start + end) // 2 <= self.end:
                return (start + end) // 2
            if self.start <= start <= self.end:
                return start
        return (self.start + self.end) // 2

    def _choose(self, place: int, *, keep_time: bool = False) -> None:
        assert self.lanes is not None
        self.selected, self._lane, self._linked = place, self.lanes.lane_of(place), []
        self._folded.discard(self.lanes.lanes[self._lane].group)
        start, end = self._times(place)
        if not keep_time and not (start < self.end and end > self.start):
            half = (self.end - self.start) // 2
            self.look_at((start + end) // 2 - half, (start + end) // 2 + half)
        self.on_resize()
        self.post_message(self.Selected(self._id_of(place)))

    def _draw(self) -> dict[int, Drawn]:
        """Cut the lanes in view, once for all lines of a frame."""
        assert self.lanes is not None
        room = max(self.size.height - TOP, 1)
        shown = self.shown[self._top : self._top + room]
        key = (id(self.lanes), tuple(shown), self.start, self.end, self.cells)
        if key != self._key:
            drawn = self.lanes.draw(shown, self.start, self.end, self.cells)
            self._key, self._drawn = key, dict(zip(shown, drawn, strict=True))
        return self._drawn

    def _scale(self) -> Strip:
        assert self.lanes is not None
        since = duration(self.start - self.lanes.start)
        text = f"+{since}   {scale(self.start, self.end, self.cells)}"
        if self.mark is not None:
            text += f"   measured {duration(abs(self._focus() - self.mark))}"
        if self.pattern is not None:
            text += f"   /{self.pattern.pattern}"
        return self._line("", [Segment(text, self._looks()["scale"])])

    def _map(self) -> Strip:
        """Draw where the window lies in the whole recording."""
        assert self.lanes is not None
        span = self.lanes.span
        low = (self.start - self.lanes.start) * self.cells // span
        high = max((self.end - self.lanes.start) * self.cells // span, low + 1)
        full, empty = self._characters[8], self._characters[1]
        text = empty * low + full * (high - low) + empty * (self.cells - high)
        return self._line("whole", [Segment(text, self._looks()["scale"])])

    def _lane_strip(self, number: int) -> Strip:
        assert self.lanes is not None
        lane, drawn = self.lanes.lanes[number], self._draw()[number]
        style = self._looks()["device" if lane.on_device else "host"]
        text = "".join(map(self._characters.__getitem__, drawn.levels))
        segments, at = [], 0
        for label in drawn.labels:
            name = f" {cut(label.name, max(label.width - 2, 1))} "
            # A wide character would take two of the cells that were counted for one.
            if text_width(name) == len(name) <= label.width and label.cell >= at:
                segments += self._run(text[at : label.cell], style)
                segments.append(Segment(name, style + REVERSE))
                at = label.cell + len(name)
        segments += self._run(text[at:], style)
        strip = Strip(segments, self.cells)
        if self.selected is not None and self.lanes.lane_of(self.selected) == number:
            strip = self._stressed(strip)
        strip = self._arrow(number, strip, drawn.levels)
        mark = "▸ " if number == self._lane else "  "
        return self._line(mark + (lane.group if lane.level == 0 else ""), list(strip))

    def _run(self, text: str, style: Style) -> list[Segment]:
        """Give text its style, and cells that wait their own."""
        waits = self._characters[WAITS]
        return [
            Segment(run[0], self._looks()["waits"] if run[0][0] == waits else style)
            for run in re.finditer(f"{waits}+|[^{waits}]+", text)
        ]

    def _arrow(self, number: int, strip: Strip, levels: Sequence[int]) -> Strip:
        """Draw what of the selected event's arrow is in a lane: its end, or what is between."""
        if self.selected is None or not self._linked:
            return strip
        assert self.lanes is not None
        own, other = map(self.lanes.lane_of, (self.selected, self._linked[0]))
        start, _ = self._times(self._linked[0])
        at = (start - self.start) * self.cells // (self.end - self.start)
        if not 0 <= at < self.cells:
            return strip
        if number == other:
            text = self._ends[0 if other < own else 1]
        elif min(own, other) < number < max(own, other) and levels[at] == 0:
            text = self._ends[2]
        else:
            return strip
        drawn = Strip([Segment(text, self._looks()["waits"])])
        return Strip.join([strip.crop(0, at), drawn, strip.crop(at + 1)])

    def _stressed(self, strip: Strip) -> Strip:
        """Stress the cells of the selected event."""
        assert self.selected is not None
        start, end = self._times(self.selected)
        width = self.end - self.start
        low = min(max((start - self.start) * self.cells // width, 0), self.cells)
        high = min(max((end - self.start) * self.cells // width, low + 1), self.cells)
        chosen = Strip([Segment(strip.crop(low, high).text, self._looks()["chosen"])])
        return Strip.join([strip.crop(0, low), chosen, strip.crop(high)])

    def _looks(self) -> dict[str, Style]:
        """Give the styles by their names, looked up once a theme."""
        if self._theme != self.app.theme:
            self._theme = self.app.theme
            self._styles = {
                name: self.get_component_rich_style(name) for name in self.COMPONENT_CLASSES
            }
        return self._styles

    def _line(self, name: str, segments: list[Segment]) -> Strip:
        gutter = cut(name, GUTTER - 1)
        gutter += " " * (GUTTER - text_width(gutter))
        strip = Strip([Segment(gutter, self._looks()["gutter"]), *segments])
        return strip.adjust_cell_length(self.size.width, self.rich_style)
