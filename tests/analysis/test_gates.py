import polars as pl
import pytest

from fgtrace.analysis.gate_language import LONGEST, parse, pattern_of
from fgtrace.analysis.gates import MEASURES, judge

TIME = {
    "case": "repeat",
    "route": "triton",
    "level": "phase",
    "name": "gather",
    "metric": "device_time",
    "unit": "ns",
    "a": 100_000.0,
    "b": 110_000.0,
    "low": 6_000.0,
    "high": 14_000.0,
    "b_low": 108_000.0,
    "b_high": 112_000.0,
    "why": None,
}
COUNT = {
    **TIME,
    "level": "call",
    "name": None,
    "metric": "readback_count",
    "unit": "count",
    "a": 1.0,
    "b": 2.0,
    "low": 1.0,
    "high": 1.0,
    "b_low": None,
    "b_high": None,
}
NO_INTERVAL = {
    **dict.fromkeys(("low", "high", "b_low", "b_high")),
    "why": "fewer than five calls a side",
}
NEW = {**TIME, **NO_INTERVAL, "a": None}
GONE = {**TIME, **NO_INTERVAL, "b": None}
NOT_KNOWN = {**NEW, "b": None}


def measures(*rows):
    return pl.DataFrame(list(rows), schema=MEASURES)


def judged(gate, *rows, partial=False, allow_partial=False):
    (one,) = judge([parse(gate)], measures(*rows), partial=partial, allow_partial=allow_partial)
    assert one.gate == str(parse(gate))
    assert "\n" not in one.sentence
    return one


@pytest.mark.parametrize(
    ("gate", "row", "outcome", "said"),
    [
        # A change in percent: from +6 % to +14 %.
        ("device_time > +5%", TIME, "failed", "+10.0 %, between +6.0 % and +14.0 %"),
        ("device_time > +6%", TIME, "passed", "not proven"),
        ("device_time >= +6%", TIME, "failed", "true"),
        ("device_time > +14%", TIME, "passed", "not true"),
        ("device_time >= +14%", TIME, "passed", "not proven"),
        ("device_time < +14%", TIME, "passed", "not proven"),
        ("device_time <= +14%", TIME, "failed", "true"),
        ("device_time < +6%", TIME, "passed", "not true"),
        ("device_time <= +6%", TIME, "passed", "not proven"),
        ("device_time < -5%", TIME, "passed", "not true"),
        # A change in time, and the new time itself.
        ("device_time > +5us", TIME, "failed", "+10.0 µs, between +6.00 µs and +14.0 µs"),
        ("device_time > +6us", TIME, "passed", "not proven"),
        ("device_time > 107us", TIME, "failed", "is 110 µs, between 108 µs and 112 µs"),
        ("device_time > 109us", TIME, "passed", "not proven"),
        ("device_time > 112us", TIME, "passed", "not true"),
        ("device_time < 113us", TIME, "failed", "true"),
        # Counts are exact.
        ("readback_count > 0", COUNT, "failed", "was 1, is 2"),
        ("readback_count > 2", COUNT, "passed", "not true"),
        ("readback_count > +0", COUNT, "failed", "+1"),
        ("readback_count > +100%", COUNT, "passed", "not true"),
        ("readback_count >= +100%", COUNT, "failed", "+100.0 %"),
        ("readback_count == 2", COUNT, "failed", "true"),
        ("readback_count != 2", COUNT, "passed", "not true"),
        ("readback_count != +0", COUNT, "failed", "true"),
        ("readback_count == +0%", COUNT, "passed", "not true"),
        # Without an interval nothing is said of a time.
        ("device_time > +5%", {**TIME, **NO_INTERVAL}, "undecided", "fewer than five calls"),
        ("device_time > +5us", {**TIME, **NO_INTERVAL}, "undecided", "fewer than five calls"),
        ("device_time > 1us", {**TIME, **NO_INTERVAL}, "undecided", "fewer than five calls"),
        ("device_time < -5%", {**TIME, "high": None}, "undecided", "no interval"),
        # What is new grew from nothing.
        ("device_time > +5%", NEW, "failed", "was not there, is 110 µs: new"),
        ("device_time > +5%", {**NEW, "b": 0.0}, "passed", "not true"),
        ("device_time >= +5%", {**NEW, "b": 0.0}, "passed", "not true"),
        ("device_time < +5%", NEW, "passed", "not true"),
        ("device_time > +5us", NEW, "undecided", "fewer than five calls"),
        ("device_time > +5us", {**NEW, "b_low": 9e3, "b_high": 2e4}, "failed", "+9.00 µs"),
        ("device_time > 5us", {**NEW, "b_low": 9e3, "b_high": 2e4}, "failed", "9.00 µs"),
        ("readback_count > +5%", {**COUNT, "a": None}, "failed", "new"),
        ("readback_count > +5%", {**COUNT, "a": 0.0}, "failed", "+∞ %"),
        ("readback_count > +5%", {**COUNT, "a": 0.0, "b": 0.0}, "passed", "0.0 %"),
        ("device_time > +5%", {**TIME, "a": 0.0, "low": -1.0}, "passed", "not proven"),
        ("device_time > +5%", {**TIME, **NO_INTERVAL, "a": 0.0}, "undecided", "fewer"),
        # What is gone is nothing now.
        ("device_time > +5%", GONE, "passed", "is gone: −100.0 %"),
        ("device_time < -50%", GONE, "failed", "is gone: −100.0 %"),
        ("device_time > +5us", GONE, "passed", "is gone: −100 µs"),
        ("device_time < -5us", GONE, "failed", "−100 µs"),
        ("device_time > 5us", GONE, "passed", "not true"),
        ("readback_count == 0", {**COUNT, "b": None}, "failed", "was 1, is gone"),
        # What is not known on either side is no zero.
        ("device_time > +5%", NOT_KNOWN, "undecided", "is not known; fewer than five calls"),
        ("device_time < 5us", NOT_KNOWN, "undecided", "is not known"),
        ("readback_count > 0", {**COUNT, "a": None, "b": None}, "undecided", "not known"),
        ("readback_count == +0", {**COUNT, "a": None, "b": None}, "undecided", "not known"),
    ],
)
def test_a_gate_is_decided_by_the_interval(gate, row, outcome, said):
    where = "phase:gather." if row["level"] == "phase" else ""
    one = judged(f"{where}{gate}", row)
    assert one.outcome == outcome
    assert said in one.sentence
    assert len(one.rows) == (outcome in ("failed", "undecided"))


