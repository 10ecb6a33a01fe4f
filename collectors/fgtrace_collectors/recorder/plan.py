"""The plan of a recording: what is run, by which routes, in which environments, how often.

A plan is a JSON file. `fgtrace collect` and the one-file recorder make it from the same options;
the recorder also carries out one that was made before.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from fgtrace_collectors.recorder.devices import check_spelling
from fgtrace_collectors.recorder.errors import unavailable, usage
from fgtrace_collectors.recorder.facts import HIDDEN, hides
from fgtrace_collectors.recorder.registry import Registry, nearest

PLAN_FORMAT = 1


@dataclass(frozen=True)
class Protocol:
    """How the stopwatch is used; the names are those of `fgtrace.frames.provenance.Protocol`."""

    name: str
    generations: int
    """At least; more are added while `budget_s` lasts."""
    batches: int
    """Throughput batches a case and route in a generation."""
    latency_batches: int
    warmup_s: Optional[float] = 0.5
    """Warm up by time: at least so long, ..."""
    warmup_calls: Optional[int] = None
    """... or by count."""
    calls: Optional[int] = None
    """Calls a batch; None: as many as fill `batch_s` by the slowest route of the case."""
    batch_s: float = 0.01
    interleaved: bool = True
    """One live child a route, batches in random turns; else a fresh child a route and round."""
    budget_s: float = 0.0
    profile_calls: int = 100
    cache: str = "warm"
    graph: bool = False


QUICK = Protocol("quick", generations=1, batches=20, latency_batches=10)
FORMAL = Protocol("formal", generations=6, batches=30, latency_batches=10)
FOUNDING = Protocol(
    "founding",
    generations=3,
    batches=7,
    latency_batches=0,
    warmup_s=None,
    warmup_calls=50,
    calls=200,
    interleaved=False,
)
"""FlagGems issue 7241: a fresh process a route and round, orders rotated by one, warmup 50, iters
200, repeats 7, at least three rounds and as many as there are routes."""


MOST_POINTS = 32
"""Of a sweep: combinations of a case's sizes."""

INTERPRETED = "interpreted"
"""The name of a protocol that was shrunk for Triton's interpreter."""

FACTORIAL_ROUNDS = 300
"""Batches of each variant in a factorial, and each a third as long: what a host's moods add to a
difference within a round averages out over many rounds. In windows of 100 of the 300 rounds of a
recording an effect of 12.8 us came out between 11.7 and 14.7 us."""


def interpreted(protocol: Protocol) -> Protocol:
    """Shrink a protocol to what Triton's interpreter can do: three calls that time nothing."""
    return replace(
        protocol,
        name=INTERPRETED,
        interleaved=True,
        generations=1,
        batches=1,
        latency_batches=1,
        warmup_s=None,
        warmup_calls=0,
        calls=3,
        budget_s=0.0,
        profile_calls=3,
        graph=False,
    )


@dataclass(frozen=True)
class PlannedCase:
    """A case and the parameters that were asked for; the others keep their defaults."""

    name: str
    params: Dict[str, int] = field(default_factory=dict)
    swept: Tuple[str, ...] = ()
    """The parameters that other cases of the plan have at other sizes."""

    @property
    def label(self) -> str:
        """What the case is called in what is recorded: `repeat[rows=64]` in a sweep."""
        sizes = ",".join(f"{name}={self.params[name]}" for name in self.swept)
        return f"{self.name}[{sizes}]" if sizes else self.name


@dataclass(frozen=True)
class PlannedRoute:
    """A route, and how its interpreter is started; None is the one that runs the protocol."""

    name: str
    environment: Optional[str] = None
    required: bool = True
    """Asked for by name: not to be able to run it is an error."""


