import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.gate_language import (
    LEVELS,
    LONGEST,
    METRICS,
    OPERATORS,
    Gate,
    nearest,
    parse,
    pattern_of,
)
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.units import printable, text_width

DOCS = Path(__file__).parents[2] / "docs"


def refused(text):
    with pytest.raises(FgtraceError) as raised:
        parse(text)
    error = raised.value
    assert (error.kind, error.exit_code) == ("usage", ExitCode.USAGE)
    assert "\n" not in error.message
    assert error.hint
    return error


def place_of_caret(error):
    """What of the expression, as it is shown, stands before the caret."""
    shown, caret = error.excerpt
    assert caret.strip(" ") == "^"
    width = len(caret) - 1
    return next(
        shown[2:end] for end in range(2, len(shown) + 2) if text_width(shown[:end]) == width
    )


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("readback_count > 0", Gate(metric="readback_count", operator=">", amount=Decimal(0))),
        (
            "phase:length_readback.device_time > +5%",
            Gate(
                level="phase",
                name="length_readback",
                metric="device_time",
                operator=">",
                amount=Decimal(5),
                unit="%",
                signed=True,
            ),
        ),
        (
            "route:triton phase:gather case:repeat_*.host_time<=-1.5 µs",
            Gate(
                case="repeat_*",
                route="triton",
                level="phase",
                name="gather",
                metric="host_time",
                operator="<=",
                amount=Decimal("-1.5"),
                unit="us",
                signed=True,
            ),
        ),
        (
            r'kernel:"void f<float\*>(\"a\") > x.y:z".count != 2',
            Gate(
                level="kernel",
                name=r"void f<float\*>(\"a\") > x.y:z",
                metric="count",
                operator="!=",
                amount=Decimal(2),
            ),
        ),
        (
            "kernel:at::native::Foo.bar.device_time >= 40us",
            Gate(
                level="kernel",
                name="at::native::Foo.bar",
                metric="device_time",
                operator=">=",
                amount=Decimal(40),
                unit="us",
            ),
        ),
        (
            "case:v1.2 route:triton-readback.call_time > +3%",
            Gate(
                case="v1.2",
                route="triton-readback",
                metric="call_time",
                operator=">",
                amount=Decimal(3),
                unit="%",
                signed=True,
            ),
        ),
    ],
)
def test_an_expression_means_what_it_says(text, gate):
    assert parse(text) == gate


@pytest.mark.parametrize(
    ("value", "threshold"),
    [("40us", 40_000), ("1.5ms", 1_500_000), ("-2s", -2e9), ("+7ns", 7), ("+5%", 5), ("-5 %", -5)],
)
def test_a_threshold_is_in_nanoseconds_or_percent(value, threshold):
    assert parse(f"host_time > {value}").threshold == threshold


@pytest.mark.parametrize(
    ("text", "before", "said", "hint"),
    [
        ("phase:gather.device_tme > +5%", "phase:gather.", "'device_tme'", "device_time?"),
        ("gather.device_time > +5%", "", "'gather.device_time'", "phase:gather.device_time?"),
        ("phas:x.count > 1", "", "'phas'", "did you mean phase?"),
        ("phase:gather > 5us", "phase:gather ", "a metric is missing", "device_time"),
        ("", "", "a metric is missing", "device_time"),
        ("phase:.count > 0", "phase:", "a name is missing", "*"),
        ('phase:"".count > 0', "phase:", "a name is missing", "*"),
        ('phase:"a.count > 0', "phase:", "the quote has no end", '\\"'),
        (r'phase:"a\n".count > 0', 'phase:"a', "a backslash before 'n'", "*"),
        ('phase:"a"b.count > 0', 'phase:"a"', "followed by .METRIC", "double quotes"),
        ("kernel:void f<int>.count > 0", "kernel:void ", "followed by .METRIC", "double quotes"),
        ("phase:a phase:b.count > 0", "phase:a ", "a second phase", "wildcards"),
        ("phase:a kernel:b.count > 0", "phase:a ", "never of both", "route:"),
        ("phase:a.call_time > 5us", "phase:a.", "a phase has no call_time", "host_time"),
        ("readback_count", "readback_count", "a comparison", "quote the whole of it"),
        ("count 5", "count ", "a comparison is missing", ">="),
        ("count = 5", "count ", "there is no comparison =", "did you mean ==?"),
        ("count => 5", "count ", "there is no comparison =>", "did you mean >=?"),
        ("count >> 5", "count ", "there is no comparison >>", ">="),
        ("host_time == 5us", "host_time ", "never the same", ">="),
        ("host_time != +5%", "host_time ", "never the same", ">="),
        ("count >", "count >", "a value is missing", "0"),
        ("count > many", "count > ", "this is no value", "0"),
        ("count > ٣", "count > ", "this is no value", "0"),
        ("count > 5%", "count > ", "without its sign", "+5%"),
        ("host_time > 5", "host_time > 5", "is a time and has a unit", "5us"),
        ("host_time > +5", "host_time > +5", "is a time and has a unit", "+5us"),
        ("host_time > 5 sec", "host_time > 5 ", "'sec'", "5s"),
        ("count > 5us", "count > 5", "without unit", "write 5"),
        ("count > 1 and x", "count > 1 ", "the gate has ended", "several"),
        ("count > +1% and x", "count > +1% ", "the gate has ended", "several"),
        ("count > 1234567890123456", "count > ", "digits", "0"),
    ],
)
def test_what_is_no_gate_is_refused_with_a_caret_under_the_place(text, before, said, hint):
    error = refused(text)
    assert said in error.message
    assert hint in error.hint
    assert place_of_caret(error) == before


