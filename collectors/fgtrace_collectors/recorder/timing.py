"""The stopwatch's stage: live children and batches in random turns, or the founding protocol.

The routes of a case are timed in alternation, since a host's speed can drift by half within
seconds: what alternates shares its moods. One child works at a time.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any, Dict, Sequence, Set, Tuple

from fgtrace_collectors.recorder.children import LiveRoute, checked, end_all
from fgtrace_collectors.recorder.session import Pair, Session

GRAPH_BATCHES = 5


def interleaved(session: Session, first: Sequence[LiveRoute]) -> None:
    """Time generations of live children, the first of which already live.

    At least the protocol's number of generations; more while one more fits its time budget.
    """
    began = time.monotonic()
    generation, longest = 0, 0.0
    while generation < session.protocol.generations or (
        time.monotonic() - began + longest < session.protocol.budget_s
    ):
        started = time.monotonic()
        if generation == 0:
            _generation(session, first, generation)
            end_all(first)
        else:
            with session.children(f"g{generation}") as routes:
                _generation(session, routes, generation)
        generation += 1
        session.recording.generations = generation
        longest = max(longest, time.monotonic() - started)


def one_after_the_other(session: Session) -> None:
    """Time as the founding issue did: a fresh process a route and round, orders rotated by one."""
    routes = list(session.routes)
    rounds = max(session.protocol.generations, len(routes))
    for generation in range(rounds):
        shift = generation % len(routes)
        for route in routes[len(routes) - shift :] + routes[: len(routes) - shift]:
            session.progress(f"round {generation + 1} of {rounds}: {route.name}")
            with session.children(f"g{generation}", [route]) as alone:
                batches = _Batches(session, generation)
                for pair in session.prepare(alone, generation):
                    calls = session.warm([pair])
                    for _ in range(session.protocol.batches):
                        batches.time(pair, "throughput", calls)
                batches.close()
                session.describe(alone, generation)
        session.read_clocks("during")
        session.recording.generations = generation + 1


def _generation(session: Session, routes: Sequence[LiveRoute], generation: int) -> None:
    pairs = session.prepare(routes, generation)
    calls = session.warm(pairs)
    protocol = session.protocol
    dice = random.Random(f"{session.plan.seed}/{generation}")
    batches = _Batches(session, generation)
    rounds = max(protocol.batches, protocol.latency_batches)
    for index in range(rounds):
        session.progress(f"generation {generation + 1}: round {index + 1} of {rounds}")
        if index == rounds // 2:
            session.read_clocks("during")
        modes = [
            mode
            for mode, batches_in_all in (
                ("throughput", protocol.batches),
                ("latency", protocol.latency_batches),
            )
            # Fewer batches than rounds are spread over all of them.
            if (index + 1) * batches_in_all // rounds > index * batches_in_all // rounds
        ]
        for case in dice.sample(session.workloads, len(session.workloads)):
            sharing = [pair for pair in pairs if pair[0] is case]
            for mode in modes:
                for pair in dice.sample(sharing, len(sharing)):
                    batches.time(pair, mode, calls)
    for _ in range(GRAPH_BATCHES if protocol.graph else 0):
        for pair in dice.sample(pairs, len(pairs)):
            batches.time_graph(pair, calls)
    batches.close()
    session.describe(routes, generation)


class _Batches:
    """The batches of one generation, and what was compiled inside them."""

    def __init__(self, session: Session, generation: int) -> None:
        self.session = session
        self.generation = generation
        self._counts: Counter[Tuple[str, str, str]] = Counter()
        self._uncounted: Set[Tuple[str, str, str]] = set()
        self._measured: Dict[Tuple[str, str], Pair] = {}
        self._not_captured: Set[Tuple[str, str]] = set()

    def time(self, pair: Pair, mode: str, calls: Dict[str, int]) -> None:
        """Have one batch timed."""
        case, route = pair
        reply = checked(route, self._request(pair, mode, calls))
        self.session.sample(route, case, self.generation, mode, "none", calls[case.name], reply)
        self._measured[case.name, route.name] = pair
        for what in ("compilations", "tunings"):
            key = (case.name, route.name, what)
            if reply[what] is None:
                self._uncounted.add(key)
            else:
                self._counts[key] += reply[what]

    def time_graph(self, pair: Pair, calls: Dict[str, int]) -> None:
        """Have one batch of graph replays timed; a call that cannot be captured is noted, once."""
        case, route = pair
        key = (case.key, route.name)
        if key in self._not_captured:
            return
        reply = self._request(pair, "graph", calls)
        reason = reply.get("failed")
        if reason is not None:
            self._not_captured.add(key)
            self.session.witness(route, self.generation, "graph capture", reason, case)
            if self.generation == 0:
                self.session.recording.note(
                    "info",
                    "not-captured",
                    f"{case.key} by {route.name} cannot be captured in a graph: {reason}",
                    option="--graph",
                )
            return
        self.session.sample(route, case, self.generation, "graph", "none", calls[case.name], reply)

    def close(self) -> None:
        """Say what Triton compiled or tuned inside the batches: nothing, in a sound recording."""
        for (case_name, route_name), (case, route) in self._measured.items():
            for what in ("compilations", "tunings"):
                key = (case_name, route_name, what)
                count = self._counts[key]
                told = "unknown" if key in self._uncounted else str(count)
                self.session.witness(
                    route, self.generation, f"{what} in measured batches", told, case
                )
                if count:
                    self.session.recording.note(
                        "warning",
                        "measured-compilation",
                        f"{count} {what} inside measured batches of {case_name} by {route_name}",
                        count,
                    )

    def _request(self, pair: Pair, mode: str, calls: Dict[str, int]) -> Dict[str, Any]:
        case, route = pair
        return route.child.request("batch", key=case.key, mode=mode, calls=calls[case.name])
