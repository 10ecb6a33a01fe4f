from dataclasses import replace

import polars as pl
import pytest

from fgtrace.frames import schema
from fgtrace.frames.notes import KINDS, Note, notes_frame
from fgtrace.frames.provenance import Device, Protocol, Provenance
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES, Trace
from fgtrace.views.notices import BANNERS, notes_report, notices


def trace_with(*notes):
    frames = {name: pl.DataFrame(schema=columns) for name, columns in FRAMES.items()}
    frames["notes"] = notes_frame(notes)
    lazy = {name: pl.LazyFrame(schema=columns) for name, columns in LAZY_FRAMES.items()}
    return Trace("made.fgtrace", Provenance(), **frames, **lazy)


def test_a_warning_changes_the_outcome_and_an_info_does_not():
    assert notices(trace_with(Note("info", "quick", 1, "one"))).told.outcome == "ok"
    warned = notices(trace_with(Note("warning", "unlinked", 3, "three rows")))
    assert warned.told.outcome == "ok-with-warnings"
    assert warned.lines() == ["unlinked: three rows"]


def test_a_recording_that_was_read_in_part_is_partial_whatever_else_is_told():
    told = notices(
        trace_with(Note("warning", "unlinked", 3, "rows"), Note("warning", "truncated", 1, "ends"))
    ).told
    assert told.outcome == "partial"
    assert told.error is not None
    assert (told.error.kind, told.error.message) == ("truncated", "ends")
    assert [warning.kind for warning in told.warnings] == ["unlinked", "truncated"]


@pytest.mark.parametrize(
    ("kind", "banner"),
    [
        ("quick", "quick: "),
        ("interpreted", "interpreted: correctness only, not a timing"),
        ("not-a-device-timing", "cpu: "),
    ],
)
@pytest.mark.parametrize("level", ["info", "warning"])
def test_what_holds_for_every_number_stands_above_the_table_once(kind, banner, level):
    notes = [Note(level, kind, 1, "a"), Note(level, kind, 1, "b")]
    found = notices(trace_with(*notes))
    assert len(found.banners) == 1
    assert found.banners[0].startswith(banner)
    assert found.lines() == []


def test_the_device_the_protocol_and_the_cache_stand_above_every_table():
    about = Provenance(
        device=Device(kind="cuda", name="GPU \x1b[2J"),
        protocol=Protocol(name="formal", seed=1, generations=6, cache="cold"),
    )
    made = replace(trace_with(Note("info", "quick", 1, "a")), provenance=about)
    first, second = notices(made).banners
    assert first == r"GPU \x1b[2J · formal, 6 generations · cold cache"
    assert second.startswith("quick: ")


def test_every_banner_is_of_a_documented_kind():
    assert set(BANNERS) <= set(KINDS)


@pytest.mark.parametrize("kind", ["no-calls", "no-device-activity"])
def test_what_explains_an_empty_report_is_no_warning(kind):
    found = notices(trace_with(Note("info", kind, 0, "nothing \x1b was found")))
    assert found.why_empty() == (r"No rows: nothing \x1b was found.",)
    assert found.lines() == []


def test_other_notes_explain_no_empty_report():
    assert notices(trace_with(Note("info", "quick", 1, "one"))).why_empty() == ()


def test_messages_are_escaped_on_a_terminal_and_not_in_data():
    found = notices(trace_with(Note("warning", "unlinked", 1, "row \x1b[2J")))
    assert found.lines() == [r"unlinked: row \x1b[2J"]
    assert found.told.warnings[0].message == "row \x1b[2J"


def test_the_notes_report_has_every_note_in_order():
    notes = [Note("warning", "unlinked", 3, "b", part=1), Note("info", "quick", 1, "a")]
    report = notes_report(trace_with(*notes))
    assert report.schema == schema.NOTES
    assert report["kind"].to_list() == ["unlinked", "quick"]
