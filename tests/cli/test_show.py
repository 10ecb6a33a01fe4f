import csv
import io
import json
import os
import re
import unicodedata
from pathlib import Path

import pytest

from fgtrace.cli.show import show
from fgtrace.frames.store import save_run
from fgtrace.views.reports import REPORTS

SAMPLE = Path(__file__).parents[2] / "samples/h200.fgtrace"

FORMATS = ("table", "json", "csv", "markdown")
ROWS = {
    "calls": 2,
    "phases": 3,
    "kernels": 8,
    "ops": 8,
    "launches": 1,
    "syncs": 1,
    "tree": 18,
    "matrix": 1,
    "notes": 0,
}


EMPTY = ("effects", "host", "witnesses")
"""What only `collect` measures, or Python stacks tell."""


def acts_on_a_terminal(text):
    return {unicodedata.category(character) for character in text.replace("\n", "")} & {
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    }


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("report", REPORTS)
def test_every_report_comes_in_every_format_and_is_safe_to_look_at(
    fgtrace, hostile_trace, report, form
):
    result = fgtrace("show", report, hostile_trace, "--format", form)
    told = "fgtrace: note: No rows" if report in EMPTY and form in ("json", "csv") else ""
    assert (result.returncode, result.stderr[: len(told) or None]) == (0, told)
    assert result.stdout.endswith("\n")
    assert not acts_on_a_terminal(result.stdout)


@pytest.mark.parametrize("report", ROWS)
def test_json_has_outcome_warnings_notes_and_rows(fgtrace, hostile_trace, report):
    document = json.loads(fgtrace("show", report, hostile_trace, "--format", "json").stdout)
    assert list(document) == ["outcome", "warnings", "notes", "rows"]
    assert document["outcome"] == "ok"
    assert len(document["rows"]) == ROWS[report]


def test_the_summary_has_its_metrics(fgtrace, hostile_trace):
    document = json.loads(fgtrace("show", "summary", hostile_trace, "--format", "json").stdout)
    assert list(document) == ["outcome", "warnings", "notes", "recorded", "parts", "metrics"]
    assert document["metrics"]["kernel_count"] == 16
    assert document["metrics"]["kernel_time_ns"] == 16 * 2500
    table = fgtrace("show", "summary", hostile_trace).stdout
    assert re.search(r"^kernel time +40\.0 µs$", table, re.MULTILINE)
    rows = dict(
        csv.reader(io.StringIO(fgtrace("show", "summary", hostile_trace, "--format=csv").stdout))
    )
    assert rows["kernel_count"] == "16"


def test_json_gives_names_as_they_were_and_csv_escapes_them(fgtrace, hostile_trace):
    def names(*options):
        return fgtrace("show", "kernels", hostile_trace, *options).stdout

    def csv_names(*options):
        rows = csv.DictReader(io.StringIO(names("--format", "csv", *options)))
        return {row["name"] for row in rows}

    recorded = {row["name"] for row in json.loads(names("--format", "json"))["rows"]}
    assert "\x1b]0;title\x07\x1b[2J" in recorded
    assert csv_names("--raw-names") == recorded
    escaped = csv_names()
    assert "'=cmd|' /C calc'!A0" in escaped
    assert r"\x1b]0;title\x07\x1b[2J" in escaped
    assert r"safe\u202egnp.exe" in escaped


def test_a_filter_and_a_limit_choose_rows_and_say_what_was_left_out(fgtrace, hostile_trace):
    result = fgtrace(
        "show",
        "kernels",
        hostile_trace,
        "--filter",
        r"^(=|\[|核)",
        "--limit",
        2,
        "--format",
        "json",
    )
    assert len(json.loads(result.stdout)["rows"]) == 2
    assert result.stderr == "fgtrace: note: 1 of 3 rows are left out by --limit 2.\n"
    table = fgtrace("show", "kernels", hostile_trace, "--limit", 2)
    assert "6 of 8 rows are left out by --limit 2." in table.stdout
    assert table.stderr == ""


@pytest.mark.parametrize("option", [("--filter", "x"), ("--limit", "1")])
def test_a_summary_has_no_rows_to_choose_from(fgtrace, hostile_trace, option):
    result = fgtrace("show", "summary", hostile_trace, *option)
    assert result.returncode == 2
    assert "the summary has no rows" in result.stderr


