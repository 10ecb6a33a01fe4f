"""What is said of a selected event: what it is, what launched it, and why the device was idle."""

from __future__ import annotations

from typing import Any

import polars as pl

from fgtrace import units
from fgtrace.analysis.idle import idle_gaps
from fgtrace.frames.trace import Trace
from fgtrace.units import duration, printable
from fgtrace.views.layout import named

SHOWN = 3
"""Causes of idle time that are told, and kernels of a launch."""


def about(trace: Trace, event_id: int, origin: int) -> tuple[str, ...]:
    """Give lines about an event; times are told from `origin` on, in nanoseconds."""
    event = trace.events.filter(event_id=event_id).collect().row(0, named=True)
    what = [
        f"start +{duration(event['start_ns'] - origin)}",
        duration(event["dur_ns"]),
        str(event["kind"]),
    ]
    if event["stream"] is not None:
        what.append(f"device {event['device']} stream {event['stream']}")
    elif event["thread"] is not None:
        what.append(f"thread {printable(event['thread'])}")
    if event["bytes"] is not None:
        what.append(units.size(event["bytes"]))
    if event["correlation"] is not None:
        what.append(f"correlation {event['correlation']}")
    return (
        printable(event["name"]),
        "   ".join(what),
        *_launched_by(trace, event),
        *_launches(trace, event),
        *_idle_before(trace, event_id),
    )


def arrows(trace: Trace, event_id: int) -> list[int]:
    """Give the events that an arrow joins to this one: its launch, or what it launched."""
    links = trace.links
    launch = links.filter(device_event_id=event_id)["launch_event_id"].drop_nulls()
    work = links.filter(launch_event_id=event_id)["device_event_id"]
    return [*launch, *work]


def _launched_by(trace: Trace, event: dict[str, Any]) -> list[str]:
    link = trace.links.filter(device_event_id=event["event_id"])
    if link.is_empty():
        return []
    row = link.row(0, named=True)
    if row["launch_event_id"] is None:
        return [f"its launch is not in the file: {named(row['cause'])}"]
    api = trace.api_calls.filter(event_id=row["launch_event_id"]).row(0, named=True)
    around = _name(trace, row["op_event_id"]) or _name(trace, row["range_event_id"])
    before = duration(event["start_ns"] - api["start_ns"])
    told = f"launched by {printable(api['name'])} {before} before"
    return [f"{told}  ←  {around}" if around else told]


def _launches(trace: Trace, event: dict[str, Any]) -> list[str]:
    work = trace.links.filter(launch_event_id=event["event_id"])["device_event_id"]
    if work.is_empty():
        return []
    names = trace.device_work.filter(pl.col("event_id").is_in(work.implode()))["name"]
    told = ", ".join(printable(str(name)) for name in names.head(SHOWN))
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return [f"launches {told}{more}"]


def _idle_before(trace: Trace, event_id: int) -> list[str]:
    gaps = idle_gaps(trace).filter(event_id=event_id)
    if gaps.is_empty():
        return []
    causes = [
        f"{duration(length)} {cause}{f' ({printable(where)})' if where else ''}"
        for cause, where, length in gaps.select("cause", "where", "idle_ns").head(SHOWN).iter_rows()
    ]
    total = duration(int(gaps["idle_ns"].sum()))
    return [f"the device had been idle {total}: {', '.join(causes)}"]


def _name(trace: Trace, event_id: int | None) -> str | None:
    if event_id is None:
        return None
    found = trace.host_events.filter(event_id=event_id)["name"]
    return printable(str(found[0])) if len(found) else None
