import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import click
import pytest

from fgtrace import __version__
from fgtrace.cli import main
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.views.reports import REPORTS

VERBS = ("collect", "show", "view", "diff", "cases", "doctor", "cache", "recorder")
FULL = Path("/dev/full")
# Unbuffered, Python has nothing left to write, and to fail at, when it ends.
BUFFERED = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
HEAVY = ("torch", "triton", "polars", "textual", "plotly", "numpy")


def two_lines(result):
    """The message and the hint, which are all that stderr holds."""
    found = re.fullmatch(r"fgtrace: error: (.+)\nhint: (.+)\n", result.stderr)
    assert found, result.stderr
    return found.groups()


def failing(error):
    """A verb that ends by `error`, put in the place of `cases`."""

    @click.command()
    @click.option("--format")
    def verb(format):
        raise error

    return verb


@pytest.fixture
def run_verb(monkeypatch, capfd):
    """Run a verb in this process through the entry point."""

    def run(verb, *arguments):
        monkeypatch.setattr(main.Verbs, "get_command", lambda self, ctx, name: verb)
        monkeypatch.setattr(sys, "argv", ["fgtrace", "cases", *arguments])
        with pytest.raises(SystemExit) as end:
            main.run()
        return end.value.code, *capfd.readouterr()

    return run


