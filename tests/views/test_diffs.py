from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from fgtrace.analysis.diff import Asked, diff
from fgtrace.analysis.outcome import outcome_of, together
from fgtrace.opening import open_trace
from fgtrace.text import tables
from fgtrace.views.diffs import Chosen, diff_answer

SAMPLE = Path(__file__).parents[2] / "samples/h200.fgtrace"


@pytest.fixture(scope="module")
def run():
    return open_trace(SAMPLE)


def answer(*traces, by="phase", **chosen):
    names = [f"{letter}.fgtrace" for letter in "abcd"[: len(traces)]]
    found = [diff(traces[0], other, Asked(by=by)) for other in traces[1:]]
    told = together(dict(zip("ABCD", map(outcome_of, traces), strict=False)))
    return diff_answer(found, names, told, [], Chosen(**chosen))


def titles(table):
    return [column.title for column in table.columns]


def of_profiler(trace, profiler):
    return trace.having(provenance=msgspec.structs.replace(trace.provenance, profiler=profiler))


def test_percentages_across_profilers_are_shown_by_force_only(run):
    other = of_profiler(run, "hipprof")
    assert "%" in titles(answer(run, run, all=True).table)
    across = answer(run, other, all=True)
    assert "%" not in titles(across.table)
    assert "verdict" not in titles(across.table)
    assert across.document["comparability"]["summary"] == "cross-profiler"
    assert "%" in titles(answer(run, other, all=True, force=True).table)


def test_what_is_the_same_in_all_rows_is_in_the_title(run):
    one = run.having(
        calls=run.calls.filter(case="repeat_values_known", route="aten"),
    )
    table = answer(one, one, all=True).table
    assert table.title == "By phase, of repeat_values_known, by aten"
    assert not {"case", "route"} & set(titles(table))
    assert {"case", "route"} <= set(titles(answer(run, run, all=True).table))


def test_the_same_recording_has_nothing_to_show_but_its_calls(run):
    found = answer(run, run)
    assert {row[titles(found.table).index("name")] for row in found.table.rows} == {"call"}
    assert any("did not change; --all shows them" in note for note in found.table.footnotes)
    assert len(found.rows) > len(found.table.rows)


def test_data_has_all_rows_whatever_is_shown(run):
    found = answer(run, run, limit=3)
    assert len(found.rows) == len(found.document["rows"]) == 3
    assert found.cuts[-1].endswith("rows are left out by --limit 3.")


def test_what_is_around_a_place_that_changed_is_shown(run):
    calls = run.calls.filter(case="repeat_values_known", route="flaggems")
    slower = run.having(calls=run.calls.filter(case="repeat_values_known", route="aten"))
    table = answer(run.having(calls=calls), slower, by="tree").table
    names = [row[0] for row in table.rows]
    depths = [len(name) - len(name.lstrip()) for name in names]
    assert max(depths) > 2
    for before, depth in pairwise(depths):
        assert depth <= before + 2


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_terminal(run, width):
    found = answer(run, run, all=True)
    for table in (*found.above, found.table):
        lines = tables.render(table, width).splitlines()
        assert max(map(len, lines)) <= width
        if table.columns:
            assert "A" in titles(table) or table is not found.table


def test_a_trend_has_a_column_for_each_recording(run):
    found = answer(run, run, run, all=True)
    assert {"A", "B", "C", "C − A", "trend"} <= set(titles(found.table))
    assert [one["recording"] for one in found.document["comparisons"]] == ["B", "C"]
    assert {row["trend"] for row in found.document["trend"]} <= {"flat", None}
