"""The children of one generation: one a route, started together, asked in turn."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from fgtrace_collectors.recorder.channel import START_SECONDS, ChildProcess
from fgtrace_collectors.recorder.errors import broken_off, unavailable
from fgtrace_collectors.recorder.plan import Plan, PlannedRoute
from fgtrace_collectors.recorder.recording import LOGS


@dataclass(frozen=True)
class Launcher:
    """How children are started: the one-file recorder, and the interpreter without `--env`."""

    recorder: Path
    python: str
    folder: Path
    variables: Mapping[str, str]

    def start(self, route: PlannedRoute, name: str) -> ChildProcess:
        """Start a child; `name` tells its log from the others'."""
        log = self.folder / LOGS / f"{route.name}.{name}.txt"
        return ChildProcess(
            route.name, route.environment, self.recorder, self.python, log, self.variables
        )


@dataclass(frozen=True)
class LiveRoute:
    """A route whose child has said hello."""

    planned: PlannedRoute
    child: ChildProcess
    hello: Dict[str, Any]

    @property
    def name(self) -> str:
        """The route's name."""
        return self.planned.name

    @property
    def process(self) -> int:
        """The child's process id, as the child sees it."""
        return int(self.hello["process"])


@contextmanager
def live(
    launcher: Launcher,
    plan: Plan,
    routes: Sequence[PlannedRoute],
    names: Sequence[str],
    operators: Sequence[str],
    refused: Dict[str, str],
) -> Iterator[List[List[LiveRoute]]]:
    """Start, for each name, a child for each route, all at once; end them all on the way out.

    Gives a list a name. Each child imports what serves those of `operators` that its route has. A
    route that cannot run here is an error where it was asked for by name;
    otherwise it is left out everywhere, and its reason is added to `refused`.
    """
    with ExitStack() as stack:
        children = [
            [stack.enter_context(launcher.start(route, name)) for name in names] for route in routes
        ]
        for route, copies in zip(routes, children):
            for child in copies:
                child.ask(
                    "hello",
                    route=route.name,
                    device=plan.device,
                    variables=plan.variables,
                    cold=plan.protocol.cache == "cold",
                    operators=list(operators),
                )
        sets: List[List[LiveRoute]] = [[] for _ in names]
        for route, copies in zip(routes, children):
            hellos = [child.answer(timeout=START_SECONDS) for child in copies]
            reason = _refusal(route, hellos)
            if reason is not None:
                refused[route.name] = reason
                continue
            for among, child, hello in zip(sets, copies, hellos):
                among.append(LiveRoute(route, child, hello))
        try:
            yield sets
        finally:
            end_all([route for among in sets for route in among])


def end_all(routes: Sequence[LiveRoute]) -> None:
    """End children together: each takes a while to leave."""
    for route in routes:
        route.child.release()
    for route in routes:
        route.child.end()


def _refusal(route: PlannedRoute, hellos: Sequence[Dict[str, Any]]) -> Optional[str]:
    """Give why a route cannot run here, or None; raise it where the route was asked for."""
    for hello in hellos:
        reason: Optional[str] = hello.get("unavailable") or hello.get("failed")
        if reason is not None and route.required:
            raise unavailable(
                f"route {route.name}: {reason}",
                hello.get("hint") or "`fgtrace doctor` shows what each route needs",
            )
        if reason is not None:
            return reason
    return None


def checked(route: LiveRoute, reply: Dict[str, Any]) -> Dict[str, Any]:
    """Give a reply, or raise what the child says went wrong."""
    reason: Optional[str] = reply.get("failed") or reply.get("unavailable")
    if reason is not None:
        raise broken_off(
            f"route {route.name}: {reason}", "the case ran before, so this is not its parameters"
        )
    return reply
