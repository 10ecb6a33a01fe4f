"""The host's speed during a recording: whether the same call took longer at one end of it."""

from __future__ import annotations

from statistics import median

import polars as pl

from fgtrace.analysis.stopwatch import batches, undisturbed
from fgtrace.frames.notes import Note

BLOCKS = 20
"""Blocks of batches, in the order of their turns, whose medians are compared."""

FEWEST_A_BLOCK = 10

CHANGE = 1.1
"""Times that one end has to be as slow as the other, beside lying apart from it."""

_EDGE = 5
_SERIES = ("case", "route", "variant")


def speed_notes(samples: pl.DataFrame) -> list[Note]:
    """Say of each generation whether the host's speed jumped or drifted in it.

    A batch is compared with the median of its own case, route and variant, and the medians of
    BLOCKS with each other. It is a jump where every block before some block, of the middle ones, is
    faster than every block from there on, or every one slower; a drift where that holds of the
    first third and the last. Noise whose neighbours are alike lies so in about one of a hundred
    recordings of 200 batches, and in fewer of longer ones. What passes again is not told, nor is a
    change near either end.
    """
    usual = pl.col("call_ns").median().over("generation", *_SERIES)
    timed = undisturbed(batches(samples)).with_columns(relative=pl.col("call_ns") / usual)
    notes = []
    for taken in timed.partition_by("generation", maintain_order=True):
        if taken.height >= BLOCKS * FEWEST_A_BLOCK:
            notes += _of_generation(taken)
    return notes


def _of_generation(taken: pl.DataFrame) -> list[Note]:
    place = pl.int_range(pl.len()) * BLOCKS // pl.len()
    blocks = (
        taken.group_by(block=place, maintain_order=True)
        .agg(pl.col("relative").median())["relative"]
        .to_list()
    )
    splits = [
        split
        for split in range(_EDGE, BLOCKS - _EDGE + 1)
        if _apart(blocks[:split], blocks[split:])
    ]
    third = BLOCKS // 3
    if splits:
        split = max(splits, key=lambda split: _ratio(blocks[:split], blocks[split:]))
        before, after = _call(taken, 0, split), _call(taken, split, BLOCKS)
        message = f"the same call took {before} and then {after} us, from batch "
        message += f"{split * taken.height // BLOCKS + 1} of {taken.height} on"
        kind = "host-speed-jump"
    elif _apart(blocks[:third], blocks[-third:]):
        first, last = _call(taken, 0, third), _call(taken, BLOCKS - third, BLOCKS)
        message = f"the same call took {first} us at first and {last} us at the end"
        kind = "host-speed-drift"
    else:
        return []
    generation = taken["generation"][0]
    return [Note("info", kind, 1, f"the host's speed changed: {message} (generation {generation})")]


def _apart(before: list[float], after: list[float]) -> bool:
    separate = max(before) < min(after) or min(before) > max(after)
    return separate and _ratio(before, after) >= CHANGE


def _ratio(before: list[float], after: list[float]) -> float:
    one, other = median(before), median(after)
    return max(one, other) / min(one, other)


def _call(taken: pl.DataFrame, first: int, last: int) -> str:
    # What a call of the series with the most taken took in some blocks, in microseconds.
    place = pl.int_range(pl.len()) * BLOCKS // pl.len()
    series = taken.group_by(_SERIES, maintain_order=True).len().sort("len", descending=True).head(1)
    of_blocks = taken.filter(place.is_between(first, last - 1))
    calls = of_blocks.join(series, on=_SERIES, nulls_equal=True)["call_ns"]
    return f"{(calls.median() or 0) / 1000:.1f}"  # type: ignore[operator]
