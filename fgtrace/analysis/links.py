"""Which API call started a piece of device work, and which operator and range made the call."""

from __future__ import annotations

import polars as pl

from fgtrace.analysis.around import around, around_in
from fgtrace.analysis.intervals import outermost
from fgtrace.analysis.names import matching
from fgtrace.frames.notes import Note
from fgtrace.frames.schema import CAUSE, DEVICE_WORK, HOST_API, HOW, LINKS
from fgtrace.frames.trace import Trace

GRAPH_LAUNCH = r"^(cuda|hip|cu)GraphLaunch"

_LAUNCH = (
    r"^((cuda|hip|cu).*Launch(Cooperative)?Kernel"
    r"|hipExtLaunch"
    r"|ur.*KernelLaunch"
    r"|(cuda|hip|cu)GraphLaunch)"
)
_NO_LAUNCH = r"^(cudaLaunchHostFunc|cuLaunchHostFunc|__hipPushCallConfiguration)"
COPY_OR_FILL = r"(?i)mem(cpy|set)"

_KEY = pl.col("part").cast(pl.Int128) * 2**64 + pl.col("correlation")
"""Part and correlation as one number: it is looked up ten times as fast as the two of them."""

_CAUSES = {
    "before_window": "their launches lie before the recording",
    "api_not_recorded": "the file has no API calls",
    "lost": "their launches are not in the file",
}


def launches(trace: Trace) -> pl.DataFrame:
    """Select the API calls that start a kernel or a graph, in order.

    A runtime call and the driver call inside it are one launch, the outer one. `owns_device_work`
    is added: false where a launch has no device row.
    """
    return trace.once("launches", lambda: _launches(trace))


def _launches(trace: Trace) -> pl.DataFrame:
    api, work = trace.api_calls, trace.device_work
    name = api["name"]
    owns_kernel = _owns(api, work.filter(pl.col("kind") == "kernel"))
    starts = matching(name, _LAUNCH) | (owns_kernel & ~matching(name, COPY_OR_FILL))
    return outermost(
        api.with_columns(owns_device_work=_owns(api, work)).filter(
            starts & ~matching(name, _NO_LAUNCH)
        )
    )


def _owns(api: pl.DataFrame, work: pl.DataFrame) -> pl.Series:
    owned = work.select(key=_KEY)["key"]
    return api.select(key=_KEY)["key"].is_in(owned.implode()).fill_null(False)


def link(trace: Trace) -> tuple[pl.DataFrame, list[Note]]:
    """Link each kernel, copy and fill to its launch, its operator and its range.

    Work and launch share a correlation id within a part; a graph launch owns many kernels. The
    operator and the range are the innermost ones around the launch on its thread. Where there is
    none, the External id names the operator.
    """
    api, work = trace.api_calls, trace.device_work
    # The outermost of the calls with one id comes first.
    starters = api.filter(_owns(api, work)).filter(_KEY.is_first_distinct())
    owners = starters.select(
        key=_KEY,
        launch_event_id="event_id",
        is_graph=matching(starters["name"], GRAPH_LAUNCH),
        enclosing_op=around(trace, "op", starters),
        range_event_id=around_in(trace.ranges, starters),
    )
    owned = work.select("event_id", "part", "correlation", "start_ns", key=_KEY).join(
        owners, on="key", how="left", maintain_order="left"
    )
    unlinked = pl.col("launch_event_id").is_null()
    links = (
        owned.join(_named_ops(trace, owned), on="event_id", how="left", maintain_order="left")
        .join(_windows(trace), on="part", how="left", maintain_order="left")
        .select(
            device_event_id="event_id",
            launch_event_id="launch_event_id",
            op_event_id=pl.coalesce("enclosing_op", "named_op"),
            range_event_id="range_event_id",
            how=pl.when(pl.col("is_graph"))
            .then(pl.lit("graph", HOW))
            .when(~unlinked)
            .then(pl.lit("correlation", HOW))
            .when(pl.col("named_op").is_not_null())
            .then(pl.lit("external_id", HOW))
            .otherwise(pl.lit("none", HOW)),
            cause=pl.when(unlinked).then(_cause()),
        )
        .cast(LINKS)
    )
    return links, _notes(trace, links)


def _named_ops(trace: Trace, owned: pl.DataFrame) -> pl.DataFrame:
    # The operators that External ids name, for the work that no operator is around.
    key = ["part", "external_id"]
    loose = owned.filter(pl.col("enclosing_op").is_null())
    kind, external = pl.col("kind"), pl.col("external_id")
    if loose.is_empty():
        return loose.select("event_id", named_op="launch_event_id")
    told = trace.events.filter(external.is_not_null()).select("event_id", "kind", *key)
    own = told.filter(kind.is_in(DEVICE_WORK)).select("event_id", external)
    of_launch = told.filter(kind.is_in(HOST_API)).select(
        launch_event_id="event_id", launch_external=external
    )
    wanted = (
        loose.lazy()
        .select("event_id", "part", "launch_event_id")
        .join(own, on="event_id", how="left")
        .join(of_launch, on="launch_event_id", how="left")
        .select("event_id", "part", external_id=pl.coalesce(external, "launch_external"))
        .drop_nulls()
        .collect()
    )
    ops = (
        told.filter(kind == "op")
        .join(wanted.lazy(), on=key, how="semi")
        .group_by(key)
        .agg(named_op=pl.col("event_id").min())
        .collect()
    )
    return wanted.join(ops, on=key).select("event_id", "named_op")


def _windows(trace: Trace) -> pl.DataFrame:
    return trace.api_calls.group_by("part").agg(
        first_api_ns=pl.col("start_ns").min(), first_api_correlation=pl.col("correlation").min()
    )


def _cause() -> pl.Expr:
    return (
        pl.when(pl.col("first_api_ns").is_null())
        .then(pl.lit("api_not_recorded", CAUSE))
        .when(
            (pl.col("start_ns") < pl.col("first_api_ns"))
            | (pl.col("correlation") < pl.col("first_api_correlation"))
        )
        .then(pl.lit("before_window", CAUSE))
        .otherwise(pl.lit("lost", CAUSE))
    )


def _notes(trace: Trace, links: pl.DataFrame) -> list[Note]:
    notes = []
    if links.is_empty():
        notes.append(Note("warning", "no-device-activity", 0, "no device work was recorded"))
    counts = links.filter(pl.col("cause").is_not_null())["cause"].value_counts()
    for cause, count in sorted(counts.iter_rows()):
        message = f"device events without a launch, because {_CAUSES[cause]}: {count}"
        notes.append(Note("warning" if cause == "lost" else "info", "unlinked", count, message))
    silent = without_device_row(launches(trace), trace.device_work).height
    if silent:
        message = f"launches without a device row, so device time is a lower bound: {silent}"
        notes.append(Note("warning", "launch-without-device-row", silent, message))
    return notes


def without_device_row(launched: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """Select the launches that own no device row, in parts where device work was recorded."""
    return launched.filter(
        ~pl.col("owns_device_work"), pl.col("part").is_in(work["part"].unique().implode())
    )
