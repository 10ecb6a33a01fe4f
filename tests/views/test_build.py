import re

import polars as pl
import pytest

from fgtrace.analysis.attribution import ATTRIBUTION
from fgtrace.analysis.breakdown import BREAKDOWN
from fgtrace.analysis.calls import CALLS_BY_CASE, CALLS_REPORT
from fgtrace.analysis.effects import EFFECTS
from fgtrace.analysis.findings import FINDINGS
from fgtrace.analysis.host import HOST, HOST_BY_GROUP
from fgtrace.analysis.idle import IDLE
from fgtrace.analysis.kernels import KERNELS
from fgtrace.analysis.launches import LAUNCHES
from fgtrace.analysis.matrix import MATRIX
from fgtrace.analysis.matrix_by_pair import MATRIX_BY_PAIR
from fgtrace.analysis.matrix_by_size import MATRIX_BY_SIZE
from fgtrace.analysis.ops import OPS, OPS_BY_SHAPE
from fgtrace.analysis.outcome import Notice, Outcome, Problem
from fgtrace.analysis.phases import EXPLAINED, PHASES
from fgtrace.analysis.summary import Metrics, PartSummary, Recorded, Summary
from fgtrace.analysis.syncs import SYNCS
from fgtrace.analysis.tree import TREE
from fgtrace.analysis.whatif import WHATIF
from fgtrace.frames.schema import NOTES, WITNESSES
from fgtrace.text.tables import render
from fgtrace.views.build import build_table, report_answer, summary_answer
from fgtrace.views.layouts import LAYOUTS
from fgtrace.views.notices import Notices

SCHEMAS = {
    "findings": FINDINGS,
    "calls": CALLS_REPORT,
    "calls by case": CALLS_BY_CASE,
    "phases": PHASES,
    "phases explained": EXPLAINED,
    "breakdown": BREAKDOWN,
    "attribution": ATTRIBUTION,
    "whatif": WHATIF,
    "effects": EFFECTS,
    "host": HOST,
    "host by group": HOST_BY_GROUP,
    "kernels": KERNELS,
    "ops": OPS,
    "ops by shape": OPS_BY_SHAPE,
    "launches": LAUNCHES,
    "syncs": SYNCS,
    "idle": IDLE,
    "tree": TREE,
    "matrix": MATRIX,
    "matrix by pair": MATRIX_BY_PAIR,
    "matrix by size": MATRIX_BY_SIZE,
    "witnesses": WITNESSES,
    "notes": NOTES,
}

QUIET = Notices(banners=(), told=Outcome(outcome="ok", warnings=[], notes=[]))
NO_CALLS = Notices(
    banners=(),
    told=Outcome(
        outcome="ok", warnings=[], notes=[Notice("no-calls", 0, "no range marks the calls")]
    ),
)

KERNEL_NAMES = ("scan", "\x1b[31mgather", "[bold]expand", "=cmd()", None)


def kernels(*names):
    rows = [(name, 1200, 41_300, 0.25, 1, 2, 3, 4) for name in names]
    return pl.DataFrame(rows, schema=KERNELS, orient="row")


def matrix(**values):
    row = dict.fromkeys(MATRIX) | {"case": "repeat", "route": "aten"} | values
    return pl.DataFrame([row], schema=MATRIX)


def cells(table, row=0):
    """A row's cells by heading; the headings of the intervals are those before them."""
    titles = [column.title for column in table.columns]
    return {
        f"{titles[place - 1]} {title}" if title == "95 %" else title: text
        for place, (title, text) in enumerate(zip(titles, table.rows[row], strict=True))
    }


@pytest.mark.parametrize("report", LAYOUTS)
def test_every_report_has_a_table_even_when_it_has_no_rows(report):
    table = build_table(report, pl.DataFrame(schema=SCHEMAS[report]))
    assert table.rows == ()
    assert table.columns


