"""The one-file recorder: what is in it, and what it says for itself."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fgtrace_collectors.bundle import bundle
from fgtrace_collectors.recorder.registry import Registry
from fgtrace_collectors.registry import installed_registry

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    path = tmp_path / "recorder.pyz"
    path.write_bytes(bundle(installed_registry()))
    return path


def test_the_same_packages_give_the_same_bytes() -> None:
    assert bundle(installed_registry()) == bundle(installed_registry())


def test_nothing_travels_but_the_recorder_and_the_packages_of_cases_and_routes() -> None:
    names = zipfile.ZipFile(io.BytesIO(bundle(installed_registry()))).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"__main__.py", "fgtrace_collectors", "fgtrace_kernels"}
    ours = [name for name in names if name.startswith("fgtrace_collectors/")]
    assert all(
        name.startswith("fgtrace_collectors/recorder/") or name == "fgtrace_collectors/__init__.py"
        for name in ours
    )


def test_a_module_of_a_third_party_travels_too(
    plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(plugin))
    registry = Registry({"plugin_case": "fgtrace_test_plugin:CASE"}, {}, "fgtrace 9")
    packed = zipfile.ZipFile(io.BytesIO(bundle(registry)))
    assert "fgtrace_test_plugin.py" in packed.namelist()
    assert json.loads(packed.read("fgtrace_collectors/recorder/registry.json"))["cases"] == {
        "plugin_case": "fgtrace_test_plugin:CASE"
    }


def said(recorder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(recorder), *arguments],
        capture_output=True,
        text=True,
        cwd=recorder.parent,
        check=False,
        timeout=120,
    )


def test_its_help_names_the_cases_and_loads_no_torch(recorder: Path) -> None:
    done = said(recorder, "--help")
    assert done.returncode == 0
    assert "repeat_values_known" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((), 2, "no case was given"),
        (("--case", "repeat_values_know"), 2, "did you mean repeat_values_known?"),
        (("--case", "all", "--route", "atem"), 4, "did you mean aten?"),
        (("--plan", "nothing.json"), 2, "nothing.json cannot be read"),
        (("--plan", "plan.json", "--formal"), 2, "--plan decides everything"),
        (("--case", "all", "-o", "/proc/x/y.zip"), 2, "cannot be written"),
    ],
)
def test_its_errors_are_two_lines_with_the_exit_codes_of_collect(
    recorder: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    done = said(recorder, *arguments)
    assert done.returncode == code
    assert text in done.stderr
    assert done.stderr.startswith("fgtrace-recorder: error: ")
    assert len(done.stderr.splitlines()) == 2
    assert not list(recorder.parent.glob(".*"))


def test_an_output_that_exists_is_not_written_over(recorder: Path) -> None:
    output = recorder.parent / "recording.zip"
    output.write_text("mine")
    done = said(recorder, "--case", "all")
    assert done.returncode == 2
    assert output.read_text() == "mine"


def test_the_recorders_exit_codes_are_fgtraces() -> None:
    from fgtrace.errors import ExitCode
    from fgtrace_collectors.recorder import errors

    assert (errors.FAILED, errors.USAGE, errors.UNAVAILABLE, errors.COLLECTION) == (
        ExitCode.FAILED,
        ExitCode.USAGE,
        ExitCode.UNAVAILABLE,
        ExitCode.COLLECTION,
    )
    assert errors.INTERRUPTED == ExitCode.INTERRUPTED


def test_the_recorders_notes_are_in_the_closed_list() -> None:
    """Every `note(level, kind, ...)` in the recorder names a documented kind."""
    import ast
    from importlib import import_module

    from fgtrace.frames.notes import KINDS

    found = set()
    for path in (PROJECT / "collectors/fgtrace_collectors/recorder").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "note"
            ):
                kind = node.args[1]
                if isinstance(kind, ast.Name):
                    module = import_module(f"fgtrace_collectors.recorder.{path.stem}")
                    found.add(getattr(module, kind.id))
                else:
                    assert isinstance(kind, ast.Constant), path
                    found.add(kind.value)
    assert found
    assert found <= set(KINDS)
