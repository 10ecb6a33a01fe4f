"""The trees inside of calls, as two sides have them: aligned in order, then added up by path."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import polars as pl

from fgtrace.analysis.aligning import align
from fgtrace.analysis.around import INTERVAL
from fgtrace.analysis.marks import phase_marks, phases_of
from fgtrace.analysis.measured import HOST_KINDS, MEASURED, Measure
from fgtrace.analysis.rules import PHASE_ORDER, RANGE
from fgtrace.analysis.tree import SEPARATOR, escaped
from fgtrace.frames.nesting import nest
from fgtrace.frames.schema import HOST_API
from fgtrace.frames.trace import Trace

NODES = pl.Schema(
    {
        "call_id": pl.UInt32(),
        "row": pl.Int64(),  # place in the call: a node, then what is inside of it
        "parent": pl.Int64(),  # the row around it; null for an outermost one
        "name": pl.String(),
        "kind": pl.String(),  # phase, op, range, api, kernel, memcpy, memset
        "host_time": pl.Int64(),  # of device work, of the API call that launches it; null: none
        "device_time": pl.Int64(),  # of device work; null for all else
    }
)

PLACES = pl.Schema(
    {
        "name": pl.String(),  # the number of the place, as text
        "path": pl.String(),  # the names from the outermost down
        "shown": pl.String(),  # the last of them
        "depth": pl.Int64(),  # 0 is the outermost
        "status": pl.String(),
    }
)
"""The places of a tree, in order: nodes with the same names around them and the same status."""


def nodes(
    trace: Trace, measure: Measure, calls: pl.DataFrame, *, phased: bool = False
) -> pl.DataFrame:
    """Make NODES of calls: operators, ranges, API calls, and device work where it was launched.

    An API call that starts device work is shown as that work; the launch of a graph has it inside.
    Threads come one after the other, the call's own first, and last the work without a launch.
    With `phased`, what is in a phase is inside of that, after all that is in none.
    """
    host = _host(trace, measure, calls)
    host = _in_phases(trace, measure, host) if phased else host.with_columns(_NO_PHASE)
    work = _work(trace, measure, calls, host)
    launching = work.filter(~pl.col("in_graph"))["launch_id"].drop_nulls().unique()
    in_api = host.filter(kind="api").select(parent_id="id", parent_is_api=True)
    hosts = (
        host.filter(~pl.col("id").is_in(launching.implode()), ~pl.col("hidden"))
        .join(in_api, on="parent_id", how="left", maintain_order="left")
        .filter(pl.col("parent_is_api").is_null() | (pl.col("kind") != "api"))
        .with_columns(anchor="id", inside=pl.lit(-1, pl.Int64))
    )
    columns = ["call_id", "phase_id", "track", "anchor", "inside", "parent_id", "name", "kind"]
    rows = (
        pl.concat(
            [
                _phases(host),
                hosts.select(*columns, "id", host_time="dur_ns"),
                work.select(*columns, "host_time", "device_time"),
            ],
            how="diagonal",
        )
        .sort("call_id", pl.col("phase_id").fill_null(-1), *columns[2:5], nulls_last=True)
        .with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64).over("call_id"))
    )
    above = rows.select("call_id", parent_id="id", parent="row").drop_nulls()
    return (
        rows.join(above, on=["call_id", "parent_id"], how="left", maintain_order="left")
        .select(NODES.names())
        .cast(NODES)
    )


_NO_PHASE = [
    pl.lit(None, pl.Int64).alias("phase_id"),
    pl.lit(None, pl.String).alias("phase"),
    pl.lit(False).alias("hidden"),
]


def _host(trace: Trace, measure: Measure, calls: pl.DataFrame) -> pl.DataFrame:
    host = measure.host(trace).join(calls, on="call_id", how="semi", maintain_order="left")
    if not measure.whole:
        host = host.filter(pl.col("event_id") != pl.col("call_id"))
    kind = pl.when(pl.col("kind").is_in(HOST_API)).then(pl.lit("api"))
    track = pl.col("event_id").cast(pl.Int64).min().over("call_id", "process", "thread")
    columns = [*INTERVAL, "call_id"]
    if _nested_already(trace, host):
        nested = host.select(*columns, "own_ns", "parent_id", name=measure.named(host))
    else:
        nested = nest(host.select(*columns, name=measure.named(host)))
    return nested.with_columns(
        pl.col("parent_id").cast(pl.Int64),
        id=pl.col("event_id").cast(pl.Int64),
        track=track,
        event_kind="kind",
        kind=kind.otherwise(pl.col("kind").cast(pl.String)),
    )


def _nested_already(trace: Trace, host: pl.DataFrame) -> bool:
    """Say whether no event of a kind that is left out is around one of these, or takes its time."""
    others = trace.host_events.filter(~pl.col("kind").is_in(HOST_KINDS))
    if (others["dur_ns"] > 0).any():
        return False
    return not host["parent_id"].is_in(others["event_id"].implode()).any()


def _in_phases(trace: Trace, measure: Measure, host: pl.DataFrame) -> pl.DataFrame:
    """Hang what has a phase below that; an explicit range is the phase, and not shown inside.

    The innermost mark counts. What is around an event and has another phase is not around it here.
    """
    events = host.with_columns(kind="event_kind")
    found = phases_of(phase_marks(trace, measure.rules), events)
    is_range = (pl.col("event_id") == pl.col("mark_id")) & (pl.col("rule") == RANGE)
    rank = pl.col("phase").rank("dense") + len(PHASE_ORDER)
    known = pl.col("phase").replace_strict(
        {name: at for at, name in enumerate(PHASE_ORDER)}, default=None
    )
    host = host.join(found, on="event_id", how="left", maintain_order="left").with_columns(
        hidden=is_range.fill_null(False),
        phase_id=pl.when(pl.col("phase").is_not_null()).then(pl.coalesce(known, rank)),
    )
    around = host.select("phase", "hidden", parent_id="id").rename({"hidden": "in_hidden"})
    around = around.with_columns(in_same=True)
    host = host.join(
        around, on=["parent_id", "phase"], how="left", nulls_equal=True, maintain_order="left"
    )
    inside = pl.when("in_same").then("parent_id")
    return host.with_columns(track=_top(host["id"], host.select(up=inside)["up"])).with_columns(
        parent_id=pl.when(pl.col("in_same") & ~pl.col("in_hidden"))
        .then("parent_id")
        .otherwise(_phase_node(pl.col("phase_id")))
    )


def _top(ids: pl.Series, up: pl.Series) -> pl.Series:
    # The outermost of the events that lead up from each.
    above = dict(zip(ids, up, strict=True))
    top: dict[int, int] = {}
    for one, parent in above.items():
        top[one] = one if parent is None else top[parent]
    return pl.Series([top[one] for one in ids], dtype=pl.Int64)


def _phase_node(phase_id: pl.Expr) -> pl.Expr:
    # Events have ids from 0 on.
    return -phase_id.cast(pl.Int64) - 1


def _phases(host: pl.DataFrame) -> pl.DataFrame:
    # A node a phase of each call, before all that is in it: its events' own time.
    return (
        host.drop_nulls("phase_id")
        .group_by("call_id", "phase_id", name="phase")
        .agg(host_time=pl.col("own_ns").sum())
        .with_columns(
            id=_phase_node(pl.col("phase_id")),
            track=pl.lit(-1, pl.Int64),
            anchor=pl.lit(-1, pl.Int64),
            inside=pl.lit(-1, pl.Int64),
            kind=pl.lit("phase"),
        )
    )


def _work(trace: Trace, measure: Measure, calls: pl.DataFrame, host: pl.DataFrame) -> pl.DataFrame:
    work = measure.work(trace).drop("launch_event_id", strict=False)
    links = trace.links.select("launch_event_id", "how", event_id="device_event_id")
    launches = host.select(
        "track", "phase_id", "phase", "parent_id", "dur_ns", launch_event_id="event_id"
    )
    in_graph = pl.col("how") == "graph"
    launch_id = pl.col("launch_event_id").cast(pl.Int64)
    device_id = pl.col("event_id").cast(pl.Int64)
    return (
        work.with_columns(
            name=measure.named(work),
            kind=pl.col("kind").cast(pl.String),
            device_time=pl.col("dur_ns").fill_null(0),
        )
        .drop("dur_ns")
        .join(calls, on="call_id", how="semi", maintain_order="left")
        .join(links, on="event_id", maintain_order="left")
        .join(launches, on="launch_event_id", how="left", maintain_order="left")
        .with_columns(
            launch_id=launch_id,
            in_graph=in_graph,
            anchor=pl.coalesce(launch_id, device_id),
            inside=device_id,
            parent_id=pl.when(in_graph).then(launch_id).otherwise("parent_id"),
            # One call can start several pieces of work: its time is that of the first.
            host_time=pl.when(~in_graph & pl.col("launch_event_id").is_first_distinct()).then(
                "dur_ns"
            ),
        )
    )


@dataclass(frozen=True)
class _Side:
    """The NODES of a side's calls, and the tree that most of the calls have."""

    nodes: pl.DataFrame
    """With `common_row`, the node's row in that tree; null where only some calls have it."""
    common: pl.DataFrame