@dataclass(frozen=True)
class Plan:
    """Everything that decides a recording."""

    cases: Tuple[PlannedCase, ...]
    routes: Tuple[PlannedRoute, ...]
    protocol: Protocol
    device: str = "auto"
    seed: int = 1234
    profiler: str = "kineto"
    stacks: bool = True
    """Record a few calls with Python's stacks, apart from the profile."""
    factorial: Tuple[str, ...] = ()
    """Parameters of the cases that switch parts; every combination of them is timed."""
    variables: Dict[str, str] = field(default_factory=dict)
    """Set in every child before torch is imported."""
    command: Tuple[str, ...] = ()
    tool: str = ""
    format: int = PLAN_FORMAT

    def to_json(self) -> str:
        """Write the plan as JSON."""
        return json.dumps(asdict(self), indent=1)


def shown(plan: Plan) -> Plan:
    """Hide the values of variables whose names say that they are secret."""
    hidden = {value for name, value in plan.variables.items() if hides(name)}

    def without(text: str) -> str:
        for value in hidden:
            text = text.replace(value, HIDDEN)
        return text

    return replace(
        plan,
        variables={name: without(value) for name, value in plan.variables.items()},
        command=tuple(without(word) for word in plan.command),
    )


def read_plan(path: Path, registry: Registry) -> Plan:
    """Read a plan file; what it asks for is checked as options are."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != PLAN_FORMAT:
            raise usage(
                f"{path} is a plan of format {found['format']}; this recorder knows {PLAN_FORMAT}",
                "make the plan with the same version of fgtrace",
            )
        # What came later than the format.
        found = {"stacks": True, "factorial": [], **found}
        plan = Plan(
            cases=tuple(
                PlannedCase(case["name"], case["params"], tuple(case.get("swept", ())))
                for case in found["cases"]
            ),
            routes=tuple(PlannedRoute(**route) for route in found["routes"]),
            protocol=Protocol(**found["protocol"]),
            **{
                each.name: found[each.name]
                for each in fields(Plan)
                if each.name not in ("cases", "routes", "protocol", "command", "factorial")
            },
            factorial=tuple(found["factorial"]),
            command=tuple(found["command"]),
        )
        check_spelling(plan.device)
        _check_protocol(plan.protocol)
        if plan.profiler not in ("kineto", "none"):
            raise usage(f"profiler {plan.profiler!r} is not known", "it is kineto or none")
        for route in plan.routes:
            registry.route(route.name)
        for case in plan.cases:
            _check_case(registry, case)
        _check_factorial(registry, plan)
        return plan
    except OSError as error:
        raise usage(f"{path} cannot be read: {error.strerror}", "give the path of a plan") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise usage(
            f"{path} is not a plan: {error}", "plans are written beside every recording: plan.json"
        ) from None


def make_plan(
    registry: Registry,
    *,
    cases: Sequence[str],
    routes: Sequence[str] = (),
    environments: Sequence[str] = (),
    params: Sequence[str] = (),
    variables: Sequence[str] = (),
    device: str = "auto",
    profiler: str = "auto",
    formal: bool = False,
    protocol: Optional[str] = None,
    budget_s: Optional[float] = None,
    profile_calls: Optional[int] = None,
    cold: bool = False,
    graph: bool = False,
    no_stacks: bool = False,
    factorial: Optional[str] = None,
    seed: int = 1234,
    command: Sequence[str] = (),
) -> Plan:
    """Make a plan from options as they are typed; refuse what does not fit before anything runs."""
    check_spelling(device)
    chosen = _protocol(formal, protocol, budget_s)
    if chosen.name == "formal" and any(text.startswith("FLAGOS_LOG") for text in variables):
        raise usage("--set FLAGOS_LOG…: a formal run writes no dispatch log", "leave one of them")
    if profile_calls is not None:
        if profile_calls < 1:
            raise usage("--profile-calls takes a number from 1", "the default is 100")
        chosen = replace(chosen, profile_calls=profile_calls)
    if graph and (cold or not chosen.interleaved):
        beside = "--l2 cold" if cold else f"the {chosen.name} protocol"
        raise usage(f"--graph beside {beside}: it has no replays", "leave one of them")
    if cold:
        if not chosen.interleaved:
            raise usage(
                f"--l2 cold: the {chosen.name} protocol calls back to back", "leave one of them"
            )
        # A flush between two calls makes the host wait, so back-to-back calls mean nothing.
        chosen = replace(chosen, cache="cold", batches=0, latency_batches=chosen.batches)
    chosen = replace(chosen, graph=graph)
    if profiler in ("rocprofv3", "rocprof", "hipprof"):
        raise unavailable(f"profiler {profiler} cannot be used yet", "give auto, kineto or none")
    if profiler not in ("auto", "kineto", "none"):
        raise usage(f"--profiler {profiler} is not known", "give auto, kineto or none")
    started = _assignments("--env", environments)
    all_cases = [registry.case(name).name for name in _all(cases, registry.cases)]
    names = [registry.route(name).name for name in routes or registry.routes]
    for name in started:
        if registry.route(name).name not in names:
            raise usage(
                f"--env {name}=…: that route is not to be run", f"add --route {name} to the command"
            )
    if factorial is not None:
        rounds = max(chosen.batches, FACTORIAL_ROUNDS)
        chosen = replace(chosen, batches=rounds, batch_s=chosen.batch_s / 3)
    plan = Plan(
        cases=tuple(_planned_cases(registry, all_cases, _assignments("--param", params))),
        routes=tuple(PlannedRoute(name, started.get(name), bool(routes)) for name in names),
        protocol=chosen,
        device=device,
        seed=seed,
        profiler="none" if profiler == "none" else "kineto",
        stacks=not no_stacks,
        factorial=() if factorial is None else tuple(factorial.split(",")),
        variables=_assignments("--set", variables),
        command=tuple(command),
        tool=registry.tool,
    )
    _check_factorial(registry, plan)
    return plan


def start_command(environment: Optional[str], python: str, arguments: List[str]) -> List[str]:
    """Give the argument vector that starts a child.

    An environment is an interpreter's path, or shell text that ends by running one
    (`. r5/activate; exec python`), to which the arguments are added.
    """
    if environment is None:
        return [python, *arguments]
    if Path(environment).is_file() and os.access(environment, os.X_OK):
        return [environment, *arguments]
    return ["sh", "-c", f'{environment} "$@"', "sh", *arguments]


def describe(environment: Optional[str]) -> str:
    """Name an environment in a message."""
    return "this interpreter" if environment is None else shlex.quote(environment)


def _protocol(formal: bool, name: Optional[str], budget_s: Optional[float]) -> Protocol:
    if formal and name is not None:
        raise usage("--formal and --protocol exclude each other", "give one of them")
    known = {"quick": QUICK, "formal": FORMAL, "founding": FOUNDING}
    if name is not None and name not in known:
        raise usage(f"--protocol {name} is not known", "give quick, formal or founding")
    chosen = FORMAL if formal else known[name or "quick"]
    if budget_s is None:
        return chosen
    if chosen.name != "formal":
        raise usage("--budget goes with --formal", "add --formal to the command")
    if not budget_s >= 0:
        raise usage(f"--budget {budget_s:g} is no time", "give seconds")
    return replace(chosen, budget_s=budget_s)


def _check_factorial(registry: Registry, plan: Plan) -> None:
    if not plan.factorial:
        return
    if not plan.protocol.interleaved:
        raise usage(
            f"--factorial: the {plan.protocol.name} protocol does not alternate the variants",
            "leave one of them",
        )
    if plan.protocol.cache == "cold":
        raise usage("--factorial beside --l2 cold: effects are of calls back to back", "leave one")
    if len(set(plan.factorial)) < len(plan.factorial):
        raise usage(f"--factorial {','.join(plan.factorial)}: a part twice", "name each part once")
    for planned in plan.cases:
        case = registry.case(planned.name)
        for part in plan.factorial:
            if part not in case.parts:
                has = f"it has {', '.join(case.parts)}" if case.parts else "it has none"
                raise usage(f"--factorial {part}: case {case.name} has no such part", has)
            if part in planned.params:
                raise usage(
                    f"--factorial {part} beside --param {part}={planned.params[part]}",
                    "a factorial sets it to 0 and to 1",
                )


def _check_protocol(protocol: Protocol) -> None:
    """Refuse numbers of a plan file that no option could have made."""
    least = {"generations": 1, "batches": 0, "latency_batches": 0, "profile_calls": 1, "calls": 1}
    least.update(warmup_calls=0, warmup_s=0, budget_s=0, batch_s=0)
    for name, low in least.items():
        value = getattr(protocol, name)
        if value is None and name in ("calls", "warmup_calls", "warmup_s"):
            continue
        if type(value) not in (int, float) or not value >= low:
            raise usage(f"{name}={value!r} of the plan's protocol", f"it is a number from {low}")
    if protocol.batches + protocol.latency_batches == 0:
        raise usage("the plan's protocol times nothing", "batches or latency_batches from 1")


def _all(names: Sequence[str], registered: Mapping[str, str]) -> List[str]:
    return list(registered) if list(names) == ["all"] else list(dict.fromkeys(names))


def _assignments(option: str, texts: Sequence[str]) -> Dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.match(r"[A-Za-z_][A-Za-z0-9_.-]*\Z", name) or not value:
            raise usage(f"{option} {text!r} is not NAME=VALUE", f"write {option} name=value")
        found[name] = value
    return found


def _planned_cases(
    registry: Registry, names: Sequence[str], params: Mapping[str, str]
) -> List[PlannedCase]:
    known = {param.name for name in names for param in registry.case(name).params}
    for name in params:
        if name not in known:
            raise usage(
                f"--param {name}: no chosen case has it", nearest("parameter", name, sorted(known))
            )
    planned = []
    for name in names:
        own = {param.name for param in registry.case(name).params}
        values = {param: _numbers(param, text) for param, text in params.items() if param in own}
        swept = tuple(param for param, sizes in values.items() if len(sizes) > 1)
        points = list(product(*values.values()))
        if len(points) > MOST_POINTS:
            raise usage(
                f"--param: {len(points)} sizes of case {name}, at most {MOST_POINTS} are recorded",
                "give fewer sizes, or record them apart",
            )
        for point in points:
            planned.append(PlannedCase(name, dict(zip(values, point)), swept))
            _check_case(registry, planned[-1])
    return planned


def _numbers(name: str, text: str) -> List[int]:
    try:
        numbers = [int(one) for one in text.split(",")]
    except ValueError:
        raise usage(
            f"--param {name}={text}: not a whole number, nor several with commas between",
            "`fgtrace cases` shows the defaults",
        ) from None
    if len(set(numbers)) < len(numbers):
        raise usage(f"--param {name}={text}: a size twice", "name each size once")
    return numbers


def _check_case(registry: Registry, planned: PlannedCase) -> None:
    case = registry.case(planned.name)
    known = {param.name: param for param in case.params}
    for name, value in planned.params.items():
        if name not in known:
            raise usage(f"case {case.name} has no parameter {name}", f"it has {', '.join(known)}")
        param = known[name]
        if type(value) is not int or not (
            param.minimum <= value <= (value if param.maximum is None else param.maximum)
        ):
            top = "" if param.maximum is None else f" to {param.maximum}"
            raise usage(
                f"{name}={value!r} does not fit case {case.name}",
                f"it takes a whole number from {param.minimum}{top}",
            )
    misfit = case.misfit({**case.defaults(), **planned.params})
    if misfit is not None:
        raise usage(f"case {case.name}: {misfit}", "`fgtrace cases` shows the defaults")
