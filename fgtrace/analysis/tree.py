"""The host's call tree: calls that have the same names around them, added up."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import INTERVAL, THREAD
from fgtrace.analysis.work import work_by_owner
from fgtrace.frames.nesting import HOST, nest
from fgtrace.frames.trace import Trace

TREE = pl.Schema(
    {
        "path": pl.String,  # the names from the outermost down, joined by SEPARATOR
        "depth": pl.Int64,  # 0 is the outermost
        "name": pl.String,  # the numbers of calls and steps are `*`
        "kind": pl.String,  # of the first call
        "count": pl.Int64,
        "total_ns": pl.Int64,  # with what is inside
        "self_ns": pl.Int64,  # without
        # Of what was launched here and below. Null where the device was not recorded.
        "device_time_ns": pl.Int64,  # sum of kernels, copies and fills
        "kernel_count": pl.Int64,
    }
)

SEPARATOR = " > "
r"""Between the names of a path. A `>` that begins a name or follows a space in it is `\>`, after
one more backslash than it had, so that splitting a path gives its names."""

_NUMBER = r"^(fgtrace::call::.+::|ProfilerStep#)[0-9]+$"
"""The ranges of calls and steps, whose numbers keep equal calls apart."""

_BELOW = ("rows", "device_time_ns", "kernel_count")
"""What a path adds to its parent's."""


def escaped(name: str) -> pl.Expr:
    """Give a column of names as parts of a path."""
    return pl.col(name).str.replace_all(r"(^| )(\\*>)", r"${1}\${2}")


def tree_report(trace: Trace) -> pl.DataFrame:
    """Make a row for each path of names, below its parent, the longest total first.

    Operators, API calls, ranges, Python frames and the profiler's own work are in it; processes
    and threads are added up. Device work belongs to the path of its launch or, where the file has
    none, of its operator.
    """
    return (
        _paths(trace)
        .with_columns(
            pl.when(not trace.device_work.is_empty()).then(pl.col("device_time_ns", "kernel_count"))
        )
        .select(TREE.names())
        .cast(TREE)
    )


def paths_of(trace: Trace) -> pl.DataFrame:
    """Give the `path` of each event of the tree, by `event_id`."""
    paths = _paths(trace).select("path_id", "path")
    return _with_paths(trace).select("event_id", "path_id").join(paths, on="path_id")


def _paths(trace: Trace) -> pl.DataFrame:
    return trace.once("paths", lambda: _added_up_paths(trace))


def _added_up_paths(trace: Trace) -> pl.DataFrame:
    host = _with_paths(trace)
    owner = pl.coalesce("launch_event_id", "op_event_id")
    is_first = pl.col("event_id") == pl.col("path_id")
    paths = (
        host.join(work_by_owner(trace, owner), on="event_id", how="left")
        .group_by("path_id", "parent_path_id", "depth")
        .agg(
            pl.col("name", "kind").filter(is_first).first(),
            pl.col("device_time_ns", "kernel_count").sum(),
            count=pl.len(),
            total_ns=pl.col("dur_ns").sum(),
            self_ns=pl.col("own_ns").sum(),
        )
        .with_columns(pl.col("name").cast(pl.String), rows=1)
    )
    levels = [paths.filter(pl.col("depth") == depth) for depth in range(_deepest(paths) + 1)]
    return _in_order(_added_up(levels), paths)


def _with_paths(trace: Trace) -> pl.DataFrame:
    # A path's id is the smallest event_id in it. Level by level, events share a path that share
    # their name and their parents' path.
    rows = (
        trace.events.filter(
            pl.col("kind").is_in(HOST),
            pl.col("dur_ns").is_not_null(),
            # An allocation takes no time, and nothing is inside it.
            (pl.col("kind") != "memory") | (pl.col("dur_ns") > 0),
        )
        .select(*INTERVAL, "name")
        .collect()
    )
    host = nest(rows).drop(THREAD)
    is_range = pl.col("kind") == "range"
    name = pl.col("name").cast(pl.String).str.replace(_NUMBER, "${1}*").cast(pl.Categorical())
    named = pl.concat([host.filter(~is_range), host.filter(is_range).with_columns(name)])
    levels = named.partition_by("depth", as_dict=True)
    above = pl.DataFrame(schema={"parent_id": pl.UInt32, "parent_path_id": pl.UInt32})
    found = [named.clear().with_columns(parent_path_id="event_id", path_id="event_id")]
    for depth in sorted(levels):
        level = (
            levels[depth]
            .join(above, on="parent_id", how="left")
            .with_columns(path_id=pl.col("event_id").min().over("parent_path_id", "name"))
        )
        above = level.select(parent_id="event_id", parent_path_id="path_id")
        found.append(level)
    return pl.concat(found)


def _deepest(paths: pl.DataFrame) -> int:
    deepest = paths["depth"].max()
    return deepest if isinstance(deepest, int) else -1


def _added_up(levels: list[pl.DataFrame]) -> list[pl.DataFrame]:
    # From the deepest level up: `rows`, and what the device did, include the paths below.
    done = levels[-1:]
    for level in reversed(levels[:-1]):
        below = done[-1].group_by(path_id="parent_path_id").agg(pl.col(_BELOW).sum())
        done.append(
            level.join(below, on="path_id", how="left", suffix="_below")
            .with_columns(
                pl.col(column) + pl.col(f"{column}_below").fill_null(0) for column in _BELOW
            )
            .select(level.columns)
        )
    return done[::-1]


def _in_order(levels: list[pl.DataFrame], paths: pl.DataFrame) -> pl.DataFrame:
    # From the outermost level down: a path's place follows its parent's and the rows of the
    # siblings before it.
    above = pl.DataFrame(
        {"parent_path_id": [None], "parent_place": [-1], "parent_path": [None]},
        schema={"parent_path_id": pl.UInt32, "parent_place": pl.Int64, "parent_path": pl.String},
    )
    done = [paths.clear().with_columns(place=pl.lit(0, pl.Int64), path="name")]
    for level in levels:
        placed = (
            level.join(above, on="parent_path_id", how="left", nulls_equal=True)
            .sort("total_ns", "name", descending=[True, False])
            .with_columns(
                place=pl.col("parent_place")
                + 1
                + (pl.col("rows").cum_sum() - pl.col("rows")).over("parent_path_id"),
                path=pl.concat_str(
                    "parent_path", escaped("name"), separator=SEPARATOR, ignore_nulls=True
                ),
            )
        )
        above = placed.select(parent_path_id="path_id", parent_place="place", parent_path="path")
        done.append(placed.select(done[0].columns))
    return pl.concat(done).sort("place")