def test_the_caret_stands_right_below_wide_and_escaped_characters():
    assert place_of_caret(refused("phase:核函数.cont > 0")) == "phase:核函数."
    assert refused("phase:核函数.cont > 0").excerpt[1] == f"  {' ' * 13}^"
    hidden = refused("phase:e\u0301x\x1b[2J.count > 0")
    assert hidden.excerpt == ("  phase:e\u0301x\\x1b[2J.count > 0", f"  {' ' * 8}^")
    assert "cannot be seen" in hidden.message
    assert r"\x1b" in hidden.message


def test_the_error_as_text_shows_the_place_too():
    assert str(refused("count = 0")).splitlines()[1:] == ["  count = 0", "        ^"]


def test_an_expression_without_end_is_refused():
    assert str(LONGEST) in refused(f"phase:{'?' * LONGEST}.count > 0").message


VALUES = st.from_regex(r"[+-]?[0-9]{1,6}(\.[0-9]{1,6})?", fullmatch=True)
PATTERNS = st.text(
    st.characters(exclude_categories=("C", "Z")) | st.sampled_from(' .*?"\\<>:='), min_size=1
).filter(lambda text: text.isprintable())


@st.composite
def expressions(draw):
    """Expressions whose names are any, with wildcards."""
    metric = draw(st.sampled_from(sorted(METRICS)))
    of_time = METRICS[metric] == "ns"
    rows = () if metric == "call_time" else ("phase", "kernel", "op")
    levels = draw(st.sets(st.sampled_from(("case", "route"))))
    levels |= set(draw(st.lists(st.sampled_from(rows), max_size=1))) if rows else set()
    names = {level: draw(PATTERNS.map(pattern_of) | st.just("*")) for level in levels}
    where = " ".join(f"{level}:{name}" for level, name in names.items())
    operator = draw(st.sampled_from(OPERATORS[:4] if of_time else OPERATORS))
    value = draw(VALUES)
    units = ["ns", "us", "µs", "ms", "s"] if of_time else [""]
    unit = draw(st.sampled_from(units + ["%"] * value.startswith(("+", "-"))))
    spaces = draw(st.sampled_from(("", " ", "  ")))
    return f"{where}{'.' if where else ''}{metric}{spaces}{operator}{spaces}{value}{unit}"


@given(expressions())
def test_a_gate_as_text_is_an_expression_that_means_the_same(text):
    gate = parse(text)
    assert parse(str(gate)) == gate
    assert hash(parse(str(gate))) == hash(gate)


@given(
    st.text()
    | st.lists(
        st.sampled_from([*LEVELS, *METRICS, *OPERATORS, *': ."\\*+-5%us\t\x1b核', "a", "us"])
    ).map("".join)
)
def test_any_text_is_a_gate_or_is_refused_in_lines_of_printable_text(text):
    lines: tuple[str, ...] = ()
    try:
        gate = parse(text)
    except FgtraceError as error:
        lines = (error.message, error.hint, *error.excerpt)
    if lines:
        assert all(printable(line) == line for line in lines)
        assert text_width(lines[3]) - 1 <= text_width(lines[2])
    else:
        assert parse(str(gate)) == gate


def test_a_name_of_a_recording_is_written_as_a_gate_takes_it():
    assert pattern_of("gather") == "gather"
    assert pattern_of('f<int*>("x\\y")') == r'"f<int\*>(\"x\\y\")"'
    assert pattern_of("a\x1bb\n") == "a?b?"


def test_the_nearest_name_is_offered_or_those_there_are():
    assert nearest("gater", ["gather", "expand"]) == "did you mean gather?"
    assert nearest("x", ["gather", "expand"], most=1) == "one of: gather and 1 more"


def test_the_documented_metrics_are_those_there_are():
    text = (DOCS / "ci.md").read_text()
    assert set(re.findall(r"^\| `(\w+_time|\w*count)` \|", text, re.MULTILINE)) == set(METRICS)


def test_every_documented_gate_can_be_read():
    text = (DOCS / "ci.md").read_text()
    found = re.findall(r"--fail-on '([^']+)'", text)
    assert len(found) > 5
    assert [str(parse(one)) for one in found] == found
