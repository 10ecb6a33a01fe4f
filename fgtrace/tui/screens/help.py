"""Help: what the keys of a screen do, and what the words on it mean."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from fgtrace.tui.bindings import APP_KEYS, Key

WORDS = {
    "readback": "a copy to the host that the host waits for",
    "phase": "a part of a call with a meaning, from an explicit range or from a rule",
    "waiting": "the host in a call that returns when the device has done something",
    "share": "of device time in kernels, of a call elsewhere",
    "stopwatch": "timed without a profiler; host times of a profile are longer",
    "unlinked": "device work whose launch is not in the file",
}
"""Words that the screens use, and what they mean."""


class Help(ModalScreen[None]):
    """The keys of a screen, those that work everywhere, and words."""

    BINDINGS = [("escape,question_mark,q", "dismiss", "close")]  # noqa: RUF012

    def __init__(self, title: str, keys: Sequence[Key]) -> None:
        super().__init__()
        self._title = title
        self._keys = keys

    def compose(self) -> ComposeResult:
        """Write it all down."""
        text = Text(self._title, style="bold")
        for heading, keys in (("Here", self._keys), ("Everywhere", APP_KEYS)):
            text.append(f"\n\n{heading}\n", style="bold")
            for key in keys:
                text.append(f"\n  {key.shown:12}{key.does}")
        text.append("\n\nWords\n", style="bold")
        for word, meaning in WORDS.items():
            text.append(f"\n  {word:12}{meaning}")
        with VerticalScroll(classes="box"):
            yield Static(text)
