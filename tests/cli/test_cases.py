import csv
import io
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from fgtrace.cli import cases as verb
from fgtrace_collectors.recorder.registry import Registry

CASES = {"repeat_values_known", "repeat_values_dynamic", "repeat_Tensor_known"}


def test_the_table_lists_cases_and_routes(fgtrace):
    result = fgtrace("cases")
    assert (result.returncode, result.stderr) == (0, "")
    cases, routes = result.stdout.split("\nRoutes\n")
    for name in CASES:
        assert name in cases
    assert "rows=17096 items=854524" in cases
    assert "\naten " in routes


def test_json_has_parameters_with_their_defaults_and_limits(fgtrace):
    document = json.loads(fgtrace("cases", "--format", "json").stdout)
    assert document["outcome"] == "ok"
    cases = {case["name"]: case for case in document["cases"]}
    assert set(cases) >= CASES
    known = cases["repeat_values_known"]
    assert known["operator"] == "repeat_interleave"
    assert known["parameters"][0] == {
        "name": "rows",
        "summary": "rows to repeat",
        "default": 17096,
        "minimum": 1,
        "maximum": None,
        "interpreted": 64,
    }
    assert {"aten", "triton"} <= set(known["routes"])
    assert cases["repeat_values_switched"]["parts"] == ["readback", "index_check"]
    (aten,) = [route for route in document["routes"] if route["name"] == "aten"]
    assert aten["modules"] == ["torch"]


def test_csv_has_cases_and_routes_in_the_same_columns(fgtrace):
    rows = list(csv.DictReader(io.StringIO(fgtrace("cases", "--format", "csv").stdout)))
    kinds = {row["name"]: row["kind"] for row in rows}
    assert kinds["repeat_values_known"] == "case"
    assert kinds["flaggems"] == "route"
    (flaggems,) = [row for row in rows if row["name"] == "flaggems"]
    assert flaggems["needs"] == "torch, triton, flag_gems, an accelerator"


def test_markdown_has_a_table_of_each(fgtrace):
    result = fgtrace("cases", "--format", "markdown").stdout
    assert result.count("\n| :--- |") == 2
    assert "| repeat_values_known |" in result


def test_listing_loads_no_torch():
    program = (
        "import sys\nfrom fgtrace.cli.main import run\nsys.argv = ['fgtrace', 'cases']\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('torch', 'triton', 'polars') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.endswith("\n[]\n")


@pytest.fixture
def broken(monkeypatch):
    """A registry in which another package's case cannot be imported."""
    registry = Registry(
        {
            "mine": "no_such_module:CASE",
            "repeat_values_known": "fgtrace_kernels.cases:REPEAT_VALUES_KNOWN",
        },
        {"aten": "fgtrace_kernels.routes:ATEN"},
        "fgtrace",
    )
    monkeypatch.setattr("fgtrace_collectors.registry.installed_registry", lambda: registry)


def test_a_case_that_cannot_be_loaded_hides_no_other(broken):
    result = CliRunner().invoke(verb.cases, ["--format", "json"])
    document = json.loads(result.stdout)
    assert document["outcome"] == "ok-with-warnings"
    assert [case["name"] for case in document["cases"]] == ["repeat_values_known"]
    (warning,) = document["warnings"]
    assert warning["kind"] == "broken-case"
    assert warning["message"].startswith("case mine cannot be loaded: ModuleNotFoundError")


def test_what_cannot_be_loaded_is_told_on_stderr_beside_a_table(broken):
    result = CliRunner().invoke(verb.cases, [])
    assert "fgtrace: warning: case mine cannot be loaded" in result.stderr
    assert "cannot be loaded" not in result.stdout