def test_a_bad_regular_expression_is_a_usage_error(fgtrace, hostile_trace):
    result = fgtrace("show", "kernels", hostile_trace, "--filter", "(")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fgtrace: error: --filter '(' is no regular expression: ")


@pytest.mark.parametrize("report", ["calls", "phases"])
def test_without_calls_a_report_of_calls_has_no_rows_and_says_why(
    fgtrace, trace_without_calls, report
):
    result = fgtrace("show", report, trace_without_calls, "--format", "json")
    document = json.loads(result.stdout)
    assert result.returncode == 0
    assert document["rows"] == []
    assert [note["kind"] for note in document["notes"]] == ["no-calls"]
    assert result.stderr == "fgtrace: note: No rows: no range marks the calls.\n"
    for form in ("table", "markdown"):
        told = fgtrace("show", report, trace_without_calls, "--format", form)
        assert "No rows: no range marks the calls." in told.stdout
        assert told.stderr == ""


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("ops", "no operator was recorded"),
        ("launches", "no launch was recorded"),
        ("syncs", "no wait was recorded"),
        ("tree", "nothing was recorded on the host"),
    ],
)
def test_a_trace_of_kernels_only_says_why_there_are_no_rows(fgtrace, trace, report, why):
    result = fgtrace("show", report, trace.work("k", 0, 10).write())
    assert result.returncode == 0
    assert f"No rows: {why}." in result.stdout


@pytest.fixture
def cut_off(trace):
    path = trace.kernel("k", 0, 5000, 3000).kernel("later", 9000, 20_000, 1000).write()
    path.write_text(path.read_text()[:-40])
    return path


@pytest.mark.parametrize(("report", "rows"), [("summary", "metrics"), ("kernels", "rows")])
def test_of_a_file_that_stops_early_a_report_has_the_error_and_what_was_read(
    fgtrace, cut_off, report, rows
):
    result = fgtrace("show", report, cut_off, "--format", "json")
    document = json.loads(result.stdout)
    assert result.returncode == 0
    assert document["outcome"] == "partial"
    assert set(document["error"]) == {"kind", "message", "hint"}
    assert document["error"]["kind"] == "truncated"
    assert document[rows]


@pytest.mark.parametrize("form", FORMATS)
def test_strict_makes_a_part_of_a_recording_an_exit_code(fgtrace, cut_off, form):
    result = fgtrace("show", "kernels", cut_off, "--strict", "--format", form)
    assert result.returncode == 3
    assert "k" in result.stdout
    assert ("fgtrace: warning: truncated: " in result.stderr) == (form != "json")


def test_strict_changes_nothing_for_a_whole_recording(fgtrace, hostile_trace):
    assert fgtrace("show", "kernels", hostile_trace, "--strict").returncode == 0


def test_a_table_on_a_terminal_fits_it(hostile_trace):
    pty = pytest.importorskip("pty")
    lines = _on_a_terminal(pty, hostile_trace, columns=60)
    assert any("…" in line for line in lines)
    for line in lines:
        assert sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) <= 60 + sum(
            unicodedata.combining(c) != 0 for c in line
        )


def _on_a_terminal(pty, trace, columns):
    import os
    import sys

    child, terminal = pty.fork()
    if child == 0:
        os.environ["COLUMNS"] = str(columns)
        os.execv(sys.executable, [sys.executable, "-m", "fgtrace", "show", "kernels", str(trace)])
    written = b""
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError:
            break
        if not block:
            break
        written += block
    os.waitpid(child, 0)
    return written.decode().splitlines()


def test_raw_times_are_as_they_were_recorded(fgtrace, trace):
    path = trace.op("backwards", 100, -50).write()

    def notes(*options):
        shown = fgtrace("show", "notes", path, "--format", "json", *options)
        return {row["kind"]: row["option"] for row in json.loads(shown.stdout)["rows"]}

    assert notes()["negative-duration"] == "--raw-times"
    assert "negative-duration" not in notes("--raw-times")


