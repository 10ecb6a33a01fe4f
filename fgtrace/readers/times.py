"""Exact nanoseconds from the text of microseconds.

Absolute microseconds with three decimals need 61 bits, so a time never passes through a float:
text becomes a decimal, and a decimal becomes an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import polars as pl

_LARGEST_US = 9_223_372_036_854_774  # in Int64 nanoseconds, rounding included

_DIGITS = pl.Decimal(38, 4)
"""One digit more than nanoseconds have: it tells which values need rounding."""


def nanoseconds(microseconds: Sequence[str]) -> pl.Series:
    """Convert microseconds as a file writes them: integer, fraction, exponent, quoted or not.

    What is finer than a nanosecond is rounded, halves away from zero. What is no time, or lies
    beyond Int64, is null.
    """
    text = pl.Series("text", microseconds, dtype=pl.String)
    exact = text.cast(_DIGITS, strict=False)
    if exact.null_count() > text.null_count():
        text = text.str.strip_chars('" ')
        exact = text.cast(_DIGITS, strict=False)
    found = pl.select(
        ns=(exact * 1000).cast(pl.Int64, strict=False),
        unusual=(exact * 1000 != (exact * 1000).round(0)).fill_null(text.is_not_null())
        | (exact.abs() > _LARGEST_US),
    )
    unusual = found["unusual"].arg_true()
    if unusual.is_empty():
        return found["ns"]
    return found["ns"].scatter(unusual, [_unusual(value) for value in text.gather(unusual)])


def _unusual(text: str) -> int | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value) > _LARGEST_US:
        return None
    return int(value.quantize(Decimal("0.001"), rounding=ROUND_HALF_UP).scaleb(3))
