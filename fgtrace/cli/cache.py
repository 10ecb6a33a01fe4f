"""`fgtrace cache`: what is kept of the traces that were read."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import click

from fgtrace import cache as kept
from fgtrace.cli.answers import emit_listing
from fgtrace.cli.names import FORMAT
from fgtrace.cli.output import tell
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.units import MISSING, age, count, printable, size
from fgtrace.views.model import Column, Table

CSV_HEADER = ("path", "events", "bytes", "used")


@click.command()
@click.option("--clear", is_flag=True, help="remove them first")
@click.option("--format", "form", type=FORMAT, default="table", help="table, json, csv or markdown")
def cache(clear: bool, form: str) -> None:
    """List the traces that were read before and open at once.

    What comes of large files is kept in the user's cache folder. A file that has changed is read
    anew; where there is too much, what was used least recently is removed.
    """
    if clear:
        _clear()
    found = kept.entries()
    emit_listing(form, _document(found), (_table(found),), CSV_HEADER, _csv_rows(found))


def _clear() -> None:
    before = kept.entries()
    kept.clear()
    left = {entry.folder for entry in kept.entries()}
    removed = [entry for entry in before if entry.folder not in left]
    tell([f"removed {len(removed)}, {size(_total(removed))}"], "note")
    if len(removed) < len(before):
        raise FgtraceError(
            f"{len(before) - len(removed)} in {kept.cache_home()} cannot be removed",
            hint="check the permissions of the folder",
            kind="unwritable",
            exit_code=ExitCode.USAGE,
        )


def _total(found: list[kept.Entry]) -> int:
    return sum(entry.size for entry in found)


def _used(entry: kept.Entry) -> str:
    return datetime.fromtimestamp(int(entry.used), UTC).isoformat()


def _document(found: list[kept.Entry]) -> dict[str, Any]:
    return {
        "outcome": "ok",
        "warnings": [],
        "notes": [],
        "folder": str(kept.cache_home()),
        "bytes": _total(found),
        "limit_bytes": kept.LIMIT,
        "entries": [
            {
                "path": entry.path,
                "events": entry.events,
                "bytes": entry.size,
                "used": _used(entry),
            }
            for entry in found
        ],
    }


def _csv_rows(found: list[kept.Entry]) -> list[tuple[str, ...]]:
    return [
        (
            entry.path or "",
            "" if entry.events is None else str(entry.events),
            str(entry.size),
            _used(entry),
        )
        for entry in found
    ]


def _table(found: list[kept.Entry]) -> Table:
    now = time.time()
    total = f"{size(_total(found))} of at most {size(kept.LIMIT)} in {kept.cache_home()}."
    return Table(
        title="Traces that open at once",
        columns=(Column("path", "left"), Column("events", drop=1), Column("size"), Column("used")),
        rows=tuple(
            (
                printable(entry.path or MISSING),
                count(entry.events),
                size(entry.size),
                f"{age(now - entry.used)} ago",
            )
            for entry in found
        ),
        footnotes=(printable(total), *["--clear removes them."] * bool(found)),
    )
