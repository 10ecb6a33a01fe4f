"""The child: one process for one route, which does what its parent asks, one thing at a time.

Parent and child exchange JSON lines. What the child's libraries print goes to its log; a reply is
marked, so that whatever an environment's start-up prints before cannot be taken for one.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from importlib.util import find_spec
from typing import Any, Callable, Dict, List, Optional, TextIO

from fgtrace_collectors.recorder import facts, witness
from fgtrace_collectors.recorder.calibration import attach, calibrate
from fgtrace_collectors.recorder.devices import Device, import_torch, open_device
from fgtrace_collectors.recorder.errors import RecorderError, unavailable
from fgtrace_collectors.recorder.profiling import options, profile_calls
from fgtrace_collectors.recorder.registry import Registry
from fgtrace_collectors.recorder.stopwatch import Stopwatch, make_flush
from fgtrace_collectors.recorder.workload import prepare
from fgtrace_kernels.launch import interpreted
from fgtrace_kernels.phases import record_phases

MARK = "\x1efgtrace "
"""Begins every reply line."""

Message = Dict[str, Any]


def main(registry: Registry) -> None:
    """Serve a parent on standard input and output until either closes."""
    _end_with_parent()
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a route prints goes to the log, and it has nothing to read.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serve(registry, requests, replies)


def serve(registry: Registry, requests: TextIO, replies: TextIO) -> None:
    """Answer each request line with one reply line."""
    child: Optional[Child] = None
    for line in requests:
        request = json.loads(line)
        try:
            if request["do"] == "hello":
                child = Child(registry, request)
                reply = child.hello()
            else:
                assert child is not None, "the first request is hello"
                reply = getattr(child, "do_" + request["do"])(request)
        except RecorderError as error:
            reply = {"unavailable": error.message, "hint": error.hint}
        except Exception as error:  # whatever a route raises is its result
            traceback.print_exc()
            reply = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        replies.write(MARK + json.dumps(reply) + "\n")
        replies.flush()


class Child:
    """A route in this process: its device, and the cases that were prepared."""

    def __init__(self, registry: Registry, request: Message) -> None:
        self.registry = registry
        self.route = registry.route(request["route"])
        self.stopwatches: Dict[str, Stopwatch] = {}
        self.counter = witness.CompilationCounter()
        # Set before torch is imported: libraries read their variables as they are loaded.
        os.environ.update(request["variables"])
        self.variables: List[str] = list(request["variables"])
        self.torch = import_torch(request["device"])
        self.device: Device = open_device(self.torch, request["device"])
        if self.route.triton and not self.device.accelerator:
            os.environ["TRITON_INTERPRET"] = "1"
        self.interpreted = bool(self.route.triton) and interpreted()
        self._check_route(request["operators"])
        self.torch.set_num_threads(1)
        self.flush = None
        if request["cold"] and self.device.accelerator:
            self.flush = make_flush(self.device)

    def _check_route(self, operators: List[str]) -> None:
        """Find out now what cannot serve, rather than as a wrong result of the first call."""
        missing = [module for module in self.route.modules if find_spec(module) is None]
        if missing:
            raise unavailable(
                f"{', '.join(missing)} is not installed in this environment",
                f"give the environment that has it: --env {self.route.name}=PYTHON",
            )
        if self.route.accelerator_only and not self.device.accelerator:
            raise unavailable("it needs an accelerator", "`fgtrace doctor` shows the devices")
        for operator in operators or self.route.operators:
            if operator in self.route.operators:
                self.route.resolve(operator)

    def hello(self) -> Message:
        """Say who this is."""
        return {
            "process": os.getpid(),
            "device": self.device.name,
            "build": self.device.kind.build,
            "accelerator": self.device.accelerator,
            "device_facts": self.device.facts(),
            "interpreted": self.interpreted,
        }

    def do_prepare(self, request: Message) -> Message:
        """Build a case's inputs and compare its result with the reference."""
        case = self.registry.case(request["case"])
        implementation = self.route.resolve(case.operator)
        call, result = prepare(case, implementation, request["params"], self.device)
        self.stopwatches[request["key"]] = Stopwatch(call, self.device, self.flush)
        return {"result": result}

    def do_warm(self, request: Message) -> Message:
        """Warm a prepared case up, and say how long a call takes."""
        stopwatch = self.stopwatches[request["key"]]
        return {"call_ns": stopwatch.warm_up(request["seconds"], request["calls"])}

    def do_batch(self, request: Message) -> Message:
        """Time one batch; the counts say what Triton compiled or tuned meanwhile."""
        before = self.counter.reading()
        timing = self.stopwatches[request["key"]].batch(request["mode"], request["calls"])
        after = self.counter.reading()
        return {
            **timing,
            **{
                name: None if count is None else count - (before[name] or 0)
                for name, count in after.items()
            },
        }

    def do_calibrate(self, request: Message) -> Message:
        """Time the calibration's loops."""
        return {"rows": calibrate(self.device, request["profiler"])}

    def do_attach(self, request: Message) -> Message:
        """Start the profiler for the first time."""
        attach(self.device, request["profiler"])
        return {}

    def do_profile(self, request: Message) -> Message:
        """Record calls under the profiler into the file that the parent names."""
        label = f"{request['case']}::{self.route.name}"
        timing = profile_calls(
            self.stopwatches[request["key"]],
            label,
            request["calls"],
            request["path"],
            request["profiler"],
            record_phases,
        )
        return {**timing, "options": options(request["profiler"])}

    def do_facts(self, request: Message) -> Message:
        """Describe the interpreter and how it stands to the protocol's rules."""
        return {
            "environment": {
                **facts.environment_facts(self.torch, self.variables),
                "route": self.route.name,
                "interpreted": self.interpreted,
                "modules": facts.source_hashes(self.route),
            },
            "rules": witness.rules(self.torch),
        }


def _end_with_parent() -> None:
    """Leave Ctrl-C to the parent, and die when it dies, also in the middle of a call."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of prctl(2)
        prctl: Callable[..., int] = ctypes.CDLL(None).prctl
        # A parent that died before this call is noticed too: the requests have ended.
        prctl(set_parent_death_signal, int(signal.SIGKILL))
