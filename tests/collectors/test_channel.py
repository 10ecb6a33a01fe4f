"""The parent's end of a child: noise, silence and death."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from fgtrace_collectors.recorder.channel import ChildProcess
from fgtrace_collectors.recorder.errors import COLLECTION, UNAVAILABLE, RecorderError

REPLY = r"print('\x1efgtrace {\"said\": 1}', flush=True)"


def child(tmp_path: Path, program: str, environment: str | None = None) -> ChildProcess:
    recorder = tmp_path / "recorder.py"
    recorder.write_text(program)
    return ChildProcess(
        "aten", environment, recorder, sys.executable, tmp_path / "log", {"SET_BY": "user"}
    )


def test_a_reply_is_told_from_what_an_environment_prints(tmp_path: Path) -> None:
    program = f"input(); print('welcome to r5'); print('loading... ', end=''); {REPLY}"
    with child(tmp_path, program) as process:
        assert process.request("hello") == {"said": 1}


def test_shell_text_starts_a_child(tmp_path: Path) -> None:
    environment = f"echo activated; exec {sys.executable}"
    with child(tmp_path, f"input(); {REPLY}", environment) as process:
        assert process.request("hello") == {"said": 1}


def test_the_parents_routing_does_not_reach_a_child_nor_its_paths_another_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FLAGOS_OP_add", "USE_FLAGGEMS", "PYTHONPATH", "TRITON_INTERPRET"):
        monkeypatch.setenv(name, "1")
    program = (
        "import os, json; input()\n"
        r"print('\x1efgtrace ' + json.dumps(dict(os.environ)), flush=True)"
    )
    with child(tmp_path, program) as process:
        seen = process.request("hello")
    with child(tmp_path, program, sys.executable) as process:
        assert "PYTHONPATH" not in process.request("hello")
    assert not {"FLAGOS_OP_add", "USE_FLAGGEMS", "TRITON_INTERPRET"} & set(seen)
    assert "PYTHONPATH" in seen  # it is the parent's own interpreter
    assert seen["SET_BY"] == "user"
    assert seen["OMP_NUM_THREADS"] == seen["MKL_NUM_THREADS"] == "1"


def test_a_child_that_dies_is_named_with_its_last_lines(tmp_path: Path) -> None:
    program = (
        f"import os, sys; input(); {REPLY}; input(); print('out of memory', file=sys.stderr);"
        "sys.stderr.flush(); os.kill(os.getpid(), 9)"
    )
    with child(tmp_path, program) as process:
        process.request("hello")
        with pytest.raises(RecorderError) as caught:
            process.request("batch", case="repeat")
    error = caught.value
    assert error.exit_code == COLLECTION
    assert "aten" in error.message
    assert "SIGKILL" in error.message
    assert "batch repeat" in error.message
    assert "out of memory" in error.hint


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ("/no/such/python", "not found"),
        ("false", "nothing"),
        ("echo no licence >&2; false", "no licence"),
    ],
)
def test_an_environment_that_does_not_start_is_unavailable(
    tmp_path: Path, environment: str, said: str
) -> None:
    with child(tmp_path, "", environment) as process, pytest.raises(RecorderError) as caught:
        process.request("hello")
    assert caught.value.exit_code == UNAVAILABLE
    assert said in caught.value.hint


def test_an_environment_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with child(tmp_path, "import time; time.sleep(60)") as process:
        process.ask("hello")
        with pytest.raises(RecorderError) as caught:
            process.answer(timeout=0.3)
    assert caught.value.exit_code == UNAVAILABLE
    assert "did not start" in caught.value.message


def test_a_busy_child_is_killed_when_it_is_no_longer_wanted(tmp_path: Path) -> None:
    with child(tmp_path, f"import time; input(); {REPLY}; time.sleep(60)") as process:
        process.request("hello")
        process.ask("batch")
    assert process._process.poll() is not None


def test_a_file_that_is_no_program_is_an_environment_that_does_not_start(tmp_path: Path) -> None:
    picture = tmp_path / "python"
    picture.write_bytes(b"\x89PNG")
    picture.chmod(0o755)
    with pytest.raises(RecorderError) as caught:
        child(tmp_path, "", str(picture))
    assert caught.value.exit_code == UNAVAILABLE


def test_what_an_environment_leaves_in_the_background_holds_nothing_up(tmp_path: Path) -> None:
    environment = f"(sleep 3; touch {tmp_path}/outlived) & exec {sys.executable}"
    began = time.monotonic()
    with child(tmp_path, f"import sys; input(); {REPLY}; sys.stdin.read()", environment) as process:
        process.request("hello")
    assert time.monotonic() - began < 3
    time.sleep(3.5)
    assert not (tmp_path / "outlived").exists()


def test_a_death_is_seen_although_a_background_process_keeps_the_output_open(
    tmp_path: Path,
) -> None:
    environment = f"sleep 60 & exec {sys.executable}"
    program = f"input(); {REPLY}; input(); raise SystemExit(3)"
    with child(tmp_path, program, environment) as process:
        process.request("hello")
        with pytest.raises(RecorderError, match="exit code 3"):
            process.request("batch")


def test_a_child_that_prints_much_blocks_nobody(tmp_path: Path) -> None:
    program = (
        "import sys; input(); print('x' * 10_000_000);"
        f"print('y' * 10_000_000, file=sys.stderr); {REPLY}"
    )
    with child(tmp_path, program) as process:
        assert process.request("hello") == {"said": 1}


def test_a_child_with_nothing_to_do_leaves_by_itself(tmp_path: Path) -> None:
    program = (
        f"import sys; input(); {REPLY}; sys.stdin.read(); open({str(tmp_path / 'left')!r}, 'w')"
    )
    with child(tmp_path, program) as process:
        process.request("hello")
    assert (tmp_path / "left").exists()
