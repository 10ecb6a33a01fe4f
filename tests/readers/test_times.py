from decimal import ROUND_HALF_UP, Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.readers.times import nanoseconds


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("5202528070438.997", 5_202_528_070_438_997),
        ("1615207264500005", 1_615_207_264_500_005_000),
        ("4812000000003.5", 4_812_000_000_003_500),
        ("0", 0),
        ("0.0", 0),
        (".5", 500),
        ("-0.25", -250),
        ("+1.", 1000),
        ("12.3456", 12_346),
        ("0.0005", 1),
        ("1e-3", 1),
        ("4.812000000003141e12", 4_812_000_000_003_141),
        ('"4812000000000.125"', 4_812_000_000_000_125),
        ("9223372036854774.999", 9_223_372_036_854_774_999),
    ],
)
def test_a_time_is_exact_in_whatever_way_it_is_written(text, ns):
    assert nanoseconds([text]).to_list() == [ns]


@pytest.mark.parametrize(
    "text",
    ["", "null", "NaN", "inf", "-Infinity", "soon", "1e400", "99999999999999999999", "[1]"],
)
def test_what_is_no_time_or_beyond_the_range_is_null(text):
    assert nanoseconds(["1.5", text, "2"]).to_list() == [1500, None, 2000]


def test_no_times_are_an_empty_column_of_integers():
    assert nanoseconds([]).dtype == pl.Int64


written = st.one_of(
    st.decimals(min_value=-(10**15), max_value=10**15, places=3).map("{:f}".format),
    st.decimals(min_value=0, max_value=10**15, places=7).map("{:f}".format),
    st.integers(-(10**15), 10**15).map(str),
    st.floats(min_value=0, max_value=1e15, allow_nan=False).map(repr),
    st.floats(min_value=0, max_value=1e15, allow_nan=False).map("{:.6e}".format),
)


@given(st.lists(written, max_size=20))
def test_conversion_agrees_with_decimal_arithmetic(texts):
    expected = [
        int(Decimal(text).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP) * 1000)
        for text in texts
    ]
    assert nanoseconds(texts).to_list() == expected
