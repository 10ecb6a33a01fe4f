"""Findings: what an expert would say about a recording, each with the rows behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from fgtrace.analysis.crossovers import crossovers
from fgtrace.analysis.groups import PROFILER
from fgtrace.analysis.host import host_report
from fgtrace.analysis.idle import idle_report, under_recorded
from fgtrace.analysis.marks import device_phases
from fgtrace.analysis.matrix import overhead_factors
from fgtrace.analysis.names import matching
from fgtrace.analysis.pieces import host_pieces
from fgtrace.analysis.readbacks import readbacks
from fgtrace.analysis.rules import RULES, Rule
from fgtrace.analysis.sweeps import unsized
from fgtrace.analysis.syncs import syncs_report
from fgtrace.analysis.whatif import whatif_report
from fgtrace.frames.trace import Trace
from fgtrace.units import count, duration, factor, share

FINDINGS = pl.Schema(
    {
        "rule": pl.String(),  # one of KINDS
        "case": pl.String(),
        "route": pl.String(),
        "sentence": pl.String(),
        "saving_ns": pl.Int64(),  # predicted, a call; null where no unprofiled time is known
        "saving_low_ns": pl.Int64(),  # its interval; null where nothing is predicted
        "saving_high_ns": pl.Int64(),
        # The rows behind it: frame, event_ids (the first EVIDENCE of them), and how many there are.
        "evidence": pl.Struct(
            {"frame": pl.String(), "event_ids": pl.List(pl.UInt32), "count": pl.Int64}
        ),
    }
)

KINDS = {
    "avoidable-readback": "the length is read back although the caller gives it",
    "needed-readback": "a value is read back that the call needs and the caller does not give",
    "index-check": "indices are checked on the host",
    "launcher-bound": "the Python between operators and launches is the largest part of a call",
    "launch-bound": "launch calls are a large part of a call",
    "crossover": "from some size on, another route is the faster one",
    "other-readback": "a scalar is read back outside of any known part",
    "device-idle": "the device is idle for most of its span",
    "not-capturable": "a wait keeps a call from being captured in a graph",
    "compilation": "code was compiled, tuned or loaded in measured calls",
    "overhead": "the profiler made a call more than three times as long",
    "under-recorded": "graph replays were recorded in part",
}
"""The kinds of findings."""

EVIDENCE = 100
KNOWN = "_known"
"""Ends the name of a case whose caller gives the output's length."""

LARGE = 0.25
"""Of a call: so much a part must save for the call to be called bound by it."""

IDLE = 0.5
OVERHEAD = 3.0


@dataclass
class _Finding:
    rule: str
    case: str | None
    route: str | None
    sentence: str
    saving: tuple[int | None, int | None, int | None] = (None, None, None)
    frame: str = "events"
    event_ids: list[int] = field(default_factory=list)
    count: int | None = None

    def row(self) -> dict[str, object]:
        found = len(self.event_ids) if self.count is None else self.count
        ids = self.event_ids[:EVIDENCE]
        names = ("saving_ns", "saving_low_ns", "saving_high_ns")
        return {
            "rule": self.rule,
            "case": self.case,
            "route": self.route,
            "sentence": self.sentence,
            **dict(zip(names, self.saving, strict=True)),
            "evidence": {"frame": self.frame, "event_ids": ids, "count": found},
        }


def findings_report(
    trace: Trace, *, call_ns: float | None = None, rules: tuple[Rule, ...] = RULES
) -> pl.DataFrame:
    """Make a row a finding, the largest predicted saving first, those that save nothing last."""
    pieces = host_pieces(trace, rules)
    found = [
        *_parts(trace, pieces, call_ns, rules),
        *_crossovers(trace),
        *_waits(trace, device_phases(trace, rules)),
        *_idle(trace),
        *_capture(trace, pieces),
        *_compilations(trace, pieces),
        *_overheads(trace),
        *_replays(trace),
    ]
    middle = (pl.col("saving_low_ns") + pl.col("saving_high_ns")) / 2
    return (
        pl.DataFrame([one.row() for one in found], schema=FINDINGS)
        .with_row_index("place")
        .sort(pl.coalesce("saving_ns", middle), "place", descending=[True, False], nulls_last=True)
        .drop("place")
    )


def _saves(row: dict[str, object]) -> str:
    """Say what a what-if row predicts."""
    saving, low, high = (row[f"{name}_ns"] for name in ("saving", "interval_low", "interval_high"))
    between = f"{duration(low)} to {duration(high)}"  # type: ignore[arg-type]
    if saving is None:
        return f"without it a call would take {between} less (no unprofiled time is known)"
    call: int = row["call_ns"]  # type: ignore[assignment]
    return (
        f"without it a call would take {duration(row['predicted_ns'])} instead of "  # type: ignore[arg-type]
        f"{duration(call)}: {duration(saving)} less ({between})"  # type: ignore[arg-type]
    )


