"""Which API call started a piece of device work, and which operator and range made the call."""

from __future__ import annotations

import polars as pl

from fgtrace.frames.nesting import innermost
from fgtrace.frames.notes import Note
from fgtrace.frames.schema import CAUSE, DEVICE_WORK, HOST_API, HOW, LINKS

GRAPH_LAUNCH = r"^(cuda|hip|cu)GraphLaunch"

_LAUNCH = (
    r"^((cuda|hip|cu).*Launch(Cooperative)?Kernel"
    r"|hipExtLaunch"
    r"|ur.*KernelLaunch"
    r"|(cuda|hip|cu)GraphLaunch)"
)
_NO_LAUNCH = r"^(cudaLaunchHostFunc|cuLaunchHostFunc|__hipPushCallConfiguration)"
_COPY_OR_FILL = r"(?i)mem(cpy|set)"

_CAUSES = {
    "before_window": "their launches lie before the recording",
    "api_not_recorded": "the file has no API calls",
    "lost": "their launches are not in the file",
}


def host_api(events: pl.DataFrame) -> pl.DataFrame:
    """Select the calls into the device's API, in order."""
    return events.filter(pl.col("kind").is_in(HOST_API))


def device_work(events: pl.DataFrame) -> pl.DataFrame:
    """Select kernels, copies and fills, in order."""
    return events.filter(pl.col("kind").is_in(DEVICE_WORK))


def launches(events: pl.DataFrame) -> pl.DataFrame:
    """Select the calls that start a kernel or a graph, in order.

    A runtime call and the driver call inside it are one launch, the outer one. `owns_device_work`
    is added: false where a launch has no device row.
    """
    api, name = host_api(events), pl.col("name").cast(pl.String)
    work = device_work(events).filter(pl.col("correlation").is_not_null())
    keys = ["part", "correlation"]
    owners = work.group_by(keys).agg(owns_kernel=(pl.col("kind") == "kernel").any())
    candidates = (
        api.join(owners, on=keys, how="left", maintain_order="left")
        .with_columns(owns_device_work=pl.col("owns_kernel").is_not_null())
        .filter(
            (pl.col("owns_kernel").fill_null(False) & ~name.str.contains(_COPY_OR_FILL))
            | name.str.contains(_LAUNCH),
            ~name.str.contains(_NO_LAUNCH),
        )
        .drop("owns_kernel")
    )
    around = innermost(candidates, candidates)
    return candidates.filter(around["outer_id"].is_null())


def link(events: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Link each kernel, copy and fill to its launch, its operator and its range.

    Work and launch share a correlation id within a part; a graph launch owns many kernels. The
    operator and the range are the innermost ones around the launch on its thread. Where there is
    none, the External id names the operator.
    """
    api = (
        host_api(events)
        .filter(pl.col("correlation").is_not_null())
        # The outermost of the calls with one id comes first.
        .unique(["part", "correlation"], keep="first", maintain_order=True)
    )
    ops = events.filter(pl.col("kind") == "op")
    by_interval = (
        innermost(api, ops)
        .select(launch_event_id="event_id", enclosing_op="outer_id")
        .with_columns(
            range_event_id=innermost(api, events.filter(pl.col("kind") == "range"))["outer_id"]
        )
    )
    by_external_id = (
        ops.filter(pl.col("external_id").is_not_null())
        .unique(["part", "external_id"], keep="first", maintain_order=True)
        .select("part", "external_id", named_op="event_id")
    )
    owners = api.select(
        "part",
        "correlation",
        launch_event_id="event_id",
        launch_external_id="external_id",
        is_graph=pl.col("name").cast(pl.String).str.contains(GRAPH_LAUNCH),
    )
    unlinked = pl.col("launch_event_id").is_null()
    rows = (
        device_work(events)
        .join(owners, on=["part", "correlation"], how="left", maintain_order="left")
        .with_columns(external_id=pl.coalesce("external_id", "launch_external_id"))
        .join(by_interval, on="launch_event_id", how="left", maintain_order="left")
        .join(by_external_id, on=["part", "external_id"], how="left", maintain_order="left")
        .join(_windows(events), on="part", how="left", maintain_order="left")
        .select(
            device_event_id="event_id",
            launch_event_id="launch_event_id",
            op_event_id=pl.coalesce("enclosing_op", "named_op"),
            range_event_id="range_event_id",
            how=pl.when(pl.col("is_graph"))
            .then(pl.lit("graph"))
            .when(~unlinked)
            .then(pl.lit("correlation"))
            .when(pl.col("named_op").is_not_null())
            .then(pl.lit("external_id"))
            .otherwise(pl.lit("none"))
            .cast(HOW),
            cause=pl.when(unlinked).then(_cause()).cast(CAUSE),
        )
    )
    links = rows.select(LINKS.names()).cast(LINKS)
    return links, _notes(events, links)


def _windows(events: pl.DataFrame) -> pl.DataFrame:
    return (
        host_api(events)
        .group_by("part")
        .agg(
            first_api_ns=pl.col("start_ns").min(), first_api_correlation=pl.col("correlation").min()
        )
    )


def _cause() -> pl.Expr:
    return (
        pl.when(pl.col("first_api_ns").is_null())
        .then(pl.lit("api_not_recorded"))
        .when(
            (pl.col("start_ns") < pl.col("first_api_ns"))
            | (pl.col("correlation") < pl.col("first_api_correlation"))
        )
        .then(pl.lit("before_window"))
        .otherwise(pl.lit("lost"))
    )


def _notes(events: pl.DataFrame, links: pl.DataFrame) -> list[Note]:
    notes = []
    if links.is_empty():
        notes.append(Note("warning", "no-device-activity", 0, "no device work was recorded"))
    counts = links.filter(pl.col("cause").is_not_null())["cause"].value_counts()
    for cause, count in sorted(counts.iter_rows()):
        message = f"device events without a launch, because {_CAUSES[cause]}: {count}"
        notes.append(Note("warning" if cause == "lost" else "info", "unlinked", count, message))
    silent = launches_without_device_row(events)
    if silent:
        message = f"launches without a device row, so device time is a lower bound: {silent}"
        notes.append(Note("warning", "launch-without-device-row", silent, message))
    return notes


def launches_without_device_row(events: pl.DataFrame) -> int:
    """Count launches that own no device row, in parts where device work was recorded."""
    recorded = device_work(events)["part"].unique()
    return (
        launches(events)
        .filter(~pl.col("owns_device_work"), pl.col("part").is_in(recorded.implode()))
        .height
    )
