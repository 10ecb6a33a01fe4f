"""Effects of parts that can be switched, measured: the stopwatch's full factorial."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from fgtrace.analysis.spread import Spread, spread
from fgtrace.frames.trace import Trace

LEVEL = 0.95

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

_PROCESS = ("case", "route", "generation", "process")


def effects_report(trace: Trace) -> pl.DataFrame:
    """Make a row an effect of each case and route.

    An effect is a difference of variants within a round, whose batches follow each other, so that
    they share the host's mood; over the rounds the median counts. A simple effect is that of a part
    given the state of the others, a main effect the mean over all their states, an interaction how
    much the simple effect of one part grows when the other is on: the plain difference, not half of
    it as in Yates' notation. Intervals come from resampling
    generations, then blocks of rounds.
    """
    rows: list[dict[str, object]] = []
    rounds = _rounds(trace)
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
            effect = _effect(wide, weights)
            if effect is None:
                continue
            rows.append(
                {
                    "case": case,
                    "route": route,
                    "kind": kind,
                    "part": part,
                    "given": given,
                    "effect_ns": round(effect.value),
                    "interval_low_ns": None if effect.low is None else round(effect.low),
                    "interval_high_ns": None if effect.high is None else round(effect.high),
                    "rounds": wide.height,
                    "generations": wide["generation"].n_unique(),
                }
            )
    return pl.DataFrame(rows, schema=EFFECTS)


def _rounds(trace: Trace) -> pl.DataFrame:
    # The n-th batch of each variant is of the n-th round.
    plain = pl.col("profiler") == "none"
    return (
        trace.samples.filter(plain.all().over(_PROCESS[1:]))
        .filter(pl.col("mode") == "throughput", pl.col("variant").is_not_null())
        .sort("case", "route", "generation", "turn", nulls_last=True)
        .with_columns(
            call_ns=pl.col("wall_ns") / pl.col("calls"),
            round=pl.int_range(pl.len()).over(*_PROCESS, "variant"),
        )
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


def _effect(wide: pl.DataFrame, weights: dict[str, float]) -> Spread | None:
    differences = wide.sort("generation", "round").select(
        "generation", value=pl.sum_horizontal(pl.col(name) * by for name, by in weights.items())
    )
    by_generation = differences.partition_by("generation", maintain_order=True)
    return spread([rows["value"].to_list() for rows in by_generation], LEVEL)