_SENTENCES = {
    "avoidable-readback": "{what} reads its length back from the device although the caller gives "
    "it ({n} a call); {saves}. Instead: {instead}.",
    "needed-readback": "{what} reads back what it needs to know of the device's data ({phase}, {n} "
    "a call); {saves}. Instead, where the caller can: {instead}.",
    "index-check": "{what} checks its indices on the host, which waits for the answer; {saves}. "
    "Instead: {instead}.",
    "launcher-bound": "{what} is bound by Python outside of operators and API calls{costliest}; "
    "{saves}. Instead: {instead}.",
    "launch-bound": "{what} is bound by its launch calls; {saves}. Instead: {instead}.",
}
_BOUNDS = ("launcher-bound", "launch-bound")
_RULES_OF_PARTS = {
    "length_readback": "needed-readback",
    "negative_check": "needed-readback",
    "index_check": "index-check",
    "python": "launcher-bound",
    "launch": "launch-bound",
}


def _parts(
    trace: Trace, pieces: pl.DataFrame, call_ns: float | None, rules: tuple[Rule, ...]
) -> Iterator[_Finding]:
    calls = trace.calls.select("case", "route", "dur_ns", "left_out", call_id="range_event_id")
    costliest = _costliest(trace)
    for row in whatif_report(trace, call_ns=call_ns, rules=rules).iter_rows(named=True):
        phase, case, route = row["without"], row["case"], row["route"]
        rule = _RULES_OF_PARTS.get(phase)
        of_case = calls.filter(
            pl.col("case").eq_missing(pl.lit(case)), pl.col("route").eq_missing(pl.lit(route))
        )
        mine = pieces.filter(
            pl.col("phase") == phase, pl.col("call_id").is_in(of_case["call_id"].implode())
        )
        if rule is None or (rule in _BOUNDS and not _large(row, of_case, mine)):
            continue
        # While other threads work for the call, its own has nothing to do but to wait for them.
        if rule == "launcher-bound" and not mine["own_thread"].all():
            continue
        if phase == "length_readback" and _is_known(trace, case):
            rule = "avoidable-readback"
        waits = mine.filter(pl.col("piece").cast(pl.String).str.starts_with("waiting"))
        times = waits["event_id"].n_unique() / of_case.height if of_case.height else 0
        sentence = _SENTENCES[rule].format(
            what=f"{case or 'A call'}{f' by {route}' if route else ''}",
            n=f"{times:.3g} wait{'' if times == 1 else 's'}",
            phase=phase.replace("_", " "),
            saves=_saves(row),
            instead=row["instead"],
            costliest=costliest.get((case, route), ""),
        )
        saving = (row["saving_ns"], row["interval_low_ns"], row["interval_high_ns"])
        ids = mine["event_id"].unique().sort().to_list()
        yield _Finding(rule, case, route, sentence, saving, event_ids=ids)


def _is_known(trace: Trace, case: str | None) -> bool:
    # The switched case gives the length too, and reads it back on demand.
    return case is not None and (
        unsized(case).endswith(KNOWN) or "readback" in trace.provenance.parameters.get(case, {})
    )


def _large(row: dict[str, object], calls: pl.DataFrame, mine: pl.DataFrame) -> bool:
    saving: int | None = row["saving_ns"]  # type: ignore[assignment]
    call: int | None = row["call_ns"]  # type: ignore[assignment]
    if saving is not None and call:
        return saving >= LARGE * call
    kept = calls.filter(~pl.col("left_out"))
    recorded = mine.filter(pl.col("call_id").is_in(kept["call_id"].implode()))["time_ns"].sum()
    return int(recorded) >= LARGE * int(kept["dur_ns"].sum())


def _costliest(trace: Trace) -> dict[tuple[str | None, str | None], str]:
    """Name the Python function that takes longest, where stacks were recorded."""
    told = {}
    python = host_report(trace).filter(pl.col("module").is_not_null(), pl.col("group") != PROFILER)
    for rows in python.partition_by("case", "route"):
        top = rows.sort("total_ns", "function", descending=[True, False]).row(0, named=True)
        told[top["case"], top["route"]] = (
            f", of whose functions {top['function']} in {top['module']} takes longest "
            f"({share(top['share'])} of a call with stacks)"
        )
    return told


def _crossovers(trace: Trace) -> Iterator[_Finding]:
    for one in crossovers(trace):
        yield _Finding(
            "crossover", one.case, None, one.sentence, frame="samples", count=one.batches
        )


