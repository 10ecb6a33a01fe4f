"""How often a diff calls a difference that is none, and misses one that is there.

From recordings of the same code by many processes, five a side are drawn again and again, and
compared as `fgtrace diff` does. Nothing differs, so whatever is called faster or slower is called
falsely. Then one phase of one side is made longer, and it is counted how often that is found.

    python bench/verdicts.py
    python bench/verdicts.py --pool RUN.fgtrace ...   makes the pool anew, of formal recordings
"""

from __future__ import annotations

import argparse
import platform
import random
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import polars as pl

import fgtrace
from fgtrace.analysis.comparing import Calls, Compared, compared
from fgtrace.analysis.measured import MEASURED, Measure

POOL = Path(__file__).with_name("verdicts.parquet")
PROCESSES = 5
TRIALS = 600
PLANTED = {"device_time": (0.05, 0.1), "host_time": (0.05, 0.2, 0.5, 1.0)}

COLUMNS = {
    "route": pl.String,
    "process": pl.UInt32,  # of the pool
    "call": pl.UInt32,  # in the order in which they were made
    "name": pl.String,  # of a phase
    "metric": pl.String,
    "value": pl.Int64,  # nanoseconds
}


def make_pool(runs: list[Path]) -> pl.DataFrame:
    """Take the times of each phase of each call of formal recordings of one case."""
    frames = []
    for number, path in enumerate(runs):
        trace = fgtrace.open(path)
        calls = trace.calls.select("route", "generation", "index", call_id="range_event_id")
        frames.append(
            Measure()
            .of(trace, "phase")
            .filter(pl.col("metric").is_in(list(PLANTED)))
            .join(calls, on="call_id")
            .with_columns(process=pl.col("generation") + 1000 * number, call="index")
            .select(COLUMNS.keys())
            .cast(pl.Schema(COLUMNS))
        )
    pool = pl.concat(frames).drop_nulls()
    return pool.with_columns(pl.col("process").rank("dense").cast(pl.UInt32)).sort(
        "route", "process", "call", "name", "metric"
    )


def spread_between(pool: pl.DataFrame, metric: str) -> tuple[float, float]:
    """Take the standard deviation between processes of a phase's time, in its mean.

    The result is what half of the phases of all routes have at most, and what all have.
    """
    value = pl.col("value")
    medians = pool.filter(pl.col("metric") == metric, value > 0).group_by(
        "route", "name", "process"
    )
    spreads = (
        medians.agg(value.median())
        .group_by("route", "name")
        .agg((value.std() / value.mean()).alias("spread"))["spread"]
        .to_list()
    )
    return median(spreads), max(spreads)


def drawn_sides(of_route: pl.DataFrame, generator: random.Random) -> tuple[Calls, Calls]:
    """Draw different processes for both sides."""
    processes = of_route["process"].unique().sort().to_list()
    chosen = generator.sample(processes, 2 * PROCESSES)
    return _side(of_route, chosen[:PROCESSES]), _side(of_route, chosen[PROCESSES:])


def _side(of_route: pl.DataFrame, processes: list[int]) -> Calls:
    rows = of_route.filter(pl.col("process").is_in(processes)).with_columns(
        call_id=pl.col("process") * 1000 + pl.col("call"), kind=pl.lit("phase")
    )
    calls = rows.select("call_id", part="process").unique().sort("part", "call_id")
    return Calls(calls, rows.select(MEASURED.names()))


def longer(side: Calls, name: str, metric: str, by: float) -> Calls:
    """Make one phase longer in all of its calls."""
    there = (pl.col("name") == name) & (pl.col("metric") == metric)
    value = pl.when(there).then((pl.col("value") * (1 + by)).round()).otherwise("value")
    return Calls(side.calls, side.measured.with_columns(value=value.cast(pl.Int64)))


def verdicts(a: Calls, b: Calls, metric: str) -> dict[str, str]:
    """Compare one metric of two sides: a verdict a phase."""
    sides = [Calls(one.calls, one.measured.filter(metric=metric)) for one in (a, b)]
    rows = compared([Compared(None, None, *sides)], "phase").drop_nulls("verdict")
    return dict(rows.select("name", pl.col("verdict").cast(pl.String)).iter_rows())


def trials(pool: pl.DataFrame, metric: str, seed: int) -> Iterator[tuple[str, float, int, int]]:
    """Give, for each trial and planted difference: what is counted, by how much, found, of."""
    generator = random.Random(seed)
    routes = pool["route"].unique().sort().to_list()
    for _ in range(TRIALS):
        of_route = pool.filter(route=generator.choice(routes))
        a, b = drawn_sides(of_route, generator)
        same = verdicts(a, b, metric)
        called = sum(verdict in ("faster", "slower") for verdict in same.values())
        yield "falsely called", 0.0, called, len(same)
        times = of_route.filter(pl.col("metric") == metric, pl.col("value") > 0)
        name = generator.choice(times["name"].unique().sort().to_list())
        for by in PLANTED[metric]:
            found = verdicts(a, longer(b, name, metric, by), metric)
            yield "found", by, int(found[name] == "slower"), 1


def table(pool: pl.DataFrame, seed: int) -> str:
    """Write what came out as Markdown."""
    lines = [
        "| time | planted | rows | called slower or faster |\n|---|--:|--:|--:|",
    ]
    for metric in PLANTED:
        rows = pl.DataFrame(
            list(trials(pool, metric, seed)),
            schema=["what", "by", "called", "of"],
            orient="row",
        )
        sums = rows.group_by("what", "by").agg(pl.col("called", "of").sum()).sort("by")
        for what, by, called, of in sums.iter_rows():
            time = metric.removesuffix("_time")
            planted = "nothing" if what == "falsely called" else f"+{100 * by:.0f} %"
            lines.append(f"| {time} | {planted} | {of:,} | {100 * called / of:.1f} % |")
    return "\n".join(lines)


def main() -> None:
    """Print the table of the pool, or make it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", nargs="+", type=Path, metavar="RUN", help="make the pool of runs")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.pool:
        make_pool(given.pool).write_parquet(POOL, compression="zstd", compression_level=19)
    pool = pl.read_parquet(POOL)
    processes = pool.group_by("route").agg(pl.col("process").n_unique()).sort("route")
    print(", ".join(f"{route}: {count} processes" for route, count in processes.iter_rows()))
    for metric in PLANTED:
        half, most = (f"{100 * one:.1f} %" for one in spread_between(pool, metric))
        what = f"Between processes, {metric.replace('_', ' ')} of a phase has a standard deviation"
        print(f"{what} of {half} (median of phases), at most {most}")
    print(f"{TRIALS} comparisons of {PROCESSES} processes a side, for each time")
    print(f"Python {platform.python_version()}, polars {pl.__version__}\n")
    print(table(pool, given.seed))


if __name__ == "__main__":
    main()
