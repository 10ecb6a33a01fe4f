"""Asking for the path of a recording, with the recordings below this folder to choose from."""

from __future__ import annotations

from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from fgtrace.units import printable

OFFERED = 12
"""Recordings that are offered, the newest first."""

_ENDINGS = (".fgtrace", ".fgtrace.zip", ".json", ".json.gz", ".json.zst")


class AskPath(ModalScreen[str | None]):
    """Gives a path, or None."""

    BINDINGS = [("escape", "dismiss", "close")]  # noqa: RUF012

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        """Place the box above what is there."""
        paths = recordings(Path())
        with Vertical(classes="box"):
            yield Label(self._title)
            yield Input(placeholder="a run, its zip, a Kineto file or a folder of them")
            options = [
                Option(Content(printable(path)), id=str(at)) for at, path in enumerate(paths)
            ]
            yield OptionList(*options)
        self._paths = paths

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        self.dismiss(message.value or None)

    @on(OptionList.OptionSelected)
    def _taken(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(self._paths[message.option_index])


def recordings(folder: Path) -> list[str]:
    """Find recordings in a folder and in `runs` below it, the newest first."""
    found = [
        path
        for place in (folder, folder / "runs")
        if place.is_dir()
        for path in place.iterdir()
        if path.name.endswith(_ENDINGS)
    ]
    found.sort(key=lambda path: -path.stat().st_mtime)
    return [str(path) for path in found[:OFFERED]]
