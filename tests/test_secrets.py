"""Nothing of what a trace says beside its events, but for the allow-list, gets anywhere."""

import json
import subprocess
import sys

import pytest

from fgtrace import cache
from fgtrace.errors import FgtraceError
from fgtrace.frames.trace import FRAMES, LAZY_FRAMES
from fgtrace.opening import open_trace
from fgtrace.views.reports import REPORTS

TOKEN = "hf_PlAnTeDsEcReT0123456789"
SIGN = "PlAnTeD"
"""A part of the token that would tell it."""


@pytest.fixture(autouse=True)
def _kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTH_KEEPING", 1)


def document(trace):
    """A trace with the token wherever one was ever met, and wherever else it can be."""
    secret = {"HF_TOKEN": TOKEN, TOKEN: {"nested": [TOKEN, {"deep": TOKEN}]}}
    trace.metadata |= {
        "environment": secret,
        "traceName": TOKEN,
        TOKEN: TOKEN,
        "deviceProperties": [{"id": 0, "name": "GPU", "token": TOKEN, "numSms": TOKEN} | secret],
        "distributedInfo": {"rank": 1, "backend": TOKEN, "pg_config": secret},
        "with_stack": TOKEN,
        "cuda_driver_version": TOKEN,
        "record_shapes": secret,
        "baseTimeNanoseconds": TOKEN,
    }
    trace.range("call", 0, 90_000, env=secret)
    trace.op("aten::add", 10, 50_000, **secret).kernel("k", 20, 5000, 10, **secret)
    trace.event("process_labels", "process_labels", 0, 0, ph="M", labels=TOKEN, **secret)
    trace.event("ac2g", "ac2g", 0, 0, ph="s", id=TOKEN, **secret)
    trace.event("python_function", "f.py(1): f", 0, 80_000, **secret)
    trace.event("cpu_instant_event", "[memory]", 50, 0, ph="i", **secret)
    before = trace.lines.copy()
    damaged = [
        f'{{"ph": "X", "cat": "cpu_op", "name": "a", "args": {{"env": "{TOKEN}" "x"}}, "ts": 5}}',
        f'{{"ph": "X", "cat": "cpu_op", "name": "b", "args": {{"env": "{TOKEN}\\q"}}, "ts": 6}}',
        f'{{"ph": "X", "cat": "cpu_op", "name": "c", "args": {{"env": nan, "t": "{TOKEN}"}}, ',
        f'{{"ph": "X", "{TOKEN}": {TOKEN}, "ts": 7}}',
        f'"{TOKEN}"',
        TOKEN,
    ]
    trace.lines += [*damaged, *before]
    tail = json.dumps({"env": secret, TOKEN: TOKEN})[1:]
    return trace.text().removesuffix("}") + f", {tail}"


def texts(opened):
    """Everything that is in a trace, as text."""
    yield repr(opened.provenance)
    for name in (*FRAMES, *LAZY_FRAMES):
        frame = getattr(opened, name).lazy().collect()
        yield json.dumps(frame.to_dicts(), default=str)


def kept():
    files = [file for file in cache.cache_home().rglob("*") if file.is_file()]
    assert files
    return files


def damaged_tail(text):
    return text.removesuffix("}") + f', "env": "{TOKEN}" "again": {TOKEN}, \\q}}'


def two_documents(text):
    return text + text


def trailing_text(text):
    return f"{text}\n{TOKEN}\n"


def as_it_is(text):
    return text


@pytest.mark.parametrize("change", [as_it_is, damaged_tail, two_documents, trailing_text])
def test_it_is_in_no_frame_and_not_in_the_cache(trace, tmp_path, change):
    path = tmp_path / "trace.json"
    path.write_text(change(document(trace)))
    for _ in ("read", "loaded"):
        assert not [text for text in texts(open_trace(path)) if SIGN in text]
    assert not [file for file in kept() if SIGN.encode() in file.read_bytes()]


def test_it_is_in_no_frame_and_no_error_wherever_the_file_is_cut(trace, tmp_path):
    text = document(trace)
    path = tmp_path / "trace.json"
    cuts = {place + more for place in [*_places(text)][::6] for more in (1, 12, len(TOKEN))}
    for cut in sorted({*range(0, len(text), len(text) // 20), *cuts}):
        path.write_text(text[:cut])
        try:
            found = [*texts(open_trace(path, cache=False))]
        except FgtraceError as error:
            found = [error.message, error.hint]
        assert not [text for text in found if SIGN in text], cut


def _places(text):
    place = text.find(TOKEN)
    while place >= 0:
        yield place
        place = text.find(TOKEN, place + 1)


@pytest.mark.parametrize("cut", [None, -200, 300])
def test_it_is_in_no_output(trace, tmp_path, cut):
    path = tmp_path / "trace.json"
    path.write_text(document(trace)[:cut])
    script = """
import sys
from fgtrace.cli.main import _run
for report in sys.argv[2:]:
    for form in ("table", "json", "csv", "markdown"):
        _run(["show", report, sys.argv[1], "--format", form, "--no-cache"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), *REPORTS], capture_output=True, text=True
    )
    assert done.stdout
    assert SIGN not in done.stdout + done.stderr
