"""The installed command in a real terminal."""

import shutil
import subprocess
import sys
import time

import pytest

from .conftest import SAMPLES

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def terminal(tmp_path):
    """Run a command in a terminal of 100 columns; gives functions to read it and to type."""
    socket = ["tmux", "-S", str(tmp_path / "socket")]

    def run(*command):
        size = ["-x", "100", "-y", "30"]
        shell = " ".join(command) + "; echo ended with $?; sleep 60"
        subprocess.run([*socket, "new-session", "-d", "-s", "t", *size, shell], check=True)

    def type_(*keys):
        subprocess.run([*socket, "send-keys", "-t", "t", *keys], check=True)

    def wait_for(text, *, gone=False):
        screen = ""
        for _ in range(300):
            shown = [*socket, "capture-pane", "-p", "-t", "t"]
            screen = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
            if (text in screen) != gone:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{text!r} did not {'go' if gone else 'appear'}:\n{screen}")

    yield run, type_, wait_for
    subprocess.run([*socket, "kill-server"], check=False)


def test_the_installed_command_is_driven_in_a_terminal(terminal):
    run, type_, wait_for = terminal
    run(sys.executable, "-m", "fgtrace", "view", str(SAMPLES / "factorial.fgtrace"))
    wait_for("Where one call goes on the host")
    type_("2")
    wait_for("launched in")
    type_("3")
    wait_for("in view")
    type_("?")
    wait_for("a screen left")
    type_("?")
    wait_for("a screen left", gone=True)
    type_("q")
    wait_for("ended with 0")


def test_what_is_piped_in_is_browsed_with_keys_from_the_terminal(terminal, new_trace):
    trace = new_trace().range("call", 0, 50_000).kernel("piped_kernel", 100, 60_000, 500)
    run, type_, wait_for = terminal
    run(f"cat {trace.write()} |", sys.executable, "-m", "fgtrace", "view", "-")
    wait_for("Where one call goes on the host")
    type_("2")
    wait_for("piped_kernel")
    type_("q")
    wait_for("ended with 0")


def test_without_a_terminal_it_says_what_to_use():
    command = [sys.executable, "-m", "fgtrace", "view", str(SAMPLES / "factorial.fgtrace")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "view needs a terminal; show and diff print reports" in done.stderr


def test_ctrl_q_in_the_command_leaves_the_terminal_as_it_was(terminal):
    run, type_, wait_for = terminal
    run(sys.executable, "-m", "fgtrace", "view", str(SAMPLES / "factorial.fgtrace"))
    wait_for("Where one call goes on the host")
    type_("C-q")
    screen = wait_for("ended with 0")
    assert "Where one call goes" not in screen
