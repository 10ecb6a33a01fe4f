"""The ways to load a trace that are compared, one a process: `python bench/loaders.py NAME FILE`.

Each prints the number of events in its result. It runs in other people's environments, so nothing
outside the standard library is imported but by the loader that needs it.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any


def fgtrace(path: Path) -> int:
    """Read a trace into fgtrace's typed events, in order of time."""
    import polars as pl

    from fgtrace.readers.inputs import open_input
    from fgtrace.readers.kineto import read_kineto

    with open_input(path) as source:
        recorded = read_kineto(source)
    return int(recorded.events.select(pl.len()).collect().item())


def standard_json(path: Path) -> int:
    """Parse with the standard library, and keep what `_frame` takes."""
    with path.open("rb") as file:
        return _frame(json.load(file))


def orjson(path: Path) -> int:
    """Parse with orjson, and keep what `_frame` takes."""
    import orjson

    return _frame(orjson.loads(path.read_bytes()))


def orjson_no_gc(path: Path) -> int:
    """Do the same without the garbage collector, which finds nothing to collect there."""
    gc.disable()
    return orjson(path)


def hta_parse(path: Path) -> int:
    """Parse into HTA's frame, before anything is linked."""
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig

    _, frame, _ = parse_trace_dataframe(str(path), ParserConfig.get_default_cfg())
    return len(frame)


def hta(path: Path) -> int:
    """Open one rank as HTA's users do; it also links, and drops the last step's device rows."""
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
    return len(analysis.t.get_trace(0))


LOADERS = {
    "fgtrace": fgtrace,
    "orjson": orjson,
    "orjson-no-gc": orjson_no_gc,
    "json": standard_json,
    "hta-parse": hta_parse,
    "hta": hta,
}


def _frame(file: dict[str, Any]) -> int:
    import polars as pl

    events = [event for event in file["traceEvents"] if event["ph"] == "X"]
    args = [event.get("args", {}) for event in events]
    columns = {name: [event.get(name) for event in events] for name in ("ph", "cat", "name")}
    # Processes and threads are numbers and words.
    columns |= {
        name: [None if (value := event.get(name)) is None else str(value) for event in events]
        for name in ("pid", "tid")
    }
    columns |= {name: [event.get(name) for event in events] for name in ("ts", "dur")}
    columns |= {
        name: [arg.get(name) for arg in args]
        for name in ("correlation", "External id", "stream", "device", "bytes")
    }
    frame = pl.DataFrame(columns, strict=False)
    return frame.height


if __name__ == "__main__":
    print(LOADERS[sys.argv[1]](Path(sys.argv[2])))
