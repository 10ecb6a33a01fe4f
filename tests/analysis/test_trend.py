import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.diff import DIFF
from fgtrace.analysis.trend import TREND, trend_report


def against_base(base, new, verdict, name="k"):
    """DIFF of one row."""
    row = {
        "case": "c",
        "route": "r",
        "path": name,
        "name": name,
        "depth": 0,
        "kind": "kernel",
        "time": "device",
        "time_a_ns": base,
        "time_b_ns": new,
        "verdict": verdict,
    }
    return pl.DataFrame([row], schema=DIFF)


def trend_of(base, *steps):
    report = trend_report([against_base(base, *step) for step in steps])
    assert report.schema == TREND
    (row,) = report.rows(named=True)
    assert row["times_ns"] == [base, *(new for new, _ in steps)]
    return row["trend"]


@pytest.mark.parametrize(
    ("steps", "trend"),
    [
        ([(110, "slower"), (120, "slower")], "rising"),
        ([(101, "unchanged"), (120, "slower")], "rising"),
        ([(90, "faster"), (90, "faster")], "falling"),
        ([(101, "unchanged"), (100, "unchanged")], "flat"),
        ([(120, "slower"), (110, "slower")], "changing"),
        ([(120, "slower"), (90, "faster")], "changing"),
        ([(120, "slower"), (100, "unchanged")], "changing"),
        ([(120, "uncertain"), (130, "uncertain")], None),
        ([(120, None), (130, None)], None),
        ([(101, "unchanged"), (102, "uncertain")], None),
    ],
)
def test_a_trend_is_told_where_verdicts_allow_it(steps, trend):
    assert trend_of(100, *steps) == trend


@given(st.lists(st.integers(1, 99), min_size=1, max_size=4))
def test_what_falls_is_what_rises_seen_backwards(times):
    rising = trend_of(100, *((100 + time, "slower") for time in sorted(times)))
    falling = trend_of(100, *((100 - time, "faster") for time in sorted(times)))
    assert (rising, falling) == ("rising", "falling")


def test_a_row_that_a_recording_lacks_has_no_time_there():
    report = trend_report(
        [
            against_base(100, 110, "slower"),
            pl.concat([against_base(100, 120, "slower"), against_base(0, 7, "slower", name="new")]),
        ]
    )
    assert dict(report.select("name", "times_ns").iter_rows()) == {
        "k": [100, 110, 120],
        "new": [0, None, 7],
    }
