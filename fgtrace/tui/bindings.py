"""The keys: one table that bindings, footer, help and the README are made of."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True)
class Key:
    """A key and what it does."""

    id: str
    """What a user's keymap calls it, as `timeline.zoom-in`; it never changes."""
    keys: str
    """As Textual names them, with commas between: `w,plus`."""
    action: str
    does: str
    """In the footer, in help and in the palette: `zoom in`."""
    shown: str
    """The key as it is written: `w +`."""
    footer: bool = False

    def binding(self) -> Binding:
        """Make Textual's binding."""
        return Binding(
            self.keys,
            self.action,
            self.does,
            show=self.footer,
            key_display=self.shown,
            id=self.id,
        )
