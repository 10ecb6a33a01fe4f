"""The parent's end of a child: start it, ask it, see it die."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

from fgtrace_collectors.recorder.child import MARK
from fgtrace_collectors.recorder.errors import broken_off, unavailable
from fgtrace_collectors.recorder.facts import base_environment
from fgtrace_collectors.recorder.plan import describe, start_command

START_SECONDS = 300
"""How long an environment may take to start; importing torch from a shared disk is slow."""

LEAVING_SECONDS = 10.0
POLL_SECONDS = 0.5
LAST_LINES = 5


class ChildProcess:
    """A running child. Use it as a context manager: it is gone afterwards, whatever happened."""

    def __init__(
        self,
        route: str,
        environment: Optional[str],
        recorder: Path,
        python: str,
        log: Path,
        variables: Mapping[str, str],
    ) -> None:
        self.route = route
        self.environment = environment
        self._log = log
        self._doing = "starting"
        with log.open("wb") as errors:
            try:
                self._process = subprocess.Popen(
                    start_command(environment, python, [str(recorder), "child"]),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env={**base_environment(own=environment is None), **variables},
                    # Ctrl-C goes to the parent alone, and the whole group can be ended.
                    start_new_session=True,
                )
            except OSError as error:
                raise unavailable(
                    f"route {route}: {describe(environment)} does not start: {error.strerror}",
                    "give an interpreter, or shell text that ends by running one",
                ) from None
        self._replies: queue.Queue[Optional[bytes]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> ChildProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def release(self) -> None:
        """Close the child's input: it leaves by itself once it has done what it was asked."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def end(self) -> None:
        """End the child: wait for one that has nothing to do, kill one that is busy."""
        self.release()
        try:
            self._process.wait(timeout=0.0 if self._doing else LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also what an environment's start-up left running in the background.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def ask(self, do: str, **request: Any) -> None:
        """Send a request; its reply is fetched with `answer`."""
        self._doing = f"{do} {request['case']}" if "case" in request else do
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the reply's absence tells it, with the child's last lines

    def answer(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Wait for the reply to the last request."""
        line = self._next(timeout)
        if line is None:
            raise self._died()
        self._doing = ""
        reply: Dict[str, Any] = json.loads(line)
        return reply

    def request(self, do: str, **request: Any) -> Dict[str, Any]:
        """Ask, and wait for the answer."""
        self.ask(do, **request)
        return self.answer()

    def _next(self, timeout: Optional[float]) -> Optional[bytes]:
        """Wait for a line; None where the child has died, whoever else holds its output open."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            ended = self._process.poll() is not None
            try:
                return self._replies.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if ended:
                    return None
                if deadline is not None and time.monotonic() > deadline:
                    raise self._not_started(f"did not start within {timeout:.0f} s") from None

    def _read(self) -> None:
        mark = MARK.encode()
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                # An environment's start-up may end its last line without a newline.
                _, found, reply = line.rpartition(mark)
                if found:
                    self._replies.put(reply)
        self._replies.put(None)

    def _died(self) -> Exception:
        code = self._process.wait()
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        if self._doing in ("starting", "hello"):
            return self._not_started(f"ended with {how}")
        return broken_off(
            f"route {self.route}: its process ended with {how} at: {self._doing}",
            f"its last lines: {self._last_lines()}",
        )

    def _not_started(self, how: str) -> Exception:
        return unavailable(
            f"route {self.route}: {describe(self.environment)} {how}",
            f"it said: {self._last_lines()}",
        )

    def _last_lines(self) -> str:
        lines: List[str] = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return " | ".join(line.strip() for line in lines[-LAST_LINES:] if line.strip()) or "nothing"
