"""Make the recorder one file: itself, the packages of every registered case and route, no more."""

from __future__ import annotations

import io
import json
import zipfile
from importlib.util import find_spec
from pathlib import Path

from fgtrace_collectors.recorder.registry import Registry

MAIN = """\
import sys

if sys.version_info < (3, 9):
    version = "%d.%d" % sys.version_info[:2]
    sys.exit("fgtrace-recorder: error: Python " + version + " is too old\\nhint: 3.9 is needed")

from pathlib import Path

from fgtrace_collectors.recorder.main import main

if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).absolute()))
"""

RECORDER = "fgtrace_collectors.recorder"

TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""The same packages give the same bytes."""


def bundle(registry: Registry) -> bytes:
    """Give the recorder as the bytes of a zip that any Python from 3.9 on runs."""
    packages = {
        reference.partition(":")[0].partition(".")[0]
        for references in (registry.cases, registry.routes)
        for reference in references.values()
    }
    files = {"__main__.py": MAIN.encode()}
    files["fgtrace_collectors/__init__.py"] = b""
    for package in sorted(packages | {RECORDER}):
        files.update(_sources(package))
    files["fgtrace_collectors/recorder/registry.json"] = json.dumps(
        {
            "cases": dict(registry.cases),
            "routes": dict(registry.routes),
            "tool": registry.tool,
        }
    ).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, TIMESTAMP), content)
    return b"#!/usr/bin/env python3\n" + packed.getvalue()


def _sources(package: str) -> dict[str, bytes]:
    """Read the Python files of a package, or of a module that is one file."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} has a case or route, but cannot be found")
    prefix = Path(*package.split("."))
    origin = Path(spec.origin)
    if not spec.submodule_search_locations:
        return {f"{prefix}.py": origin.read_bytes()}
    root = origin.parent
    return {
        (prefix / path.relative_to(root)).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*.py"))
    }
