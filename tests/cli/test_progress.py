import io
import sys
import time

from fgtrace.cli.progress import Progress
from fgtrace.units import reading


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_a_terminal(monkeypatch):
    # In a fixture it would be undone: pytest puts its own stream there before each test.
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_what_is_shown_is_gone_at_the_end(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with Progress() as progress:
        progress.show("reading x")
    assert "reading x" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_ends_soon_shows_nothing(monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with Progress(after=0.5) as progress:
        progress.show("early")
        later = time.monotonic() + 0.6
        monkeypatch.setattr(time, "monotonic", lambda: later)
        progress.show("late")
    assert "early" not in terminal.getvalue()
    assert "late" in terminal.getvalue()


def test_without_a_terminal_nothing_is_written(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress() as progress:
        progress.show("reading x")
    assert stream.getvalue() == ""


def test_reading_is_told_in_percent_or_where_the_end_is_not_known_in_bytes():
    assert reading("a.json", 37_000, 100_000) == "reading a.json: 37 %"
    assert reading("standard input", 12_000_000, 0) == "reading standard input: 12 MB"
    assert reading("\x1b[2J", 1, 1) == r"reading \x1b[2J: 100 %"
