"""The terminal UI, as a user drives it."""

import re
import threading
import time

import polars as pl
import pytest

import fgtrace
from fgtrace import units
from fgtrace.analysis.host import host_report
from fgtrace.analysis.kernels import kernels_report
from fgtrace.analysis.matrix import matrix_report
from fgtrace.analysis.whatif import whatif_report
from fgtrace.errors import FgtraceError
from fgtrace.tui.app import KEY_IDS, PANES
from fgtrace.tui.bindings import APP_KEYS, SCREENS
from fgtrace.tui.widgets.frame_table import FrameTable
from fgtrace.tui.widgets.timeline_pane import TimelinePane

from .conftest import SAMPLES

RUN = SAMPLES / "h200.fgtrace"
FACTORIAL = SAMPLES / "factorial.fgtrace"
SIZES = [(80, 24), (100, 30), (200, 60)]


def marked(driver):
    """The data of the marked row of the table that is shown."""
    table = driver.app.pane.table()
    return table.rows.row(table.marked)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark"])
def test_the_overview_has_the_numbers_of_show_at_every_size_and_theme(drive, size, theme):
    times = matrix_report(fgtrace.open(FACTORIAL)).row(0, named=True)

    async def look(driver):
        assert units.duration(times["throughput_ns"]) in driver.screen
        assert "index-check" in driver.screen
        lines = driver.screen.splitlines()
        assert len(lines) == size[1]
        assert max(map(len, lines)) <= size[0]

    drive(look, FACTORIAL, size=size, theme=theme)


def test_without_colour_all_that_is_said_is_there(drive, monkeypatch):
    screens = []

    async def look(driver):
        screens.append(driver.screen)

    drive(look, FACTORIAL)
    monkeypatch.setenv("NO_COLOR", "1")
    drive(look, FACTORIAL)
    assert screens[0] == screens[1]


def test_numbers_switch_between_screens_and_each_has_rows_or_says_why_not(drive):
    async def look(driver):
        for number, (name, title) in enumerate(SCREENS.items(), 1):
            if name in ("timeline", "diff", "report"):
                continue
            await driver.press(str(number))
            assert f"[{number} {title}]" in driver.screen
            table = driver.app.pane.table()
            assert len(table.rows) or "No rows" in driver.screen

    drive(look, FACTORIAL)


def test_kernels_have_the_rows_of_show_and_are_sorted_and_filtered(drive):
    report = kernels_report(fgtrace.open(RUN))

    async def look(driver):
        await driver.press("2")
        assert marked(driver)["name"] == report["name"][0]
        await driver.press("s")
        table = driver.app.pane.table()
        counts = [table.rows.row(place)["count"] for place in range(len(table.rows))]
        assert counts == sorted(report["count"], reverse=True)
        await driver.press("S")
        assert marked(driver)["count"] == report["count"].min()
        await driver.press("slash", *"gather", "enter")
        assert len(table.rows) == report.filter(pl.col("name").str.contains("gather")).height
        await driver.press("slash", "home", "exclamation_mark", "enter")
        assert len(table.rows) == report.filter(~pl.col("name").str.contains("gather")).height
        await driver.press("escape")
        assert len(table.rows) == report.height

    drive(look, RUN)


def test_a_wrong_expression_says_so_and_keeps_the_rows(drive):
    async def look(driver):
        await driver.press("2", "slash", "left_parenthesis", "enter")
        told = [one.message for one in driver.app._notifications]
        assert told == ["no regular expression: missing ), unterminated subpattern at position 0"]
        assert len(driver.app.query_one("#kernels FrameTable", FrameTable).rows)

    drive(look, RUN)


def test_the_operator_that_launched_a_kernel_is_found_in_its_detail(drive):
    async def look(driver):
        await driver.press("2", "j", "j")
        detail = driver.screen
        assert "launched in aten::cumsum" in detail

    drive(look, RUN)


def test_distributions_of_two_kernels_are_compared(drive):
    report = kernels_report(fgtrace.open(RUN))

    async def look(driver):
        await driver.press("2", "m", "j")
        screen = driver.screen
        assert screen.count("over time") == 2
        low = min(report["min_ns"][0], report["min_ns"][1])
        high = max(report["max_ns"][0], report["max_ns"][1])
        ends = rf"{units.duration(low)} ┤[^├]*├ {units.duration(high)}"
        assert len(re.findall(ends, screen)) == 2

    drive(look, RUN)


def test_the_python_function_that_costs_most_is_the_first_of_the_host(drive):
    report = host_report(fgtrace.open(FACTORIAL))

    async def look(driver):
        await driver.press("5")
        assert marked(driver)["function"] == report["function"][0]
        assert marked(driver)["total_ns"] == report["total_ns"][0]

    drive(look, FACTORIAL)


