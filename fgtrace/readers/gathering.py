"""Events of a recording as they are read, up to the frames and notes that come of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

import polars as pl

from fgtrace.frames.notes import Note
from fgtrace.frames.schema import (
    DEVICE_WORK,
    EVENTS,
    HOST_API,
    LAUNCH_ATTRIBUTES,
    OP_ATTRIBUTES,
)
from fgtrace.readers.clocks import RAW_TIMES, TIMED, corrected_times
from fgtrace.readers.columns import Group, columns_of
from fgtrace.readers.events import Run
from fgtrace.readers.kinds import HIP_COPIES, PROFILER_CATEGORY, TYPED, typed
from fgtrace.readers.marks import UNDERSTOOD, AnyMark, Begin, End, Timed
from fgtrace.readers.metadata import Metadata, RepairedMetadata
from fgtrace.readers.ordering import Order
from fgtrace.readers.pairs import paired
from fgtrace.readers.recorded import Recorded, Tally
from fgtrace.units import printable

_HOST = ("op", *HOST_API)

_COPIED = ("place", "part", "kind", "correlation", "bytes", "copy_kind")

_BATCH = 200_000
"""Rows that get their meaning together."""

_REPAIRS = {
    "non-finite-number": "in which numbers that are not finite were emptied",
    "invalid-escape": "in which backslashes that escape nothing were kept as they are",
    "invalid-utf8": r"in which bytes that are no UTF-8 were written as \x..",
    "control-character": "in which control characters inside of strings were escaped",
    "unescaped-quote": "in which quotes inside of strings were escaped",
    "missing-comma": "that no comma divides from the one before",
    "trailing-comma": "in which commas with nothing after them were dropped",
    "invalid-value": "in which values that are no JSON were read as text, or as missing",
    "stray-text": "beside which text that belongs to none was dropped",
}
"""What was done to events, by kind of note."""


class Gathering:
    """Takes decoded events, keeps what frames are made of, and counts everything else."""

    def __init__(self, *, raw_times: bool) -> None:
        self._raw_times = raw_times
        self._order = Order()
        self._waiting: defaultdict[Group, list[pl.DataFrame]] = defaultdict(list)
        self._document = 0
        self._device = [TYPED.to_frame().select(TIMED)]
        self._copies = [TYPED.to_frame().select(_COPIED)]
        self._host = [_span(TYPED.to_frame())]
        self._hip = [HIP_COPIES.to_frame()]
        self._begins: list[pl.DataFrame] = []
        self._ends: list[pl.DataFrame] = []
        self._phases: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        self._timeless = self._endless = self._negative = 0
        self._first_skipped: int | None = None
        self._fixes: Counter[str] = Counter()
        self._decoded = 0
        self._skipped = 0

    def add(self, run: Run[AnyMark]) -> None:
        """Take events that follow those taken before."""
        if run.document != self._document:
            self._flush()
            self._document = run.document
        columns = columns_of(run, self._decoded)
        self._decoded += len(run.events)
        self._phases += columns.phases
        for group, rows in columns.rows.items():
            self._waiting[group].append(rows)
        if sum(rows.height for group in self._waiting.values() for rows in group) > _BATCH:
            self._flush()
        if run.salvaged is not None:
            self._fixes += run.salvaged.fixes
            self._skipped += run.salvaged.skipped
            if self._first_skipped is None and run.salvaged.first_skipped is not None:
                self._first_skipped = run.offset + run.salvaged.first_skipped

    def _flush(self) -> None:
        part = pl.lit(self._document, pl.UInt32)
        for (mark, _), frames in self._waiting.items():
            rows = pl.concat(frames)
            timed = rows.filter(pl.col("start_ns").is_not_null()).with_columns(part=part)
            self._timeless += rows.height - timed.height
            if mark is Begin:
                self._begins.append(timed)
            elif mark is End:
                self._ends.append(timed)
            else:
                self._type(timed, mark)
        self._waiting.clear()

    def _type(self, rows: pl.DataFrame, mark: type[Timed]) -> None:
        frames, copies = typed(rows, mark)
        self._hip += copies
        for frame in frames:
            self._keep(frame)

    def _keep(self, rows: pl.DataFrame) -> None:
        self._endless += rows["dur_ns"].null_count()
        if not self._raw_times:
            negative = pl.col("dur_ns") < 0
            count = rows.select(negative.sum()).item()
            if count:
                self._negative += count
                rows = rows.with_columns(dur_ns=pl.when(~negative).then("dur_ns"))
        kinds = set(rows["kind"].unique())
        if "other" in kinds:
            others = rows.filter(pl.col("kind") == "other")["source_category"].drop_nulls()
            self._others.update(others.cast(pl.String).to_list())
        if kinds.intersection(DEVICE_WORK):
            device = rows.filter(pl.col("kind").is_in(DEVICE_WORK))
            device = pl.concat([TYPED.to_frame(), device], how="diagonal")
            self._device.append(device.select(TIMED))
            self._copies.append(device.filter(pl.col("kind") != "kernel").select(_COPIED))
        if kinds.intersection(_HOST):
            self._host.append(_span(rows.filter(pl.col("kind").is_in(_HOST))))
        self._order.add(rows)

    def recorded(
        self, metadata: Sequence[Metadata | None], *, stray: int, cut_off: str | None
    ) -> Recorded:
        """Make the recording of all that was taken; `metadata` has an entry for each document."""
        self._flush()
        unbegun = 0
        if self._begins or self._ends:
            joined, unbegun = paired(self._begins, self._ends)
            self._type(joined, Begin)
        device = pl.concat(self._device)
        self._device.clear()
        notes = [
            *_told("truncated", cut_off is not None, f"{cut_off}; what is before that is read"),
            *_told("second-document", len(metadata) - 1, "documents after the first, each a part"),
            *_told("stray-text", stray, "bytes after the end of the trace, not read"),
            *_told("metadata-not-read", metadata.count(None), "documents without device and rank"),
            *_told(
                "metadata-repaired",
                sum(isinstance(one, RepairedMetadata) for one in metadata),
                "documents whose device and rank are read out of damaged text",
            ),
            *self._notes(unbegun),
        ]
        patches = [_copy_patch(pl.concat(self._copies), pl.concat(self._hip))]
        if not self._raw_times:
            host = pl.concat(self._host).group_by("part")
            spans = host.agg(pl.col("first_ns").min(), pl.col("last_ns").max())
            times, time_notes = corrected_times(device, spans)
            patches.append(times)
            notes += time_notes
        known = [Metadata() if one is None else one for one in metadata]
        numbered = self._order.numbered(patches, [one.rank for one in known])
        used = device["device"].drop_nulls()
        return Recorded(
            events=numbered.select(EVENTS.names()),
            places=numbered.select("place", "event_id", "kind"),
            launch_attributes=LAUNCH_ATTRIBUTES.to_frame().lazy(),
            op_attributes=OP_ATTRIBUTES.to_frame().lazy(),
            notes=notes,
            provenance=known[0].provenance(used[0] if len(used) else None),
            tally=Tally(self._decoded, self._skipped),
        )

    def _notes(self, unbegun: int) -> list[Note]:
        unknown = Counter({p: count for p, count in self._phases.items() if p not in UNDERSTOOD})
        others = Counter(self._others)
        del others[PROFILER_CATEGORY]
        first = self._first_skipped
        where = "" if first is None else f" (the first of them near byte {first})"
        return [
            *_told("event-skipped", self._skipped, f"events that cannot be read{where}"),
            *(
                note
                for kind, what in _REPAIRS.items()
                for note in _told(kind, self._fixes[kind], f"events {what}")
            ),
            *_told("event-without-time", self._timeless, "events left out, without a start"),
            *_told("event-without-duration", self._endless, "events without a duration"),
            *_told(
                "negative-duration",
                self._negative,
                "events whose duration is below 0, taken as not known",
                option=RAW_TIMES,
            ),
            *_told("events-not-read", unknown.total(), f"events not read{_listed(unknown)}"),
            *_told("end-without-begin", unbegun, "end marks that close nothing"),
            *_told(
                "other-category",
                others.total(),
                f"events of categories that are not known, kept as other{_listed(others)}",
                level="info",
            ),
        ]


def _told(
    kind: str,
    count: int,
    what: str,
    *,
    level: Literal["info", "warning"] = "warning",
    option: str | None = None,
) -> list[Note]:
    """Make a note of what there is; of what is there or not, `count` is a bool."""
    if not count:
        return []
    message = what if isinstance(count, bool) else f"{what}: {count}"
    return [Note(level, kind, int(count), message, option)]


def _listed(counts: Counter[str]) -> str:
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:8]
    return f" ({', '.join(printable(name) for name, _ in most)})"


def _span(host: pl.DataFrame) -> pl.DataFrame:
    return host.group_by("part").agg(
        first_ns=pl.col("start_ns").min(),
        last_ns=(pl.col("start_ns") + pl.col("dur_ns").fill_null(0)).max(),
    )


def _copy_patch(copies: pl.DataFrame, hip: pl.DataFrame) -> pl.DataFrame:
    # ROCm's device row can call a readback a device copy, or leave its size out: the API's own
    # arguments are right.
    key = ["part", "correlation"]
    first = hip.sort("place").unique(key, keep="first", maintain_order=True).drop("place")
    return copies.join(first, on=key).select(
        "place",
        bytes=pl.coalesce("bytes", "api_bytes"),
        copy_kind=pl.when(pl.col("kind") == "memcpy").then(pl.coalesce("api_copy", "copy_kind")),
    )
