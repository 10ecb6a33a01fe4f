from decimal import ROUND_HALF_UP, Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.readers.times import ImpreciseError, nanoseconds, nanoseconds_of_text


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
    assert nanoseconds_of_text([text]).to_list() == [ns]


@pytest.mark.parametrize(
    "text",
    ["", "null", "NaN", "inf", "-Infinity", "soon", "1e400", "99999999999999999999", "[1]"],
)
def test_what_is_no_time_or_beyond_the_range_is_null(text):
    assert nanoseconds_of_text(["1.5", text, "2"]).to_list() == [1500, None, 2000]


def test_no_times_are_an_empty_column_of_integers():
    assert nanoseconds([]).dtype == pl.Int64
    assert nanoseconds_of_text([]).dtype == pl.Int64


written = st.one_of(
    st.decimals(min_value=-(10**15), max_value=10**15, places=3).map("{:f}".format),
    st.decimals(min_value=0, max_value=10**15, places=7).map("{:f}".format),
    st.integers(-(10**15), 10**15).map(str),
    st.floats(min_value=0, max_value=1e15, allow_nan=False).map(repr),
    st.floats(min_value=0, max_value=1e15, allow_nan=False).map("{:.6e}".format),
)


def decimal_ns(text):
    return int(Decimal(text).quantize(Decimal("0.001"), rounding=ROUND_HALF_UP) * 1000)


@given(st.lists(written, max_size=20))
def test_conversion_agrees_with_decimal_arithmetic(texts):
    assert nanoseconds_of_text(texts).to_list() == [decimal_ns(text) for text in texts]


def decoded(texts):
    return [float(text) if set(text) & set(".eE") else int(text) for text in texts]


@given(st.lists(written, max_size=20))
def test_numbers_are_exact_or_their_text_is_asked_for(texts):
    # Beyond 2**40 a float does not show a fourth decimal.
    if any(abs(float(text)) > 2**40 and "." in text for text in texts):
        texts = [text if "e" in text else f"{Decimal(text):.3f}" for text in texts]
    try:
        found = nanoseconds(decoded(texts)).to_list()
    except ImpreciseError:
        return
    assert found == [decimal_ns(text) for text in texts]


relative = st.decimals(min_value=-(2**42), max_value=2**42, places=3).map("{:f}".format)


@given(st.lists(relative, min_size=1, max_size=20))
def test_the_text_of_what_kineto_writes_relative_to_its_base_is_not_needed(texts):
    assert nanoseconds(decoded(texts)).to_list() == [decimal_ns(text) for text in texts]


@pytest.mark.parametrize(
    "values",
    [[1669783687464181.123], [0.12345], [4e300], [5, 1669783687464181.5], ["7", 0.5], [2**70, 1]],
)
def test_floats_that_do_not_tell_nanoseconds_need_their_text(values):
    with pytest.raises(ImpreciseError):
        nanoseconds(values)


@pytest.mark.parametrize(
    ("values", "ns"),
    [
        ([1669783687464181, 2], [1_669_783_687_464_181_000, 2000]),
        ([0.5, 2], [500, 2000]),
        ([2, 0.5, None], [2000, 500, None]),
        (["7.25", None, 3], [7250, None, 3000]),
        ([9_223_372_036_854_776, 1], [None, 1000]),
        ([-9_223_372_036_854_775, 1], [-9_223_372_036_854_775_000, 1000]),
        (["soon", [1], {}, True], [None, None, None, None]),
    ],
)
def test_numbers_text_and_nonsense_are_told_apart(values, ns):
    assert nanoseconds(values).to_list() == ns