def _waits(trace: Trace, phases: pl.DataFrame) -> Iterator[_Finding]:
    # Copies that no rule and no range knows.
    known = phases["device_event_id"].implode()
    read = readbacks(trace).filter("readback", ~pl.col("device_event_id").is_in(known))
    if read.is_empty():
        return
    rows = syncs_report(trace).filter(pl.col("class") != "event_wait")
    reading = rows.filter(
        matching(rows["op"].fill_null(""), r"item|_local_scalar_dense|nonzero|copy")
    )
    host_ns = int(reading["host_time_ns"].sum())
    sites = reading["call_site"].drop_nulls().to_list()
    sentence = (
        f"{_times(read.height)} the host waits for a copy of what the device has made, "
        f"{duration(host_ns)} in all{f', most in {sites[0]}' if sites else ''}: keep the value on "
        "the device, or read it once, later."
    )
    ids = read["device_event_id"].to_list()
    yield _Finding("other-readback", None, None, sentence, event_ids=ids)


def _times(number: int) -> str:
    return "Once" if number == 1 else f"{count(number)} times"


def _idle(trace: Trace) -> Iterator[_Finding]:
    rows = idle_report(trace)
    known = rows.filter(pl.col("cause") != "not known")
    idle = float(known["share"].sum())
    if idle < IDLE:
        return
    by_cause = (
        known.group_by("cause")
        .agg(pl.col("share").sum())
        .sort("share", "cause", descending=[True, False])
    )
    told = " and ".join(f"{share(part)} {cause}" for cause, part in by_cause.head(2).iter_rows())
    worst = known.row(0, named=True)
    where = f" ({worst['where']})" if worst["where"] else ""
    sentence = (
        f"The device is idle for {share(idle)} of the span of its work: of the span, {told}; the "
        f"longest gap of the first kind lasts {duration(worst['longest_ns'])}{where}."
    )
    yield _Finding("device-idle", None, None, sentence, event_ids=[worst["event_id"]])


def _capture(trace: Trace, pieces: pl.DataFrame) -> Iterator[_Finding]:
    waits = pieces.filter(
        pl.col("own_thread"), pl.col("piece").cast(pl.String).str.starts_with("waiting")
    )
    calls = trace.calls.select("case", "route", call_id="range_event_id")
    found = waits.join(calls, on="call_id")
    for (case, route), rows in found.partition_by(
        "case", "route", maintain_order=True, as_dict=True
    ).items():
        phases = ", ".join(sorted(set(rows["phase"].str.replace_all("_", " "))))
        sentence = (
            f"{case or 'A call'}{f' by {route}' if route else ''} cannot be captured in a graph "
            f"while the host waits in it ({phases})."
        )
        ids = rows["event_id"].unique().sort().to_list()
        yield _Finding("not-capturable", case, route, sentence, event_ids=ids)


def _compilations(trace: Trace, pieces: pl.DataFrame) -> Iterator[_Finding]:
    counted = trace.witnesses.filter(
        pl.col("witness").str.contains("in measured batches"),
        ~pl.col("value").is_in(("0", "unknown")),
    )
    for row in counted.iter_rows(named=True):
        what = row["witness"].removesuffix(" in measured batches")
        sentence = (
            f"{row['value']} {what} inside measured batches of {row['case']} by {row['route']}."
        )
        yield _Finding(
            "compilation", row["case"], row["route"], sentence, frame="witnesses", count=1
        )
    kept = trace.calls.filter(~pl.col("left_out"))["range_event_id"].implode()
    loads = pieces.filter(
        pl.col("piece") == "module load or compile", pl.col("call_id").is_in(kept)
    )
    if not loads.is_empty():
        sentence = (
            f"Device code was loaded or compiled in recorded calls, for "
            f"{duration(int(loads['time_ns'].sum()))} in all: warm up longer."
        )
        ids = loads["event_id"].unique().sort().to_list()
        yield _Finding("compilation", None, None, sentence, event_ids=ids)


def _overheads(trace: Trace) -> Iterator[_Finding]:
    rows = overhead_factors(trace).filter(pl.col("overhead_factor") > OVERHEAD)
    for row in rows.iter_rows(named=True):
        sentence = (
            f"A profiled call of {row['case']} by {row['route']} takes "
            f"{factor(row['overhead_factor'])} as long as an unprofiled one: believe the profile's "
            "counts and device times, not its host times."
        )
        yield _Finding("overhead", row["case"], row["route"], sentence, frame="samples", count=1)


def _replays(trace: Trace) -> Iterator[_Finding]:
    lost = under_recorded(trace)
    if lost.is_empty():
        return
    sentence = (
        f"{count(lost.height)} graph launches own less than half the device work of the others: "
        "their replays were recorded in part, so device time is a lower bound, and idle time is "
        "not known."
    )
    yield _Finding("under-recorded", None, None, sentence, event_ids=lost["event_id"].to_list())
