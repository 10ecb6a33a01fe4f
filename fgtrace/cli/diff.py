"""`fgtrace diff`: what changed between recordings, whether it is real, and gates for it."""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter

import click

from fgtrace.cli.names import FORMATS, Names
from fgtrace.cli.recordings import (
    end_like_ctrl_c,
    how_to_read,
    opened,
    selected,
    which_rows,
)
from fgtrace.errors import ExitCode


@click.command(
    epilog="A side is what `show` opens, with a selector behind it where not all of its calls are "
    "meant: A@route:aten, A@case:NAME, A@call:412, A@step:3; A@median is all of them. A folder of "
    "recordings of the same thing is one side of several processes."
)
@click.argument("base", type=click.Path(readable=False), metavar="A")
@click.argument("others", type=click.Path(readable=False), metavar="B...", nargs=-1, required=True)
@click.option(
    "--by",
    type=Names("grouping", ("phase", "kernel", "op", "tree")),
    help="phase, kernel, op or tree (the calls' trees, in order)",
)
@click.option(
    "--names",
    type=Names("spelling", ("normal", "raw")),
    default="normal",
    help="normal: without template arguments, hashes and numbers; raw: as recorded",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 100),
    default=2.0,
    metavar="P",
    help="percent; what differs by less is unchanged (2)",
)
@click.option(
    "--fail-on",
    "gates",
    multiple=True,
    metavar="EXPR",
    help="a gate: exit with 1 where it is true, as 'readback_count > 0' (docs/ci.md)",
)
@click.option("--allow-partial", is_flag=True, help="gates may pass on a trace that is cut off")
@click.option("--whole", is_flag=True, help="compare whole traces, whatever calls they mark")
@click.option("--all", "everything", is_flag=True, help="rows that did not change, too")
@click.option("--force", is_flag=True, help="percentages across profilers, too")
@click.option(
    "--format",
    "form",
    type=Names("format", (*FORMATS, "junit")),
    default="table",
    help="table, json, csv, markdown, or junit (the gates)",
)
@which_rows
@how_to_read
@click.pass_context
def diff(
    ctx: click.Context,
    base: str,
    others: tuple[str, ...],
    by: str | None,
    names: str,
    margin: float,
    gates: tuple[str, ...],
    allow_partial: bool,
    ranges: str | None,
    operator: str | None,
    whole: bool,
    everything: bool,
    force: bool,
    limit: int | None,
    filtered: re.Pattern[str] | None,
    rules: Path | None,
    form: str,
    raw_times: bool,
    no_cache: bool,
    raw_names: bool,
    strict: bool,
) -> None:
    """Compare B with A, the base: what changed, whether it is real, what may be concluded.

    With more than one B, each is compared with A and the trend is shown.
    """
    # Polars takes 0.2 s to import, and `--help` and completion need none of it.
    from fgtrace.analysis.diff import Asked, diff, gated
    from fgtrace.analysis.gate_language import parse
    from fgtrace.analysis.gates import judge
    from fgtrace.analysis.measured import Measure
    from fgtrace.analysis.outcome import outcome_of, together
    from fgtrace.analysis.rules import read_rules
    from fgtrace.cli.answers import emit_answer
    from fgtrace.cli.output import emit
    from fgtrace.text.junit import junit_text
    from fgtrace.views.diffs import LETTERS, Chosen, diff_answer
    from fgtrace.views.notices import Notices

    if whole and (ranges is not None or operator is not None):
        raise click.UsageError("--whole beside --range or --call: a whole trace is one call")
    if len(others) >= len(LETTERS):
        raise click.UsageError(f"at most {len(LETTERS)} recordings are compared")
    paths = [selected(one) for one in (base, *others)]
    if [path for path, _ in paths].count("-") > 1:
        raise click.UsageError("-: standard input can be one of the recordings, not several")
    wanted = [parse(gate) for gate in gates]
    begun = perf_counter()
    end_like_ctrl_c()
    traces = [
        opened(one, ranges=ranges, operator=operator, cache=not no_cache, raw_times=raw_times)
        for one in (base, *others)
    ]
    wanted += [parse(gate) for gate in traces[0].provenance.gates if gate not in gates]
    asked = Asked(
        by=by,
        measure=Measure(
            whole=whole,
            raw_names=names == "raw",
            rules=read_rules(rules),
        ),
        margin=margin / 100,
        any_case=all("case" in dict(selectors) for _, selectors in paths),
    )
    found = [diff(traces[0], one, asked) for one in traces[1:]]
    told = together(dict(zip(LETTERS, map(outcome_of, traces), strict=False)))
    judged = [
        one
        for each in found
        for one in judge(
            wanted,
            gated(each.comparison),
            partial=told.outcome == "partial",
            allow_partial=allow_partial,
        )
    ]
    if form == "junit":
        name = " ".join(("fgtrace diff", base, *others))
        emit(junit_text(judged, name, perf_counter() - begun))
    else:
        chosen = Chosen(filtered, limit, all=everything, force=force)
        answer = diff_answer(found, (base, *others), told, judged, chosen)
        emit_answer(answer, Notices((), told), form, raw_names=raw_names)
    if any(one.outcome != "passed" for one in judged):
        ctx.exit(ExitCode.FAILED)
    if strict and told.outcome == "partial":
        ctx.exit(ExitCode.UNREADABLE)
