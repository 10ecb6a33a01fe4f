import csv
import io
import json
import random
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "samples/h200.fgtrace"
CALL = 100_000


@pytest.fixture
def recording(new_trace):
    """Write calls that launch kernels (name, duration), and read back where `reads`."""

    def write(name, kernels=(("k", 5000),), *, calls=8, case="c", reads=False, device=True):
        noise = random.Random(name)
        trace = new_trace()
        for number in range(calls):
            start = CALL * number
            host = 60_000 + noise.randrange(5000)
            trace.range(f"fgtrace::call::{case}::aten::{number}", start, host)
            for place, (kernel, dur) in enumerate(kernels):
                at = start + 1000 + 4000 * place
                trace.op(f"aten::{kernel}", at - 100, 3000)
                if device:
                    trace.kernel(kernel, at, start + 70_000, dur + noise.randrange(10))
            if reads:
                trace.range("fgtrace::phase::length_readback", start + 30_000, 20_000)
                trace.readback(start + 31_000, start + 40_000)
        return trace.write(f"{name}.json")

    return write


def document(result):
    return json.loads(result.stdout)


def errors(result):
    return (result.returncode, result.stderr.splitlines())


FORMATS = ("table", "markdown", "json", "csv")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("by", ["phase", "kernel", "op", "tree"])
def test_every_grouping_comes_in_every_format(fgtrace, recording, by, form):
    a, b = recording("a"), recording("b", kernels=(("k", 5000), ("x", 900)))
    result = fgtrace("diff", a, b, "--by", by, "--format", form)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("\n")
    if by != "phase":
        assert re.search(r"\bx\b.*added", result.stdout) or form == "json"


def test_what_may_be_concluded_and_what_stands_out_come_before_the_rows(fgtrace, recording):
    result = fgtrace("diff", recording("a"), recording("b", kernels=(("k", 6000),)), "--by=kernel")
    places = [
        result.stdout.index(text)
        for text in (
            "Nothing is known to differ",
            "What stands out",
            "k, 1 run, takes 5.0",
            "By kernel, of c, by aten",
            "Host times are under the profiler",
        )
    ]
    assert places == sorted(places)


def test_json_has_the_axes_the_findings_the_gates_and_all_rows(fgtrace, recording):
    a, b = recording("a"), recording("b", kernels=(("k", 6000),))
    found = document(
        fgtrace("diff", a, b, "--by=kernel", "--format=json", "--fail-on", "readback_count > 0")
    )
    assert list(found) == [
        "outcome",
        "warnings",
        "notes",
        "recordings",
        "by",
        "comparability",
        "missing",
        "findings",
        "gates",
        "rows",
    ]
    assert found["recordings"] == {"A": str(a), "B": str(b)}
    assert {axis["state"] for axis in found["comparability"]["axes"]} <= {
        "same",
        "different",
        "unknown",
    }
    (kernel,) = (row for row in found["rows"] if row["name"] == "k")
    assert kernel["verdict"] == "slower"
    assert kernel["interval_low_ns"] <= kernel["delta_ns"] <= kernel["interval_high_ns"]
    assert [one["outcome"] for one in found["gates"]] == ["passed"]


def test_csv_and_json_have_the_same_rows(fgtrace, recording):
    a, b = recording("a"), recording("b", kernels=(("k", 6000), ("x", 100)))
    rows = document(fgtrace("diff", a, b, "--by=tree", "--format=json"))["rows"]
    table = csv.DictReader(io.StringIO(fgtrace("diff", a, b, "--by=tree", "--format=csv").stdout))
    assert [
        {name: "" if value is None else str(value) for name, value in row.items()} for row in rows
    ] == list(table)


def test_what_did_not_change_is_shown_when_asked_for(fgtrace, recording):
    a = recording("a", kernels=(("k", 5000), ("j", 7000)))
    b = recording("b", kernels=(("k", 6000), ("j", 7000)))
    short = fgtrace("diff", a, b, "--by=kernel").stdout
    assert not re.search(r"^j ", short, re.MULTILINE)
    assert "1 row did not change; --all shows them." in short
    whole = fgtrace("diff", a, b, "--by=kernel", "--all").stdout
    assert re.search(r"^j .* unchanged", whole, re.MULTILINE)
    only = fgtrace("diff", a, b, "--by=kernel", "--all", "--filter=^j$", "--format=csv").stdout
    assert [row["name"] for row in csv.DictReader(io.StringIO(only))] == ["j"]


def test_limit_says_how_many_rows_it_leaves_out(fgtrace, recording):
    a, b = recording("a"), recording("b", kernels=(("k", 6000), ("x", 10), ("y", 10)))
    shown = fgtrace("diff", a, b, "--by=kernel", "--limit=2")
    assert "rows are left out by --limit 2." in shown.stdout
    data = fgtrace("diff", a, b, "--by=kernel", "--limit=2", "--format=json")
    assert len(document(data)["rows"]) == 2
    assert "rows are left out by --limit 2." in data.stderr


