"""Requests to end, all treated as Ctrl-C, so that children and temporaries go too."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import Any, Iterator

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending_like_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM and SIGHUP too, and only for the first of all signals.

    What is ignored from the start, as a hang-up is under nohup, stays ignored.
    """
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, *ENDING)}
    before = {one: handler for one, handler in handlers.items() if handler != signal.SIG_IGN}

    def interrupt(*_signal: Any) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)  # what is being cleared up must not be cut short
        raise KeyboardInterrupt

    for one in before:
        signal.signal(one, interrupt)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
