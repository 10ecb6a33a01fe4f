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


SCREENS = {
    "overview": "Overview",
    "kernels": "Kernels",
    "timeline": "Timeline",
    "tree": "Tree",
    "host": "Host",
    "attribution": "Attribution",
    "matrix": "Matrix",
    "diff": "Diff",
    "events": "Events",
    "report": "Reports",
}
"""The screens, in the order of their numbers; the last has none."""

APP_KEYS = (
    *(
        Key(f"app.screen-{name}", str(number), f"go('{name}')", f"screen {title}", str(number))
        for number, (name, title) in enumerate(SCREENS.items(), 1)
        if number < 10
    ),
    Key("app.filter", "slash", "filter", "filter", "/", footer=True),
    Key("app.back", "escape", "clear", "all rows again; while it reads: stop", "esc"),
    Key("app.timeline", "t", "timeline", "timeline", "t", footer=True),
    Key("app.copy", "y", "copy_row", "copy the row", "y"),
    Key("app.open", "o", "open", "open another recording", "o"),
    Key("app.compare", "c", "compare", "compare", "c", footer=True),
    Key("app.help", "question_mark", "help", "help", "?", footer=True),
    Key("app.palette", "ctrl+p", "command_palette", "commands", "^p", footer=True),
    Key("app.suspend", "ctrl+z", "suspend_process", "suspend", "^z"),
    Key("app.quit", "q", "quit", "quit", "q", footer=True),
)
"""The keys that work on every screen."""
