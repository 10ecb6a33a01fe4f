"""Exact nanoseconds from the text of microseconds.

Absolute microseconds with three decimals need 61 bits, so a time never passes through a float:
its integer and fraction parts are converted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import polars as pl

_PLAIN = r"^([+-]?)([0-9]+)(?:\.([0-9]*))?$"
_LARGEST_US = 9_223_372_036_854_774  # in Int64 nanoseconds, rounding included


def nanoseconds(microseconds: Sequence[str]) -> pl.Series:
    """Convert microseconds as a file writes them: integer, fraction, exponent, quoted or not.

    What is finer than a nanosecond is rounded, halves away from zero. What is no time, or lies
    beyond Int64, is null.
    """
    text = pl.Series("text", microseconds, dtype=pl.String)
    frame = text.str.strip_chars('" ').to_frame()
    parts = pl.col("text").str.extract_groups(_PLAIN)
    whole = parts.struct[1].cast(pl.Int64, strict=False)
    fraction = parts.struct[2].fill_null("").str.pad_end(4, "0")
    magnitude = (
        whole * 1000
        + fraction.str.slice(0, 3).cast(pl.Int64)
        + (fraction.str.slice(3, 1) >= "5").cast(pl.Int64)
    )
    sign = pl.when(parts.struct[0] == "-").then(-1).otherwise(1)
    exact = frame.select(
        pl.when(whole <= _LARGEST_US).then(sign * magnitude).alias("ns"),
        (~pl.col("text").str.contains(_PLAIN)).alias("unusual"),
    )
    ns = exact["ns"]
    unusual = exact["unusual"].fill_null(False).arg_true()
    if unusual.is_empty():
        return ns
    return ns.scatter(unusual, [_unusual(value) for value in frame["text"].gather(unusual)])


def _unusual(text: str) -> int | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value) > _LARGEST_US:
        return None
    return int(value.quantize(Decimal("0.001"), rounding=ROUND_HALF_UP).scaleb(3))