@pytest.mark.parametrize("report", LAYOUTS)
def test_a_row_of_which_nothing_is_known_is_shown_by_dashes(report):
    frame = pl.DataFrame([dict.fromkeys(SCHEMAS[report])], schema=SCHEMAS[report])
    if report == "calls":
        frame = frame.with_columns(index=pl.lit(0, pl.UInt32), left_out=False)
    (row,) = build_table(report, frame).rows
    assert set(row) <= {"—", "0"}


def test_values_are_shown_in_their_units_and_names_escaped():
    table = build_table("kernels", kernels("\x1b[31mgather"))
    assert cells(table) == {
        "count": "1\u202f200",
        "total": "41.3 µs",
        "share": "25.0 %",
        "min": "1 ns",
        "median": "2 ns",
        "p95": "3 ns",
        "max": "4 ns",
        "kernel": r"\x1b[31mgather",
    }


def test_the_matrix_shows_intervals_beside_times_and_dashes_for_the_rest():
    frame = matrix(
        generations=6,
        throughput_ns=45_100,
        throughput_low_ns=44_200,
        throughput_high_ns=46_000,
        kernel_count=4,
        overhead_factor=2.06,
        result="ok",
    )
    assert cells(build_table("matrix", frame)) == {
        "route": "aten",
        "throughput": "45.1 µs",
        "throughput 95 %": "44.2–46.0 µs",
        "enqueue": "—",
        "enqueue 95 %": "—",
        "latency": "—",
        "latency 95 %": "—",
        "generations": "6",
        "device": "—",
        "kernels": "4",
        "copies": "—",
        "readbacks": "—",
        "overhead": "2.06×",
        "result": "ok",
    }


def test_a_single_case_is_named_in_the_title_and_several_in_a_column():
    one = matrix()
    assert build_table("matrix", one).title == "Routes of repeat"
    two = build_table("matrix", pl.concat([one, matrix(case="other")]))
    assert two.title == "Routes"
    assert [row[0] for row in two.rows] == ["repeat", "other"]


def test_graph_replays_have_a_column_only_where_there_are_any():
    assert "graph" not in cells(build_table("matrix", matrix()))
    assert cells(build_table("matrix", matrix(graph_ns=12_000)))["graph"] == "12.0 µs"


@pytest.mark.parametrize(("generations", "said"), [(1, "one process"), (6, "up to 6 generations")])
def test_the_matrix_says_what_its_intervals_cover(generations, said):
    frame = matrix(generations=generations, throughput_low_ns=1, throughput_high_ns=2)
    assert said in build_table("matrix", frame).footnotes[0]


def test_a_matrix_without_intervals_does_not_explain_them():
    footnotes = build_table("matrix", matrix(generations=1)).footnotes
    assert not any("95 %" in footnote for footnote in footnotes)


def test_a_narrow_terminal_leaves_out_the_generations_first():
    whole = render(build_table("matrix", matrix(generations=6))).splitlines()[2]
    lines = render(build_table("matrix", matrix(generations=6)), len(whole) - 1).splitlines()
    assert lines[-1].endswith(": generations.")


def pair(**values):
    row = {"case": "repeat", "route_a": "aten", "route_b": "triton"} | values
    return pl.DataFrame([dict.fromkeys(MATRIX_BY_PAIR) | row], schema=MATRIX_BY_PAIR)


def test_a_pair_of_routes_reads_as_what_b_is_beside_a():
    frame = pair(effect_ns=-9_395, ratio=0.868, verdict="faster", generations=6, rounds=180)
    table = build_table("matrix by pair", frame)
    assert table.title == "Pairs of routes of repeat"
    shown = cells(table)
    assert (shown["a"], shown["b"]) == ("aten", "triton")
    assert (shown["b − a"], shown["b / a"], shown["b is"]) == ("−9.40 µs", "0.87×", "faster")
    both = build_table("matrix by pair", pl.concat([frame, pair(case="other")]))
    assert [row[0] for row in both.rows] == ["repeat", "other"]


