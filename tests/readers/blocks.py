"""An input of which the test says how its bytes come."""

from __future__ import annotations

from collections.abc import Iterator


class Blocks:
    """Text in blocks of a size, as `fgtrace.readers.inputs.Input` gives them."""

    def __init__(self, text: bytes, size: int = 1 << 20, damage: str | None = None) -> None:
        self.text = text
        self.size = size
        self.damage = damage
        self.name = "text"

    def blocks(self) -> Iterator[bytes]:
        """Give the blocks."""
        for place in range(0, len(self.text), self.size):
            yield self.text[place : place + self.size]
