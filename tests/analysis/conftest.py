from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest


def _walk(moves: Sequence[tuple[str, str] | None]) -> list[tuple[str, str, str, int, int, None]]:
    rows: list[tuple[str, str, str, int, int, None]] = []
    begun: list[tuple[str, str, int]] = []
    for now, move in enumerate([*moves, *[None] * len(moves)]):
        if move is not None:
            begun.append((*move, now))
        elif begun:
            kind, name, start = begun.pop()
            rows.append((kind, name, "1", start, now - start, None))
    return rows


@pytest.fixture(scope="session")
def walk() -> Callable[..., list[tuple[str, str, str, int, int, None]]]:
    """Make rows of calls inside each other: (kind, name) begins one, None ends the innermost."""
    return _walk
