"""What may be concluded from comparing two recordings: the axes on which they can differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
import polars as pl

from fgtrace.analysis import facts_of_measuring as measuring
from fgtrace.analysis import facts_of_stack as stack
from fgtrace.analysis.facts import Fact, Sides, listed
from fgtrace.frames.trace import Trace

State = Literal["same", "different", "unknown"]
Kind = Literal[
    "same stack", "route isolation", "code revision", "stack comparison", "cross-profiler"
]


class Axis(msgspec.Struct, frozen=True):
    """One thing in which two recordings can differ."""

    name: str
    state: State
    """`same`: all that belongs to it was recorded on both sides, and nothing of it differs."""
    a: str | None
    """What A says of it; where they differ, of that alone. As recorded, so not yet printable."""
    b: str | None
    forbids: str | None
    """What may not be concluded, in a sentence without its full stop; null where it is the same."""


class Comparability(msgspec.Struct, frozen=True):
    """What may be concluded from comparing two recordings."""

    summary: Kind
    sentence: str
    axes: tuple[Axis, ...]
    verdicts: bool
    """False: neither may be called faster (other cases, other sizes, other profilers)."""
    percentages: bool
    """False: no percentage of device time unless it is forced (other profilers)."""


@dataclass(frozen=True)
class _Rule:
    """How an axis is told, and what it forbids where it is different, and where not known."""

    facts: Callable[[Sides], Iterator[Fact]]
    different: str
    unknown: str


DEVICE = "device"
DRIVER = "driver and clocks"
TORCH = "torch build"
TRITON = "triton build"
LIBRARIES = "library versions and code revision"
ROUTING = "routing"
CASE = "case and sizes"
PROFILER = "profiler and its options"

AXES = {
    DEVICE: _Rule(
        stack.device,
        "times say nothing of the code alone: what it ran on differs too",
        "a difference in time may be the device's: whether it is the same is not known",
    ),
    DRIVER: _Rule(
        stack.driver_and_clocks,
        "a difference in time may be the driver's or the clocks'",
        "a small difference in time may be the driver's or the clocks'",
    ),
    TORCH: _Rule(
        stack.torch_build,
        "times say nothing of an operator's code alone: torch differs too",
        "a difference may be torch's: whether its builds are the same is not known",
    ),
    TRITON: _Rule(
        stack.triton_build,
        "times say nothing of a kernel's source alone: what compiles it differs too",
        "a difference in Triton's kernels may be the compiler's",
    ),
    LIBRARIES: _Rule(
        stack.libraries,
        "a difference belongs to no single change, but to all versions and sources that differ",
        "no difference may be called the effect of a change: which code ran is not known",
    ),
    ROUTING: _Rule(
        stack.routing,
        "a difference is no change within a route: the calls were served by others",
        "no difference may be called a route's: what served the calls is not known",
    ),
    CASE: _Rule(
        measuring.case_and_sizes,
        "times are of different work: neither side may be called faster",
        "times may be of different work",
    ),
    PROFILER: _Rule(
        measuring.profiler_and_options,
        "host times may not be compared: a profile that records more makes the host slower",
        "host times may differ by what the profiles were to record",
    ),
    "protocol": _Rule(
        measuring.protocol,
        "a small difference by the stopwatch may be due to how it was used",
        "how calls were warmed up and timed is not known: that may be in their times",
    ),
    "cache state": _Rule(
        measuring.cache_state,
        "times of what reads memory may not be compared: one side found its inputs in the cache",
        "a difference in device time may be the cache's",
    ),
    "autotuned configuration": _Rule(
        measuring.autotuning,
        "times may hold tuning, or be of kernels in other configurations",
        "a difference in device time may be that of configurations, which are not recorded",
    ),
}
"""The axes in order."""

ACROSS = "counts and orders of magnitude only: each profiler counts and times in its own way"
ONE_PROFILE = "only the stopwatch's times may be compared: one side has no profile"
NOTHING_ALIKE = "no times may be compared: one side has no profile, the other none by the stopwatch"

_STACK = (DEVICE, DRIVER, TORCH, TRITON)
_WHAT_RAN = (*_STACK, LIBRARIES, ROUTING)


def comparability(a: Trace, b: Trace) -> Comparability:
    """Compare what is known of the making of two recordings, axis by axis.

    Environments are compared route by route where both sides have the route; where they share none,
    each with each. Swapping the sides swaps `a` and `b` of the axes, and changes nothing else.
    """
    sides = Sides(a, b)
    axes = tuple(_axis(name, rule, sides) for name, rule in AXES.items())
    across = _of_profilers(sides) in (ACROSS, NOTHING_ALIKE)
    summary = "cross-profiler" if across else _summary(axes)
    return Comparability(
        summary=summary,
        sentence=_SENTENCES[summary](axes),
        axes=axes,
        verdicts=not across and CASE not in _names(axes, "different"),
        percentages=not across,
    )


def _axis(name: str, rule: _Rule, sides: Sides) -> Axis:
    facts = list(rule.facts(sides))
    differing = [fact for fact in facts if fact.differs]
    state: State = "same"
    forbids = None
    if differing:
        state, forbids = "different", rule.different
    elif any(fact.needed and not fact.known for fact in facts):
        state, forbids = "unknown", rule.unknown
    if name == PROFILER:
        forbids = _of_profilers(sides) or forbids
    shown = differing or facts
    a, b = (fact.a for fact in shown), (fact.b for fact in shown)
    return Axis(name, state, listed(a), listed(b), forbids)


def _of_profilers(sides: Sides) -> str | None:
    """Say what other profilers forbid; None where they are the same, or not known."""
    profilers = {trace.provenance.profiler for trace in sides.traces}
    if None in profilers or len(profilers) == 1:
        return None
    if "none" not in profilers:
        return ACROSS
    return ONE_PROFILE if all(map(_timed, sides.traces)) else NOTHING_ALIKE


def _timed(trace: Trace) -> bool:
    return not trace.samples.filter(pl.col("profiler") == "none").is_empty()


def _summary(axes: tuple[Axis, ...]) -> Kind:
    different = _names(axes, "different")
    if different == [ROUTING]:
        return "route isolation"
    if different == [LIBRARIES]:
        return "code revision"
    return "stack comparison" if {*different} & {*_WHAT_RAN} else "same stack"


def _same_stack(axes: tuple[Axis, ...]) -> str:
    different, unknown = _names(axes, "different"), len(_names(axes, "unknown"))
    not_known = f"{unknown} of {len(axes)} axes {'is' if unknown == 1 else 'are'} not known"
    if different:
        return (
            "Nothing of what ran is known to differ, but what was measured, or how, does: "
            f"{listed(different)}{f'; {not_known}' if unknown else ''}."
        )
    return f"Nothing is known to differ, but {not_known}: that is no proof of the same stack."


def _route_isolation(axes: tuple[Axis, ...]) -> str:
    if {*_names(axes, "same")}.issuperset((*_STACK, CASE)):
        told = "The same case on the same stack by two routes: differences belong to the routes"
    else:
        told = "Only the routes are known to differ: differences belong to them"
    return f"{told}{_allowing(axes)}."


def _code_revision(axes: tuple[Axis, ...]) -> str:
    return (
        "Only versions and sources are known to differ: differences belong to all of those "
        f"together{_allowing(axes)}."
    )


def _stack_comparison(axes: tuple[Axis, ...]) -> str:
    return (
        f"What differs is {listed(_names(axes, 'different'))}: a difference in time belongs to "
        f"all of that together{_allowing(axes)}."
    )


def _cross_profiler(axes: tuple[Axis, ...]) -> str:
    (forbids,) = (axis.forbids or "" for axis in axes if axis.name == PROFILER)
    return f"{forbids[:1].upper()}{forbids[1:]}."


_SENTENCES: dict[Kind, Callable[[tuple[Axis, ...]], str]] = {
    "same stack": _same_stack,
    "route isolation": _route_isolation,
    "code revision": _code_revision,
    "stack comparison": _stack_comparison,
    "cross-profiler": _cross_profiler,
}


def _allowing(axes: tuple[Axis, ...]) -> str:
    unknown = len(_names(axes, "unknown"))
    if not unknown:
        return ""
    if unknown == 1:
        return ", as far as 1 axis that is not known allows"
    return f", as far as {unknown} axes that are not known allow"


def _names(axes: tuple[Axis, ...], state: State) -> list[str]:
    return [axis.name for axis in axes if axis.state == state]
