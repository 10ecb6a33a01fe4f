"""Rows as CSV and documents as JSON, for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fgtrace.units import printable

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""A spreadsheet computes a cell that begins so."""


def csv_text(
    header: Sequence[str], rows: Iterable[Sequence[Any]], *, raw_names: bool = False
) -> str:
    """Write rows as CSV; an unknown value is an empty cell.

    Text is escaped, and gets an apostrophe where a spreadsheet would run it, unless `raw_names`.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_cell(value, raw_names) for value in row])
    return buffer.getvalue()


def json_text(document: Mapping[str, Any]) -> str:
    r"""Write a document as indented JSON.

    It is ASCII, with everything else as `\u....`: nothing in it can act on a terminal, and what
    reads it gets every name as it was.
    """
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _cell(value: Any, raw_names: bool) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str) or raw_names:
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
