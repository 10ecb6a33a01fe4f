import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (1, "1 ns"),
        (287, "287 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (41_267, "41.3 µs"),
        (101_500, "102 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (1_940_400, "1.94 ms"),
        (9_995_000, "10.0 ms"),
        (2_500_000_000, "2.50 s"),
        (1_234_567_000_000_000, "1\u202f234\u202f567 s"),
        (-12_600, "−12.6 µs"),
        (None, "—"),
    ],
)
def test_a_duration_has_three_digits_and_a_unit_below_a_thousand(ns, text):
    assert units.duration(ns) == text


@given(st.integers(min_value=1, max_value=10**15))
def test_a_duration_is_within_half_a_percent_of_the_time(ns):
    digits, unit = units.duration(ns).replace("\u202f", "").split(" ")
    size = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}[unit]
    assert abs(float(digits) * size - ns) <= 0.00501 * ns


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (44_200, 46_000, "44.2–46.0 µs"),
        (980, 1_020, "980 ns–1.02 µs"),
        (-3_100, 5_200, "−3.10 to 5.20 µs"),
        (None, None, "—"),
    ],
)
def test_an_interval_names_a_common_unit_once(low, high, text):
    assert units.interval(low, high) == text


def test_counts_are_whole_and_grouped_by_a_thin_space():
    assert units.count(17096) == "17\u202f096"
    assert units.count(0) == "0"
    assert units.count(None) == "—"


def test_bytes_are_in_decimal_units():
    assert units.size(8) == "8 B"
    assert units.size(6_836_192) == "6.84 MB"
    assert units.size(None) == "—"


def test_an_age_is_in_whole_units_and_never_below_zero():
    seconds = (-5, 0, 59.9, 60, 3599, 3600, 86_399, 86_400 * 12)
    texts = ["0 s", "0 s", "59 s", "1 min", "59 min", "1 h", "23 h", "12 d"]
    assert [units.age(number) for number in seconds] == texts


def test_a_share_that_is_not_zero_is_never_shown_as_zero():
    assert units.share(0.8717) == "87.2 %"
    assert units.share(0.0) == "0.0 %"
    assert units.share(0.0001) == "<0.1 %"
    assert units.share(1.0) == "100.0 %"
    assert units.share(None) == "—"


def test_factors_and_levels():
    assert units.factor(2.0634) == "2.06×"
    assert units.factor(None) == "—"
    assert units.level(0.95) == "95 %"


@pytest.mark.parametrize(
    ("text", "width"), [("核函数", 6), ("cafe\u0301", 4), ("ＡＢ", 4), ("µs …", 4), ("", 0)]
)
def test_width_is_what_a_terminal_draws(text, width):
    assert units.text_width(text) == width


@pytest.mark.parametrize(
    ("part", "text"),
    [(0.0514, "+5.1 %"), (-0.5, "−50.0 %"), (0.0, "0.0 %"), (12.5, "+1\u202f250.0 %")],
)
def test_a_change_has_its_sign(part, text):
    assert units.change(part) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("void at::native::kernel<4, float>(int)", "void at::native::kernel<4, float>(int)"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\r\nb\tc\x7f\x9b", r"a\r\nb\tc\x7f\x9b"),
        ("safe\u202egnp.exe", r"safe\u202egnp.exe"),
        ("a\u200bb\u2066c\ufeff", r"a\u200bb\u2066c\ufeff"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
        ("核函数 émigré", "核函数 émigré"),
        ("e\u0301", "e\u0301"),
        ("\u0301on nothing", r"\u0301on nothing"),
    ],
)
def test_what_cannot_be_seen_is_escaped_and_the_rest_is_not(name, shown):
    assert units.printable(name) == shown


def test_a_heap_of_accents_is_escaped_from_the_fourth_on():
    assert units.printable("a" + "\u0301" * 5) == "a" + "\u0301" * 3 + r"\u0301\u0301"


@given(st.text())
def test_no_printable_text_holds_control_or_format_characters(text):
    shown = units.printable(text)
    assert not {unicodedata.category(character) for character in shown} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    }
    assert units.printable(shown) == shown
