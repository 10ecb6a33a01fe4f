"""The timeline, driven by keys."""

import polars as pl

import fgtrace
from fgtrace.tui.widgets.timeline import Timeline

from .conftest import SAMPLES

FACTORIAL = SAMPLES / "factorial.fgtrace"


def timeline(driver):
    return driver.app.query_one(Timeline)


def width(driver):
    return timeline(driver).end - timeline(driver).start


def selected(driver):
    lanes = timeline(driver)
    return lanes.lanes.events.row(lanes.selected, named=True)


def test_it_begins_with_the_whole_recording_and_zooms_to_a_nanosecond_a_cell(drive):
    async def look(driver):
        await driver.press("3")
        whole = width(driver)
        lanes = timeline(driver).lanes
        assert (timeline(driver).start, whole) == (lanes.start, lanes.end - lanes.start)
        await driver.press("w")
        assert abs(width(driver) - whole / 2) <= 2
        for _ in range(40):
            await driver.press("w")
        assert width(driver) == timeline(driver).cells
        assert "1 ns a cell" in driver.screen
        await driver.press("W")
        assert width(driver) == whole

    drive(look, FACTORIAL)


def test_it_pans_within_the_recording(drive):
    async def look(driver):
        await driver.press("3", "w", "w")
        start = timeline(driver).start
        await driver.press("d")
        assert timeline(driver).start - start == round(0.1 * width(driver))
        await driver.press("a")
        assert timeline(driver).start == start
        await driver.press("H", "H", "H")
        assert timeline(driver).start == timeline(driver).lanes.start

    drive(look, FACTORIAL)


def test_arrows_go_from_event_to_event_and_from_lane_to_lane(drive):
    async def look(driver):
        await driver.press("3", "right")
        first = selected(driver)
        await driver.press("down")
        assert selected(driver)["event_id"] != first["event_id"]
        here = selected(driver)
        await driver.press("left")
        assert selected(driver)["start_ns"] < here["start_ns"]
        await driver.press("right")
        assert selected(driver)["event_id"] == here["event_id"]
        assert here["name"] in driver.screen

    drive(look, FACTORIAL, size=(120, 40))


def test_the_most_expensive_avoidable_wait_is_seen_in_the_timeline(drive):
    async def look(driver):
        table = driver.app.pane.table()
        rules = [table.rows.row(place)["rule"] for place in range(len(table.rows))]
        for _ in range(rules.index("avoidable-readback")):
            await driver.press("j")
        await driver.press("t")
        assert driver.app.pane.id == "timeline"
        assert "length_readback" in driver.screen
        lanes = timeline(driver)
        start, end = lanes._times(lanes.selected)
        assert lanes.start <= start
        assert end <= lanes.end

    drive(look, FACTORIAL, size=(120, 40))


def test_the_arrow_of_a_kernel_leads_to_its_launch_and_back(drive):
    trace = fgtrace.open(FACTORIAL)
    links = trace.links.filter(pl.col("launch_event_id").is_not_null())

    async def look(driver):
        await driver.press("2", "t")
        kernel = selected(driver)["event_id"]
        launch = links.filter(device_event_id=kernel)["launch_event_id"][0]
        await driver.press("r")
        assert selected(driver)["event_id"] == launch
        await driver.press("r")
        assert selected(driver)["event_id"] == kernel

    drive(look, FACTORIAL, size=(120, 40))


def test_an_arrow_is_drawn_between_a_kernel_and_its_launch(drive):
    async def look(driver):
        screen = await driver.press("2", "t", *"ssss")
        assert "▲" in screen
        screen = await driver.press("r", *"sss")
        assert "▼" in screen

    drive(look, FACTORIAL, size=(140, 40))


def test_the_gap_before_a_kernel_is_shown_and_measured(drive):
    async def look(driver):
        await driver.press("2", "t")
        lanes = timeline(driver)
        start, _ = lanes._times(lanes.selected)
        _, before = lanes._times(lanes.selected - 1)
        await driver.press("i")
        assert (lanes.start <= before, lanes.end >= start) == (True, True)
        assert lanes.mark == before

    drive(look, FACTORIAL, size=(120, 40))


def test_why_the_device_was_idle_before_a_kernel_is_said_of_it(drive):
    async def look(driver):
        await driver.press("2", "t")
        assert "the device had been idle" in driver.screen

    drive(look, FACTORIAL, size=(120, 40))


def test_events_are_found_by_name(drive):
    async def look(driver):
        await driver.press("3", "slash", *"Synchronize", "enter")
        first = selected(driver)
        assert "Synchronize" in first["name"]
        await driver.press("n")
        assert selected(driver)["start_ns"] > first["start_ns"]
        await driver.press("N")
        assert selected(driver)["event_id"] == first["event_id"]

    drive(look, FACTORIAL)


def test_a_thread_folds_to_its_outermost_lane(drive):
    async def look(driver):
        await driver.press("3", "right")
        before = len(timeline(driver).shown)
        await driver.press("z")
        group = timeline(driver).lanes.lanes[0].group
        assert [
            lane.level
            for number, lane in enumerate(timeline(driver).lanes.lanes)
            if lane.group == group and number in timeline(driver).shown
        ] == [0]
        await driver.press("z")
        assert len(timeline(driver).shown) == before

    drive(look, FACTORIAL)


def test_time_between_two_events_is_measured(drive):
    async def look(driver):
        await driver.press("3", "right", "m", "right")
        assert "measured" in driver.screen
        await driver.press("m")
        assert "measured" not in driver.screen

    drive(look, FACTORIAL)


def test_the_mouse_zooms_pans_and_selects(drive):
    async def look(driver):
        await driver.press("3")
        whole = width(driver)
        await driver.pilot._post_mouse_events(
            [__import__("textual").events.MouseScrollUp], widget=Timeline, offset=(60, 5)
        )
        await driver.settle()
        assert width(driver) < whole
        await driver.pilot.click(Timeline, offset=(60, 3))
        await driver.settle()
        assert timeline(driver).selected is not None

    drive(look, FACTORIAL)


def test_hostile_names_take_no_more_cells_than_they_have(drive, new_trace):
    trace = new_trace()
    names = (
        "k<float>[abi:cxx11]",
        "[bold]x[/bold]",
        "\x1b[2Jesc",
        "\u202egnp",
        "核函数",
        "n" * 4000,
    )
    for place, name in enumerate(names):
        trace.op(name, 10_000 * place, 9000)
    path = trace.write()

    async def look(driver):
        screen = await driver.press("3")
        assert "\x1b" not in screen
        assert "\u202e" not in screen
        assert "[abi" in screen or "cxx11]" in screen
        strips = driver.app.screen._compositor.render_strips()
        assert {strip.cell_length for strip in strips} == {140}

    drive(look, path, size=(140, 30))


def test_ascii_lanes_have_no_blocks(drive):
    async def look(driver):
        assert not set(await driver.press("3")) & set("▁▂▃▄▅▆▇█░")

    drive(look, FACTORIAL, ascii_only=True)