def test_a_row_is_named_with_its_numbers():
    one = judged("phase:*.device_time > +5%", TIME)
    assert one.rows == (
        "repeat, triton, phase gather: device_time was 100 µs, is 110 µs: +10.0 %, "
        "between +6.0 % and +14.0 %",
    )
    assert one.sentence == f"true: {one.rows[0]}"


def test_rows_that_fail_come_worst_first_and_those_undecided_are_counted():
    one = judged(
        "phase:*.device_time > +5%",
        TIME,
        {**TIME, "name": "expand", "b": 130e3, "low": 20e3, "high": 40e3},
        {**TIME, "name": "scan", "low": -1e3},
        {**TIME, **NO_INTERVAL, "name": "python"},
    )
    assert one.outcome == "failed"
    assert [row.split(":")[0] for row in one.rows] == [
        "repeat, triton, phase expand",
        "repeat, triton, phase gather",
    ]
    assert one.sentence.startswith("true of 2 of 4 rows: repeat, triton, phase expand")
    assert one.sentence.endswith("1 more cannot be decided")


def test_a_row_that_is_undecided_outweighs_those_that_pass():
    one = judged("phase:*.device_time > +50%", TIME, {**TIME, **NO_INTERVAL, "name": "python"})
    assert one.outcome == "undecided"
    assert one.sentence.startswith("not decided of 1 of 2 rows: repeat, triton, phase python")


def test_the_worst_of_a_fall_is_the_deepest():
    fallen = {**TIME, "name": "expand", "b": 50e3, "low": -60e3, "high": -40e3}
    one = judged("phase:*.device_time < +50%", TIME, fallen)
    assert "phase expand" in one.rows[0]


