"""The commands that are compared, and why some of them are absent."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_LOADERS = Path(__file__).with_name("loaders.py")
_VERSIONS = """
import importlib.metadata, sys
for name in sys.argv[1:]:
    try:
        print(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        pass
"""
_SHOW = (sys.executable, "-m", "fgtrace", "show", "summary", "--format", "json")


@dataclass(frozen=True)
class Contender:
    """A command that a trace's path is added to.

    `memory` is about how many times a file's bytes it needs. One that is `warmed` runs once before
    it is measured.
    """

    name: str
    command: tuple[str, ...]
    memory: float = 0.6
    counts_events: bool = True
    warmed: bool = False


@dataclass(frozen=True)
class Absent:
    """A contender that cannot run here."""

    name: str
    reason: str


def contenders(orjson: str, hta: str | None) -> list[Contender | Absent]:
    """List all, in the order in which they are shown; each interpreter is tried."""
    caches = "--no-cache" in _said([*_SHOW, "--help"])
    has_orjson = orjson and not _said([orjson, "-c", "import orjson, polars"], errors=True)
    hta_error = _said([hta, "-c", "import hta, pandas"], errors=True) if hta else "see --hta"
    return [
        _loader("fgtrace", sys.executable, memory=0.6),
        Contender(
            "fgtrace show summary",
            (*_SHOW, "--no-cache") if caches else _SHOW,
            counts_events=False,
        ),
        Contender("fgtrace show summary, cached", _SHOW, counts_events=False, warmed=True)
        if caches
        else Absent("fgtrace show summary, cached", "this version has no cache"),
        *(
            _loader(name, orjson, memory=7.5)
            if has_orjson
            else Absent(name, "orjson or Polars is not installed there; see --orjson")
            for name in ("orjson", "orjson-no-gc")
        ),
        _loader("json", sys.executable, memory=5),
        *(
            _loader(name, hta, memory=6)
            if hta and not hta_error
            else Absent(name, f"HTA is not installed: {hta_error}")
            for name in ("hta-parse", "hta")
        ),
    ]


def versions(orjson: str, hta: str | None) -> str:
    """Tell the versions of all that is compared."""
    asked = [(sys.executable, ("fgtrace", "polars", "msgspec", "isal")), (orjson, ("orjson",))]
    if hta:
        asked.append((hta, ("HolisticTraceAnalysis", "pandas", "ijson")))
    said = [_said([python, "-c", _VERSIONS, *names]).splitlines() for python, names in asked]
    return ", ".join(line for lines in said for line in lines)


def _loader(name: str, python: str, memory: float) -> Contender:
    return Contender(name, (python, str(_LOADERS), name), memory)


def _said(command: list[str], *, errors: bool = False) -> str:
    """Give what a command prints; with `errors`, only what it says on failing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error) if errors else ""
    if not errors:
        return done.stdout
    return (done.stderr.strip().splitlines() or ["it fails"])[-1] if done.returncode else ""