def test_a_part_is_switched_off_and_the_prediction_read(drive):
    async def look(driver):
        await driver.press("6", "space")
        row = marked(driver)
        found = whatif_report(fgtrace.open(FACTORIAL), without=(row["part"],))
        same = found.filter(case=row["case"], route=row["route"], without=row["part"])
        screen = driver.screen
        assert f"without {row['part']}" in screen
        assert units.duration(same["predicted_ns"][0]) in screen
        assert "measured" in screen
        await driver.press("space")
        assert "takes the marked part out" in driver.screen

    drive(look, FACTORIAL)


def test_a_tree_opens_and_closes(drive):
    async def look(driver):
        await driver.press("4")
        table = driver.app.pane.table()
        closed = len(table.rows)
        await driver.press("j", "l")
        opened = len(table.rows)
        assert opened > closed
        await driver.press("h")
        assert len(table.rows) == closed
        await driver.press("E")
        assert len(table.rows) > opened
        await driver.press("Z")
        assert len(table.rows) == closed

    drive(look, RUN)


def test_enter_shows_the_events_behind_a_row(drive):
    async def look(driver):
        await driver.press("2")
        count = marked(driver)["count"]
        await driver.press("enter")
        assert driver.app.pane.id == "events"
        table = driver.app.pane.table()
        assert len(table.rows) == count
        assert set(table.rows.frame["kind"]) == {"kernel"}
        await driver.press("escape")
        assert len(table.rows) > count

    drive(look, RUN)


def test_a_second_recording_opens_on_what_changed(drive, shared):
    pair = [shared / f"traces/h200/abl_{one}_full.json.gz" for one in ("00", "10")]

    async def look(driver):
        assert driver.app.pane.id == "diff"
        screen = driver.screen
        assert "length_readback is in B only" in screen
        assert re.search(r"call +device .* slower", screen)
        before = len(driver.app.pane.table().rows)
        await driver.press("u")
        assert len(driver.app.pane.table().rows) > before
        await driver.press("p")
        assert driver.app.pane.kind == "kernel"

    drive(look, *pair, size=(120, 40))


def test_what_only_the_base_has_leads_to_the_bases_events(drive):
    case = f"{RUN}@case:repeat_values_known"

    async def look(driver):
        await driver.press("p")
        table = driver.app.pane.table()
        rows = [table.rows.row(place) for place in range(len(table.rows))]
        gone = next(place for place, row in enumerate(rows) if row["status"] == "removed")
        table.mark(gone)
        await driver.press("t")
        told = next(one.message for one in driver.app._notifications)
        assert "only the base has it" in told
        await driver.press("enter")
        assert driver.app.pane.id == "events"
        shown = driver.app.pane.table().rows.frame
        base = fgtrace.open(RUN).calls.filter(route="aten", case="repeat_values_known")
        assert shown.height >= base.filter(~pl.col("left_out")).height
        assert set(shown["kind"]) == {"kernel"}

    drive(look, f"{case}@route:aten", f"{case}@route:flaggems", size=(120, 40))


def test_a_second_recording_is_asked_for_with_c(drive):
    async def look(driver):
        await driver.press("c")
        assert "Compare with" in driver.screen
        box = driver.app.screen.query_one("Input")
        box.value = str(RUN)
        await driver.press("enter")
        assert driver.app.pane.id == "diff"
        assert len(driver.app.loaded) == 2

    drive(look, RUN, size=(120, 40))


def test_state_is_kept_between_screens(drive):
    async def look(driver):
        await driver.press("2", "j", "j", "s")
        place, rows = driver.app.pane.table().marked, len(driver.app.pane.table().rows)
        await driver.press("1", "2")
        assert driver.app.pane.table().marked == place
        assert len(driver.app.pane.table().rows) == rows

    drive(look, RUN)


def test_every_report_is_in_the_palette(drive):
    async def look(driver):
        commands = {one.title for one in driver.app.get_system_commands(driver.app.screen)}
        assert {"Report: syncs", "Report: notes", "Report: witnesses", "Report: idle"} <= commands
        assert {"Screen: Matrix", "Filter", "Help"} <= commands
        driver.app.action_report("syncs")
        await driver.settle()
        assert "cudaStreamSynchronize" in driver.screen

    drive(look, RUN)


def test_why_the_device_was_idle_is_a_report_with_its_gap(drive):
    async def look(driver):
        driver.app.action_report("idle")
        await driver.settle()
        assert marked(driver)["cause"] == "host in python"
        await driver.press("enter")
        assert driver.app.pane.id == "events"
        assert len(driver.app.pane.table().rows) == 1

    drive(look, RUN)


