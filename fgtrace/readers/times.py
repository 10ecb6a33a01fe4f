"""Exact nanoseconds from microseconds, as a file has them.

Absolute microseconds with three decimals need 61 bits: a float that is that large is not what the
file says. Then, and for what is no plain number, the text itself becomes a decimal, and the decimal
an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import polars as pl

_LARGEST_US = (2**63 - 1) // 1000
"""The last whole microsecond of which Int64 holds the nanoseconds."""

_PRECISE_US = 2**43
"""Below this, floats lie closer together than nanoseconds."""

_FLOAT_ERROR = 1000 * 2**-52
"""Of the thousandths, relative to the value."""

_FINER = pl.Decimal(38, 4)
"""One digit more than nanoseconds have: it tells which values need rounding."""


class ImpreciseError(ValueError):
    """Floats do not tell nanoseconds; the text is needed."""


def nanoseconds(microseconds: Sequence[Any]) -> pl.Series:
    """Convert decoded JSON values; what is no time, or lies beyond Int64, is null.

    Raises `ImpreciseError` where only the text has every digit.
    """
    for kind in (pl.Float64, pl.Int64) if _first(microseconds) is float else (pl.Int64, pl.Float64):
        try:
            values = pl.Series(microseconds, dtype=kind, strict=True)
        except (TypeError, OverflowError, ValueError):
            continue
        return _of_whole(values) if kind is pl.Int64 else _of_floats(values)
    return _mixed(microseconds)


def _first(values: Sequence[Any]) -> type | None:
    return type(values[0]) if values else None


def _of_whole(values: pl.Series) -> pl.Series:
    fits = values.is_between(-_LARGEST_US, _LARGEST_US)
    return (values if fits.all() else values.set(~fits, None)) * 1000


def _of_floats(values: pl.Series) -> pl.Series:
    if (values.abs() >= _PRECISE_US).any():
        raise ImpreciseError
    # Apart, integer and fraction are exact.
    whole = values.floor()
    thousandths = (values - whole) * 1000
    rounded = thousandths.round()
    # Three decimals are off by no more than a float of that size can be.
    if ((thousandths - rounded).abs() > values.abs() * _FLOAT_ERROR + _FLOAT_ERROR).any():
        raise ImpreciseError
    return whole.cast(pl.Int64) * 1000 + rounded.cast(pl.Int64)


def _mixed(microseconds: Sequence[Any]) -> pl.Series:
    if any(type(value) is float for value in microseconds):
        raise ImpreciseError
    return nanoseconds_of_text([None if value is None else str(value) for value in microseconds])


def nanoseconds_of_text(microseconds: Sequence[str | None]) -> pl.Series:
    """Convert microseconds as a file writes them: integer, fraction, exponent, quoted or not.

    What is finer than a nanosecond is rounded, halves away from zero. What is no time, or lies
    beyond Int64, is null.
    """
    text = pl.Series("text", microseconds, dtype=pl.String)
    exact = text.cast(_FINER, strict=False)
    if exact.null_count() > text.null_count():
        text = text.str.strip_chars('" ')
        exact = text.cast(_FINER, strict=False)
    rounded = exact.cast(pl.Decimal(38, 3))
    found = (rounded * 1000).cast(pl.Int64, strict=False)
    unread = exact.is_null() & text.is_not_null()
    unusual = (rounded != exact).fill_null(False) | unread
    places = unusual.arg_true()
    if places.is_empty():
        return found
    return found.scatter(places, [_unusual(value) for value in text.gather(places)])


def _unusual(text: str) -> int | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value) > _LARGEST_US + 1:
        return None
    ns = int(value.quantize(Decimal("0.001"), rounding=ROUND_HALF_UP).scaleb(3))
    return ns if -(2**63) <= ns < 2**63 else None