def test_help_lists_every_verb_with_its_summary(fgtrace):
    result = fgtrace("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for name in VERBS:
        assert re.search(rf"^  {name} +[A-Z]", result.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("show", "--help"), ("cases", "--help")]
)
def test_help_and_version_load_nothing_heavy(arguments):
    program = (
        "import sys\nfrom fgtrace.cli.main import run\n"
        f"sys.argv = ['fgtrace', *{arguments!r}]\n"
        "try:\n    run()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.endswith("loaded: []\n")


def test_help_imports_no_verb():
    program = (
        "import sys\nfrom fgtrace.cli.main import run\nsys.argv = ['fgtrace', '--help']\n"
        "try:\n    run()\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.startswith('fgtrace.cli.')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = result.stdout.splitlines()[-1]
    assert loaded == "['fgtrace.cli.names', 'fgtrace.cli.output', 'fgtrace.cli.main']"


def test_version(fgtrace):
    assert fgtrace("--version").stdout == f"fgtrace {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("shwo",), "there is no verb 'shwo'", "did you mean show?"),
        (("xyzzy",), "there is no verb 'xyzzy'", f"one of: {', '.join(VERBS)}"),
        ((), "a verb is missing", "fgtrace --help lists what it takes"),
        (("show", "kernls", "x"), "there is no report 'kernls'", "did you mean kernels?"),
        (
            ("show", "kernels", "x", "--formt", "csv"),
            "fgtrace show has no option '--formt'",
            "did you mean --format?",
        ),
        (
            ("show", "kernels", "x", "--format", "jsn"),
            "there is no format 'jsn'",
            "did you mean json?",
        ),
        (
            ("show", "kernels"),
            "missing argument 'TRACE'",
            "fgtrace show --help lists what it takes",
        ),
        (
            ("show", "kernels", "x", "--limit", "0"),
            "invalid value for '--limit': 0 is not in the range x>=1",
            "fgtrace show --help lists what it takes",
        ),
        (("--vresion",), "fgtrace has no option '--vresion'", "did you mean --version?"),
        (("\x1b[2J",), r"there is no verb '\x1b[2J'", f"one of: {', '.join(VERBS)}"),
    ],
)
def test_a_wrong_command_line_is_answered_in_two_lines(fgtrace, arguments, message, hint):
    result = fgtrace(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert two_lines(result) == (message, hint)


@pytest.mark.parametrize("form", [("--format", "json"), ("--format=json",)])
def test_with_json_the_error_is_also_on_stdout(fgtrace, form):
    result = fgtrace("show", "kernls", "x", *form)
    assert json.loads(result.stdout) == {
        "outcome": "error",
        "error": {
            "kind": "usage",
            "message": "there is no report 'kernls'",
            "hint": "did you mean kernels?",
        },
    }
    assert two_lines(result)
    assert result.returncode == 2


def test_a_trace_that_is_not_there_is_an_unreadable_input(fgtrace, tmp_path):
    result = fgtrace("show", "summary", tmp_path / "no\x1b[2J\n.json", "--format", "json")
    assert result.returncode == 3
    message, hint = two_lines(result)
    assert r"no\x1b[2J\n.json" in message
    error = json.loads(result.stdout)["error"]
    assert "no\x1b[2J\n.json" in error["message"]
    assert error["hint"] == hint


def test_a_defect_is_one_line_that_says_so_and_how_to_see_where(run_verb):
    code, out, err = run_verb(failing(KeyError("a\nb")), "--format", "json")
    assert code == 70
    assert err == (
        "fgtrace: error: KeyError: 'a\\nb'\n"
        "hint: this is a defect of fgtrace; FGTRACE_TRACEBACK=1 shows where, for a report of it\n"
    )
    assert json.loads(out)["error"]["kind"] == "internal"


def test_an_error_shows_its_place_between_the_message_and_the_hint(run_verb):
    error = FgtraceError(
        "not\nso",
        hint="so",
        kind="usage",
        exit_code=ExitCode.USAGE,
        excerpt=("  a\x1bb", "       ^"),
    )
    code, out, err = run_verb(failing(error), "--format", "json")
    assert code == 2
    assert err == "fgtrace: error: not\\nso\n  a\\x1bb\n       ^\nhint: so\n"
    assert json.loads(out)["error"]["message"] == "not\nso\n  a\x1bb\n       ^"


def test_the_traceback_of_a_defect_is_shown_when_asked_for(run_verb, monkeypatch):
    monkeypatch.setenv("FGTRACE_TRACEBACK", "1")
    code, _, err = run_verb(failing(KeyError("x")))
    assert code == 70
    assert "Traceback (most recent call last)" in err
    assert "in verb" in err


def test_an_interruption_is_quiet(run_verb):
    code, out, err = run_verb(failing(KeyboardInterrupt()))
    assert (code, out, err) == (130, "", "")


def test_a_pipe_to_a_child_that_broke_is_no_closed_stdout(run_verb):
    code, _, err = run_verb(failing(BrokenPipeError(32, "Broken pipe")))
    assert code == 70
    assert "BrokenPipeError" in err


WAITING_VERB = """
import time
import click
from fgtrace.cli import main

@click.command()
def verb():
    print("waiting", flush=True)
    time.sleep(60)

main.Verbs.get_command = lambda self, ctx, name: verb
main.run()
"""


@contextmanager
def started(*arguments, **variables):
    """Start Python so that it heeds Ctrl-C, which a shell's background jobs do not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | variables,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_control_c_ends_a_running_verb_with_130():
    with started("-c", WAITING_VERB, "cases") as process:
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def writing_end(pipe):
    """Open a named pipe once somebody reads it."""
    for _ in range(300):
        with suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.1)
    raise TimeoutError(pipe)


def test_control_c_ends_a_read_that_waits_for_data(tmp_path):
    pipe = tmp_path / "never.json"
    os.mkfifo(pipe)
    with started("-m", "fgtrace", "show", "summary", str(pipe)) as process:
        end = writing_end(pipe)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        os.close(end)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_removes_temporary_files(tmp_path, request_to_end):
    pipe = tmp_path / "never.json"
    os.mkfifo(pipe)
    prepared = (
        "from fgtrace.cli import main; from fgtrace.readers import ordering; "
        "order = ordering.Order(); order._folder = ordering.TemporaryDirectory(); "
        "print('ready', flush=True); main.run()"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with started("-c", prepared, "show", "summary", str(pipe), TMPDIR=str(temporary)) as process:
        assert process.stdout.readline() == b"ready\n"
        assert list(temporary.iterdir())
        end = writing_end(pipe)
        time.sleep(1)
        process.send_signal(request_to_end)
        out, err = process.communicate(timeout=30)
        os.close(end)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("cases",),
        ("cases", "--format", "json"),
        ("show", "kernls", "x", "--format=json"),
    ],
)
def test_a_closed_pipe_is_silent(arguments):
    result = into_a_closed_pipe(arguments, stderr=subprocess.PIPE)
    assert result.returncode == 0
    assert "Broken" not in result.stderr
    assert "Exception" not in result.stderr


def test_a_closed_stderr_is_silent_too():
    assert into_a_closed_pipe(["shwo"], stderr=subprocess.STDOUT).returncode == 0


def into_a_closed_pipe(arguments, stderr):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "fgtrace", *arguments],
            stdout=writer,
            stderr=stderr,
            env=BUFFERED,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
def test_a_full_disk_under_stdout_is_an_output_that_cannot_be_written(tmp_path):
    with FULL.open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "fgtrace", "cases"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=BUFFERED,
            text=True,
            check=False,
        )
    assert result.returncode == 2
    assert "stdout cannot be written: No space left on device" in result.stderr


def test_a_terminal_that_knows_only_ascii_gets_escapes_and_no_defect(fgtrace):
    variables = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = fgtrace("cases", variables=variables)
    assert (result.returncode, result.stderr) == (0, "")
    assert r"\u2500" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_written(fgtrace, shell):
    result = fgtrace(variables={"_FGTRACE_COMPLETE": f"{shell}_source"})
    assert result.returncode == 0
    assert "_FGTRACE_COMPLETE" in result.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("fgtrace ", [*VERBS]),
        ("fgtrace sh", ["show"]),
        ("fgtrace show ", [*REPORTS]),
        ("fgtrace show kernels x --format ", ["table", "json", "csv", "markdown"]),
        ("fgtrace show kernels x --li", ["--limit"]),
        ("fgtrace collect --case repeat_values_k", ["repeat_values_known"]),
        ("fgtrace collect --route trit", ["triton", "triton-readback"]),
    ],
)
def test_verbs_reports_options_and_cases_are_completed(fgtrace, words, offered):
    # A shell gives the words before the cursor and the number of the one to complete.
    variables = {
        "_FGTRACE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    lines = fgtrace(variables=variables).stdout.splitlines()
    assert [line.removeprefix("plain,") for line in lines] == offered