def test_whether_a_file_can_be_read_is_found_by_reading_it(trace, monkeypatch):
    # Else what must not be read would be a usage error.
    path = str(trace.op("aten::add", 0, 10).write())
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    with show.make_context("show", ["summary", path]) as context:
        assert context.params["path"] == path


def test_calls_are_what_range_or_call_selects(fgtrace, trace):
    path = trace.range("stage#1", 0, 9000).op("aten::add", 100, 700).write()
    for option in (("--range", "^stage"), ("--call", "aten::add")):
        document = json.loads(fgtrace("show", "calls", path, *option, "--format", "json").stdout)
        assert len(document["rows"]) == 1
        assert "no-calls" not in [note["kind"] for note in document["notes"]]
    result = fgtrace("show", "calls", path, "--call", "aten::mul")
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "fgtrace: error: no operator is named 'aten::mul'",
        "hint: there are aten::add",
    ]
    both = fgtrace("show", "calls", path, "--call", "x", "--range", "x")
    assert both.returncode == 2


def test_by_groups_what_the_report_says_and_nothing_else(fgtrace, trace):
    path = trace.range("call", 0, 9000).op("aten::add", 100, 700, **{"Input Dims": [[3]]}).write()
    assert "worst" in fgtrace("show", "calls", path, "--by", "case").stdout
    assert "[[3]]" in fgtrace("show", "ops", path, "--by", "shape").stdout
    refused = fgtrace("show", "ops", path, "--by", "case")
    assert refused.returncode == 2
    assert "ops --by shape" in refused.stderr


def test_the_matrix_by_pair_has_a_row_a_case_and_two_routes(fgtrace):
    result = fgtrace("show", "matrix", SAMPLE, "--by", "pair", "--format", "json")
    rows = json.loads(result.stdout)["rows"]
    assert len(rows) == 4 * 6
    (row,) = [
        row
        for row in rows
        if (row["case"], row["route_b"]) == ("repeat_Tensor_known", "triton")
        and row["route_a"] == "aten"
    ]
    assert row["verdict"] == "slower"
    assert 0 < row["interval_low_ns"] < row["effect_ns"] < row["interval_high_ns"]
    assert (row["generations"], row["rounds"]) == (6, 180)
    table = fgtrace("show", "matrix", SAMPLE, "--by", "pair", "--filter", "Tensor_known").stdout
    assert "Pairs of routes of repeat_Tensor_known" in table


def test_the_matrix_by_size_says_how_to_record_a_sweep_where_there_is_none(fgtrace):
    result = fgtrace("show", "matrix", SAMPLE, "--by", "size", "--format", "json")
    assert (result.returncode, json.loads(result.stdout)["rows"]) == (0, [])
    assert "fgtrace collect --case NAME --param rows=64,4096" in result.stderr


def test_a_sweep_is_shown_by_size_and_its_crossover_is_a_finding(fgtrace, timed, tmp_path):
    routes = {"aten": {64: 10, 1024: 90}, "triton": {64: 40, 1024: 40}}
    times = {
        (f"repeat[rows={size}]", route): [[1000 * us + batch for batch in range(5)]] * 6
        for route, sizes in routes.items()
        for size, us in sizes.items()
    }
    run = tmp_path / "made.fgtrace"
    run.mkdir()
    sweep = {f"repeat[rows={size}]": {"rows": size} for size in (64, 1024)}
    save_run(timed(times, sweep), run, name="made")
    by_size = fgtrace("show", "matrix", run, "--by", "size").stdout
    assert re.search(r"^ +64 +10\.0 µs +40\.0 µs  aten$", by_size, re.MULTILINE)
    found = fgtrace("show", "findings", run, "--format", "markdown").stdout
    assert "repeat: aten is faster at rows=64, triton at rows=1024" in found


@pytest.fixture
def repeated(trace):
    """Calls with a scan, a readback of its result and an expansion, and no range for these."""
    for call in range(6):
        at = call * 200_000
        trace.range("fgtrace::repeat_known", at, 100_000).op("aten::cumsum", at + 5000, 20_000)
        trace.kernel("DeviceScanKernel", at + 10_000, at + 16_000, 3000)
        trace.op("aten::item", at + 30_000, 20_000).readback(at + 31_000, at + 36_000)
        trace.kernel("repeat_interleave_kernel", at + 70_000, at + 76_000, 9000)
    return trace.write()


