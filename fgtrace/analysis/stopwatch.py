"""The stopwatch's batches: what a call took in each, and which of them no profiler disturbed."""

from __future__ import annotations

import polars as pl


def batches(samples: pl.DataFrame) -> pl.DataFrame:
    """Put samples in the order in which a generation took them, and divide by their calls.

    Added are `call_ns`, what a call took, `call_enqueue_ns`, the same without the final wait, and
    `plain`: without a profiler.
    """
    return samples.sort("generation", "turn").with_columns(
        call_ns=pl.col("wall_ns") / pl.col("calls"),
        call_enqueue_ns=pl.col("enqueue_ns") / pl.col("calls"),
        plain=pl.col("profiler") == "none",
    )


def full_variants(samples: pl.DataFrame) -> pl.DataFrame:
    """Select the samples of whole calls: of a factorial, those with every part."""
    return samples.filter(~pl.col("variant").str.contains("=0").fill_null(False))


def undisturbed(timed: pl.DataFrame, mode: str = "throughput") -> pl.DataFrame:
    """Select the `batches` of a mode from processes that no profiler ever ran in."""
    plain = pl.col("plain").all().over("route", "generation", "process")
    return timed.filter(plain).filter(pl.col("mode") == mode)


def by_generation(samples: pl.DataFrame) -> pl.DataFrame:
    """Put what a whole call took back to back into lists: one a case, route and generation."""
    key = ("case", "route", "generation")
    timed = undisturbed(batches(full_variants(samples)))
    return timed.group_by(key, maintain_order=True).agg("call_ns")
