"""The one-file recorder's command line: the same protocol where nothing can be installed."""

from __future__ import annotations

import argparse
import sys
import time
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Callable, List, Tuple

from fgtrace_collectors.recorder import child
from fgtrace_collectors.recorder.errors import FAILED, INTERRUPTED, RecorderError, usage
from fgtrace_collectors.recorder.interrupts import ending_like_interrupts
from fgtrace_collectors.recorder.place import placed
from fgtrace_collectors.recorder.plan import Plan, make_plan, read_plan
from fgtrace_collectors.recorder.protocol import WRONG_RESULT, record
from fgtrace_collectors.recorder.registry import Registry, bundled_registry


def main(recorder: Path) -> int:
    """Run the recorder that lies at `recorder`; give the exit code."""
    registry = bundled_registry()
    if sys.argv[1:] == ["child"]:
        child.main(registry)
        return 0
    arguments = _parser(registry).parse_args()
    try:
        with ending_like_interrupts():
            output = Path(arguments.output)
            plan = _plan(registry, arguments)
            output, wrong = _record(plan, registry, recorder, output, force=arguments.force)
    except RecorderError as error:
        print(f"fgtrace-recorder: error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    print(f"wrote {output}; next, where fgtrace is: fgtrace collect --from {output.name}")
    if wrong:
        print(
            f"fgtrace-recorder: error: wrong results: {'; '.join(wrong)}\n"
            "hint: the recording was kept, and its run will be marked",
            file=sys.stderr,
        )
        return FAILED
    return 0


def _record(
    plan: Plan, registry: Registry, recorder: Path, output: Path, *, force: bool
) -> Tuple[Path, List[str]]:
    """Record into a zip; give where it lies, and the wrong results."""
    with placed(output, folder=False, force=force) as place:
        recording = record(
            plan,
            registry,
            recorder=recorder,
            python=sys.executable,
            folder=place.work,
            progress=_tell_with_time(),
        )
        with zipfile.ZipFile(place.new, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(place.work.rglob("*")):
                archive.write(path, path.relative_to(place.work))
    wrong = [note["message"] for note in recording.notes if note["kind"] == WRONG_RESULT]
    return place.target, wrong


def _tell_with_time() -> Callable[[str], None]:
    """Tell on stderr what is being done, with the seconds since the start."""
    began = time.monotonic()

    def tell(text: str) -> None:
        with suppress(OSError):  # a closed stderr is no reason to lose a recording
            print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

    return tell


def _plan(registry: Registry, arguments: argparse.Namespace) -> Plan:
    if arguments.plan:
        beside = {"plan": arguments.plan, "output": arguments.output, "force": arguments.force}
        untouched = _parser(registry).parse_args([])
        if vars(arguments) != {**vars(untouched), **beside}:
            raise usage("--plan decides everything", "leave the other options out")
        return read_plan(Path(arguments.plan), registry)
    if not arguments.case:
        raise usage("no case was given", f"--case all, or of: {', '.join(registry.cases)}")
    plan = make_plan(
        registry,
        cases=arguments.case,
        routes=arguments.route,
        environments=arguments.env,
        params=arguments.param,
        variables=arguments.set,
        device=arguments.device,
        profiler=arguments.profiler,
        formal=arguments.formal,
        protocol=arguments.protocol,
        budget_s=arguments.budget,
        profile_calls=arguments.profile_calls,
        cold=arguments.l2 == "cold",
        graph=arguments.graph,
        no_stacks=arguments.no_stacks,
        factorial=arguments.factorial,
        seed=arguments.seed,
    )
    return replace(plan, command=("fgtrace-recorder", *sys.argv[1:]))


def _parser(registry: Registry) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fgtrace-recorder",
        description="Record cases on a machine where fgtrace cannot be installed. "
        "The options are those of `fgtrace collect`.",
    )
    several: List[str] = []
    add = parser.add_argument
    add("-o", "--output", default="recording.zip", help="the file to write")
    add("--force", action="store_true", help="replace a file that exists")
    add("--plan", help="carry out this plan file instead of the options below")
    add(
        "--case",
        action="append",
        default=several,
        help=f"all, or: {', '.join(registry.cases)}",
    )
    add(
        "--route",
        action="append",
        default=several,
        help=f"of: {', '.join(registry.routes)}",
    )
    add("--env", action="append", default=several, metavar="ROUTE=PYTHON")
    add("--device", default="auto", help="auto, cpu, cuda[:N], xpu[:N], flagos[:N]")
    add("--profiler", default="auto", help="auto, kineto, none")
    add("--formal", action="store_true", help="six generations at least")
    add("--protocol", help="quick, formal, founding")
    add("--budget", type=float, help="seconds for further generations of a formal run")
    add("--param", action="append", default=several, metavar="NAME=N[,N...]")
    add("--set", action="append", default=several, metavar="K=V")
    add("--profile-calls", type=int, metavar="N")
    add("--l2", choices=("warm", "cold"), default="warm")
    add("--graph", action="store_true", help="time replays of a captured graph too")
    add("--no-stacks", action="store_true", help="do not record Python's stacks")
    add("--factorial", metavar="PARTS", help="time every combination of a case's switchable parts")
    add("--seed", type=int, default=1234)
    return parser
