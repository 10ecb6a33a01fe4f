"""The timeline's lanes: what each thread and stream did, cut into cells of any width.

A lane's events do not overlap: what lies inside another is in the next lane of its thread, and what
overlaps on a stream in a lane beside it. So sorted starts and running sums of durations say how
much of a cell is covered, at any zoom, without looking at the events in it. All lanes are one
column: each is moved behind the one before, so that one search finds the cells of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from fgtrace import units
from fgtrace.analysis.readbacks import waits
from fgtrace.frames.trace import Trace
from fgtrace.views.layout import named

LABEL = 4
"""Cells that an event must cover to have its name drawn."""

WAITS = 9
"""The level of a cell in which the host mostly waits."""

MANY = 20_000
"""Events in view from which long ones are looked for among all."""

_HOST = ("op", "runtime", "driver", "range", "python", "overhead")


@dataclass(frozen=True)
class Label:
    """The name of an event that has room for it."""

    cell: int
    """Its first cell in view."""
    width: int
    name: str
    event_id: int


@dataclass(frozen=True)
class Drawn:
    """What of a lane is in view."""

    levels: Sequence[int]
    """Of each cell: how many eighths are covered, at least one where there is anything; WAITS."""
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class Lane:
    """Events that follow each other on a thread or a stream."""

    group: str
    """The thread or stream, as it is called on the screen."""
    level: int
    """0 is the outermost, or the first of those that overlap."""
    on_device: bool
    first: int
    """The place of its first event among those of all lanes."""
    count: int


@dataclass(frozen=True)
class Lanes:
    """All lanes of a recording, in the order in which they are shown; times are nanoseconds."""

    lanes: tuple[Lane, ...]
    events: pl.DataFrame
    """`event_id`, `name`, `start_ns`, `end_ns`, `waits`: lane after lane, in order."""

    @classmethod
    def of(cls, trace: Trace) -> Lanes:
        """Make the lanes: threads first, then devices."""
        found = [*_of_threads(trace), *_of_streams(trace)]
        lanes, first = [], 0
        for group, level, on_device, events in found:
            lanes.append(Lane(group, level, on_device, first, events.height))
            first += events.height
        frames = [events for *_, events in found]
        return cls(tuple(lanes), pl.concat(frames) if frames else _EVENTS.to_frame())

    @cached_property
    def start(self) -> int:
        """When the first event begins."""
        return _whole(self.events["start_ns"].min(), 0)

    @cached_property
    def end(self) -> int:
        """When the last event ends."""
        return max(_whole(self.events["end_ns"].max(), 1), self.start + 1)

    @property
    def span(self) -> int:
        """How far each lane is moved behind the one before."""
        return self.end - self.start + 1

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """What is kept to draw from."""
        return self.events, self._keys, self._running

    def draw(self, shown: Sequence[int], start: int, end: int, cells: int) -> list[Drawn]:
        """Draw lanes, by their numbers, in cells of a window, of at least a nanosecond each."""
        if not shown:
            return []
        covered, waits = pl.col("covered"), pl.col("waiting")
        least = (pl.col("touched") | (covered > 0)).cast(pl.Int64)
        height = (8 * covered).round().cast(pl.Int64).clip(least, 8)
        level = pl.when((waits > 0) & (waits > covered / 2)).then(WAITS).otherwise(height)
        cut = self._cut(shown, start, end, cells)
        levels = cut.select(level=level)["level"].to_list()
        labels = self._labels(shown, cut["index"], start, max(end - start, cells), cells)
        return [
            Drawn(levels[at * (cells + 1) + 1 : (at + 1) * (cells + 1)], tuple(labels.get(one, ())))
            for at, one in enumerate(shown)
        ]

    def cover(self, shown: Sequence[int], start: int, end: int, cells: int) -> pl.DataFrame:
        """Make a row a cell of each lane: `covered` and `waiting`, parts of it; `touched`.

        A cell is touched in which an event begins, however short.
        """
        cut = self._cut(shown, start, end, cells).drop_nulls("covered")
        return cut.select("covered", "waiting", "touched")

    def _cut(self, shown: Sequence[int], start: int, end: int, cells: int) -> pl.DataFrame:
        # A row an edge of each lane, null at the first: what is before it is of no cell. `index` is
        # the place of the first event that begins there or later.
        width = max(end - start, cells)
        places = pl.int_range(0, cells + 1, eager=True)
        edges = (start - self.start) + places * (width // cells) + places * (width % cells) // cells
        offsets = [number * self.span for number in shown]
        at = pl.DataFrame({"edge": edges.clip(0, self.span - 1)}).select(
            pl.concat([pl.col("edge") + offset for offset in offsets])
        )
        index = self._keys["start"].search_sorted(at["edge"], side="left").cast(pl.Int64)
        last = (index - 1).clip(lower_bound=0)
        table = pl.concat(
            [
                at.with_columns(index=index),
                self._running.select(pl.all().gather(index)),
                self._keys.select(pl.col("end", "waits").gather(last)),
            ],
            how="horizontal",
        )
        beyond = (pl.col("end") - pl.col("edge")).clip(0) * (pl.col("index") > 0)
        is_cell = pl.int_range(pl.len()) % (cells + 1) > 0
        size = pl.when(is_cell).then(pl.col("edge").diff())
        return table.select(
            "index",
            covered=(pl.col("busy") - beyond).diff() / size,
            waiting=(pl.col("waited") - beyond * pl.col("waits")).diff() / size,
            touched=pl.col("index").diff() > 0,
        )

    def _labels(
        self, shown: Sequence[int], index: pl.Series, start: int, width: int, cells: int
    ) -> dict[int, list[Label]]:
        bounds = index.to_list()
        ranges = []
        for at_lane, number in enumerate(shown):
            lane = self.lanes[number]
            low = max(bounds[at_lane * (cells + 1)] - 1, lane.first)
            high = min(bounds[(at_lane + 1) * (cells + 1) - 1], lane.first + lane.count)
            if high > low:
                ranges.append((low, high))
        cell = width / cells
        long = pl.col("end") - pl.col("start") >= LABEL * cell
        if sum(high - low for low, high in ranges) > MANY:
            keys = self._keys.filter(long)
        elif ranges:
            places = pl.concat([pl.int_range(low, high, eager=True) for low, high in ranges])
            keys = self._keys[places].filter(long)
        else:
            return {}
        from_start = start - self.start
        found = []
        for place, key, end in keys.select("place", "start", "end").iter_rows():
            number, begin = divmod(key, self.span)
            first = int((max(begin, from_start) - from_start) / cell)
            last = min(int((begin + end - key - from_start) / cell), cells)
            if last - first >= LABEL:
                found.append((number, place, first, last - first))
        rows = self.events[[place for _, place, _, _ in found]].select("name", "event_id")
        labels: dict[int, list[Label]] = {}
        for (number, _, first, room), (name, event_id) in zip(found, rows.iter_rows(), strict=True):
            label = Label(first, room, named(_short(name)), event_id)
            labels.setdefault(number, []).append(label)
        return labels

    @cached_property
    def _keys(self) -> pl.DataFrame:
        """Starts and ends, each lane moved behind the one before, so that they are sorted."""
        offsets = pl.concat(
            [
                pl.Series([number * self.span], dtype=pl.Int64).new_from_index(0, lane.count)
                for number, lane in enumerate(self.lanes)
            ]
            or [pl.Series([], dtype=pl.Int64)]
        )
        return self.events.select(
            place=pl.int_range(pl.len()),
            start=pl.col("start_ns") - self.start + offsets,
            end=pl.col("end_ns") - self.start + offsets,
            waits=pl.col("waits").cast(pl.Int64),
        )

    @cached_property
    def _running(self) -> pl.DataFrame:
        """Time covered before each event, and in the end; and the same of those that wait."""
        durations = pl.col("end") - pl.col("start")
        sums = self._keys.select(
            busy=durations.cum_sum(), waited=(durations * pl.col("waits")).cum_sum()
        )
        return pl.concat([pl.DataFrame({"busy": [0], "waited": [0]}), sums])

    def at(self, number: int, time: int) -> int | None:
        """Give the place of the event of a lane at a time, or of the nearest one."""
        lane = self.lanes[number]
        starts = self.events["start_ns"].slice(lane.first, lane.count)
        place = int(starts.search_sorted(time, side="right"))
        near = [lane.first + one for one in (place - 1, place) if 0 <= one < lane.count]
        return min(near, key=lambda one: _distance(time, self.events.row(one)), default=None)

    def place_of(self, event_id: int) -> int | None:
        """Find the place of an event."""
        found = (self.events["event_id"] == event_id).arg_true()
        return int(found[0]) if len(found) else None

    def lane_of(self, place: int) -> int:
        """Say in which lane a place is."""
        return next(
            number
            for number, lane in enumerate(self.lanes)
            if lane.first <= place < lane.first + lane.count
        )

    def find(self, pattern: re.Pattern[str], after: int | None, *, back: bool) -> int | None:
        """Find by name the place of the event that follows another in time, or is before it.

        After the last one comes the first.
        """
        names = self.events["name"]
        wanted = [str(name) for name in names.unique() if pattern.search(str(name))]
        hits = names.is_in(pl.Series(wanted, dtype=names.dtype).implode())
        order = (
            self.events.with_row_index("place")
            .filter(hits)
            .sort("start_ns", "event_id")["place"]
            .to_list()
        )
        if not order:
            return None
        if after is None:
            return int(order[-1 if back else 0])
        start, event_id = self.events.select("start_ns", "event_id").row(after)
        keys = self.events[order].select("start_ns", "event_id").iter_rows()
        later = [
            place
            for place, key in zip(order, keys, strict=True)
            if (key < (start, event_id) if back else key > (start, event_id))
        ]
        return int((later or order)[-1 if back else 0])


_EVENTS = pl.Schema(
    {
        "event_id": pl.UInt32(),
        "name": pl.Categorical(),
        "start_ns": pl.Int64(),
        "end_ns": pl.Int64(),
        "waits": pl.Boolean(),
    }
)

_Found = tuple[str, int, bool, pl.DataFrame]
"""A lane's group, level, whether it is of a device, and its events."""


