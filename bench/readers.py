"""How fast traces are read, beside other ways to read them: `python -m bench.readers --help`."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.contenders import Absent, Contender, contenders, versions
from bench.gates import READER, Result, Verdict, verdicts
from bench.measure import Cost, run
from bench.replicate import replicate
from bench.replicate import size as size_of

_PROJECT = Path(__file__).parents[1]
_PUBLIC = ("tl_mi300_xdit_flux_triton_63MB.json.gz", "hta_v100_ddp_nccl_54MB.json.gz")


@dataclass(frozen=True)
class _File:
    size: str
    path: Path
    bytes: int
    events: int
    complete: int  # those of phase X, which all contenders load


def main() -> int:
    """Make the files, run the contenders on each, print what they cost; 1 if a gate fails."""
    options = _options()
    listed = [
        one
        for one in contenders(options.orjson, options.hta)
        if not options.only or one.name in options.only
    ]
    machine = f"{_machine()} · {versions(options.orjson, options.hta)}"
    names = [path.name for path in options.sources]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    print(f"{machine}\n\nMade of {', '.join(names[:3])}{more}.\n")
    for one in listed:
        if isinstance(one, Absent):
            print(f"`{one.name}` is left out: {one.reason}.\n")
    runnable = [one for one in listed if isinstance(one, Contender)]
    results = []
    with _folder(options.folder) as folder:
        for size in options.sizes.split(","):
            file = _made(options.sources, size, folder)
            measured = _compare(runnable, file, options.repeat, folder)
            print(_table(file, measured), flush=True)
            results += measured
            if not options.keep:
                file.path.unlink()
    judged = verdicts(results)
    print(_verdict_table(judged))
    if options.json:
        report = {"machine": machine, "results": results, "gates": judged}
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    return int(any(verdict.passed is False for verdict in judged))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.readers", description=__doc__)
    parser.add_argument("sources", nargs="*", type=Path, help="Kineto files to make big ones of")
    parser.add_argument("--sizes", default="60MB,1GB", help="like 60MB,1GB,10GB")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; medians are shown")
    parser.add_argument("--only", nargs="+", help="names of the contenders to run")
    parser.add_argument("--hta", metavar="PYTHON", help="an interpreter with HTA and pandas < 3")
    parser.add_argument(
        "--orjson",
        metavar="PYTHON",
        default=sys.executable,
        help="an interpreter with orjson and Polars; this one, unless given",
    )
    parser.add_argument("--folder", type=Path, help="where to make the files")
    parser.add_argument("--keep", action="store_true", help="leave the files there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if options.keep and not options.folder:
        parser.error("--keep needs a --folder to keep the files in")
    options.sources = options.sources or _sources()
    return options


def _sources() -> list[Path]:
    shared = Path(os.environ.get("FGTRACE_SHARED", _PROJECT.parent / "shared"))
    public = [shared / "traces" / name for name in _PUBLIC]
    if all(path.exists() for path in public):
        return public
    return sorted((_PROJECT / "samples/h200.fgtrace/raw").glob("*.json.gz"))


@contextmanager
def _folder(chosen: Path | None) -> Iterator[Path]:
    if chosen:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def _made(sources: Sequence[Path], size: str, folder: Path) -> _File:
    path = folder / f"{size}.json"
    counts = replicate(sources, size_of(size), path)
    os.sync()  # what is still to be written to the disk is nobody's cost
    complete = sum(count for (phase, _), count in counts.items() if phase == "X")
    return _File(size, path, path.stat().st_size, counts.total(), complete)


def _compare(runnable: Sequence[Contender], file: _File, repeat: int, folder: Path) -> list[Result]:
    fitting = []
    for contender in runnable:
        need, free = contender.memory * file.bytes, _memory()["MemAvailable"]
        if need > free:
            print(
                f"`{contender.name}` is left out of {file.size}: it needs about "
                f"{need / 1e9:.0f} GB of memory, and {free / 1e9:.0f} are free.\n"
            )
        else:
            fitting.append(contender)
    costs = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        # Nobody's own cache is read or filled.
        environment = {"XDG_CACHE_HOME": cache}
        for contender in fitting:
            if contender.warmed:
                _run(contender, file, environment)
        # Every other round runs backwards, so that none is always first or always last.
        for turn in range(repeat):
            for contender in fitting if turn % 2 == 0 else reversed(fitting):
                costs[contender].append(_run(contender, file, environment))
    return [_result(contender, file, costs[contender]) for contender in fitting]


def _run(contender: Contender, file: _File, environment: Mapping[str, str]) -> Cost:
    print(f"{contender.name}, {file.size} …", file=sys.stderr, flush=True)
    cost = run([*contender.command, str(file.path)], environment)
    if cost.code:
        raise SystemExit(f"{contender.name} failed on {file.size}:\n{cost.error}")
    return cost


def _result(contender: Contender, file: _File, costs: Sequence[Cost]) -> Result:
    cpu = [cost.cpu_s for cost in costs]
    return Result(
        size=file.size,
        bytes=file.bytes,
        name=contender.name,
        events=int(costs[0].output) if contender.counts_events else None,
        cpu_s=statistics.median(cpu),
        cpu_low_s=min(cpu),
        cpu_high_s=max(cpu),
        wall_s=statistics.median(cost.wall_s for cost in costs),
        peak_bytes=max(cost.peak_bytes for cost in costs),
    )


def _table(file: _File, results: Sequence[Result]) -> str:
    ours = next((one.cpu_s for one in results if one.name == READER), None)
    lines = [
        f"**{file.size}**: {file.bytes:,} bytes, {file.events:,} events, "
        f"of which {file.complete:,} have a duration",
        "",
        "| | events | CPU s | range | times | CPU s a GB | wall s | peak MB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in results:
        events = "—" if one.events is None else f"{one.events:,}"
        times = f"{one.cpu_s / ours:.1f}" if ours else "—"
        lines.append(
            f"| {one.name} | {events} | {one.cpu_s:.2f} | {one.cpu_low_s:.2f}–{one.cpu_high_s:.2f} "
            f"| {times} | {one.cpu_a_byte * 1e9:.1f} | {one.wall_s:.2f} "
            f"| {one.peak_mb:,.0f} |"
        )
    return "\n".join([*lines, ""])


def _verdict_table(judged: Sequence[Verdict]) -> str:
    said = {True: "pass", False: "**fail**", None: "not measured"}
    lines = ["| gate | measured | |", "|---|--:|---|"]
    lines += [f"| {one.gate} | {one.value or '—'} | {said[one.passed]} |" for one in judged]
    return "\n".join([*lines, ""])


def _machine() -> str:
    models = {
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    }
    return (
        f"{datetime.date.today()} · {', '.join(models)}, "
        f"{len(os.sched_getaffinity(0))} cores, {_memory()['MemTotal'] / 2**30:.0f} GiB · "
        f"{platform.system()} {platform.release()} · Python {platform.python_version()}"
    )


def _memory() -> dict[str, int]:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return {
        name: int(value.split()[0]) * 1024
        for name, _, value in (line.partition(":") for line in lines)
    }


if __name__ == "__main__":
    sys.exit(main())
