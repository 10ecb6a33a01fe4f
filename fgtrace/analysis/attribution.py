"""What each part of a call costs, three ways: recorded, predicted, measured."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.effects import effects_report
from fgtrace.analysis.phases import phases_report
from fgtrace.analysis.rules import RULES, Rule
from fgtrace.analysis.whatif import ALIASES, whatif_report
from fgtrace.frames.trace import Trace

ATTRIBUTION = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "part": pl.String,
        "recorded_ns": pl.Int64,  # the part's host time in a profiled call
        "predicted_ns": pl.Int64,  # what a call would save; null: its unprofiled time is not known
        "predicted_low_ns": pl.Int64,
        "predicted_high_ns": pl.Int64,
        "measured_ns": pl.Int64,  # its simple effect, all others being on; null: not measured
        "interval_low_ns": pl.Int64,  # of what was measured
        "interval_high_ns": pl.Int64,
        # The intervals meet, or the two differ by less than AGREEMENT; null without both.
        "agrees": pl.Boolean,
    }
)

AGREEMENT = 0.1
"""Of what was measured: so far a prediction may be off and is still said to agree."""

_KEY = ["case", "route", "part"]


def attribution_report(
    trace: Trace, *, call_ns: float | None = None, rules: tuple[Rule, ...] = RULES
) -> pl.DataFrame:
    """Make a row for each case, route and part that a call can do without, the costliest first.

    A prediction sees the recorded calls and the time of an unprofiled one, and none of the variants
    that were timed without a part.
    """
    recorded = phases_report(trace, rules=rules).select(
        "case", "route", part="phase", recorded_ns="host_time_ns"
    )
    predicted = whatif_report(trace, call_ns=call_ns, rules=rules).select(
        "case",
        "route",
        part="without",
        predicted_ns="saving_ns",
        predicted_low_ns="interval_low_ns",
        predicted_high_ns="interval_high_ns",
    )
    rows = predicted.join(recorded, on=_KEY, how="left", nulls_equal=True).join(
        _measured(trace), on=_KEY, how="full", nulls_equal=True, coalesce=True
    )
    difference = (pl.col("predicted_ns") - pl.col("measured_ns")).abs()
    meet = (pl.col("predicted_low_ns") <= pl.col("interval_high_ns")) & (
        pl.col("predicted_high_ns") >= pl.col("interval_low_ns")
    )
    near = difference <= AGREEMENT * pl.col("measured_ns").abs()
    cost = pl.coalesce("measured_ns", "predicted_ns", "predicted_high_ns")
    return (
        rows.with_columns(agrees=meet | near)
        .sort(
            "case", "route", cost, "part", descending=[False, False, True, False], nulls_last=True
        )
        .select(ATTRIBUTION.names())
        .cast(ATTRIBUTION)
    )


def _measured(trace: Trace) -> pl.DataFrame:
    # The simple effect given that all others are on; of a single part its only effect.
    effects = effects_report(trace)
    alone = pl.col("part").n_unique().over("case", "route") == 1
    given_all = (pl.col("kind") == "simple") & ~pl.col("given").str.contains("=0")
    return effects.filter(given_all | ((pl.col("kind") == "main") & alone)).select(
        "case",
        "route",
        pl.col("part").replace(ALIASES),
        "interval_low_ns",
        "interval_high_ns",
        measured_ns="effect_ns",
    )