@pytest.mark.parametrize(
    ("gate", "code", "outcome"),
    [
        ("readback_count > 0", 1, "failed"),
        ("readback_count > 1", 0, "passed"),
        ("phase:length_readback.device_time > +5%", 1, "failed"),
        ("kernel:k.device_time > +50%", 0, "passed"),
        ("host_time > +5%", 1, "undecided"),
        ("kernel:kk.device_time > +5%", 1, "matched-nothing"),
    ],
)
def test_a_gate_decides_the_exit_code(fgtrace, recording, gate, code, outcome):
    a, b = recording("a"), recording("b", kernels=(("k", 5100),), reads=True)
    result = fgtrace("diff", a, b, "--fail-on", gate, "--format=json")
    assert result.returncode == code
    (judged,) = document(result)["gates"]
    assert (judged["gate"], judged["outcome"]) == (gate, outcome)


def test_a_failed_gate_is_named_with_its_rows_in_text_and_in_junit(fgtrace, recording):
    a, b = recording("a"), recording("b", reads=True)
    gates = ("--fail-on", "readback_count > 0", "--fail-on", "kernel_count > 9")
    table = fgtrace("diff", a, b, *gates)
    assert table.returncode == 1
    assert re.search(r"readback_count > 0 +failed +true: c, aten: .* was 0, is 1", table.stdout)
    junit = fgtrace("diff", a, b, *gates, "--format=junit")
    assert junit.returncode == 1
    suite = ET.fromstring(junit.stdout.encode()).find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite.iter("testcase")] == list(gates[1::2])


def test_a_bad_gate_is_shown_with_the_place_before_anything_is_read(fgtrace, tmp_path):
    result = fgtrace("diff", tmp_path / "a", tmp_path / "b", "--fail-on", "readback_cuont > 0")
    code, lines = errors(result)
    assert code == 2
    assert lines[0].startswith("fgtrace: error: ")
    assert lines[1].endswith("readback_cuont > 0")
    assert lines[1][lines[2].index("^") :].startswith("readback_cuont")
    assert lines[3].startswith("hint: ")


def test_of_a_trace_that_was_cut_off_gates_pass_only_when_that_is_allowed(fgtrace, recording):
    a, whole = recording("a"), recording("b")
    cut = whole.with_name("cut.json")
    cut.write_bytes(whole.read_bytes()[:-400])
    gate = ("--by=kernel", "--fail-on", "kernel_count > 9")
    refused = fgtrace("diff", a, cut, *gate, "--format=json")
    assert refused.returncode == 1
    assert document(refused)["outcome"] == "partial"
    assert document(refused)["gates"][0]["outcome"] == "partial"
    assert fgtrace("diff", a, cut, *gate, "--allow-partial").returncode == 0
    assert fgtrace("diff", a, cut, "--by=kernel", "--strict").returncode == 3


def test_gates_that_the_bases_run_keeps_are_judged_besides_the_given_ones(fgtrace, tmp_path):
    base = tmp_path / "base.fgtrace"
    shutil.copytree(SAMPLE, base)
    manifest = json.loads((base / "manifest.json").read_text())
    manifest["provenance"]["gates"] = ["readback_count > 1", "kernel_count > 99"]
    (base / "manifest.json").write_text(json.dumps(manifest))
    given = ("--fail-on", "kernel_count > 99", "--format=json")
    result = fgtrace("diff", base, SAMPLE, *given)
    assert [(one["gate"], one["outcome"]) for one in document(result)["gates"]] == [
        ("kernel_count > 99", "passed"),
        ("readback_count > 1", "failed"),
    ]
    assert result.returncode == 1
    (judged,) = document(fgtrace("diff", SAMPLE, base, *given))["gates"]
    assert judged["outcome"] == "passed"


def test_a_call_is_compared_with_the_median_of_all(fgtrace, recording):
    a = recording("a")
    found = document(fgtrace("diff", f"{a}@call:3", f"{a}@median", "--by=kernel", "--format=json"))
    (kernel,) = (row for row in found["rows"] if row["name"] == "k")
    assert kernel["time_a_ns"] != 0
    assert abs(kernel["delta_ns"]) < 10
    assert kernel["verdict"] is None
    times = json.loads(fgtrace("show", "calls", f"{a}@call:3", "--format=json").stdout)["rows"]
    assert [row["index"] for row in times] == [3]
    assert kernel["time_a_ns"] == times[0]["device_time_ns"]


