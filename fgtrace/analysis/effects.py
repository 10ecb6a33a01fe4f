"""Effects of parts that can be switched, measured: the stopwatch's full factorial."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import polars as pl

from fgtrace.analysis.spread import spreads
from fgtrace.analysis.stopwatch import batches, undisturbed
from fgtrace.frames.trace import Trace

EFFECTS = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "kind": pl.String,  # main, simple or interaction
        "part": pl.String,  # of an interaction both, joined by " x "
        # The state of the other parts, as readback=1; null for a main effect and an interaction.
        "given": pl.String,
        "effect_ns": pl.Int64,  # a call with the part takes so much longer than one without
        "interval_low_ns": pl.Int64,
        "interval_high_ns": pl.Int64,
        "rounds": pl.Int64,  # in which every variant was timed once, all generations together
        "generations": pl.Int64,
    }
)

_EFFECT = ("case", "route", "kind", "part", "given")


def effects_report(trace: Trace) -> pl.DataFrame:
    """Make a row an effect of each case and route.

    An effect is a difference of variants within a round, whose batches follow each other, so that
    they share the host's mood; over the rounds the median counts. A simple effect is that of a part
    given the state of the others, a main effect the mean over all their states, an interaction how
    much the simple effect of one part grows when the other is on: the plain difference, not half of
    it as in Yates' notation. Intervals come from resampling generations, then blocks of rounds.
    """
    differences = pl.concat([_NO_DIFFERENCES, *_differences(_rounds(trace))])
    counts = differences.group_by(_EFFECT, maintain_order=True).agg(
        rounds=pl.len(), generations=pl.col("generation").n_unique()
    )
    names = ("effect_ns", "interval_low_ns", "interval_high_ns")
    found = spreads(differences, _EFFECT, "difference_ns", names)
    return (
        counts.join(found, on=_EFFECT, nulls_equal=True, maintain_order="left")
        .select(EFFECTS.names())
        .cast(EFFECTS)
    )


def _rounds(trace: Trace) -> pl.DataFrame:
    # The n-th batch of each variant is of the n-th round.
    process = ("case", "route", "generation", "process")
    return (
        undisturbed(batches(trace.samples))
        .drop_nulls("variant")
        .with_columns(round=pl.int_range(pl.len()).over(*process, "variant"))
        .sort("case", "route", "generation", "round", nulls_last=True)
    )


_NO_DIFFERENCES = pl.DataFrame(
    schema={
        **dict.fromkeys(_EFFECT, pl.String),
        "generation": pl.UInt32,
        "difference_ns": pl.Float64,
    }
)


def _differences(rounds: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Take the differences within each round: a frame an effect."""
    for (case, route), of_route in rounds.partition_by(
        "case", "route", maintain_order=True, as_dict=True
    ).items():
        variants = of_route["variant"].unique().sort(descending=True).to_list()
        states = {variant: _states(variant) for variant in variants}
        parts = list(states[variants[0]])
        if len(variants) < 2 ** len(parts) or any(list(on) != parts for on in states.values()):
            continue  # a factorial is full, or has no effects
        wide = of_route.pivot(
            "variant", index=["generation", "process", "round"], values="call_ns"
        ).drop_nulls()
        for kind, part, given, weights in _contrasts(states, parts):
            effect = zip(_EFFECT, (case, route, kind, part, given), strict=True)
            yield wide.select(
                *(pl.lit(value, pl.String).alias(name) for name, value in effect),
                "generation",
                difference_ns=pl.sum_horizontal(pl.col(name) * by for name, by in weights.items()),
            )


def _states(variant: str) -> dict[str, bool]:
    return {
        part: state == "1" for part, _, state in (one.partition("=") for one in variant.split(","))
    }


Contrast = tuple[str, str, str | None, dict[str, float]]


def _contrasts(states: dict[str, dict[str, bool]], parts: list[str]) -> list[Contrast]:
    """Give the effects as weights of variants: main ones first, then simple ones, then pairs."""
    half = len(states) / 2
    main: list[Contrast] = [
        (
            "main",
            part,
            None,
            {name: (1 if on[part] else -1) / half for name, on in states.items()},
        )
        for part in parts
    ]
    simple: list[Contrast] = []
    for part in parts if len(parts) > 1 else ():
        for name, on in states.items():
            if on[part]:
                others = {other: state for other, state in on.items() if other != part}
                without = next(
                    other for other, state in states.items() if state == {**on, part: False}
                )
                given = ",".join(f"{other}={int(state)}" for other, state in others.items())
                simple.append(("simple", part, given, {name: 1.0, without: -1.0}))
    pairs: list[Contrast] = [
        (
            "interaction",
            f"{one} x {other}",
            None,
            {
                name: (1 if on[one] == on[other] else -1) / (len(states) / 4)
                for name, on in states.items()
            },
        )
        for one, other in combinations(parts, 2)
    ]
    return main + simple + pairs