def sizes(*rows):
    return pl.DataFrame(
        [
            dict.fromkeys(MATRIX_BY_SIZE)
            | {"case": "repeat", "parameters": others, "parameter": name, "size": size}
            | {"route": route, "throughput_ns": ns, "fastest": fastest}
            for others, name, size, route, ns, fastest in rows
        ],
        schema=MATRIX_BY_SIZE,
    )


def test_a_sweep_has_sizes_down_routes_across_and_the_fastest_in_the_end():
    frame = sizes(
        (None, "rows", 64, "aten", 9_810, True),
        (None, "rows", 64, "size", 52_800, False),
        (None, "rows", 4096, "aten", 50_000, False),
        (None, "rows", 4096, "size", 50_000, False),
        (None, "rows", 65536, "size", 73_300, True),
    )
    table = build_table("matrix by size", frame)
    assert table.title == "Routes by size of repeat"
    assert [column.title for column in table.columns] == ["rows", "aten", "size", "fastest"]
    assert table.rows == (
        ("64", "9.81 µs", "52.8 µs", "aten"),
        ("4\u202f096", "50.0 µs", "50.0 µs", "—"),
        ("65\u202f536", "—", "73.3 µs", "size"),
    )


def test_of_a_sweep_of_two_parameters_each_row_says_which_and_at_what_the_other_was():
    frame = sizes(
        ("rows=64", "cols", 8, "aten", 1000, True), ("cols=8", "rows", 64, "aten", 1000, True)
    )
    table = build_table("matrix by size", frame)
    assert [column.title for column in table.columns][:3] == ["at", "parameter", "size"]
    assert [row[:3] for row in table.rows] == [("rows=64", "cols", "8"), ("cols=8", "rows", "64")]


def test_a_sweep_of_four_routes_fits_a_terminal_of_80_columns():
    routes = ("aten", "flaggems", "triton", "triton-readback")
    frame = sizes(*((None, "rows", 65536, route, 123_456, False) for route in routes))
    assert "Left out" not in render(build_table("matrix by size", frame), 80)


def test_a_call_that_is_not_in_medians_is_marked():
    rows = [("c", "r", 0, index, 5, 1, 0, 0, 3, index == 0) for index in (0, 1)]
    table = build_table("calls", pl.DataFrame(rows, schema=CALLS_REPORT, orient="row"))
    assert [cells(table, row)["call"] for row in (0, 1)] == ["0†", "1"]
    assert any(note.startswith("†") for note in table.footnotes)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("sca|exp", ["scan", "[bold]expand"]),
        (r"^=", ["=cmd()"]),
        ("nothing", []),
        ("(?!x)^s", ["scan"]),
    ],
)
def test_a_filter_keeps_the_rows_whose_names_match(pattern, found):
    answer = report_answer("kernels", kernels(*KERNEL_NAMES), QUIET, re.compile(pattern))
    assert [row["name"] for row in answer.document["rows"]] == found
    assert len(answer.table.rows) == len(answer.rows) == len(found)


def test_a_limit_says_how_many_rows_it_left_out():
    answer = report_answer("kernels", kernels(*KERNEL_NAMES), QUIET, limit=2)
    assert len(answer.rows) == len(answer.table.rows) == len(answer.document["rows"]) == 2
    assert answer.cuts == ("3 of 5 rows are left out by --limit 2.",)
    assert answer.table.footnotes[0] == answer.cuts[0]


def test_a_limit_that_is_not_reached_leaves_nothing_out():
    answer = report_answer("kernels", kernels("scan"), QUIET, limit=1)
    assert len(answer.rows) == 1
    assert answer.cuts == ()


