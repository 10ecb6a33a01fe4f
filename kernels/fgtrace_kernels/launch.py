"""The host-side launch path that every bundled kernel takes."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from typing import TYPE_CHECKING, Any, ContextManager

if TYPE_CHECKING:
    import torch


# One setting for every size, so that nothing is compiled or searched because a size changed.
BLOCK = 256
NUM_WARPS = 2

_HERE = contextlib.nullcontext()


def interpreted() -> bool:
    """Tell whether Triton runs in its interpreter, on the CPU.

    Triton reads `TRITON_INTERPRET` when a kernel's module is imported: set it before that.
    """
    return os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "on", "yes", "y")


def launch(kernel: Any, elements: int, device: torch.device, *arguments: object) -> None:
    """Run `kernel(*arguments, BLOCK=...)` on `device`, one program a block of elements.

    No elements, no launch: devices refuse an empty grid. Raises RuntimeError for tensors on the
    CPU outside the interpreter.
    """
    if elements == 0:
        return
    if device.type == "cpu" and not interpreted():
        raise RuntimeError(
            "a Triton kernel needs its tensors on an accelerator;"
            " on the CPU set TRITON_INTERPRET=1 before importing it"
        )
    grid = ((elements + BLOCK - 1) // BLOCK,)
    with current(device):
        kernel[grid](*arguments, BLOCK=BLOCK, num_warps=NUM_WARPS)


def current(device: torch.device) -> ContextManager[object]:
    """Make `device` the current one for a launch; free when it already is.

    Triton launches on the current device, whatever device its arguments lie on.
    """
    module = _device_module(device.type)
    if module is None or device.index is None or module.current_device() == device.index:
        return _HERE
    guard: ContextManager[object] = module.device(device.index)
    return guard


@functools.lru_cache(maxsize=None)
def _device_module(kind: str) -> Any:
    """Give `torch.cuda`, `torch.xpu`, ..., or None for a kind that has no current device.

    By attribute, because `torch.get_device_module` came with torch 2.4 and does just this.
    """
    if kind == "cpu":
        return None
    module = getattr(importlib.import_module("torch"), kind, None)
    return module if hasattr(module, "current_device") and hasattr(module, "device") else None
