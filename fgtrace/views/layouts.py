"""The layouts of what is said of whole recordings, and of all reports by their names."""

from __future__ import annotations

from dataclasses import replace

from fgtrace import units
from fgtrace.views.layout import Layout, Shown, indented, named
from fgtrace.views.layouts_of_calls import (
    ATTRIBUTION,
    BREAKDOWN,
    CALLS,
    CALLS_BY_CASE,
    EFFECTS,
    EXPLAINED,
    FINDINGS,
    HOST,
    HOST_BY_GROUP,
    PHASES,
    WHATIF,
)
from fgtrace.views.layouts_of_matrix import MATRIX, MATRIX_BY_PAIR, MATRIX_BY_SIZE

IDLE = Layout(
    title="Idle devices",
    names=("cause", "where"),
    shown=(
        Shown("cause", ("cause",), named),
        Shown("idle", ("idle_ns",), units.duration),
        Shown("share", ("share",), units.share),
        Shown("gaps", ("count",), units.count),
        Shown("longest", ("longest_ns",), units.duration),
        Shown("before event", ("event_id",), units.count, drop=1),
        Shown("where", ("where",), named),
    ),
    footnotes=(
        "The share is of the span of the device's work. A gap is what the launching thread did "
        "until its launch, then the launch's latency.",
    ),
    empty="no device was idle between two pieces of work",
)

WITNESSES = Layout(
    title="Witnesses",
    names=("case", "route", "witness", "value"),
    shown=(
        Shown("case", ("case",), named, optional=True),
        Shown("route", ("route",), named),
        Shown("generation", ("generation",), units.count, drop=1),
        Shown("process", ("process",), units.count, drop=2),
        Shown("witness", ("witness",), named),
        Shown("value", ("value",), named),
    ),
    empty="nothing was witnessed: only fgtrace collect does",
)

KERNELS = Layout(
    title="Kernels",
    names=("name",),
    shown=(
        Shown("count", ("count",), units.count),
        Shown("total", ("total_ns",), units.duration),
        Shown("share", ("share",), units.share),
        Shown("min", ("min_ns",), units.duration, drop=2),
        Shown("median", ("median_ns",), units.duration),
        Shown("p95", ("p95_ns",), units.duration, drop=3),
        Shown("max", ("max_ns",), units.duration, drop=1),
        # Last, so that one long name does not push the numbers of all rows apart.
        Shown("kernel", ("name",), named),
    ),
    footnotes=("The share is of device time: kernels, copies and fills.",),
    empty="no kernel was recorded",
)

_OPS_FOOTNOTES = (
    "Self, total, median and max are host time; self is without the operators inside.",
    "Device work belongs to the innermost operator around its launch.",
)

OPS = Layout(
    title="Operators",
    names=("name",),
    shown=(
        Shown("count", ("count",), units.count),
        Shown("self", ("self_host_ns",), units.duration),
        Shown("total", ("total_host_ns",), units.duration, drop=1),
        Shown("median", ("median_ns",), units.duration, drop=3),
        Shown("max", ("max_ns",), units.duration, drop=4),
        Shown("device time", ("device_time_ns",), units.duration),
        Shown("kernels", ("kernel_count",), units.count, drop=2),
        Shown("launches", ("launch_count",), units.count, drop=5),
        Shown("operator", ("name",), named),
    ),
    footnotes=_OPS_FOOTNOTES,
    empty="no operator was recorded",
)

OPS_BY_SHAPE = replace(
    OPS,
    title="Operators by their inputs",
    names=("name", "shapes", "types"),
    shown=(
        *OPS.shown,
        Shown("shapes", ("shapes",), named, optional=True),
        Shown("types", ("types",), named, drop=6, optional=True),
    ),
)

LAUNCHES = Layout(
    title="Launches",
    names=("api",),
    shown=(
        Shown("API call", ("api",), named),
        Shown("count", ("count",), units.count),
        Shown("host time", ("host_time_ns",), units.duration),
        Shown("median delay", ("delay_median_ns",), units.duration),
        Shown("p95 delay", ("delay_p95_ns",), units.duration, drop=1),
        Shown("queued", ("queue_depth_median",), units.count, drop=3),
        Shown("most queued", ("queue_depth_max",), units.count, drop=4),
        Shown("without device row", ("without_device_row",), units.count, drop=2),
    ),
    footnotes=(
        "The delay is from the start of the call to the start of what it launched, of a graph to "
        "its first kernel. Queued: what the stream had still to do when the launch began.",
    ),
    empty="no launch was recorded",
)

SYNCS = Layout(
    title="Waits",
    names=("api", "op", "call_site"),
    shown=(
        Shown("API call", ("api",), named),
        Shown("class", ("class",), named),
        Shown("count", ("count",), units.count),
        Shown("host time", ("host_time_ns",), units.duration),
        Shown("earlier work", ("earlier_ns",), units.duration, drop=4, optional=True),
        Shown("this work", ("this_ns",), units.duration, drop=4, optional=True),
        Shown("wake", ("wake_ns",), units.duration, drop=3, optional=True),
        Shown("device idle", ("device_idle_ns",), units.duration),
        Shown("bytes", ("bytes",), units.size, drop=1),
        Shown("operator", ("op",), named),
        Shown("call site", ("call_site",), named, drop=2, optional=True),
    ),
    footnotes=(
        "In an event_wait a stream waits, and the host does not; its host time is the call's own.",
        "In calls a wait is for earlier work, for this call's work, and then the host wakes.",
        "Bytes are those of the copies waited for. Device idle: while no work ran on any device.",
    ),
    empty="no wait was recorded",
)

TREE = Layout(
    title="Call tree of the host",
    names=("name",),
    shown=(
        Shown("count", ("count",), units.count),
        Shown("total", ("total_ns",), units.duration),
        Shown("self", ("self_ns",), units.duration, drop=1),
        Shown("device time", ("device_time_ns",), units.duration),
        Shown("kernels", ("kernel_count",), units.count, drop=2),
        Shown("kind", ("kind",), named, drop=3),
        Shown("name", ("name", "depth"), indented),
    ),
    footnotes=("Totals, device time and kernels are with what is inside; self is without.",),
    empty="nothing was recorded on the host",
)

NOTES = Layout(
    title="Notes",
    names=("kind", "message"),
    shown=(
        Shown("level", ("level",), named),
        Shown("kind", ("kind",), named),
        Shown("count", ("count",), units.count),
        Shown("part", ("part",), units.count, drop=2, optional=True),
        Shown("option", ("option",), named, drop=1, optional=True),
        Shown("message", ("message",), named),
    ),
)

LAYOUTS = {
    "findings": FINDINGS,
    "calls": CALLS,
    "calls by case": CALLS_BY_CASE,
    "phases": PHASES,
    "phases explained": EXPLAINED,
    "breakdown": BREAKDOWN,
    "attribution": ATTRIBUTION,
    "whatif": WHATIF,
    "effects": EFFECTS,
    "host": HOST,
    "host by group": HOST_BY_GROUP,
    "kernels": KERNELS,
    "ops": OPS,
    "ops by shape": OPS_BY_SHAPE,
    "launches": LAUNCHES,
    "syncs": SYNCS,
    "idle": IDLE,
    "tree": TREE,
    "matrix": MATRIX,
    "matrix by pair": MATRIX_BY_PAIR,
    "matrix by size": MATRIX_BY_SIZE,
    "witnesses": WITNESSES,
    "notes": NOTES,
}
"""How each report frame is shown, by the report's name."""
