"""`fgtrace collect`: record, make the run, put it in place, say what came out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fgtrace.cli.names import CASE, FORMAT, ROUTE
from fgtrace.cli.output import tell
from fgtrace.cli.progress import Progress
from fgtrace.cli.recording_errors import told_as_fgtrace_errors
from fgtrace.errors import ExitCode, FgtraceError

if TYPE_CHECKING:
    from fgtrace.frames.trace import Trace

RUNS = Path("runs")
SUFFIX = ".fgtrace"
TOLD = ("route-not-run", "reduced-parameters", "not-captured")
"""The kinds of notes that say why the table is not what was expected."""


@click.command()
@click.option("--case", "cases", type=CASE, multiple=True, metavar="NAME|all", help="what to run")
@click.option("--route", "routes", type=ROUTE, multiple=True, help="every one that can, without")
@click.option(
    "--env", "environments", multiple=True, metavar="ROUTE=PYTHON", help="a route's interpreter"
)
@click.option("--device", default="auto", help="auto, cpu, cuda[:N], xpu[:N] or flagos[:N]")
@click.option("--profiler", default="auto", help="auto, kineto or none")
@click.option("--formal", is_flag=True, help="six generations of processes at least")
@click.option("--protocol", metavar="NAME", help="quick, formal or founding")
@click.option("--budget", "budget_s", type=float, help="seconds for more generations (--formal)")
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=N[,N...]",
    help="a case's parameter; of several values each is recorded",
)
@click.option("--set", "variables", multiple=True, metavar="K=V", help="set in every process")
@click.option("--profile-calls", type=int, metavar="N", help="calls a profile records (100)")
@click.option("--l2", type=click.Choice(("warm", "cold")), default="warm", help="state of the L2")
@click.option("--graph", is_flag=True, help="time replays of a captured graph too")
@click.option("--no-stacks", is_flag=True, help="do not record Python's stacks")
@click.option(
    "--factorial", metavar="PARTS", help="time with and without parts: readback,index_check"
)
@click.option("--seed", type=int, default=1234, help="of the order of turns")
@click.option(
    "--from",
    "recording",
    type=click.Path(path_type=Path),
    metavar="RECORDING",
    help="make the run of what the one-file recorder wrote",
)
@click.option(
    "--fail-on",
    "gates",
    multiple=True,
    metavar="EXPR",
    help="keep a gate in the run: what fails a later one in `fgtrace diff`",
)
@click.option("--force", is_flag=True, help="replace a run that exists")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RUN", help="the run")
@click.option("--format", "form", type=FORMAT, default="table", help="table, json, csv or markdown")
@click.pass_context
def collect(
    ctx: click.Context,
    /,
    recording: Path | None,
    gates: tuple[str, ...],
    output: Path | None,
    force: bool,
    form: str,
    **options: Any,
) -> None:
    """Check, time and profile cases by several routes, and write a run.

    Without --route every route that can run here takes part. The stopwatch and the profiler never
    share a process. The default takes seconds and says `quick`; publish from --formal.
    """
    # Polars takes 0.2 s to import, and `--help` and completion need none of it.
    from fgtrace.analysis.gate_language import parse
    from fgtrace.analysis.matrix import matrix_report
    from fgtrace.cli.answers import emit_answer
    from fgtrace.views import build
    from fgtrace.views.notices import notices
    from fgtrace_collectors.assemble import unpacked
    from fgtrace_collectors.recorder.interrupts import ending_like_interrupts
    from fgtrace_collectors.recorder.place import placed
    from fgtrace_collectors.recorder.protocol import WRONG_RESULT

    gates = tuple(str(parse(gate)) for gate in gates)
    with told_as_fgtrace_errors(), ending_like_interrupts(), Progress() as progress:
        if recording is not None:
            _refuse_beside_recording(ctx)
            name = recording.name.removesuffix(".zip").removesuffix(SUFFIX)
        else:
            name = _name(options["cases"])
        target = _a_folder(output or RUNS / f"{name}{SUFFIX}")
        with placed(target, folder=True, force=force, numbered=output is None) as place:
            if recording is None:
                made = _record(place.work, options, progress.show)
            else:
                made = unpacked(recording, place.work)
            place.new.mkdir()
            trace = _make_run(made, place.new, target, gates)
    target = _as_typed(place.target)
    beside = notices(trace)
    emit_answer(build.report_answer("matrix", matrix_report(trace), beside), beside, form)
    tell([note.message for note in beside.told.notes if note.kind in TOLD], "note")
    tell([f"wrote {target}", f"next: fgtrace show phases {target}"], "note")
    wrong = [warning.message for warning in beside.told.warnings if warning.kind == WRONG_RESULT]
    if wrong:
        raise FgtraceError(
            f"wrong results: {'; '.join(wrong)}",
            hint=f"the run was kept and is marked: fgtrace show notes {target}",
            kind=WRONG_RESULT,
            exit_code=ExitCode.FAILED,
        )


def _record(work: Path, options: dict[str, Any], progress: Callable[[str], None]) -> Path:
    """Record into a folder in `work`, through the same file that travels to other machines."""
    from fgtrace_collectors.bundle import bundle
    from fgtrace_collectors.recorder.plan import make_plan
    from fgtrace_collectors.recorder.protocol import record
    from fgtrace_collectors.registry import installed_registry

    registry = installed_registry()
    cold = options.pop("l2") == "cold"
    plan = make_plan(
        registry,
        **options,
        cold=cold,
        command=("fgtrace", *sys.argv[1:]),
    )
    recorder = work / "recorder.pyz"
    recorder.write_bytes(bundle(registry))
    folder = work / "recording"
    folder.mkdir()
    record(
        plan, registry, recorder=recorder, python=sys.executable, folder=folder, progress=progress
    )
    return folder


def _make_run(recording: Path, folder: Path, target: Path, gates: tuple[str, ...]) -> Trace:
    from msgspec import structs

    from fgtrace.frames.store import save_run
    from fgtrace.joining import analysed
    from fgtrace_collectors.assemble import assemble

    found = assemble(recording, folder)
    provenance = structs.replace(found.provenance, gates=gates)
    trace = analysed(
        found.profiles,
        provenance=provenance,
        samples=found.samples,
        witnesses=found.witnesses,
        calibration=found.calibration,
        notes=found.notes,
        source=target.name,
    )
    if found.stacks:
        stacked = analysed(found.stacks, provenance=provenance, source=target.name)
        trace = trace.having(stacks=stacked)
    save_run(trace, folder, name=target.name.removesuffix(SUFFIX))
    return trace


def _name(cases: tuple[str, ...]) -> str:
    if not cases:
        raise FgtraceError(
            "no case was given",
            hint="--case NAME, or --case all; `fgtrace cases` lists them",
            kind="usage",
            exit_code=ExitCode.USAGE,
        )
    return cases[0] if len(cases) == 1 else "several"


def _refuse_beside_recording(ctx: click.Context) -> None:
    allowed = {"recording", "gates", "output", "force", "form"}
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if source == click.core.ParameterSource.COMMANDLINE and param.name not in allowed:
            raise FgtraceError(
                f"{param.opts[0]} beside --from: what was recorded is recorded",
                hint="give it to the recorder",
                kind="usage",
                exit_code=ExitCode.USAGE,
            )


def _a_folder(target: Path) -> Path:
    if target.suffix == ".zip":
        raise FgtraceError(
            f"-o {target}: a run is a folder",
            hint=f"name it {target.with_suffix(SUFFIX)}",
            kind="usage",
            exit_code=ExitCode.USAGE,
        )
    return target


def _as_typed(target: Path) -> Path:
    """Give a path relative to the current folder where it lies below."""
    here = Path.cwd()
    return target.relative_to(here) if target.is_relative_to(here) else target
