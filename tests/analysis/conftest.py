from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import pytest

from fgtrace.analysis.links import link
from fgtrace.frames import schema
from fgtrace.frames.nesting import nest
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES, Trace

ROW = ("kind", "name", "thread", "start_ns", "dur_ns", "correlation")


def _made(rows: Sequence[tuple[str, str, str | None, int, int, int | None]]) -> Trace:
    events = (
        pl.DataFrame(rows, schema={name: schema.EVENTS[name] for name in ROW}, orient="row")
        .sort("start_ns", "dur_ns", descending=[False, True], maintain_order=True)
        .with_columns(
            event_id=pl.int_range(pl.len(), dtype=pl.UInt32),
            part=pl.lit(0, pl.UInt32),
            process=pl.lit("1").cast(pl.Categorical()),
            device=pl.lit(0, pl.Int32),
        )
    )
    events = pl.concat([schema.EVENTS.to_frame(), nest(events)], how="diagonal")
    frames = {name: columns.to_frame() for name, columns in FRAMES.items()}
    lazy = {name: columns.to_frame().lazy() for name, columns in LAZY_FRAMES.items()}
    frames["parts"] = pl.DataFrame([{"part": 0, "source": "made"}], schema=schema.PARTS)
    trace = Trace("made", Provenance(), **frames, **(lazy | {"events": events.lazy()}))
    return trace.having(links=link(trace)[0])


@pytest.fixture(scope="session")
def made() -> Callable[..., Trace]:
    """Make a trace of rows (kind, name, thread, start, duration, correlation)."""
    return _made


def _walk(moves: Sequence[tuple[str, str] | None]) -> list[tuple[str, str, str, int, int, None]]:
    rows: list[tuple[str, str, str, int, int, None]] = []
    begun: list[tuple[str, str, int]] = []
    for now, move in enumerate([*moves, *[None] * len(moves)]):
        if move is not None:
            begun.append((*move, now))
        elif begun:
            kind, name, start = begun.pop()
            rows.append((kind, name, "1", start, now - start, None))
    return rows


@pytest.fixture(scope="session")
def walk() -> Callable[..., list[tuple[str, str, str, int, int, None]]]:
    """Make rows of calls inside each other: (kind, name) begins one, None ends the innermost."""
    return _walk
