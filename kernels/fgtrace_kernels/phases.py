"""The phases of an operator call, marked by its host code and silent unless a profile listens."""

from __future__ import annotations

import contextlib
from typing import Callable, ContextManager, Iterator, Literal, Optional, Tuple, get_args

Phase = Literal[
    "prefix_scan",
    "length_readback",
    "negative_check",
    "expand",
    "index_check",
    "gather",
    "allocate",
]
PHASES: Tuple[Phase, ...] = get_args(Phase)
PREFIX = "fgtrace::phase::"

_SILENT = contextlib.nullcontext()
_factory: Optional[Callable[[str], ContextManager[object]]] = None


def phase(name: Phase) -> ContextManager[object]:
    """Mark a phase of a call, as `with phase("expand"): ...`.

    Without a listener this is one shared null context, so that a timed call pays two empty method
    calls a phase and no allocation.
    """
    if _factory is None:
        return _SILENT
    return _factory(PREFIX + name)


@contextlib.contextmanager
def record_phases(factory: Callable[[str], ContextManager[object]]) -> Iterator[None]:
    """Open `factory("fgtrace::phase::NAME")` around every phase, on all threads, while this lasts.

    `torch.profiler.record_function` is such a factory. For profiles only: a range costs more host
    time than some phases do, so a stopwatch never runs under it.
    """
    global _factory
    previous, _factory = _factory, factory
    try:
        yield
    finally:
        _factory = previous
