"""Driving the app as a user does: keys go in, the screen comes out as text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from fgtrace.cli.recordings import open_selected
from fgtrace.frames.trace import Trace
from fgtrace.tui.app import TraceApp

SAMPLES = Path(__file__).parents[2] / "samples"


def screen_text(app: TraceApp) -> str:
    """Give the characters on the screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(one.text for one in strip).rstrip() for strip in strips)


@lru_cache
def opened(path: str) -> Trace:
    """Open a recording once for all tests."""
    return open_selected(path, lambda *_: None, cache=False, raw_times=False)


def opener_of_tests(path: str, progress: Callable[[str, int, int], None]) -> Trace:
    """Open a recording that no other test changes."""
    return opened(path)


class Driver:
    """An app under test, and the keys that were pressed in it."""

    def __init__(self, app: TraceApp, pilot: Any) -> None:
        self.app = app
        self.pilot = pilot

    async def settle(self) -> None:
        """Wait until nothing is computed any more."""
        for _ in range(3):
            await self.pilot.pause()
            await self.app.workers.wait_for_complete()
            await self.pilot.pause()

    async def press(self, *keys: str) -> str:
        """Press keys, one after the other, and give the screen."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()
        return self.screen

    @property
    def screen(self) -> str:
        """What can be seen."""
        return screen_text(self.app)


Scenario = Callable[[Driver], Awaitable[None]]


@pytest.fixture
def drive() -> Callable[..., TraceApp]:
    """Run a scenario in the app, opened on recordings."""

    def run(
        scenario: Scenario,
        *paths: object,
        size: tuple[int, int] = (100, 30),
        opener: Any = opener_of_tests,
        settled: bool = True,
        **options: Any,
    ) -> TraceApp:
        app = TraceApp([str(path) for path in paths], opener, **options)

        async def go() -> None:
            async with app.run_test(size=size) as pilot:
                driver = Driver(app, pilot)
                if settled:
                    await driver.settle()
                await scenario(driver)

        asyncio.run(go())
        return app

    return run
