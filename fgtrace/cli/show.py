"""`fgtrace show`: one report of a trace, as a table or as data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from fgtrace.cli.names import FORMAT, Names
from fgtrace.cli.recordings import end_like_ctrl_c, how_to_read, opened, which_rows
from fgtrace.errors import ExitCode
from fgtrace.views.reports import GROUPINGS, REPORTS, TAKES, VARIANTS, report_of

_OPTIONS = {"rules": "--rules", "call_ns": "--call-time", "without": "--without"}


def _own_options(report: str, given: dict[str, Any]) -> dict[str, Any]:
    """Give those of a report's own options that were given; refuse another report's."""
    chosen = {name: value for name, value in given.items() if value}
    for name in chosen:
        if report not in TAKES[name]:
            raise click.UsageError(
                f"{_OPTIONS[name]} goes with {', '.join(TAKES[name])}, not with {report}"
            )
    return chosen


def _kind(report: str, by: str | None, *, explain: bool) -> str:
    """Give the name of a report, grouped as is asked for."""
    if explain:
        if report != "phases" or by is not None:
            raise click.UsageError("--explain goes with the report phases, and with no --by")
        return "phases explained"
    if by is None:
        return report
    if f"{report} by {by}" not in VARIANTS:
        can = ", ".join(one.replace(" by ", " --by ") for one in VARIANTS if " by " in one)
        raise click.UsageError(f"{report} cannot be grouped by {by}; there is {can}")
    return f"{report} by {by}"


def _nanoseconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Read a time as it is written: 98.2us, 1.5ms, 120000ns."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ns|us|\u00b5s|\u03bcs|ms|s)", value.strip())
    if found is None or float(found[1]) == 0:
        raise click.BadParameter(f"{value!r} is no time; write it as 98.2us", ctx, param)
    return float(found[1]) * {"ns": 1.0, "ms": 1e6, "s": 1e9}.get(found[2], 1e3)


@click.command(
    epilog="Reports: summary (counts and times of the whole trace), findings (what it says, the "
    "largest saving first), calls (a row a call), phases (what a call's parts took), breakdown "
    "(where a call goes, in pieces that add up), attribution (what each part costs: recorded, "
    "predicted, measured), whatif (a call without a part), effects (measured by collect "
    "--factorial), host (Python by module and function), kernels (by name), ops (by operator), "
    "launches (by API call), syncs (where the host waits), idle (why the device does), tree (the "
    "host's calls inside each other), matrix (a row a case and route), witnesses (evidence of what "
    "served a call), notes (repairs, guesses and doubts)."
)
@click.argument("report", type=Names("report", tuple(REPORTS)))
@click.argument("path", type=click.Path(readable=False), metavar="TRACE")
@click.option("--format", "form", type=FORMAT, default="table", help="table, json, csv or markdown")
@click.option(
    "--by",
    type=Names("grouping", GROUPINGS),
    help="calls by case, host by group, matrix by pair or size, ops by shape",
)
@click.option("--explain", is_flag=True, help="phases: which rule, why, and where it is from")
@click.option(
    "--without",
    multiple=True,
    metavar="PART",
    help="whatif: a part, op:RE or kernel:RE; more than one are taken out together too",
)
@click.option(
    "--call-time",
    "call_ns",
    callback=_nanoseconds,
    metavar="TIME",
    help="what an unprofiled call takes, as 98.2us, where no stopwatch says",
)
@which_rows
@how_to_read
@click.pass_context
def show(
    ctx: click.Context,
    report: str,
    path: str,
    form: str,
    limit: int | None,
    filtered: re.Pattern[str] | None,
    by: str | None,
    explain: bool,
    ranges: str | None,
    operator: str | None,
    without: tuple[str, ...],
    call_ns: float | None,
    rules: Path | None,
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
    from fgtrace.views import build
    from fgtrace.views.notices import notices

    kind = _kind(report, by, explain=explain)
    own = _own_options(report, {"rules": rules, "call_ns": call_ns, "without": without})
    if report in TAKES["rules"]:
        from fgtrace.analysis.rules import read_rules

        own["rules"] = read_rules(rules)
    if report == "summary" and (filtered or limit):
        raise click.UsageError("the summary has no rows for --filter or --limit to choose from")
    end_like_ctrl_c()
    trace = opened(path, ranges=ranges, operator=operator, cache=not no_cache, raw_times=raw_times)
    beside = notices(trace)
    result = report_of(kind, trace, **own)
    if report == "summary":
        answer = build.summary_answer(result, trace.source, beside)
    else:
        answer = build.report_answer(kind, result, beside, filtered, limit)
    emit_answer(answer, beside, form, raw_names=raw_names)
    if strict and answer.document["outcome"] == "partial":
        ctx.exit(ExitCode.UNREADABLE)
