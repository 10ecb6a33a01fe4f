"""Evidence that a child kept the rules: nothing traced, nothing compiled while it was timed."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Optional


class CompilationCounter:
    """Counts Triton's compilations and autotuning runs in this process.

    Triton calls the hook only when it compiles, and `Autotuner._bench` only when it tunes, so
    counting costs a measured call nothing. A count is None where this Triton has no such hook.
    """

    def __init__(self) -> None:
        self.compiled: Optional[int] = 0
        self.tuned: Optional[int] = 0
        self._installed = False

    def install(self) -> None:
        """Hook into the Triton of this process; until it is imported, it compiles nothing."""
        triton = sys.modules.get("triton")
        if triton is not None and not self._installed:
            self._installed = True
            self._hook_compilation(triton)
            self._hook_tuning()

    def _hook_compilation(self, triton: Any) -> None:
        knobs = getattr(triton, "knobs", None)
        # Releases before `knobs` kept the hook on the class.
        owner: Any = getattr(knobs, "runtime", None)
        name = "jit_cache_hook"
        if owner is None:
            owner, name = getattr(triton, "JITFunction", None), "cache_hook"
        if owner is None or not hasattr(owner, name):
            self.compiled = None
            return
        earlier = getattr(owner, name)

        def count(*args: Any, **kwargs: Any) -> Any:
            self.compiled = (self.compiled or 0) + 1
            return earlier(*args, **kwargs) if earlier is not None else False

        setattr(owner, name, count if name == "jit_cache_hook" else staticmethod(count))

    def _hook_tuning(self) -> None:
        module = sys.modules.get("triton.runtime.autotuner")
        tuner: Any = getattr(module, "Autotuner", None)
        if tuner is None or not hasattr(tuner, "_bench"):
            self.tuned = None
            return
        bench = tuner._bench

        def count(*args: Any, **kwargs: Any) -> Any:
            self.tuned = (self.tuned or 0) + 1
            return bench(*args, **kwargs)

        tuner._bench = count

    def reading(self) -> Dict[str, Optional[int]]:
        """Give the counts so far."""
        self.install()
        return {"compilations": self.compiled, "tunings": self.tuned}


RULES = {
    "tracing": "none",
    "dispatch log": "none",
    "torch threads": "1",
    "slowing variables": "none",
}
"""What a process must say of itself for its times to count."""

SLOWING = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "TRITON_DEBUG")


def rules(torch: Any) -> Dict[str, str]:
    """Say how this process stands to each rule, and what else it has imported."""
    logs = sorted(name for name in os.environ if name.startswith("FLAGOS_LOG"))
    slowing = [name for name in SLOWING if os.environ.get(name, "0") not in ("", "0")]
    return {
        "tracing": "none" if sys.gettrace() is None and sys.getprofile() is None else "active",
        "dispatch log": ", ".join(logs) or "none",
        "torch threads": str(torch.get_num_threads()),
        "slowing variables": ", ".join(slowing) or "none",
        "torch_fl imported": str("torch_fl" in sys.modules).lower(),
        "flag_gems imported": str("flag_gems" in sys.modules).lower(),
    }
