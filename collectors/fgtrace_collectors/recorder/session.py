"""One recording in the making: what was settled before any timing, and what came in so far."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from fgtrace_collectors.recorder import machine
from fgtrace_collectors.recorder.children import Launcher, LiveRoute, checked, live
from fgtrace_collectors.recorder.plan import Plan, PlannedRoute, Protocol
from fgtrace_collectors.recorder.recording import Recording
from fgtrace_collectors.recorder.registry import Registry
from fgtrace_collectors.recorder.workload import Workload

Progress = Callable[[str], None]
Pair = Tuple[Workload, LiveRoute]
"""A workload, and a live route that gave a result for it."""

FEWEST_CALLS, MOST_CALLS = 10, 500
"""Calls a batch, where the protocol does not fix them."""

SLOW_CALL_NS = 100_000_000
"""A call that takes so long may be alone in its batch: its wait at the end hardly counts."""


@dataclass(frozen=True)
class Session:
    """What the stages of a recording share."""

    plan: Plan
    protocol: Protocol
    """The plan's, or what Triton's interpreter can do of it."""
    registry: Registry
    workloads: Tuple[Workload, ...]
    routes: Tuple[PlannedRoute, ...]
    """Those that can run here."""
    launcher: Launcher
    recording: Recording
    progress: Progress
    calls: Dict[str, int]
    """Calls a batch of each case, once its first generation is warm."""

    @contextmanager
    def children(
        self, name: str, routes: Optional[Sequence[PlannedRoute]] = None
    ) -> Iterator[List[LiveRoute]]:
        """Start fresh children; all these routes ran before, so not to start is an error."""
        chosen = self.routes if routes is None else routes
        required = [replace(route, required=True) for route in chosen]
        operators = [workload.operator for workload in self.workloads]
        with live(self.launcher, self.plan, required, [name], operators, {}) as (started,):
            yield started

    def prepare(
        self, routes: Sequence[LiveRoute], generation: int, *, only_full: bool = False
    ) -> List[Pair]:
        """Compare every workload by every route with its reference; give the pairs to be timed.

        `only_full` leaves the variants of a factorial out in which a part is off.

        A wrong result is timed all the same, and marked; one that raised is only marked.
        """
        pairs = []
        for case in self.workloads:
            if only_full and not case.full:
                continue
            self.progress(f"checking {case.key}")
            sharing = [route for route in routes if serves(self.registry, route.name, case)]
            for route in sharing:
                route.child.ask("prepare", case=case.case, key=case.key, params=case.params)
            for route in sharing:
                reply = route.child.answer()
                result = reply.get("result") or f"raised {reply['failed']}"
                if case.variant is not None and result != "ok":
                    result = f"{case.variant}: {result}"
                self.witness(route, generation, "result", result, case)
                if "failed" not in reply:
                    pairs.append((case, route))
        return pairs

    def warm(self, pairs: Sequence[Pair], at_most_s: Optional[float] = None) -> Dict[str, int]:
        """Warm every pair up, one after the other; give the calls a batch of each case."""
        seconds = self.protocol.warmup_s
        if seconds is not None and at_most_s is not None:
            seconds = min(seconds, at_most_s)
        slowest_ns: Dict[str, int] = {}
        for case, route in pairs:
            self.progress(f"warming {case.key} by {route.name}")
            reply = checked(
                route,
                route.child.request(
                    "warm",
                    key=case.key,
                    seconds=seconds,
                    calls=self.protocol.warmup_calls,
                ),
            )
            slowest_ns[case.name] = max(slowest_ns.get(case.name, 1), reply["call_ns"])
        for name, call_ns in slowest_ns.items():
            # Settled once, so that the generations' batches are alike.
            self.calls.setdefault(name, self._calls(call_ns))
        return self.calls

    def _calls(self, call_ns: int) -> int:
        """Choose the calls a batch for a call of that length."""
        if self.protocol.calls is not None:
            return self.protocol.calls
        fitting = int(self.protocol.batch_s * 1e9 / call_ns)
        return max(FEWEST_CALLS if call_ns < SLOW_CALL_NS else 1, min(MOST_CALLS, fitting))

    def sample(
        self,
        route: LiveRoute,
        case: Workload,
        generation: int,
        mode: str,
        profiler: str,
        calls: int,
        timing: Dict[str, Any],
    ) -> None:
        """Add a row of the `samples` frame."""
        self.recording.samples.append(
            {
                "case": case.name,
                "route": route.name,
                "variant": case.variant,
                "generation": generation,
                "process": route.process,
                "turn": len(self.recording.samples),
                "mode": mode,
                "profiler": profiler,
                "calls": calls,
                "wall_ns": timing["wall_ns"],
                "enqueue_ns": timing["enqueue_ns"],
            }
        )

    def witness(
        self, route: LiveRoute, generation: int, witness: str, value: str, case: Any = None
    ) -> None:
        """Add a row of the `witnesses` frame."""
        self.recording.witnesses.append(
            {
                "case": None if case is None else case.name,
                "route": route.name,
                "generation": generation,
                "process": route.process,
                "witness": witness,
                "value": value,
            }
        )

    def describe(self, routes: Sequence[LiveRoute], generation: int) -> None:
        """Write down each child's interpreter, once a route, and how it kept the rules."""
        known = {environment["route"] for environment in self.recording.environments}
        for route in routes:
            said = checked(route, route.child.request("facts"))
            if route.name not in known:
                self.recording.environments.append(said["environment"])
            for rule, value in said["rules"].items():
                self.witness(route, generation, rule, value)

    def read_clocks(self, when: str) -> None:
        """Write the device's clocks down, where its driver says them."""
        device = self.recording.device
        if device.get("kind") == "cuda" and (reading := machine.clocks(when, device.get("uuid"))):
            self.recording.clocks.append(reading)


def serves(registry: Registry, route: str, case: Any) -> bool:
    """Tell whether a route has the case's operator."""
    return case.operator in registry.route(route).operators