@pytest.mark.parametrize(
    ("selectors", "names"),
    [
        ("phase:gather", {"gather"}),
        ("phase:*", {"gather", "gather.x", "a*b"}),
        ("phase:gather?x", {"gather.x"}),
        ("phase:gather.x", {"gather.x"}),
        ("phase:*gather*", {"gather", "gather.x"}),
        (r'phase:"a\*b"', {"a*b"}),
        ("case:rep* route:triton phase:*", {"gather", "gather.x", "a*b"}),
    ],
)
def test_selectors_choose_rows_by_whole_names(selectors, names):
    rows = [{**TIME, "name": name} for name in ("gather", "gather.x", "a*b")]
    others = [{**TIME, "level": "op"}, {**TIME, "metric": "host_time"}, {**COUNT, "name": None}]
    one = judged(f"{selectors}.device_time > +5%", *rows, *others)
    assert {row.split("phase ")[1].split(":")[0] for row in one.rows} == names


def test_a_gate_without_a_row_selector_is_about_whole_calls():
    one = judged("readback_count > 0", COUNT, {**COUNT, "level": "phase", "name": "gather"})
    assert one.rows == ("repeat, triton: readback_count was 1, is 2",)


def test_a_recording_that_names_no_calls_is_judged_as_a_whole():
    row = {**COUNT, "case": None, "route": None}
    assert judged("readback_count > 0", row).rows[0].startswith("the whole recording: ")
    assert judged("route:*.readback_count > 0", row).outcome == "matched-nothing"


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("phase:gater.device_time > +5%", "there is no phase gater; did you mean gather?"),
        ("phase:zzz.device_time > +5%", "there is no phase zzz; one of: expand, gather"),
        ("case:repaet phase:gather.device_time > +5%", "there is no case repaet; did you mean"),
        ("route:x phase:gather.device_time > +5%", "there is no route x; one of: aten, triton"),
        ("route:aten phase:gather.device_time > +5%", "no phase matches all of them"),
        ("phase:gather.host_time > +5%", "nobody recorded host_time there, only device_time"),
        ("kernel:gather.device_time > +5%", "neither recording has a kernel"),
    ],
)
def test_a_gate_that_matches_nothing_is_told_of_with_the_names_there_are(gate, said):
    one = judged(gate, TIME, {**TIME, "route": "aten", "name": "expand"})
    assert one.outcome == "matched-nothing"
    assert said in one.sentence
    assert one.rows == ()


def test_where_nothing_was_compared_every_gate_matches_nothing():
    assert judged("readback_count > 0").outcome == "matched-nothing"


def test_a_partial_recording_fails_every_gate_unless_it_is_allowed():
    one = judged("readback_count > 5", COUNT, partial=True)
    assert one.outcome == "partial"
    assert "--allow-partial" in one.sentence
    assert judged("readback_count > 5", COUNT, partial=True, allow_partial=True).outcome == "passed"
    assert judged("readback_count > 5", COUNT, allow_partial=True).outcome == "passed"


def test_names_of_a_recording_cannot_break_a_line():
    row = {**TIME, "name": "a\nb\x1b[2J", "case": "c\r"}
    one = judged("phase:*.device_time > +5%", row)
    assert r"c\r, triton, phase a\nb\x1b[2J" in one.rows[0]
    nothing = judged("phase:x.device_time > +5%", row)
    assert "\x1b" not in nothing.sentence


@pytest.mark.parametrize("name", ['f<int*>("x\\y")', "a.b", "[x](y)^$", "核", "a\nb"])
def test_a_name_as_the_hint_writes_it_selects_its_row(name):
    one = judged(f"phase:{pattern_of(name)}.device_time > +5%", {**TIME, "name": name})
    assert one.outcome == "failed"


def test_the_longest_of_wildcards_can_be_judged():
    start, end = "phase:", ".device_time > +5%"
    pattern = "?" * (LONGEST - len(start + end))
    assert judged(f"{start}{pattern}{end}", TIME).outcome == "matched-nothing"


def test_gates_are_judged_in_their_order():
    gates = [parse("readback_count > 5"), parse("readback_count > 0")]
    found = judge(gates, measures(COUNT), partial=False, allow_partial=False)
    assert [one.outcome for one in found] == ["passed", "failed"]