def test_help_lists_every_key_of_the_screen(drive):
    async def look(driver):
        await driver.press("4", "question_mark")
        keys = {*PANES[2].KEYS, *FrameTable.KEYS, *APP_KEYS}
        text = str(driver.app.screen.query("Static").first().content)
        for key in keys:
            assert re.search(rf"{re.escape(key.shown)} +{re.escape(key.does)}", text)

    drive(look, RUN)


def test_no_key_is_bound_twice_on_a_screen():
    for pane in PANES:
        table = () if pane is TimelinePane else FrameTable.KEYS
        keys = [one for key in (*APP_KEYS, *table, *pane.KEYS) for one in key.keys.split(",")]
        assert len(keys) == len(set(keys)), pane
    every = [*APP_KEYS, *FrameTable.KEYS, *(key for pane in PANES for key in pane.KEYS)]
    assert {key.id: key for key in every} == KEY_IDS


def test_keys_can_be_set_to_others_and_unknown_ones_are_refused(drive):
    async def look(driver):
        await driver.press("2", "ctrl+n")
        assert driver.app.pane.table().marked == 1

    drive(look, RUN, keymap={"table.down": "ctrl+n"})
    with pytest.raises(FgtraceError, match=r"there is no key 'table\.dwn'"):
        drive(look, RUN, keymap={"table.dwn": "x"})
    with pytest.raises(FgtraceError, match="there is no theme 'dracul'"):
        drive(look, RUN, theme="dracul")


def test_a_file_that_cannot_be_read_leaves_a_message_and_a_chooser(drive, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("nothing")

    async def look(driver):
        assert "Open a recording" in driver.screen
        box = driver.app.screen.query_one("Input")
        box.value = str(RUN)
        await driver.press("enter")
        assert "Where one call goes" in driver.screen

    drive(look, bad)


def test_reading_can_be_stopped_and_leaves_a_chooser(drive):
    reading = threading.Event()

    def slow(path, progress):
        for step in range(200):
            progress(path, step, 200)
            reading.set()
            time.sleep(0.05)
        raise AssertionError("it was not stopped")

    async def look(driver):
        reading.wait(5)
        await driver.pilot.press("escape")
        for _ in range(50):
            await driver.pilot.pause(0.05)
            if "Open a recording" in driver.screen:
                return
        raise AssertionError(driver.screen)

    drive(look, RUN, opener=slow, settled=False)


def test_a_damaged_file_opens_with_its_notes_on_top(drive, new_trace):
    trace = new_trace()
    for start in range(0, 400_000, 100_000):
        trace.range(f"fgtrace::call::c::r::{start}", start, 50_000)
        trace.kernel("k", start + 100, start + 60_000, 500)
    path = trace.write()
    path.write_bytes(path.read_bytes()[:-60])

    async def look(driver):
        assert "! truncated" in driver.screen
        assert "Where one call goes" in driver.screen

    drive(look, path)


def test_a_terminal_that_is_too_small_says_so_and_recovers(drive):
    async def look(driver):
        assert "needs 60 × 16" in driver.screen
        await driver.pilot.resize_terminal(100, 30)
        await driver.settle()
        assert "Where one call goes" in driver.screen

    drive(look, FACTORIAL, size=(40, 10))


HOSTILE = (
    "k<float>[abi:cxx11]",
    "[bold]x[/bold]",
    "\x1b[2Jesc",
    "safe\u202egnp.exe",
    "核函数",
    "a" + "\u0301" * 20,
    "n" * 4000,
)


def test_names_are_text(drive, new_trace):
    trace = new_trace().range("fgtrace::call::[red]c[/]::r::0", 0, 90_000)
    for place, name in enumerate(HOSTILE):
        trace.op(name, 1000 + 9000 * place, 8000)
        trace.kernel(name, 2000 + 9000 * place, 100_000 + 1000 * place, 500)
    path = trace.write()

    async def look(driver):
        for keys in (["1"], ["2"], ["2", "m", "j"], ["3"], ["4", "E"], ["9"], ["9", "enter"]):
            screen = await driver.press(*keys)
            assert "\x1b" not in screen
            assert "\u202e" not in screen
        screen = await driver.press("2")
        assert "k<float>[abi:cxx11]" in screen
        assert "[bold]x[/bold]" in screen
        assert r"\x1b[2Jesc" in screen

    drive(look, path, size=(120, 40))


def test_ascii_uses_no_blocks(drive):
    async def look(driver):
        assert not set(driver.screen) & set("█░▓")
        assert "###" in driver.screen

    drive(look, FACTORIAL, ascii_only=True)
