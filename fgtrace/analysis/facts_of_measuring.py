"""What two recordings tell of what was measured and how: cases, profiler, protocol, caches."""

from __future__ import annotations

from collections.abc import Iterator

from fgtrace.analysis.facts import Fact, Sides, Words, listed, witnessed, words
from fgtrace.analysis.facts_of_stack import COMPILING, routes_calls
from fgtrace.frames.provenance import Protocol

_TUNING = ("TRITON_CACHE_AUTOTUNING",)
_PLACE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "SLURM_JOB_ID")
_RULES = ("tracing", "dispatch log", "torch threads", "python threads", "slowing variables")
_TUNED = "tunings in measured batches"
_NOT_COUNTED = "unknown"


def case_and_sizes(sides: Sides) -> Iterator[Fact]:
    """Name the cases that both have, with their parameters; all of each where they share none."""
    ours, theirs = sides.cases
    common = [case for case in ours if case in theirs]
    if not common:
        yield Fact(listed(ours), listed(theirs), needed=True)
    for case in common:
        yield Fact(case, case)
    for case in common:
        a, b = (trace.provenance.parameters.get(case) for trace in sides.traces)
        if a is None or b is None:
            yield Fact(None, None, needed=True)
        else:
            for name in sorted(a.keys() | b.keys()):
                yield Fact(_parameter(a, name), _parameter(b, name))


def _parameter(parameters: dict[str, int], name: str) -> str:
    return f"{name}={parameters[name]}" if name in parameters else f"no {name}"


def profiler_and_options(sides: Sides) -> Iterator[Fact]:
    """Name the profiler, and what it was to record.

    A Kineto file lists the options that are on; where it lists none, an old torch may have written
    it, which never did.
    """
    yield sides.each_made(lambda made: made.profiler, needed=True)
    a, b = (trace.provenance.profiler_options for trace in sides.traces)
    if a and b:
        for name in sorted(a.keys() | b.keys()):
            yield Fact(_option(name, a.get(name, False)), _option(name, b.get(name, False)))
    elif any(trace.provenance.profiler != "none" for trace in sides.traces):
        yield Fact(None, None, needed=True)


def _option(name: str, value: str | int | bool) -> str:
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name}={value}"


def protocol(sides: Sides) -> Iterator[Fact]:
    """Tell how the stopwatch was used, and what processes said of the rules for their times."""
    a, b = (_told(trace.provenance.protocol) for trace in sides.traces)
    for place, (ours, theirs) in enumerate(zip(a, b, strict=True)):
        yield Fact(ours, theirs, needed=place == 0)
    yield from sides.each_environment(lambda found: words("threads: {}", found.threads))
    for one, other in sides.routes:
        yield from witnessed(one, other, _RULES)
    yield from sides.variables(_measures)


def _told(found: Protocol | None) -> tuple[Words, ...]:
    """Give the name of a protocol first."""
    if found is None:
        return (None,) * 4
    return (
        found.name,
        words("batches: {}", found.batches),
        f"calls a batch: {found.calls or 'by their time'}",
        words("warmed up for {} s", found.warmup_s)
        or words("warmed up by {} calls", found.warmup_calls),
    )


def _measures(variable: str) -> bool:
    elsewhere = (*COMPILING, *_TUNING, *_PLACE)
    return not routes_calls(variable) and variable not in elsewhere


def cache_state(sides: Sides) -> Iterator[Fact]:
    """Tell whether calls found their inputs in the device's cache."""
    yield sides.each_made(lambda made: made.protocol.cache if made.protocol else None, needed=True)


def autotuning(sides: Sides) -> Iterator[Fact]:
    """Tell whether anything was tuned while it was timed; which configurations won, nobody says."""
    yield Fact(None, None, needed=True)
    for one, other in sides.routes:
        yield Fact(_tuned(one.witnesses.get(_TUNED)), _tuned(other.witnesses.get(_TUNED)))
    yield from sides.variables(_TUNING.__contains__)


def _tuned(counts: Words) -> Words:
    if counts is None or _NOT_COUNTED in counts:
        return None
    return "nothing tuned while timed" if counts == "0" else "tuned while timed"
