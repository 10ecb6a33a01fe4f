"""Which of a file's values are numbers that a column can hold."""

from __future__ import annotations

from typing import Any


def whole(value: Any) -> int | None:
    """Give a value back where it is a whole number that Int64 holds; a truth value is none."""
    return value if type(value) is int and -(2**63) <= value < 2**63 else None
