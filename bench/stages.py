"""Where the reader's CPU goes: `python -m bench.stages FILE`.

Every few milliseconds of CPU, what was used since is charged to the function of fgtrace that runs,
or waits, in the main thread: a call into compiled code is its caller's.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType

from bench.loaders import fgtrace

_EVERY_S = 0.002
_SHOWN = 20
_START = "start-up and imports"


class _Sampler:
    def __init__(self) -> None:
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        self.charged_s = time.process_time()

    def charge(self, _number: int, frame: FrameType | None) -> None:
        now = time.process_time()
        while frame and not _is_stage(frame):
            frame = frame.f_back
        if frame:
            function = frame.f_code.co_qualname.partition(".<locals>")[0]
            stage = f"{frame.f_globals['__name__']}.{function}"
        else:
            stage = _START
        self.spent_s[stage] += now - self.charged_s
        self.charged_s = now


def _is_stage(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    return module.startswith("fgtrace.") and frame.f_code.co_name != "<module>"


def main() -> None:
    """Print CPU seconds by function, most first, and what they are for a GB."""
    path = Path(sys.argv[1])
    sampler = _Sampler()
    sampler.spent_s[_START] = sampler.charged_s
    signal.signal(signal.SIGPROF, sampler.charge)
    signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    fgtrace(path)
    signal.setitimer(signal.ITIMER_PROF, 0)
    gigabytes = path.stat().st_size / 1e9
    total_s = sum(sampler.spent_s.values())
    print("| function | CPU s | CPU s a GB | share |", "|---|--:|--:|--:|", sep="\n")
    most = sorted(sampler.spent_s.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]
    for stage, spent_s in [("all", total_s), *most]:
        print(f"| {stage} | {spent_s:.3f} | {spent_s / gigabytes:.2f} | {spent_s / total_s:.0%} |")


if __name__ == "__main__":
    main()
