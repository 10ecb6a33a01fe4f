"""Names of events: few are different, so each is looked at once."""

from __future__ import annotations

import polars as pl


def matching(names: pl.Series, pattern: str) -> pl.Series:
    """Tell in which names the regular expression is found."""
    distinct = names.unique()
    return names.is_in(distinct.filter(distinct.cast(pl.String).str.contains(pattern)).implode())
