"""`fgtrace show`: one report of a trace, as a table or as data."""

from __future__ import annotations

import re
import signal
from importlib import import_module
from typing import Any

import click

from fgtrace.cli.names import FORMAT, Names
from fgtrace.cli.progress import Progress
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.units import printable

REPORTS = {
    "summary": "fgtrace.analysis.summary:summarise",
    "calls": "fgtrace.analysis.calls:calls_report",
    "phases": "fgtrace.analysis.phases:phases_report",
    "kernels": "fgtrace.analysis.kernels:kernels_report",
    "ops": "fgtrace.analysis.ops:ops_report",
    "launches": "fgtrace.analysis.launches:launches_report",
    "syncs": "fgtrace.analysis.syncs:syncs_report",
    "tree": "fgtrace.analysis.tree:tree_report",
    "matrix": "fgtrace.analysis.matrix:matrix_report",
    "notes": "fgtrace.views.notices:notes_report",
}
"""The reports, and the function from a trace that makes each."""

TAKES: dict[str, tuple[str, ...]] = {
    "by": ("ops",),
}
"""The reports that take an option of their own: a keyword argument of their function."""


def _pattern(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> re.Pattern[str] | None:
    try:
        return None if value is None else re.compile(value)
    except re.error as error:
        raise FgtraceError(
            f"--filter {value!r} is no regular expression: {error}",
            hint=r"a backslash takes the meaning from a character: \(, \[, \*, \.",
            kind="usage",
            exit_code=ExitCode.USAGE,
        ) from error


def _own_options(report: str, given: dict[str, Any]) -> dict[str, Any]:
    """Give those of a report's own options that were given; refuse another report's."""
    chosen = {name: value for name, value in given.items() if value}
    for name in chosen:
        if report not in TAKES[name]:
            raise click.UsageError(
                f"--{name.replace('_', '-')} goes with the report {' or '.join(TAKES[name])}"
            )
    return chosen


def reading(name: str, consumed: int, size: int) -> str:
    """Say how far a file is read, in percent; in bytes where its size is not known."""
    read = f"{100 * consumed / size:.0f} %" if size else f"{consumed / 1e6:.0f} MB"
    return f"reading {printable(name)}: {read}"


def _end_like_ctrl_c() -> None:
    """Have temporary files removed when the process is asked to end."""
    for request in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(request) == signal.SIG_DFL:  # not so under nohup
            signal.signal(request, signal.default_int_handler)


@click.command(
    epilog="Reports: summary (counts and times of the whole trace), calls (a row a call), phases "
    "(what a call's parts took), kernels (by name), ops (by operator), launches (by API call), "
    "syncs (where the host waits), tree (the host's calls inside each other), matrix (a row a case "
    "and route), notes (repairs, guesses and doubts)."
)
@click.argument("report", type=Names("report", tuple(REPORTS)))
@click.argument("path", type=click.Path(readable=False), metavar="TRACE")
@click.option("--format", "form", type=FORMAT, default="table", help="table, json, csv or markdown")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="at most N rows")
@click.option(
    "--filter",
    "pattern",
    callback=_pattern,
    metavar="RE",
    help="only rows in whose names the regular expression is found",
)
@click.option(
    "--by", type=Names("grouping", ("shape",)), help="ops: by the inputs' shapes and types too"
)
@click.option("--raw-times", is_flag=True, help="times that cannot be, as they were recorded")
@click.option("--no-cache", is_flag=True, help="read TRACE anew, and keep nothing of it")
@click.option("--raw-names", is_flag=True, help="names in CSV as they were recorded, not escaped")
@click.option("--strict", is_flag=True, help="exit with 3 when the trace was read in part only")
@click.pass_context
def show(
    ctx: click.Context,
    report: str,
    path: str,
    form: str,
    limit: int | None,
    pattern: re.Pattern[str] | None,
    by: str | None,
    raw_times: bool,
    no_cache: bool,
    raw_names: bool,
    strict: bool,
) -> None:
    """Print REPORT of TRACE: a run, its zip, a Kineto file, a folder of them, or - for stdin.

    A Kineto file is what torch.profiler exports, plain or compressed by gzip or zstd. It is told by
    its content, whatever its name. In a folder, each file is a part: a rank, or a cycle.
    """
    # Polars takes 0.2 s to import, and `--help` and completion need none of it.
    from fgtrace.cli.answers import emit_answer
    from fgtrace.opening import open_trace
    from fgtrace.views import build
    from fgtrace.views.notices import notices

    # Polars' handler would have a blocked read started again, and Ctrl-C wait for its end.
    signal.siginterrupt(signal.SIGINT, True)
    _end_like_ctrl_c()
    own = _own_options(report, {"by": by})
    if report == "summary" and (pattern or limit):
        raise click.UsageError("the summary has no rows for --filter or --limit to choose from")
    with Progress(after=0.5) as progress:
        trace = open_trace(
            path,
            lambda *state: progress.show(reading(*state)),
            cache=not no_cache,
            raw_times=raw_times,
        )
    beside = notices(trace)
    module, function = REPORTS[report].split(":")
    result = getattr(import_module(module), function)(trace, **own)
    if report == "summary":
        answer = build.summary_answer(result, trace.source, beside)
    else:
        answer = build.report_answer(report, result, beside, pattern, limit)
    emit_answer(answer, beside, form, raw_names=raw_names)
    if strict and answer.document["outcome"] == "partial":
        ctx.exit(ExitCode.UNREADABLE)