def _side(found: pl.DataFrame) -> _Side:
    trees = found.partition_by("call_id", maintain_order=True, as_dict=True)
    shapes = {call_id: _shape(tree) for (call_id,), tree in trees.items()}
    if not shapes:
        return _Side(found.with_columns(common_row="row"), found)
    most, _ = Counter(shapes.values()).most_common(1)[0]
    first = {shape: call_id for call_id, shape in reversed(shapes.items())}
    common = trees[(first[most],)]
    same_rows = pl.col("row").alias("common_row")
    rows = {
        shape: align(common, trees[(call_id,)])
        .filter(pl.col("status").is_in(("matched", "moved")))
        .select(row="row_b", common_row="row_a")
        if shape != most
        else common.select("row", same_rows)
        for shape, call_id in first.items()
    }
    placed = [
        tree.join(rows[shapes[call_id]], on="row", how="left", maintain_order="left")
        for (call_id,), tree in trees.items()
    ]
    return _Side(pl.concat(placed), common)


def _shape(tree: pl.DataFrame) -> bytes:
    text = tree.select("parent", "name", "kind").write_csv()
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


@dataclass(frozen=True)
class Aligned:
    """Two sides' trees, place by place."""

    measured: tuple[pl.DataFrame, pl.DataFrame]
    """MEASURED of both sides, named by places."""
    places: pl.DataFrame
    """PLACES."""
    elsewhere: tuple[int, int]
    """How many nodes of each side only some of its calls have; they are in no place."""