def test_a_step_is_compared_with_the_median_of_all(fgtrace, new_trace):
    trace = new_trace()
    for step, dur in enumerate((100, 100, 900, 100)):
        trace.range(f"ProfilerStep#{step}", CALL * step, 50_000)
        trace.kernel("k", CALL * step + 100, CALL * step + 60_000, dur)
    path = trace.write()
    found = document(
        fgtrace("diff", f"{path}@median", f"{path}@step:2", "--by=kernel", "--format=json")
    )
    (kernel,) = (row for row in found["rows"] if row["name"] == "k")
    assert (kernel["time_a_ns"], kernel["time_b_ns"]) == (100, 900)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("@call:99", "has no call 99"),
        ("@case:d", "has no case d"),
        ("@rout:aten", "there is no selector @rout"),
    ],
)
def test_a_selector_that_takes_nothing_is_refused(fgtrace, recording, selector, message):
    a = recording("a")
    code, lines = errors(fgtrace("diff", f"{a}{selector}", a))
    assert code == 2
    assert message in lines[0]
    assert lines[1].startswith("hint: ")


def test_several_recordings_show_the_trend(fgtrace, recording):
    paths = [
        recording(name, kernels=(("k", dur),))
        for name, dur in (("a", 5000), ("b", 6000), ("c", 7000))
    ]
    shown = fgtrace("diff", *paths, "--by=kernel")
    (row,) = re.findall(r"^k .*$", shown.stdout, re.MULTILINE)
    assert re.search(r"5\.0. µs +6\.0. µs +7\.0. µs +\+39\.\d % +rising", row)
    found = document(fgtrace("diff", *paths, "--by=kernel", "--format=json"))
    assert [one["recording"] for one in found["comparisons"]] == ["B", "C"]
    (trend,) = (row for row in found["trend"] if row["name"] == "k")
    assert trend["trend"] == "rising"
    assert {row["recording"] for row in found["rows"]} == {"B", "C"}


def test_different_cases_are_refused(fgtrace, recording):
    code, lines = errors(fgtrace("diff", recording("a"), recording("b", case="d")))
    assert code == 2
    assert lines[0] == "fgtrace: error: nothing to compare: case c in A; case d in B"


def test_cases_that_were_asked_for_are_compared_without_verdicts(fgtrace, recording):
    a, b = recording("a"), recording("b", case="d", kernels=(("k", 9000),))
    result = fgtrace("diff", f"{a}@case:c", f"{b}@case:d", "--by=kernel", "--format=json")
    rows = document(result)["rows"]
    assert {row["case"] for row in rows} == {"c → d"}
    assert {row["verdict"] for row in rows} == {None}
    gate = fgtrace("diff", f"{a}@case:c", f"{b}@case:d", "--fail-on", "device_time > +5%")
    assert gate.returncode == 1
    assert "undecided" in gate.stdout


@pytest.mark.parametrize("form", FORMATS)
def test_sides_without_a_common_name_are_told(fgtrace, recording, form):
    a, b = recording("a", kernels=(("k", 500),)), recording("b", kernels=(("x", 500),))
    result = fgtrace("diff", a, b, "--by=kernel", "--format", form)
    told = result.stderr if form in ("csv", "json") else result.stdout
    assert "No name is on both sides: A has 1 of its own, B 1." in told


def test_a_side_without_device_rows_is_told_and_has_no_kernels(fgtrace, recording):
    a, b = recording("a", device=False), recording("b")
    shown = fgtrace("diff", a, b, "--by=op")
    assert "A has no device work, so that device times are not compared." in shown.stdout
    code, lines = errors(fgtrace("diff", a, b, "--by=kernel"))
    assert code == 2
    assert "has no device work" in lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "kernels"), "kernel"),
        (("--whole", "--range", "x"), "--whole beside --range or --call"),
        (("--margin", "-1"), "margin"),
        (("--filter", "("), "is no regular expression"),
        (("--whole", "--by", "phase"), "whole traces have no phases"),
    ],
)
def test_a_wrong_option_is_one_line_and_a_hint(fgtrace, recording, arguments, message):
    code, lines = errors(fgtrace("diff", recording("a"), recording("b"), *arguments))
    assert code == 2
    assert len(lines) == 2
    assert message in lines[0]
    assert lines[1].startswith("hint: ")


def test_standard_input_is_one_of_the_recordings(fgtrace, recording):
    a = recording("a")
    code, lines = errors(fgtrace("diff", "-", "-", input=""))
    assert (code, "standard input can be one of the recordings" in lines[0]) == (2, True)
    piped = fgtrace("diff", a, "-", "--format=json", input=a.read_text())
    assert {row["verdict"] for row in document(piped)["rows"]} == {"unchanged"}


def test_a_file_that_is_no_trace_is_named(fgtrace, recording, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("nothing")
    code, lines = errors(fgtrace("diff", recording("a"), bad))
    assert code == 3
    assert str(bad) in lines[0]


def test_names_of_a_trace_are_text(fgtrace, hostile_trace):
    for by in ("kernel", "op", "tree"):
        for form in (*FORMATS, "junit"):
            shown = fgtrace(
                "diff", hostile_trace, hostile_trace, "--by", by, "--all", "--format", form
            )
            assert shown.returncode == 0
            assert "\x1b" not in shown.stdout
            assert "\u202e" not in shown.stdout
