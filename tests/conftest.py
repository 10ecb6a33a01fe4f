"""What the tests of several packages share: small traces, looks at them, the shared folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import settings

from fgtrace.analysis.links import link
from fgtrace.frames import schema
from fgtrace.frames.nesting import nest
from fgtrace.frames.provenance import Provenance
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES, Trace

# How long an example takes depends on what else the machine does.
settings.register_profile("fgtrace", deadline=None)
settings.load_profile("fgtrace")

BASE_NS = 4_812_000_000_000_000  # a real clock: its microseconds do not fit a float exactly


def microseconds(ns: int) -> str:
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03}"


class TraceBuilder:
    """Writes a Kineto file event by event. Times are nanoseconds after `BASE_NS`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.metadata: dict[str, Any] = {"schemaVersion": 1}
        self.correlation = 100

    def event(
        self,
        category: str,
        name: str,
        start: int,
        dur: int,
        *,
        pid: int | str = 1,
        tid: int | str = 1,
        ph: str = "X",
        **args: Any,
    ) -> TraceBuilder:
        head = {"ph": ph, "cat": category, "name": name, "pid": pid, "tid": tid, "args": args}
        times = f'"ts": {microseconds(BASE_NS + start)}, "dur": {microseconds(dur)}'
        self.lines.append(f"{json.dumps(head)[:-1]}, {times}}}")
        return self

    def op(self, name: str, start: int, dur: int, **more: Any) -> TraceBuilder:
        return self.event("cpu_op", name, start, dur, **more)

    def range(self, name: str, start: int, dur: int, **more: Any) -> TraceBuilder:
        return self.event("user_annotation", name, start, dur, **more)

    def api(self, name: str, start: int, dur: int, **more: Any) -> TraceBuilder:
        self.correlation += 1
        return self.event(
            "cuda_runtime", name, start, dur, **{"correlation": self.correlation, **more}
        )

    def work(
        self, name: str, start: int, dur: int, *, category: str = "kernel", **args: Any
    ) -> TraceBuilder:
        """Device work of the last API call, unless a correlation is given."""
        defaults = {"device": 0, "stream": 7, "correlation": self.correlation}
        return self.event(category, name, start, dur, pid=0, tid=7, **{**defaults, **args})

    def kernel(self, name: str, launch: int, start: int, dur: int, **more: Any) -> TraceBuilder:
        """A launch of 2000 ns and its kernel."""
        return self.api("cudaLaunchKernel", launch, 2000, **more).work(name, start, dur)

    def readback(self, launch: int, start: int, *, size: int = 8) -> TraceBuilder:
        """A copy to the host of 1000 ns, and a wait that ends 500 ns after it."""
        self.api("cudaMemcpyAsync", launch, 1000)
        name = "Memcpy DtoH (Device -> Pinned)"
        self.work(name, start, 1000, category="gpu_memcpy", bytes=size)
        return self.api("cudaStreamSynchronize", launch + 1100, start + 1500 - (launch + 1100))

    def text(self) -> str:
        events = ",\n".join(self.lines)
        return f'{json.dumps(self.metadata)[:-1]}, "traceEvents": [\n{events}\n]}}'

    def write(self, name: str = "trace.json") -> Path:
        path = self.folder / name
        path.write_text(self.text())
        return path


@pytest.fixture
def trace(tmp_path: Path) -> TraceBuilder:
    return TraceBuilder(tmp_path)


@pytest.fixture
def new_trace(tmp_path: Path) -> Callable[[], TraceBuilder]:
    return lambda: TraceBuilder(tmp_path)


def _timed(
    calls_ns: Mapping[tuple[str, str], Sequence[Sequence[float]]],
    parameters: dict[str, dict[str, int]] | None = None,
) -> Trace:
    rows = [
        {
            "case": case,
            "route": route,
            "generation": generation,
            "process": 1000 * generation + place,
            "turn": turn,
            "mode": "throughput",
            "profiler": "none",
            "calls": 10,
            "wall_ns": round(10 * call_ns),
            "enqueue_ns": 1,
        }
        for place, ((case, route), generations) in enumerate(calls_ns.items())
        for generation, batches in enumerate(generations)
        for turn, call_ns in enumerate(batches)
    ]
    frames = {name: columns.to_frame() for name, columns in FRAMES.items()}
    frames["samples"] = pl.DataFrame(rows, schema=schema.SAMPLES)
    lazy = {name: columns.to_frame().lazy() for name, columns in LAZY_FRAMES.items()}
    return Trace("made.fgtrace", Provenance(parameters=parameters or {}), **frames, **lazy)


@pytest.fixture(scope="session")
def timed() -> Callable[..., Trace]:
    """Make a run of what a call took: batches by generation, by case and route."""
    return _timed


@pytest.fixture
def assert_documented_columns() -> Callable[[Trace], None]:
    def check(opened: Trace) -> None:
        for name, expected in FRAMES.items():
            assert getattr(opened, name).schema == expected
        for name, expected in LAZY_FRAMES.items():
            assert getattr(opened, name).collect_schema() == expected
            assert getattr(opened, name).collect().schema == expected

    return check


@pytest.fixture
def kernels_by_part() -> Callable[[Trace], list[tuple[str, int]]]:
    """Give the name and the part of each kernel, sorted by part."""

    def find(opened: Trace) -> list[tuple[str, int]]:
        kernels = opened.device_work.filter(pl.col("kind") == "kernel")
        return kernels.select(pl.col("name").cast(pl.String), "part").sort("part").rows()

    return find


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the traces of the tests out of the cache of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recordings that lies beside the project, where there is one."""
    beside = Path(__file__).parents[2] / "shared"
    folder = Path(os.environ.get("FGTRACE_SHARED", beside))
    if not (folder / "oracles").is_dir():
        pytest.skip(f"no shared recordings: {folder.name} is not there (set FGTRACE_SHARED)")
    return folder


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
