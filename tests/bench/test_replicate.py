from __future__ import annotations

import gzip
import json
import re
from argparse import ArgumentTypeError
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench.replicate import replicate, size

HEAD = '\n{\n  "schemaVersion": 1,\n  "traceEvents": [\n  '
TAIL = '\n  ],\n  "traceName": "a.json"\n}\n'
SEPARATOR = ",\n  "

OP = """{
    "ph": "X", "cat": "cpu_op", "name": "aten::\\"ts\\": 5 \\"id\\": 3 ü", "pid": 7, "tid": 7,
    "ts": 4812000000000100.125, "dur": 20.750,
    "args": {
      "External id": 9,"Ev Idx": 0, "Sequence number": 4, "Record function id": 0
    }
  }"""
PYTHON = """{
    "ph": "X", "cat": "python_function", "name": "f", "pid": 7, "tid": 7,
    "ts": 4812000000000101.001, "dur": 1.000,
    "args": {
      "Python id": 2, "Python parent id": 1, "Python module id": 5, "Ev Idx": 1
    }
  }"""
API = """{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7,
    "ts": 4812000000000102.000, "dur": 2.000,
    "args": {
      "External id": 0, "correlation": 31, "cbid": 211
    }
  }"""
FLOW = """{
    "ph": "s", "id": 31, "pid": 7, "tid": 7, "ts": 4812000000000102.000,
    "cat": "ac2g", "name": "ac2g"
  }"""
KERNEL = """{
    "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
    "ts": 4812000000000110.500, "dur": 30.250,
    "args": {
      "device": 0, "stream": 7, "correlation": 31, "bytes": 16
    }
  }"""
NAME = (
    '{\n    "name": "process_name", "ph": "M", "ts": 4812000000000099.000, "pid": 7, "tid": 0\n  }'
)
SPAN = (
    '{\n    "ph": "X", "cat": "Trace", "ts": 4812000000000098.000, "dur": 50,\n'
    '    "pid": "Spans", "tid": "P", "name": "P (0)"\n  }'
)
REPEATED, ONCE = (OP, PYTHON, API, FLOW, KERNEL), (NAME, SPAN)

START_US, SPAN_US, IDS = 4812000000000100, 42, 32


def whole(*events: str) -> str:
    return HEAD + SEPARATOR.join(events) + TAIL


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.json"
    path.write_text(whole(*REPEATED, *ONCE))
    return path


def replicas(path: Path, *sources: Path, count: int) -> list[dict[str, Any]]:
    one = len(SEPARATOR.join(REPEATED).encode())
    replicate(sources, count * one, path)
    text = path.read_text()
    strict = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    events: list[dict[str, Any]] = strict["traceEvents"]
    return events


def test_one_replica_is_the_source_itself(source: Path, tmp_path: Path) -> None:
    replicate([source], 1, tmp_path / "out.json")
    assert (tmp_path / "out.json").read_bytes() == source.read_bytes()


def test_digits_of_times_and_ids_are_all_that_changes(source: Path, tmp_path: Path) -> None:
    replicas(tmp_path / "out.json", source, count=3)
    text = (tmp_path / "out.json").read_text()
    assert re.sub(r"\d+", "0", text) == re.sub(r"\d+", "0", whole(*REPEATED * 3, *ONCE))


def test_times_shift_exactly_and_replicas_follow_each_other(source: Path, tmp_path: Path) -> None:
    replicas(tmp_path / "out.json", source, count=3)
    found = re.findall(r'"ts": (\d+)(\.\d+)', (tmp_path / "out.json").read_text())
    ops = [START_US + SPAN_US * number for number in range(3)]
    assert [time for time in found if time[1] == ".125"] == [(str(op), ".125") for op in ops]
    kernels = [(str(op + 10), ".500") for op in ops]
    assert [time for time in found if time[1] == ".500"] == kernels


def test_no_two_replicas_share_an_id_and_within_one_they_stay_together(
    source: Path, tmp_path: Path
) -> None:
    events = replicas(tmp_path / "out.json", source, count=3)
    kept = [event for event in events if event["pid"] != "Spans" and event["ph"] != "M"]
    for number in range(3):
        op, python, api, flow, kernel = kept[5 * number : 5 * number + 5]
        shift = IDS * number
        assert op["args"] == {
            "External id": 9 + shift,
            "Ev Idx": shift,
            "Sequence number": 4 + shift,
            "Record function id": 0,
        }
        assert python["args"]["Python id"] == 2 + shift
        assert python["args"]["Python parent id"] == 1 + shift
        assert api["args"]["correlation"] == flow["id"] == kernel["args"]["correlation"]
        assert flow["id"] == 31 + shift


def test_what_is_no_id_stays(source: Path, tmp_path: Path) -> None:
    events = replicas(tmp_path / "out.json", source, count=2)
    first, second = (event for event in events if event.get("cat") == "kernel")
    assert first["args"]["device"] == second["args"]["device"] == 0
    assert first["args"]["bytes"] == second["args"]["bytes"] == 16
    assert {event["name"] for event in events if event.get("cat") == "cpu_op"} == {
        'aten::"ts": 5 "id": 3 ü'
    }
    modules = {event["args"]["Python module id"] for event in events if event["name"] == "f"}
    assert modules == {5}
    external = {event["args"]["External id"] for event in events if "Launch" in event["name"]}
    assert external == {0}  # 0 is none


def test_names_of_rows_and_the_profilers_own_rows_come_once(source: Path, tmp_path: Path) -> None:
    replicate([source], 10_000, tmp_path / "out.json")
    text = (tmp_path / "out.json").read_text()
    assert text.count('"process_name"') == text.count('"Spans"') == 1
    assert text.startswith(HEAD)
    assert text.endswith(TAIL)


def test_events_written_are_counted_by_phase_and_category(source: Path, tmp_path: Path) -> None:
    counts = replicate([source], 10_000, tmp_path / "out.json")
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    assert counts == Counter((event["ph"], event.get("cat", "")) for event in events)
    assert counts["X", "kernel"] == (len(events) - len(ONCE)) / len(REPEATED) > 1


@pytest.mark.parametrize(("asked", "made"), [(0, 1), (2.4, 2), (2.6, 3)])
def test_as_many_replicas_are_written_as_come_nearest_to_the_size(
    source: Path, tmp_path: Path, asked: float, made: int
) -> None:
    one = len(SEPARATOR.join(REPEATED).encode())
    counts = replicate([source], len(HEAD) + int(asked * one), tmp_path / "out.json")
    assert counts["X", "kernel"] == made


def test_sources_take_turns_on_one_timeline(source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json.gz"
    # An older release's times: whole microseconds, of another clock.
    text = re.sub(r"(481200000000)(\d{4})\.\d+", r"166978368746\2", source.read_text())
    other.write_bytes(gzip.compress(text.encode()))
    events = replicas(tmp_path / "out.json", source, other, count=4)
    ops = [event["ts"] for event in events if event.get("cat") == "cpu_op"]
    assert [type(ts) for ts in ops] == [float, int, float, int]
    assert ops == sorted(ops)
    assert ops[-1] - ops[0] < 4 * SPAN_US
    assert len({event["id"] for event in events if event["ph"] == "s"}) == 4
    names = [event["ts"] for event in events if event["ph"] == "M"]
    assert [round(ts - ops[number]) for number, ts in enumerate(names)] == [-1, -1]


def test_a_size_is_a_whole_number_and_a_decimal_unit() -> None:
    assert size("60MB") == 60_000_000
    assert size("10GB") == 10_000_000_000
    with pytest.raises(ArgumentTypeError, match="write 60MB"):
        size("1 GiB")