def _short(name: str) -> str:
    return name.removeprefix("fgtrace::phase::").removeprefix("aten::")


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def _distance(time: int, row: tuple[object, ...]) -> int:
    start, end = _whole(row[2], 0), _whole(row[3], 0)
    return max(start - time, time - end, 0)


def _of_threads(trace: Trace) -> list[_Found]:
    waiting = waits(trace)["event_id"].implode()
    host = (
        trace.host_events.filter(pl.col("kind").is_in(_HOST))
        .sort("start_ns", "event_id")
        .with_columns(waits=pl.col("event_id").is_in(waiting))
    )
    lanes = []
    for (_, process, thread), rows in _groups(host, "part", "process", "thread"):
        own = process == thread
        group = named(str(thread) if own else f"{process} {thread}")
        for depth in range(_whole(rows["depth"].max(), 0) + 1):
            lanes += _apart(group, depth, rows.filter(depth=depth), on_device=False)
    return lanes


def _of_streams(trace: Trace) -> list[_Found]:
    work = (
        trace.device_work.drop_nulls("dur_ns")
        .sort("start_ns", "event_id")
        .with_columns(waits=pl.lit(False))
    )
    lanes = []
    for (_, device, stream), rows in _groups(work, "part", "device", "stream"):
        lanes += _apart(f"device {device} stream {stream}", 0, rows, on_device=True)
    return lanes


def _groups(events: pl.DataFrame, *by: str) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    return list(events.partition_by(by, maintain_order=True, as_dict=True).items())


def _apart(group: str, level: int, events: pl.DataFrame, *, on_device: bool) -> list[_Found]:
    """Put events that overlap into lanes of their own."""
    lanes: list[_Found] = []
    rest = events.select(
        "event_id", "name", "start_ns", "waits", end_ns=pl.col("start_ns") + pl.col("dur_ns")
    ).select(_EVENTS.names())
    while not rest.is_empty():
        before = pl.col("end_ns").cum_max().shift(1)
        free = rest.select(free=(pl.col("start_ns") >= before).fill_null(True))["free"]
        lanes.append((group, level + len(lanes) * on_device, on_device, rest.filter(free)))
        rest = rest.filter(~free)
    return lanes


def scale(start: int, end: int, cells: int) -> str:
    """Say how much time is in view, and how much a cell has."""
    cell = max((end - start) // cells, 1)
    return f"{units.duration(end - start)} in view, {units.duration(cell)} a cell"
