"""What a call would take without a part of it, predicted by replaying the recording without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fgtrace.analysis.around import around_in
from fgtrace.analysis.matrix import call_times
from fgtrace.analysis.names import checked_pattern, matching
from fgtrace.analysis.overhead import event_costs
from fgtrace.analysis.pieces import host_pieces
from fgtrace.analysis.replay import Replay, fitted, replay
from fgtrace.analysis.rules import RULES, Rule
from fgtrace.analysis.spread import LEVEL, spread
from fgtrace.analysis.steps import Steps
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.frames.trace import Trace
from fgtrace.units import duration

WHATIF = pl.Schema(
    {
        "case": pl.String,
        "route": pl.String,
        "without": pl.String,  # a part, op:RE or kernel:RE; several are joined by " + "
        "instead": pl.String,  # what makes it superfluous; null where the user has to know
        "calls": pl.Int64,  # that were replayed
        "call_ns": pl.Int64,  # an unprofiled call; null where nobody timed it
        "predicted_ns": pl.Int64,  # such a call without the part; null like the one before
        "saving_ns": pl.Int64,  # their difference; null like it
        "interval_low_ns": pl.Int64,  # of the saving
        "interval_high_ns": pl.Int64,
        # What has to become faster for a call to: device, host, or host and device in turns.
        "bound_before": pl.String,
        "bound_after": pl.String,
    }
)

INSTEAD = {
    "length_readback": "a given output_size",
    "negative_check": "repeats that are known not to be negative",
    "index_check": "indices that are in range by construction, or a check on the device",
    "allocate": "outputs that are allocated once (out=)",
    "python": "a launch path without Python: a captured graph, or compiled code",
    "launch": "a captured graph",
}
"""The parts that a call can do without, and what makes each superfluous."""

HOST_ONLY = ("python", "launch")
"""Of these, the parts without which the device has the same to do."""

ALIASES = {"readback": "length_readback"}
"""Names of factorial parts that phases are not called by."""

_NONE = pl.Series(dtype=pl.UInt32)

FACTORS = (1.9, 3.0)
"""How many times longer a profiled call takes, where nobody timed an unprofiled one: from least to
most on an NVIDIA H200 host (four variants of one call gave 2.4 to 3.0, a training step 1.9)."""


@dataclass(frozen=True)
class _Removal:
    name: str
    events: pl.Series
    """Of the host, whose time is taken out, ..."""
    silent: pl.Series
    """... and those of them whose device work and waits go too."""
    instead: str | None


def whatif_report(
    trace: Trace,
    *,
    without: Sequence[str] = (),
    call_ns: float | None = None,
    rules: tuple[Rule, ...] = RULES,
) -> pl.DataFrame:
    """Predict calls without each of `without`, and, of several, without all of them.

    Each is a part (a phase of INSTEAD), `op:RE` (operators in whose names the regular expression is
    found, with all inside them) or `kernel:RE` (kernels, with their launches). Without any, each
    part that the calls have is taken. `call_ns` is what an unprofiled call takes; else the
    stopwatch says, else only an interval can be given, that of FACTORS; so too where the
    stopwatch's time cannot be that of what was recorded.

    Raises FgtraceError (usage) for what cannot be removed or is not there.
    """
    key = ("what-if", tuple(without), call_ns, rules)
    return trace.once(key, lambda: _predictions(trace, without, call_ns, rules))


def _predictions(
    trace: Trace, without: Sequence[str], call_ns: float | None, rules: tuple[Rule, ...]
) -> pl.DataFrame:
    pieces = host_pieces(trace, rules)
    costs = event_costs(trace)
    given = None if call_ns is None else _CallTime(call_ns, call_ns, call_ns)
    timed = _timed(trace)
    rows = []
    found: set[str] = set()
    groups = trace.calls.filter(~pl.col("left_out")).partition_by(
        "case", "route", maintain_order=True, as_dict=True
    )
    for (case, route), calls in groups.items():
        of_calls = pieces.filter(pl.col("call_id").is_in(calls["range_event_id"].implode()))
        removals = _removals(trace, of_calls, without)
        found.update(removal.name for removal in removals)
        if not removals:
            continue
        model = _Model(Steps(trace, calls, costs), calls, given, timed.get((case, route)))
        rows += [{"case": case, "route": route, **model.without(removal)} for removal in removals]
    for name in without:
        if groups and ALIASES.get(name, name) not in found:
            raise _not_there(name, pieces)
    saving = pl.coalesce("saving_ns", "interval_high_ns")
    return pl.DataFrame(rows, schema=WHATIF).sort(
        "case", "route", saving, "without", descending=[False, False, True, False], nulls_last=True
    )


@dataclass(frozen=True)
class _CallTime:
    """What an unprofiled call takes, and the ends of its interval."""

    value: float
    low: float
    high: float


def _timed(trace: Trace) -> dict[tuple[str | None, str | None], _CallTime]:
    columns = ("throughput_ns", "throughput_low_ns", "throughput_high_ns")
    rows = call_times(trace).select("case", "route", *columns)
    return {
        (case, route): _CallTime(value, low or value, high or value)
        for case, route, value, low, high in rows.iter_rows()
    }


class _Model:
    """The calls of one case and route, fitted to what an unprofiled call takes."""

    def __init__(
        self,
        steps: Steps,
        calls: pl.DataFrame,
        given: _CallTime | None,
        measured: _CallTime | None,
    ) -> None:
        self.steps = steps
        self.program = steps.program(_NONE, _NONE)
        self.timed = given or measured
        scales = self._fitted(self.timed) if self.timed else []
        if given and not scales:
            raise self._not_recorded(given)
        if not scales:
            # The stopwatch saw another host: one that was slower than under the profiler, or faster
            # than the device's work.
            self.timed = None
            scales = self._guessed(calls)
        self.scales = scales
        self.before = [replay(self.program, scale) for scale in self.scales]

    def without(self, removal: _Removal) -> dict[str, object]:
        """Predict the call without some of its events: the columns of WHATIF."""
        program = self.steps.program(removal.events, removal.silent)
        after = [replay(program, scale) for scale in self.scales]
        savings = [_saving(one, other) for one, other in zip(self.before, after, strict=True)]
        row: dict[str, object] = {
            "without": removal.name,
            "instead": removal.instead,
            "calls": len(program.calls),
            "interval_low_ns": round(min(low for low, _, _ in savings)),
            "interval_high_ns": round(max(high for _, _, high in savings)),
            "bound_before": self.before[0].bound,
            "bound_after": after[0].bound,
        }
        if self.timed:
            saving = savings[0][1]
            call = self.timed.value
            row |= {
                "call_ns": round(call),
                "saving_ns": round(saving),
                "predicted_ns": round(call) - round(saving),
            }
        return row

    def _fitted(self, timed: _CallTime) -> list[float]:
        scale = fitted(self.program, timed.value)
        if scale is None:
            return []
        ends = (fitted(self.program, end) for end in (timed.low, timed.high))
        return [scale, *(end for end in ends if end is not None)]

    def _not_recorded(self, given: _CallTime) -> FgtraceError:
        ends = (0.0, self.program.most_scale)
        most, least = (round(replay(self.program, end).call_ns) for end in ends)
        return FgtraceError(
            f"a call of {duration(round(given.value))} cannot be what was recorded: replayed it "
            f"takes {duration(least)} to {duration(most)}",
            hint="give the unprofiled time of one call: --call-time 98.2us",
            kind="usage",
            exit_code=ExitCode.USAGE,
        )

    def _guessed(self, calls: pl.DataFrame) -> list[float]:
        recorded = float(calls["dur_ns"].median())  # type: ignore[arg-type]
        scales = []
        for factor in FACTORS:
            scale = fitted(self.program, recorded / factor)
            # The device's work can take so long that the profiler's cost does not show.
            if scale is None:
                scale = self.program.most_scale
            scales.append(scale)
        return scales


def _saving(before: Replay, after: Replay) -> tuple[float, float, float]:
    # Each call is paired with itself, since the host's moods change between the recorded ones.
    pairs = zip(before.call_times_ns, after.call_times_ns, strict=True)
    found = spread([[one - other for one, other in pairs]], LEVEL)
    assert found is not None, "replays have calls"
    low, high = found.low, found.high
    return found.value if low is None else low, found.value, found.value if high is None else high


def _removals(trace: Trace, pieces: pl.DataFrame, without: Sequence[str]) -> list[_Removal]:
    """Give what is to be removed of some calls; what they do not have is left out."""
    names = [ALIASES.get(name, name) for name in without]
    if not names:
        present = pieces["phase"].unique()
        names = [name for name in INSTEAD if name in present]
    removals = []
    for name in names:
        events = _events(trace, pieces, name)
        if not events.is_empty():
            silent = _NONE if name in HOST_ONLY else events
            removals.append(_Removal(name, events, silent, INSTEAD.get(name)))
    if len(removals) > 1 and without:
        instead = [removal.instead for removal in removals if removal.instead]
        removals.append(
            _Removal(
                " + ".join(removal.name for removal in removals),
                pl.concat([removal.events for removal in removals]).unique(),
                pl.concat([removal.silent for removal in removals]).unique(),
                "; ".join(instead) or None,
            )
        )
    return removals


def _events(trace: Trace, pieces: pl.DataFrame, name: str) -> pl.Series:
    """Give the host events of the calls that go with a part, an operator or a kernel."""
    what, colon, pattern = name.partition(":")
    own = pieces.filter("own_thread")["event_id"].unique()
    if not colon and name in INSTEAD:
        return pieces.filter(pl.col("own_thread"), pl.col("phase") == name)["event_id"].unique()
    if what == "op" and colon:
        host = trace.host_events.filter(pl.col("event_id").is_in(own.implode()))
        chosen = host.filter(pl.col("kind") == "op")
        chosen = chosen.filter(matching(chosen["name"], checked_pattern(pattern)))
        inside = host.filter(around_in(chosen, host).is_not_null())
        return inside["event_id"]
    if what == "kernel" and colon:
        kernels = trace.device_work.filter(pl.col("kind") == "kernel")
        chosen = kernels.filter(matching(kernels["name"], checked_pattern(pattern)))
        launched = trace.links.join(
            chosen.select(device_event_id="event_id"), on="device_event_id", how="semi"
        )["launch_event_id"]
        return own.filter(own.is_in(launched.drop_nulls().unique().implode()))
    raise FgtraceError(
        f"a call cannot be without {name}: its result needs it"
        if re.fullmatch(r"\w+", name)
        else f"--without {name!r} is no part of a call",
        hint=f"parts: {', '.join(INSTEAD)}; or op:RE, or kernel:RE",
        kind="usage",
        exit_code=ExitCode.USAGE,
    )


def _not_there(name: str, pieces: pl.DataFrame) -> FgtraceError:
    present = [part for part in INSTEAD if part in pieces["phase"].unique()]
    return FgtraceError(
        f"no call has anything of --without {name}",
        hint=f"the calls can be without {', '.join(present) or 'no part'}; or op:RE, or kernel:RE",
        kind="usage",
        exit_code=ExitCode.USAGE,
    )
