import json
import os
import subprocess
import sys

import pytest

COMMAND = (sys.executable, "-m", "fgtrace")

HOSTILE_NAMES = (
    "\x1b]0;title\x07\x1b[2J",
    "safe\u202egnp.exe",
    "[bold red]markup[/]",
    "=cmd|' /C calc'!A0",
    "k" * 4000,
    "a" + "\u0301" * 40,
    "核函数<中文>",
    "pipe | `tick` <img src=x>",
)


@pytest.fixture
def fgtrace():
    """Run the command as a user does; gives what it wrote and its exit code."""

    def run(*arguments, variables=None, **options):
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env={**os.environ, **(variables or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
            **options,
        )

    return run


def kineto(names, calls=2):
    """A Kineto file in which each call has one operator and kernel of each name, and waits."""
    events = []
    for call in range(calls):
        start = 1000 * call
        events.append(
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"fgtrace::call::repeat::aten::{call}",
                "pid": 1,
                "tid": 1,
                "ts": start,
                "dur": 900,
            }
        )
        for place, name in enumerate(names):
            correlation = call * len(names) + place + 1
            common = {"ph": "X", "ts": start + 10 * place + 1, "args": {"correlation": correlation}}
            op = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1}
            events.append(op | {"ts": start + 10 * place, "dur": 8})
            events.append(
                common
                | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "dur": 5}
            )
            device = {"device": 0, "stream": 7, "correlation": correlation}
            events.append(
                common
                | {"cat": "kernel", "name": name, "pid": 0, "tid": 7, "dur": 2.5, "args": device}
            )
        wait = {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize"}
        events.append(wait | {"pid": 1, "tid": 1, "ts": start + 800, "dur": 5})
    return {"schemaVersion": 1, "traceEvents": events}


@pytest.fixture
def hostile_trace(tmp_path):
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(kineto(HOSTILE_NAMES)))
    return path


@pytest.fixture
def trace_without_calls(tmp_path):
    path = tmp_path / "quiet.json"
    path.write_text(json.dumps(kineto(["scan"], calls=1)).replace("fgtrace::call", "other"))
    return path
