"""What two recordings tell of their making: facts, side by side, route by route."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import polars as pl

from fgtrace.frames.provenance import Environment, Provenance
from fgtrace.frames.trace import Trace

NAMED = 3
"""So many things at most are named in a list."""

_LONGEST = 100  # characters of one of them
_HIDDEN = "(hidden)"  # stands for a value that may be a secret
_HASH = "sha256 of "

Words = str | None
"""What one side says of one thing; None where it does not."""


class Fact(NamedTuple):
    """What both sides say of the same thing."""

    a: Words
    b: Words
    needed: bool = False
    """Unless both say something, the axis that it belongs to is not known."""
    near: bool = False
    """They count as the same, whatever the words."""

    @property
    def known(self) -> bool:
        """Whether both sides say something."""
        return self.a is not None and self.b is not None

    @property
    def differs(self) -> bool:
        """Whether both sides are known to be different."""
        return self.known and self.a != self.b and not self.near


@dataclass(frozen=True)
class Served:
    """How one side serves calls by one route."""

    route: str | None
    environment: Environment | None
    variables: dict[str, str]
    witnesses: dict[str, str]
    """The values of each, in the order of their text."""

    @property
    def modules(self) -> dict[str, str]:
        """The sha256 of sources by module; runs of version 1 have them as witnesses."""
        witnessed = {
            name.removeprefix(_HASH): value
            for name, value in self.witnesses.items()
            if name.startswith(_HASH)
        }
        return witnessed | (self.environment.modules if self.environment else {})


class Sides:
    """Two recordings, the cases of each, and which routes stand against each other.

    Those are namesakes where the sides have some in common, else each against each.
    """

    def __init__(self, a: Trace, b: Trace) -> None:
        self.traces = (a, b)
        self.cases = (_names(a, "case"), _names(b, "case"))
        self.routes = _pairs(_served(a), _served(b))

    def each(self, say: Callable[[Trace], Words], *, needed: bool = False) -> Fact:
        """Have both recordings say something."""
        a, b = map(say, self.traces)
        return Fact(a, b, needed)

    def each_made(self, say: Callable[[Provenance], Words], *, needed: bool = False) -> Fact:
        """Have both say something of their provenance."""
        return self.each(lambda trace: say(trace.provenance), needed=needed)

    def each_environment(
        self, say: Callable[[Environment], Words], *, needed: bool = False
    ) -> Iterator[Fact]:
        """Have both environments of each pair of routes say something."""
        for pair in self.routes:
            a, b = (None if side.environment is None else say(side.environment) for side in pair)
            yield Fact(a, b, needed)

    def variables(self, chosen: Callable[[str], bool]) -> Iterator[Fact]:
        """Give the chosen variables that either of a pair of environments has."""
        for one, other in self.routes:
            if one.environment and other.environment:
                for name in sorted(filter(chosen, one.variables.keys() | other.variables.keys())):
                    yield Fact(_variable(one.variables, name), _variable(other.variables, name))


def words(form: str, *values: object) -> Words:
    """Put values into words; None where one of them is not known."""
    return None if None in values else form.format(*values)


def listed(known: Iterable[Words]) -> Words:
    """Name the first NAMED different things, and how many more there are; None where none is."""
    different = list(dict.fromkeys(one for one in known if one is not None))
    more = len(different) - NAMED
    shown = [one if len(one) <= _LONGEST else f"{one[:_LONGEST]}…" for one in different[:NAMED]]
    return (", ".join(shown) + (f" and {more} more" if more > 0 else "")) or None


def witnessed(one: Served, other: Served, names: Sequence[str]) -> Iterator[Fact]:
    """Give what was witnessed of a pair of routes."""
    for name in names:
        form = f"{name}: {{}}"
        yield Fact(
            words(form, one.witnesses.get(name)),
            words(form, other.witnesses.get(name)),
        )


def _names(trace: Trace, column: str) -> list[str]:
    # Who selects calls leaves the samples as they are: calls come first.
    for frame in (trace.calls, trace.samples):
        names: list[str] = frame[column].drop_nulls().unique().sort().to_list()
        if names:
            return names
    return []


def _served(trace: Trace) -> dict[str | None, Served]:
    environments = {one.route: one for one in trace.provenance.environments}
    routes: Sequence[str | None] = _names(trace, "route") or sorted(environments) or [None]
    seen = (
        trace.witnesses.drop_nulls("value")
        .group_by("route", "witness")
        .agg(pl.col("value").unique().sort().str.join(", "))
        .sort("route", "witness")
    )
    served = {}
    for route in routes:
        environment = None if route is None else environments.get(route)
        variables = environment.variables if environment else {}
        of_route = seen.filter(pl.col("route").eq_missing(pl.lit(route, pl.String)))
        served[route] = Served(
            route,
            environment,
            trace.provenance.set_variables | variables,
            dict(of_route.select("witness", "value").iter_rows()),
        )
    return served


def _pairs(
    ours: dict[str | None, Served], theirs: dict[str | None, Served]
) -> list[tuple[Served, Served]]:
    common = [route for route in ours if route in theirs]
    if common:
        return [(ours[route], theirs[route]) for route in common]
    # In an order that is the same when the sides are swapped.
    return sorted(
        product(ours.values(), theirs.values()),
        key=lambda pair: sorted(side.route or "" for side in pair),
    )


def _variable(variables: dict[str, str], name: str) -> Words:
    if name not in variables:
        return f"no {name}"
    return None if variables[name] == _HIDDEN else f"{name}={variables[name]}"
