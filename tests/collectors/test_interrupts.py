"""Requests to end: which are heeded, and what holds afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from fgtrace_collectors.recorder.interrupts import ending_like_interrupts


@pytest.fixture(autouse=True)
def _handlers_as_before() -> Iterator[None]:
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.parametrize("request_", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_request_to_end_is_an_interrupt(request_: signal.Signals) -> None:
    signal.signal(request_, signal.SIG_DFL)
    with pytest.raises(KeyboardInterrupt), ending_like_interrupts():
        os.kill(os.getpid(), request_)
    assert signal.getsignal(request_) == signal.SIG_DFL


def test_a_hang_up_under_nohup_ends_nothing() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ending_like_interrupts():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
