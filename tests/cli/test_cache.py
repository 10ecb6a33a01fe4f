import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fgtrace import cache
from fgtrace.cli import cache as verb
from fgtrace.errors import FgtraceError
from fgtrace.opening import open_trace


@pytest.fixture
def variables(tmp_path):
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def path(trace):
    """A trace that is large enough to be kept."""
    for n in range(10_000):
        trace.op("aten::add", 20 * n, 10)
    return trace.write("[bold]\x1b[31m.json")


def kept(fgtrace, variables):
    return json.loads(fgtrace("cache", "--format", "json", variables=variables).stdout)


def test_a_trace_that_is_shown_is_listed(fgtrace, path, variables):
    fgtrace("show", "summary", path, variables=variables)
    document = kept(fgtrace, variables)
    assert document["outcome"] == "ok"
    assert document["folder"] == f"{variables['XDG_CACHE_HOME']}/fgtrace/traces"
    assert document["limit_bytes"] == 5 << 30
    (entry,) = document["entries"]
    assert entry["path"].endswith(r"[bold]\x1b[31m.json")
    assert entry["events"] == 10_000
    assert 500_000 < entry["bytes"] == document["bytes"] < 2_000_000
    result = fgtrace("cache", variables=variables)
    assert (result.returncode, result.stderr) == (0, "")
    assert "10\N{NARROW NO-BREAK SPACE}000" in result.stdout
    assert " s ago" in result.stdout
    assert "of at most 5.37 GB in " in result.stdout


def test_csv_and_markdown_have_a_row_a_trace(fgtrace, path, variables):
    fgtrace("show", "summary", path, variables=variables)
    (row,) = csv.DictReader(
        io.StringIO(fgtrace("cache", "--format", "csv", variables=variables).stdout)
    )
    assert (row["events"], row["used"][:2]) == ("10000", "20")
    markdown = fgtrace("cache", "--format", "markdown", variables=variables).stdout
    assert markdown.count(".json") == 1


def test_clearing_removes_all_and_says_how_much(fgtrace, path, variables):
    fgtrace("show", "summary", path, variables=variables)
    result = fgtrace("cache", "--clear", "--format", "json", variables=variables)
    assert "fgtrace: note: removed 1, " in result.stderr
    assert json.loads(result.stdout)["entries"] == []
    assert list(Path(json.loads(result.stdout)["folder"]).iterdir()) == []


def test_what_cannot_be_removed_is_an_error(trace, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTH_KEEPING", 1)
    open_trace(trace.op("a", 0, 5).write())
    monkeypatch.setattr(cache, "_remove", lambda folder: None)
    result = CliRunner().invoke(verb.cache, ["--clear"])
    assert isinstance(result.exception, FgtraceError)
    assert result.exception.message.startswith("1 in ")
    assert "removed 0, 0 B" in result.stderr


def test_a_report_is_the_same_read_loaded_and_without_the_cache(fgtrace, path, variables):
    outputs = [
        fgtrace("show", "ops", path, "--format", "json", *options, variables=variables)
        for options in (["--no-cache"], [], [])
    ]
    assert len({(done.returncode, done.stdout, done.stderr) for done in outputs}) == 1
    assert len(kept(fgtrace, variables)["entries"]) == 1


def test_without_the_cache_nothing_is_kept(fgtrace, path, variables):
    assert fgtrace("show", "summary", path, "--no-cache", variables=variables).returncode == 0
    assert kept(fgtrace, variables)["entries"] == []


def test_an_empty_cache_and_one_that_cannot_be_are_listed(fgtrace, tmp_path):
    (tmp_path / "file").touch()
    for home in ("new", "file"):
        variables = {"XDG_CACHE_HOME": str(tmp_path / home)}
        assert kept(fgtrace, variables)["entries"] == []
        assert "0 B of at most" in fgtrace("cache", variables=variables).stdout
