"""What a trace file says, read slowly by the standard library: the reader is compared with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

CATEGORIES = {
    "op": {"cpu_op", "Operator"},
    "kernel": {"kernel", "Kernel"},
    "memcpy": {"gpu_memcpy", "Memcpy"},
    "memset": {"gpu_memset", "Memset"},
    "range": {"user_annotation"},
    "device_range": {"gpu_user_annotation"},
    "sync_record": {"cuda_sync"},
    "python": {"python_function"},
    "overhead": {"overhead"},
    "driver": {"cuda_driver", "privateuse1_driver"},
    "runtime": {
        "Runtime",
        "cuda_runtime",
        "privateuse1_runtime",
        "xpu_runtime",
        "mtia_runtime",
    },
}
ON_DEVICE = ("kernel", "memcpy", "memset", "device_range", "sync_record")
LARGEST = 2**63 - 1


class Row(NamedTuple):
    """One event, with what the file says of it. Times are exact nanoseconds."""

    kind: str
    name: str
    start_ns: int
    dur_ns: int | None
    process: str | None
    thread: str | None
    device: int | None
    stream: int | None
    correlation: int | None
    external_id: int | None
    bytes: int | None
    source_category: str | None


def reference(text: bytes) -> list[Row]:
    """Read all events of one sound document, in the order that `event_id` counts them."""
    document = json.loads(text, parse_float=Decimal, strict=False)
    events = document if isinstance(document, list) else document["traceEvents"]
    rows = []
    for place, event in _joined(events):
        start = nanoseconds(event.get("ts"))
        if start is not None:
            row = _row(event, start)
            rows.append((start, -(row.dur_ns or 0), place, event, row))
    rows.sort(key=lambda one: one[:3])
    return list(_with_sizes([(event, row) for *_, event, row in rows]))


def nanoseconds(value: Any) -> int | None:
    """Convert microseconds."""
    try:
        exact = Decimal(value) * 1000
    except (ArithmeticError, TypeError, ValueError):
        return None
    if isinstance(value, bool) or not exact.is_finite() or abs(exact) > LARGEST:
        return None
    return int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def _joined(events: list[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the events that have a row, each with its place, ends joined to their begins."""
    marks = []
    for place, event in enumerate(events):
        phase = event.get("ph")
        if phase in ("B", "E"):
            marks.append((nanoseconds(event.get("ts")), place, event))
        elif phase == "X":
            yield place, event
        elif phase in ("i", "I", "R", "C"):
            yield place, {**event, "dur": 0}
    opened: dict[tuple[str | None, str | None], list[tuple[int, dict[str, Any]]]] = {}
    begun = []
    timed = [mark for mark in marks if mark[0] is not None]
    for _, place, event in sorted(timed, key=lambda mark: mark[:2]):
        stack = opened.setdefault((label(event.get("pid")), label(event.get("tid"))), [])
        if event["ph"] == "B":
            stack.append((place, {**event, "dur": None}))
            begun.append(stack[-1])
        elif stack:
            _, begin = stack.pop()
            begin["dur"] = Decimal(event["ts"]) - Decimal(begin["ts"])
    yield from begun


def _row(event: dict[str, Any], start: int) -> Row:
    category, name = event.get("cat"), event.get("name")
    kind = _kind(category, name or "", event.get("pid"))
    if event["ph"] == "C":
        kind = "counter"
    args = event.get("args")
    if category == "python_function" or not isinstance(args, dict):
        args = {}
    external = args.get("External id")
    on_device = kind in ON_DEVICE
    device = whole(args.get("device"))
    stream = whole(args.get("stream"))
    return Row(
        kind=kind,
        name="" if name is None else str(name),
        start_ns=start,
        dur_ns=nanoseconds(event.get("dur")),
        process=label(event.get("pid")),
        thread=None if on_device else label(event.get("tid")),
        device=(whole(event.get("pid")) if device is None else device) if on_device else None,
        stream=(whole(event.get("tid")) if stream is None else stream) if on_device else None,
        correlation=whole(args.get("correlation")),
        external_id=whole(args.get("external id") if external is None else external),
        bytes=whole(args.get("bytes")) if kind in ("memcpy", "memset") else None,
        source_category=category,
    )


def _kind(category: str | None, name: str, process: Any) -> str:
    if category is None:
        if name.startswith(("Memcpy", "Memset")):
            return name[:6].lower()
        return {"CPU functions": "op", "CUDA functions": "kernel"}.get(process, "other")
    if category == "cpu_instant_event" and name == "[memory]":
        return "memory"
    kind = next((kind for kind, names in CATEGORIES.items() if category in names), "other")
    if kind == "op" and name.startswith("ProfilerStep#"):
        return "range"
    if kind == "kernel" and name.startswith(("__amd_rocclr_copy", "MEMORY_COPY_")):
        return "memcpy"
    if kind == "kernel" and re.fullmatch("Copy(Device|Host)To(Device|Host)", name):
        return "memcpy"
    if kind == "kernel" and (name.startswith("__amd_rocclr_fill") or name == "FillBuffer"):
        return "memset"
    return kind


def _with_sizes(found: list[tuple[dict[str, Any], Row]]) -> Iterator[Row]:
    """Take the size of a copy from its HIP call where its own row has none."""
    sizes: dict[int | None, int | None] = {}
    for event, row in found:
        args = event.get("args")
        is_call = row.kind in ("runtime", "driver") and row.name.startswith("hip")
        if is_call and row.correlation is not None and ("bytes" in args or "kind" in args):
            sizes.setdefault(row.correlation, whole(args.get("bytes")))
    for _, row in found:
        if row.kind in ("memcpy", "memset") and row.bytes is None:
            row = row._replace(bytes=sizes.get(row.correlation))
        yield row


def label(value: Any) -> str | None:
    """Give a process or thread as text."""
    return None if value is None else str(value)


def whole(value: Any) -> int | None:
    """Give a number that may be written as text, after a word or in hexadecimal."""
    if isinstance(value, str):
        last = value.split()[-1:] or [""]
        if not re.fullmatch(r"[-+]?\d+|0[xX][0-9a-fA-F]+", last[0]):
            return None
        value = int(last[0], 16 if last[0][:2] in ("0x", "0X") else 10)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)
    return value if isinstance(value, int) and abs(value) <= LARGEST else None