def test_a_phase_is_explained_by_its_rule_and_where_that_is_from(fgtrace, repeated):
    shown = fgtrace("show", "phases", repeated, "--explain").stdout
    assert "length-readback" in shown
    assert "its last value is the output's length" in shown
    assert fgtrace("show", "kernels", repeated, "--explain").returncode == 2


def test_what_if_answers_with_an_interval_and_with_a_number_when_a_time_is_given(fgtrace, repeated):
    rows = json.loads(
        fgtrace("show", "whatif", repeated, "--without", "readback", "--format", "json").stdout
    )["rows"]
    assert rows[0]["saving_ns"] is None
    assert rows[0]["interval_low_ns"] < rows[0]["interval_high_ns"]
    table = fgtrace(
        "show", "whatif", repeated, "--without", "readback", "--call-time", "60us"
    ).stdout
    assert "60.0 µs" in table


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--without", "expand"), "a call cannot be without expand: its result needs it"),
        (("--without", "index_check"), "no call has anything of --without index_check"),
        (("--without", "op:("), "is no regular expression"),
        (("--call-time", "60 parsecs"), "'60 parsecs' is no time; write it as 98.2us"),
        (("--call-time", "1s"), "cannot be what was recorded"),
        (("--rules", "not-there.toml"), "cannot be read"),
    ],
)
def test_what_if_refuses_what_makes_no_sense_in_a_line_and_a_hint(fgtrace, repeated, options, told):
    result = fgtrace("show", "whatif", repeated, *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_options_of_other_reports_are_refused(fgtrace, repeated):
    for options in (("--without", "readback"), ("--call-time", "6us"), ("--rules", "x.toml")):
        result = fgtrace("show", "kernels", repeated, *options)
        assert result.returncode == 2
        assert f"{options[0]} goes with" in result.stderr


def test_the_users_own_rules_are_used_by_every_report_that_has_phases(fgtrace, repeated, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(
        "[[rule]]\nname = 'mine'\nphase = 'my_part'\nsentence = 'x'\noperator = 'cumsum'\n"
    )
    for report in ("phases", "breakdown"):
        assert "my_part" in fgtrace("show", report, repeated, "--rules", rules).stdout


def installed(folder, rules):
    """Make a package in a folder that registers rules; gives what lets Python find it."""
    about = folder / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[fgtrace.rules]\nmine = mine_rules:RULES\n")
    (folder / "mine_rules.py").write_text(
        f"from fgtrace.analysis.rules import Rule\nRULES = {rules}\n"
    )
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


MINE = "Rule(name='mine', phase='my_part', sentence='x', operator='cumsum')"


@pytest.mark.parametrize("rules", [MINE, f"({MINE},)"])
def test_an_installed_package_adds_rules_before_the_built_in_ones(
    fgtrace, repeated, tmp_path, rules
):
    variables = installed(tmp_path, rules)
    for report in ("phases", "breakdown"):
        assert "my_part" in fgtrace("show", report, repeated, variables=variables).stdout
    explained = fgtrace("show", "phases", repeated, "--explain", variables=variables).stdout
    assert "mine" in explained
    assert "length-readback" in explained


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("1 / 0", "fgtrace.rules mine_rules:RULES cannot be loaded: ZeroDivisionError"),
        ("7", "cannot be loaded"),
        ("(7,)", "cannot be loaded"),
        (MINE.replace("my_part", "my part"), "mine_rules:RULES: rule 'mine': phase 'my part'"),
    ],
)
def test_rules_of_a_package_that_cannot_be_used_are_told_in_a_line_and_a_hint(
    fgtrace, repeated, tmp_path, rules, told
):
    variables = installed(tmp_path, rules)
    result = fgtrace("show", "phases", repeated, variables=variables)
    assert (result.returncode, result.stdout) == (2, "")
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert fgtrace("show", "kernels", repeated, variables=variables).returncode == 0


def test_findings_are_sentences_that_go_on_below_themselves_on_a_terminal(fgtrace, repeated):
    shown = fgtrace("show", "findings", repeated, "--format", "markdown").stdout
    assert "reads its length back from the device although the caller gives it" in shown
