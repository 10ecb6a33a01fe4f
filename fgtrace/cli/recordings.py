"""Recordings as the command line names them: opened, their calls chosen, their names looked for."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fgtrace.cli.progress import Progress
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.units import reading

if TYPE_CHECKING:
    # It imports Polars, which `--help` needs none of.
    from fgtrace.frames.trace import Trace

Command = Callable[..., Any]

_SELECTOR = re.compile(r"@(?:(median)|([a-z]+):([^@]+))$")
"""The last of the selectors behind a path: `@call:412`, `@route:aten`, `@median`."""


def how_to_read(command: Command) -> Command:
    """Give a command the options that say how recordings are read, and which calls they have."""
    options = (
        click.option("--range", "ranges", metavar="RE", help="calls are the ranges of such a name"),
        click.option("--call", "operator", metavar="OPERATOR", help="calls are of this operator"),
        click.option(
            "--rules",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="your own rules for phases, before the built-in ones",
        ),
        click.option("--raw-times", is_flag=True, help="times that cannot be, as recorded"),
        click.option("--no-cache", is_flag=True, help="read it anew, and keep nothing of it"),
        click.option("--strict", is_flag=True, help="exit with 3 when it was read in part only"),
    )
    return _given(options, command)


def which_rows(command: Command) -> Command:
    """Give a command the options that choose from the rows that it writes."""
    options = (
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="at most N rows"),
        click.option(
            "--filter",
            "filtered",
            callback=_pattern,
            metavar="RE",
            help="only rows in whose names the regular expression is found",
        ),
        click.option("--raw-names", is_flag=True, help="names in CSV as recorded, not escaped"),
    )
    return _given(options, command)


def _given(options: tuple[Command, ...], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def selected(name: str) -> tuple[str, list[tuple[str, str | None]]]:
    """Divide what names a recording into its path and its selectors, each with its value.

    A path that exists is taken as it is, whatever is in it.
    """
    path = name
    selectors: list[tuple[str, str | None]] = []
    while not Path(path).exists() and (found := _SELECTOR.search(path)):
        path = path[: found.start()]
        selectors.insert(0, (found[1] or found[2], found[3]))
    return path, selectors


def opened(
    name: str, *, ranges: str | None, operator: str | None, cache: bool, raw_times: bool
) -> Trace:
    """Open a recording, showing how far it is read, and keep the calls that `name` selects.

    They are those that the recording marks, or the ranges or calls of an operator of such a name.
    """
    if ranges is not None and operator is not None:
        raise click.UsageError("--range and --call: calls are one or the other")
    with Progress(after=0.5) as progress:
        return open_selected(
            name,
            lambda *state: progress.show(reading(*state)),
            ranges=ranges,
            operator=operator,
            cache=cache,
            raw_times=raw_times,
        )


def open_selected(
    name: str,
    progress: Callable[[str, int, int], None],
    *,
    ranges: str | None = None,
    operator: str | None = None,
    cache: bool,
    raw_times: bool,
) -> Trace:
    """Open a recording, and keep the calls that `name` selects; `progress` is told what is read."""
    from fgtrace.analysis.calls import select_calls
    from fgtrace.analysis.sides import narrowed
    from fgtrace.opening import open_trace

    path, selectors = selected(name)
    trace = open_trace(path, progress, cache=cache, raw_times=raw_times)
    if ranges is not None or operator is not None:
        trace = select_calls(trace, ranges=ranges, operator=operator)
    return narrowed(trace, selectors)


def end_like_ctrl_c() -> None:
    """Have temporary files removed when the process is asked to end, also while it reads."""
    # Polars' handler would have a blocked read started again, and Ctrl-C wait for its end.
    signal.siginterrupt(signal.SIGINT, True)
    for request in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(request) == signal.SIG_DFL:  # not so under nohup
            signal.signal(request, signal.default_int_handler)


def _pattern(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> re.Pattern[str] | None:
    """Compile the regular expression of an option."""
    try:
        return None if value is None else re.compile(value)
    except re.error as error:
        raise FgtraceError(
            f"--filter {value!r} is no regular expression: {error}",
            hint=r"a backslash takes the meaning from a character: \(, \[, \*, \.",
            kind="usage",
            exit_code=ExitCode.USAGE,
        ) from error
