"""What a call would take without parts, as bars: now, predicted, and measured where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fgtrace import units
from fgtrace.analysis.attribution import attribution_report
from fgtrace.analysis.whatif import whatif_report
from fgtrace.frames.trace import Trace
from fgtrace.views.layout import named
from fgtrace.views.overview import Place


@dataclass(frozen=True)
class Line:
    """A bar: a call now, or without parts."""

    name: str
    share: float
    """Of a call as it is."""
    text: str


@dataclass(frozen=True)
class Prediction:
    """What a call would take."""

    title: str
    lines: tuple[Line, ...]
    note: str


def prediction(trace: Trace, place: Place, off: Sequence[str]) -> Prediction | None:
    """Predict a call of a case and route without parts, all taken out together; None: of none."""
    if not off:
        return None
    case, route = (pl.lit(name, pl.String) for name in place)
    of_place = pl.col("case").eq_missing(case) & pl.col("route").eq_missing(route)
    rows = whatif_report(trace, without=tuple(off)).filter(of_place, without=" + ".join(off))
    title = f"{' by '.join(map(named, filter(None, place)))} without {', '.join(off)}"
    if rows.is_empty():
        return Prediction(title, (), "It cannot be predicted: the calls do not have all of these.")
    row = rows.row(0, named=True)
    saved = units.interval(row["interval_low_ns"], row["interval_high_ns"])
    call, predicted = row["call_ns"], row["predicted_ns"]
    if call is None:
        return Prediction(
            title, (), f"It would take {saved} less: nobody timed an unprofiled call."
        )
    lines = [
        Line("now", 1.0, units.duration(call)),
        Line("predicted", predicted / call, f"{units.duration(predicted)} (saves {saved})"),
    ]
    measured = _measured(trace, of_place, off)
    if measured is not None:
        lines.append(Line("measured", (call - measured) / call, units.duration(call - measured)))
    bound = f"A call now waits for {row['bound_before']}, then for {row['bound_after']}."
    instead = f" Instead: {row['instead']}." if row["instead"] else ""
    return Prediction(title, tuple(lines), f"{bound}{instead}")


def _measured(trace: Trace, of_place: pl.Expr, off: Sequence[str]) -> int | None:
    if len(off) > 1:
        return None
    rows = attribution_report(trace).filter(of_place, part=off[0])
    return None if rows.is_empty() else rows["measured_ns"][0]