def aligned_trees(a: pl.DataFrame, b: pl.DataFrame) -> Aligned:
    """Align the NODES of two sides: the trees that most of their calls have, in order."""
    sides = _side(a), _side(b)
    merged = _merged(align(*(side.common for side in sides)), *(side.common for side in sides))
    places, of_rows = _places(merged)
    measured, elsewhere = [], []
    for side, row in zip(sides, ("row_a", "row_b"), strict=True):
        rows = merged.select(common_row=row, place=of_rows).drop_nulls("common_row")
        measured.append(_measured(side, rows))
        elsewhere.append(side.nodes["common_row"].null_count())
    return Aligned((measured[0], measured[1]), places, (elsewhere[0], elsewhere[1]))


def _merged(aligned: pl.DataFrame, a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    # Both trees as one, in the order of b; what only a has follows what is before it there.
    named = [
        side.select(pl.col("row", "parent", "name", "kind").name.suffix(letter))
        for side, letter in ((a, "_a"), (b, "_b"))
    ]
    stays = pl.when(pl.col("status") != "moved").then("row_b")
    return (
        aligned.join(named[0], on="row_a", how="left")
        .join(named[1], on="row_b", how="left")
        .sort("row_a", nulls_last=True)
        .with_columns(
            before=pl.coalesce(
                "row_b", pl.when(pl.col("row_a").is_not_null()).then(stays.forward_fill()), -1
            )
        )
        .sort("before", pl.col("row_b").is_null(), "row_a")
    )


def _places(merged: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Find the place of each row: PLACES, and their numbers."""
    by_a: dict[int, int] = {}
    by_b: dict[int, int] = {}
    known: dict[tuple[int, str, str, str], int] = {}
    paths: list[str] = []
    shown: list[str] = []
    depths: list[int] = []
    statuses: list[str] = []
    numbers: list[int] = []
    is_a = pl.col("row_b").is_null()
    renamed = pl.concat_str("name_a", pl.lit(" → "), "name_b")
    rows = merged.with_columns(
        shown=pl.when(pl.col("status") == "renamed")
        .then(renamed)
        .otherwise(pl.coalesce("name_b", "name_a")),
        kind=pl.coalesce("kind_b", "kind_a"),
        is_a=is_a,
        above=pl.when(is_a).then("parent_a").otherwise("parent_b"),
    ).with_columns(part=escaped("shown"))
    columns = ("row_a", "row_b", "is_a", "above", "shown", "part", "kind", "status")
    for row_a, row_b, only_a, parent, name, part, kind, status in rows.select(columns).iter_rows():
        above = -1 if parent is None else (by_a if only_a else by_b)[parent]
        number = known.setdefault((above, name, kind, status), len(known))
        if number == len(paths):
            paths.append(part if above < 0 else f"{paths[above]}{SEPARATOR}{part}")
            shown.append(name)
            depths.append(0 if above < 0 else depths[above] + 1)
            statuses.append(status)
        numbers.append(number)
        if row_a is not None:
            by_a[row_a] = number
        if row_b is not None:
            by_b[row_b] = number
    places = pl.DataFrame(
        {
            "name": [str(number) for number in range(len(paths))],
            "path": paths,
            "shown": shown,
            "depth": depths,
            "status": statuses,
        },
        schema=PLACES,
    )
    return places, pl.Series("place", numbers, dtype=pl.Int64)


def _measured(side: _Side, places: pl.DataFrame) -> pl.DataFrame:
    """Measure the calls of a side by place; device time is of all that is inside."""
    rows = side.nodes.join(places, on="common_row")
    own = rows.group_by("call_id", "place", "kind").agg(
        host_time=pl.col("host_time").sum(), count=pl.len().cast(pl.Int64)
    )
    kinds = rows.select("place", "kind").unique()
    inside = _around(side.common, places)
    device = (
        rows.filter(pl.col("device_time").is_not_null())
        .select("call_id", "common_row", "device_time")
        .join(inside, on="common_row")
        .group_by("call_id", "place")
        .agg(pl.col("device_time").sum())
        .join(kinds, on="place")
    )
    key = ["call_id", "place", "kind"]
    long = [
        own.unpivot(["host_time", "count"], index=key, variable_name="metric"),
        device.unpivot(["device_time"], index=key, variable_name="metric"),
    ]
    return (
        pl.concat(long)
        .with_columns(name=pl.col("place").cast(pl.String))
        .select(MEASURED.names())
        .cast(MEASURED)
    )


def _around(common: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    # The places of each piece of device work, and of all that is around it.
    level = common.filter(pl.col("device_time").is_not_null()).select(common_row="row", at="row")
    above = common.select("parent", at="row")
    found = [level]
    while not level.is_empty():
        level = level.join(above, on="at").select("common_row", at="parent").drop_nulls()
        found.append(level)
    return (
        pl.concat(found)
        .join(places.rename({"common_row": "at"}), on="at")
        .select("common_row", "place")
        .unique()
    )
