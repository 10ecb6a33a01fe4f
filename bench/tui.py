"""How long the terminal UI takes for a frame, a row and the first screen, and what it keeps.

    python bench/tui.py TRACE

Times are of the view model and the lines, without a terminal; what is kept is the columns' size.
"""

from __future__ import annotations

import asyncio
import platform
import random
import sys
import time
from pathlib import Path
from statistics import median, quantiles

import polars as pl
import textual

import fgtrace
from fgtrace.frames.trace import Trace
from fgtrace.tui.app import TraceApp
from fgtrace.tui.loaded import Loaded
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.tui.widgets.timeline import Timeline
from fgtrace.views.browse import EventRows
from fgtrace.views.lanes import Lanes

SIZE = (200, 60)
FRAMES = 300


def told(what: str, times: list[float]) -> None:
    """Print the median and the 99th percentile, in milliseconds."""
    p99 = quantiles(times, n=100)[98]
    print(f"{what:24} {1000 * median(times):6.2f} ms median {1000 * p99:7.2f} ms p99")


def first_screen(trace: Trace) -> None:
    """Print how long the first screen's numbers take after the frames."""
    loaded = Loaded("trace", trace)
    started = time.perf_counter()
    place = loaded.places[0] if loaded.places else None
    loaded.glance(place)
    print(f"{'first screen':24} {time.perf_counter() - started:6.2f} s")
    loaded.overview(place)
    print(f"{'with all its bars':24} {time.perf_counter() - started:6.2f} s")


def lines(widget: Timeline | FrameTable, count: int) -> float:
    """Draw lines of a widget, and give the seconds that takes."""
    started = time.perf_counter()
    for y in range(count):
        widget.render_line(y)
    return time.perf_counter() - started


def moved(table: FrameTable, place: int) -> float:
    """Mark a row, draw all lines, and give the seconds that takes."""
    started = time.perf_counter()
    table.mark(place)
    return time.perf_counter() - started + lines(table, SIZE[1] - 20)


async def frames(trace: Trace) -> None:
    """Print what frames and rows take in an app of SIZE."""
    app = TraceApp([], lambda path, progress: trace)
    async with app.run_test(size=SIZE) as pilot:
        app.screen.dismiss(None)
        await pilot.pause()
        started = time.perf_counter()
        lanes = Lanes.of(trace)
        app.action_go("timeline")
        await pilot.pause()
        timeline = app.query_one(Timeline)
        timeline.show(lanes)
        print(f"{'lanes':24} {time.perf_counter() - started:6.2f} s  {len(lanes.lanes)} of them")
        chance = random.Random(1)

        def drawn(start: int, end: int) -> float:
            timeline.look_at(start, end)
            return lines(timeline, SIZE[1] - 8)

        drawn(lanes.start, lanes.end)
        zooms, pans = [], []
        for _ in range(FRAMES):
            width = int(lanes.span ** chance.uniform(0.3, 1))
            start = lanes.start + chance.randrange(max(lanes.span - width, 1))
            zooms.append(drawn(start, start + width))
            pans.append(drawn(start + width // 10, start + width + width // 10))
        told("zoom frame", zooms)
        told("pan frame", pans)
        table = app.query_one("#events FrameTable", FrameTable)
        app.action_go("events")
        await pilot.pause()
        rows = EventRows.of_trace(trace)
        table.show(rows)
        steps, jumps = [], []
        for _ in range(FRAMES):
            jumps.append(moved(table, chance.randrange(len(rows))))
            steps.append(moved(table, table.marked + 1))
        told("next row", steps)
        told("a row anywhere", jumps)
        kept = (*lanes.frames, rows.frame)
        size = sum(frame.estimated_size() for frame in kept)
        print(f"{'kept beyond the frames':24} {size / 1e6:6.0f} MB")


def main(path: str) -> None:
    """Print all of it."""
    versions = f"polars {pl.__version__}, textual {textual.__version__}"
    print(f"Python {platform.python_version()}, {versions}")
    trace = fgtrace.open(path)
    count = trace.events.select(pl.len()).collect().item()
    print(f"{Path(path).name}: {count:,} events")
    first_screen(trace)
    asyncio.run(frames(trace))


if __name__ == "__main__":
    main(sys.argv[1])
