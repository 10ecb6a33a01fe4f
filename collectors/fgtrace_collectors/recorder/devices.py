"""The kinds of device that a case can run on, and what torch calls their parts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Dict, Optional, Sequence, Tuple

from fgtrace_collectors.recorder.errors import unavailable, usage


@dataclass(frozen=True)
class DeviceKind:
    """A row of the table: one kind of device under one build of torch."""

    name: str
    """What `--device` and `torch.device` call it."""
    build: str
    """The torch build that serves it."""
    before_torch: Tuple[str, ...]
    """Modules that must be imported before torch."""
    activity: Optional[str]
    """The member of torch.profiler.ProfilerActivity that records it."""
    run_on_hardware: str
    """Where fgtrace was really run on it; "no" where it never was."""


DEVICE_KINDS = (
    DeviceKind("cpu", "any", (), None, "yes (no device timing)"),
    DeviceKind("cuda", "CUDA", (), "CUDA", "yes (NVIDIA H200)"),
    DeviceKind("cuda", "ROCm", (), "CUDA", "no"),
    DeviceKind("xpu", "XPU", (), "XPU", "no"),
    DeviceKind("flagos", "Torch-FL", ("torch_fl",), "PrivateUse1", "no"),
)

NODES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dri")
"""What the drivers of accelerators put there: NVIDIA's; AMD's and Hygon's; Intel's."""

SPELLING = re.compile(r"(auto|cpu|(cuda|xpu|flagos)(:[0-9]+)?)\Z")


def check_spelling(device: str) -> None:
    """Refuse a device that no kind answers to."""
    if not SPELLING.match(device):
        raise usage(
            f"--device {device!r} is no device",
            "give auto, cpu, cuda[:N], xpu[:N] or flagos[:N]",
        )


def import_torch(device: str) -> Any:
    """Import torch, and before it what the device needs.

    `auto` takes Torch-FL where it is installed, since it can only be imported first.
    """
    wanted = device.partition(":")[0]
    for kind in DEVICE_KINDS:
        if kind.before_torch and (kind.name == wanted or wanted == "auto"):
            for module in kind.before_torch:
                if find_spec(module) is not None:
                    import_module(module)
                elif wanted != "auto":
                    raise unavailable(
                        f"device {device}: {module} is not installed in this environment",
                        "give the environment that has it: --env ROUTE=PYTHON",
                    )
    if find_spec("torch") is None:
        raise unavailable(
            "torch is not installed in this environment",
            "give an interpreter that has it (--env ROUTE=PYTHON), or install fgtrace[torch]",
        )
    return import_module("torch")


class Device:
    """One device of this machine, through the torch that is there."""

    def __init__(self, torch: Any, kind: DeviceKind, index: Optional[int]) -> None:
        self.torch = torch
        self.kind = kind
        self.index = index
        self.module = getattr(torch, kind.name, None) if kind.name != "cpu" else None
        self.synchronize = _nothing
        """Wait until the device has done everything that was asked of it."""
        if self.module is not None:
            self.module.set_device(index)
            # A vendor's module may lack it; torch's own then knows the way.
            self.synchronize = getattr(self.module, "synchronize", None) or (
                torch.accelerator.synchronize
            )

    @property
    def name(self) -> str:
        """What torch calls it: `cuda:0`."""
        return self.kind.name if self.index is None else f"{self.kind.name}:{self.index}"

    @property
    def accelerator(self) -> bool:
        """Whether it works apart from the host."""
        return self.module is not None

    def activities(self) -> list[Any]:
        """List what torch.profiler records here."""
        activity = self.torch.profiler.ProfilerActivity
        if self.kind.activity is None:
            return [activity.CPU]
        return [activity.CPU, getattr(activity, self.kind.activity)]

    def facts(self) -> Dict[str, Any]:
        """Give what provenance keeps of the device."""
        facts: Dict[str, Any] = {"kind": self.kind.name, "index": self.index}
        properties = getattr(self.module, "get_device_properties", None)
        if properties is None:
            return facts
        found = properties(self.index)
        kept = {}
        for field in (
            "total_memory",
            "multi_processor_count",
            "major",
            "minor",
            "warp_size",
            "L2_cache_size",
            "gcnArchName",
        ):
            value = getattr(found, field, None)
            if isinstance(value, (int, str)):
                kept[field] = value
        if self.torch.version.hip is None:
            kept.pop("gcnArchName", None)
        uuid = getattr(found, "uuid", None)
        facts.update(
            name=getattr(found, "name", None),
            uuid=None if uuid is None else str(uuid),
            properties=kept,
        )
        return facts


def open_device(torch: Any, wanted: str) -> Device:
    """Open the device that was asked for; `auto` takes the first kind that is there."""
    name, _, index = wanted.partition(":")
    for candidate in ("flagos", "cuda", "xpu", "cpu") if name == "auto" else (name,):
        if candidate == "cpu":
            return Device(torch, DEVICE_KINDS[0], None)
        count = _count(getattr(torch, candidate, None))
        number = int(index or 0)
        if number < count:
            build = "ROCm" if candidate == "cuda" and torch.version.hip else None
            kind = next(
                kind
                for kind in DEVICE_KINDS
                if kind.name == candidate and (build is None or kind.build == build)
            )
            return Device(torch, kind, number)
        if name != "auto":
            raise unavailable(
                f"there is no device {wanted} here: torch {torch.__version__} sees {count} of them",
                "run `fgtrace doctor` to see what is here",
            )
    raise AssertionError("the last candidate of auto is the CPU")


def _count(module: Any) -> int:
    if module is None or not getattr(module, "is_available", lambda: True)():
        return 0
    return int(module.device_count())


def _nothing() -> None:
    """Wait for nothing: the host has finished what it returned from."""


def seems_accelerated(device: str, nodes: Sequence[str] = NODES) -> bool:
    """Guess without torch whether `device`, as it is typed, will be an accelerator."""
    return device != "cpu" and any(map(os.path.exists, nodes))
