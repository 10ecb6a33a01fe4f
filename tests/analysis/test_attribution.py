from pathlib import Path

import polars as pl
import pytest

import fgtrace
from fgtrace.analysis.attribution import AGREEMENT, ATTRIBUTION, attribution_report
from fgtrace.analysis.effects import effects_report
from fgtrace.analysis.whatif import whatif_report

SAMPLE = Path(__file__).parents[2] / "samples/factorial.fgtrace"


@pytest.fixture(scope="module")
def sample():
    return fgtrace.open(SAMPLE)


@pytest.fixture(scope="module")
def rows(sample):
    found = attribution_report(sample)
    assert found.schema == ATTRIBUTION
    return found


def test_recorded_predicted_and_measured_stand_side_by_side(sample, rows):
    part = rows.filter(pl.col("part") == "length_readback", pl.col("route") == "triton")
    row = part.row(0, named=True)
    effect = effects_report(sample).filter(
        route="triton", kind="simple", part="readback", given="index_check=1"
    )
    assert row["measured_ns"] == effect["effect_ns"][0]
    saving = whatif_report(sample, without=["readback"]).filter(route="triton")["saving_ns"][0]
    assert row["predicted_ns"] == saving
    assert row["recorded_ns"] > row["measured_ns"]  # under the profiler the host is slower


def test_they_agree_where_their_intervals_meet_or_the_numbers_are_near(rows):
    for row in rows.drop_nulls("measured_ns").iter_rows(named=True):
        meet = (
            row["predicted_low_ns"] <= row["interval_high_ns"]
            and row["predicted_high_ns"] >= row["interval_low_ns"]
        )
        near = abs(row["predicted_ns"] - row["measured_ns"]) <= AGREEMENT * row["measured_ns"]
        assert row["agrees"] == (meet or near)
    assert rows.filter(pl.col("measured_ns").is_null())["agrees"].null_count() > 0


def test_a_prediction_does_not_see_what_was_measured(sample):
    full = ~pl.col("variant").str.contains("=0")
    blind = sample.having(samples=sample.samples.filter(full))
    seen, unseen = attribution_report(sample), attribution_report(blind)
    key = ["route", "part"]
    both = seen.join(unseen, on=key).drop_nulls("predicted_ns")
    assert both.height > 4
    assert both["predicted_ns"].equals(both["predicted_ns_right"], null_equal=True)
    assert unseen["measured_ns"].null_count() == unseen.height


def test_without_a_stopwatch_the_parts_have_intervals(sample):
    rows = attribution_report(sample.having(samples=sample.samples.clear()))
    assert rows["predicted_ns"].null_count() == rows.height
    assert rows["predicted_low_ns"].null_count() == 0
