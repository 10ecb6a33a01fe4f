"""`fgtrace view`: recordings browsed in the terminal."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fgtrace.cli.output import tell
from fgtrace.cli.progress import Progress
from fgtrace.cli.recordings import end_like_ctrl_c, open_selected
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.units import reading

if TYPE_CHECKING:
    from fgtrace.tui.app import Opener

STDIN = "-"


@click.command(
    epilog="Two recordings open on their difference. Without one, the newest run below this folder "
    "is opened, or a list to choose from. Selectors stand behind a path as for `diff`. On a slow "
    "line, TEXTUAL_FPS=30 draws less often."
)
@click.argument("paths", type=click.Path(readable=False), metavar="[TRACE [TRACE2]]", nargs=-1)
@click.option("--serve", "served", is_flag=True, help="to a browser; needs fgtrace[serve]")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="where --serve listens")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="its port; 0: a free one")
@click.option("--ascii", "ascii_only", is_flag=True, help="no block and braille characters")
@click.option("--raw-times", is_flag=True, help="times that cannot be, as recorded")
@click.option("--no-cache", is_flag=True, help="read it anew, and keep nothing of it")
def view(
    paths: tuple[str, ...],
    served: bool,
    host: str,
    port: int,
    ascii_only: bool,
    raw_times: bool,
    no_cache: bool,
) -> None:
    """Browse a recording, from the finding down to the event; or two, and what changed."""
    # Textual takes long to import, and `--help` and completion need none of it.
    from fgtrace.cli.settings import read_settings
    from fgtrace.tui.app import TraceApp

    if len(paths) > 2:
        raise click.UsageError("at most two recordings are browsed; diff compares more")
    if served:
        options = {"--ascii": ascii_only, "--raw-times": raw_times, "--no-cache": no_cache}
        given = [name for name, is_given in options.items() if is_given]
        _serve([sys.executable, "-m", "fgtrace", "view", *given, "--", *paths], host, port)
        return
    if not (sys.stdout.isatty() or "TEXTUAL_DRIVER" in os.environ):
        raise click.UsageError("view needs a terminal; show and diff print reports")
    settings = read_settings()
    opener: Opener = partial(open_selected, cache=not no_cache, raw_times=raw_times)
    if STDIN in paths:
        opener = _with_piped(opener)
    app = TraceApp(
        paths or _newest_run(),
        opener,
        ascii_only=ascii_only,
        theme=settings.theme,
        keymap=settings.keymap,
    )
    app.run()


def _with_piped(opener: Opener) -> Opener:
    """Read standard input now, since keys are to come from the terminal in its place."""
    end_like_ctrl_c()
    with Progress(after=0.5) as progress:
        piped = opener(STDIN, lambda *state: progress.show(reading(*state)))
    terminal = os.open("/dev/tty", os.O_RDWR)
    os.dup2(terminal, 0)
    os.close(terminal)
    return lambda path, progress: piped if path == STDIN else opener(path, progress)


def _serve(command: list[str], host: str, port: int) -> None:
    try:
        from fgtrace.tui.serve import serve
    except ImportError as error:
        raise FgtraceError(
            f"--serve needs textual-serve, which is not installed ({error.name})",
            hint="pip install 'fgtrace[serve]'",
            kind="usage",
            exit_code=ExitCode.USAGE,
        ) from error
    try:
        serve(command, host=host, port=port, announce=lambda line: tell([line], "note"))
    except OSError as error:
        raise FgtraceError(
            f"{host}:{port} cannot be listened on: {error.strerror}",
            hint="--port 0 takes a free one",
            kind="usage",
            exit_code=ExitCode.USAGE,
        ) from error


def _newest_run() -> tuple[str, ...]:
    runs = [path for folder in (".", "runs") for path in Path(folder).glob("*.fgtrace")]
    newest = max(runs, key=lambda path: path.stat().st_mtime, default=None)
    return () if newest is None else (str(newest),)