def test_a_report_without_rows_says_why_and_one_with_rows_does_not():
    empty = report_answer("calls", pl.DataFrame(schema=CALLS_REPORT), NO_CALLS)
    assert empty.cuts == ("No rows: no range marks the calls.",)
    assert empty.table.footnotes[0] == empty.cuts[0]
    assert report_answer("kernels", kernels("scan"), NO_CALLS).cuts == ()


@pytest.mark.parametrize("report", ["kernels", "ops", "launches", "syncs", "tree", "matrix"])
def test_a_report_that_needs_no_calls_is_not_empty_for_want_of_them(report):
    (why,) = report_answer(report, pl.DataFrame(schema=SCHEMAS[report]), NO_CALLS).cuts
    assert why == f"No rows: {LAYOUTS[report].empty}."


def test_a_tree_is_indented_and_its_names_are_escaped():
    rows = [("", depth, name, "op", 1, 5, 5, 0, 0) for depth, name in enumerate(("a", "\x1b[2J"))]
    table = build_table("tree", pl.DataFrame(rows, schema=TREE, orient="row"))
    assert [row[-1] for row in table.rows] == ["a", r"  \x1b[2J"]
    assert table.columns[-1].align == "left"


def test_a_document_has_rows_as_they_are_and_the_notices_beside_them():
    beside = Notices(
        banners=("quick: …",),
        told=Outcome(
            outcome="ok-with-warnings",
            warnings=[Notice("unlinked", 3, "3 rows")],
            notes=[Notice("quick", 1, "one")],
        ),
    )
    answer = report_answer("kernels", kernels("\x1b[31mgather"), beside)
    assert answer.document["outcome"] == "ok-with-warnings"
    assert answer.document["warnings"] == [{"kind": "unlinked", "count": 3, "message": "3 rows"}]
    assert answer.document["notes"] == [{"kind": "quick", "count": 1, "message": "one"}]
    assert answer.document["rows"][0]["name"] == "\x1b[31mgather"
    assert answer.header == tuple(KERNELS)
    assert answer.table.banners == ("quick: …",)
    assert "error" not in answer.document


def test_the_document_of_a_part_of_a_recording_has_the_error_beside_the_rows():
    problem = Problem("truncated", "it stops", "copy it again")
    told = Outcome(outcome="partial", error=problem, warnings=[], notes=[])
    document = report_answer("kernels", kernels("scan"), Notices((), told)).document
    assert list(document) == ["outcome", "error", "warnings", "notes", "rows"]
    assert document["outcome"] == "partial"
    assert document["error"] == {
        "kind": "truncated",
        "message": "it stops",
        "hint": "copy it again",
    }
    assert len(document["rows"]) == 1


def summary(parts=1, **metrics):
    values = dict.fromkeys(Metrics.__struct_fields__, 0) | metrics
    return Summary(
        outcome="ok",
        warnings=[],
        notes=[],
        recorded=Recorded(host_api=True, device=True, bytes=False, ranges=True, python=False),
        parts=[PartSummary("1", None, "a.json", Metrics(**values))] * parts,
        metrics=Metrics(**values),
    )


def test_a_summary_is_a_row_a_metric_in_its_unit():
    metrics = {"kernel_time_ns": 57_100, "dtoh_bytes": 8, "readback_count": None}
    answer = summary_answer(summary(**metrics), "a\x1b.json", QUIET)
    rows = dict(answer.table.rows)
    assert rows["kernel time"] == "57.1 µs"
    assert rows["dtoh bytes"] == "8 B"
    assert rows["readback count"] == "—"
    assert answer.table.title == r"Summary of a\x1b.json"
    assert answer.table.footnotes == ("Not recorded: bytes, python.",)
    assert ("kernel_time_ns", 57_100) in answer.rows
    assert answer.document["metrics"]["dtoh_bytes"] == 8


def test_a_summary_of_several_processes_says_where_each_is():
    footnotes = summary_answer(summary(parts=2), "a.fgtrace", QUIET).table.footnotes
    assert footnotes[-1] == "Over 2 parts; --format json has each."
