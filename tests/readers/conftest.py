"""What the tests of the readers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

from fgtrace.frames.trace import Trace
from fgtrace.opening import open_trace
from fgtrace.readers.inputs import open_input
from fgtrace.readers.kineto import read_kineto
from fgtrace.readers.recorded import Recorded

from .blocks import Blocks

settings.register_profile(
    "readers",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("readers")

SLICE = Path(__file__).parent / "data/slice.json"
"""Some marks of every kind of a training step, recorded with stacks on an NVIDIA H200."""

Read = Callable[..., Recorded]


@pytest.fixture
def read() -> Read:
    """Read a file, or text that comes in blocks of `size` bytes."""

    def reader(
        source: Path | bytes | str, *, size: int = 1 << 20, raw_times: bool = False
    ) -> Recorded:
        if isinstance(source, Path):
            with open_input(source) as opened:
                return read_kineto(opened, path=source, raw_times=raw_times)
        text = source.encode() if isinstance(source, str) else source
        return read_kineto(Blocks(text, size), raw_times=raw_times)

    return reader


@pytest.fixture(scope="session")
def recording() -> bytes:
    """The text of a small real trace."""
    return SLICE.read_bytes()


def rows(recorded: Recorded, *columns: str) -> list[tuple[object, ...]]:
    """Give columns of all events, in order; names are text, numbers numbers."""
    events = recorded.events.collect()
    texts = [name for name, kind in events.schema.items() if kind in (pl.Categorical, pl.Enum)]
    return events.with_columns(pl.col(texts).cast(pl.String)).select(columns).rows()


def names(recorded: Recorded) -> list[object]:
    """Give the names of all events, in order."""
    return [name for (name,) in rows(recorded, "name")]


def notes(recorded: Recorded) -> dict[str, int]:
    """Give the counts of notes by kind."""
    return {note.kind: note.count for note in recorded.notes}


def read_text(folder: Path, *documents: list[str]) -> Trace:
    """Open a file of documents, each given as the texts of its events."""
    path = folder / "trace.json"
    path.write_text("".join(f'{{"traceEvents": [{", ".join(texts)}]}}' for texts in documents))
    return open_trace(path)
