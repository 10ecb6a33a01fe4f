"""What a command costs in a process of its own: CPU and memory over all of its processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_EVERY_S = 0.01
_SIZES = re.compile(r"^Vm(RSS|HWM):\s*(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Cost:
    """One run of a command.

    `peak_bytes` is the highest sum of resident memory over the command and its descendants, looked
    at every 10 ms, and no less than the kernel's own maximum of any one of them. Pages that
    processes share count in each.
    """

    cpu_s: float
    wall_s: float
    peak_bytes: int
    code: int
    output: str
    error: str


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end. CPU is of the command and the descendants that it waited for."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as error:
        began = time.perf_counter()
        # Not waited for by `subprocess`: its own wait would leave no usage to be asked for.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=error,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        memory = _Memory(process.pid)
        memory.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            memory.ended.set()
            memory.join()
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        error.seek(0)
        return Cost(
            cpu_s=usage.ru_utime + usage.ru_stime,
            wall_s=wall_s,
            peak_bytes=memory.peak_bytes,
            code=process.returncode,
            output=output.read(),
            error=error.read(),
        )


class _Memory(threading.Thread):
    # Not `ru_maxrss`: a process inherits that of the one that started it.
    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.ended = threading.Event()
        self.peak_bytes = 0

    def run(self) -> None:
        while not self.ended.wait(_EVERY_S):
            seen = [_resident(one) for one in _tree(self.pid)]
            now = sum(resident for resident, _ in seen)
            self.peak_bytes = max(self.peak_bytes, now, *(highest for _, highest in seen))


def _tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:  # grows while it is walked
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue  # the thread has ended
    return found


def _resident(pid: int) -> tuple[int, int]:
    """Bytes now, and the most so far."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0, 0
    # An ended process that is not yet waited for has neither line.
    kilobytes = dict(_SIZES.findall(status))
    return int(kilobytes.get("RSS", 0)) * 1024, int(kilobytes.get("HWM", 0)) * 1024
