"""Make the README's pictures of the terminal UI, of the recordings in `samples/`.

    python docs/pictures.py

They are SVG as Textual exports it, without the fonts that it would load from elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import re
from functools import partial
from pathlib import Path

from fgtrace.cli.recordings import open_selected
from fgtrace.tui.app import TraceApp

PROJECT = Path(__file__).parents[1]
SIZE = (120, 32)

PICTURES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "overview": (("factorial.fgtrace",), ()),
    "kernels": (("h200.fgtrace",), ("2", "m", "j")),
    "timeline": (("factorial.fgtrace",), ("2", "t", "s", "s", "s", "s")),
    "attribution": (("factorial.fgtrace",), ("6", "space")),
    "diff": (
        (
            "h200.fgtrace@case:repeat_values_known@route:aten",
            "h200.fgtrace@case:repeat_values_known@route:flaggems",
        ),
        (),
    ),
}
"""Each picture's recordings, and the keys that lead to what it shows."""

FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def picture(name: str) -> str:
    """Take a picture."""
    samples, keys = PICTURES[name]
    paths = [f"samples/{sample}" for sample in samples]
    opener = partial(open_selected, cache=False, raw_times=False)
    app = TraceApp(paths, opener)

    async def take() -> str:
        async with app.run_test(size=SIZE) as pilot:
            for key in ("", *keys):
                if key:
                    await pilot.press(key)
                for _ in range(3):
                    await pilot.pause()
                    await app.workers.wait_for_complete()
            return app.export_screenshot(title="fgtrace")

    return FONT_FACES.sub("", asyncio.run(take()))


def main() -> None:
    """Write all pictures."""
    os.chdir(PROJECT)  # the pictures show the paths as a user types them
    for name in PICTURES:
        (PROJECT / "docs" / "pictures" / f"{name}.svg").write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    main()
