"""The bundled routes: the implementations that can serve an operator."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Tuple


@dataclass(frozen=True)
class Route:
    """One way to serve operators.

    An operator that is not in the table is one that the route does not have.

    Attributes:
        name: what `--route` takes.
        summary: one line for a listing.
        modules: what must be importable.
        operators: operator to "module:attribute"; the attribute is called as it is, so that a
            timed call pays for no adapter of ours where the implementation has ATen's shape.
        triton: runs Triton kernels, and so needs its interpreter on the CPU.
        accelerator_only: does not run on the CPU at all.
        serving: further "module:attribute" that do the work where an operator only hands it on;
            a recording keeps the hash of their sources.
    """

    name: str
    summary: str
    modules: Tuple[str, ...]
    operators: Mapping[str, str]
    triton: bool = False
    accelerator_only: bool = False
    serving: Tuple[str, ...] = ()

    def resolve(self, operator: str) -> Callable[..., Any]:
        """Import and give the callable for `operator`.

        Raises LookupError when the route does not have it, and ImportError or AttributeError when
        what is installed does not.
        """
        if operator not in self.operators:
            raise LookupError(f"route {self.name} has no operator {operator}")
        module, attribute = self.operators[operator].split(":")
        implementation: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
        return implementation


ATEN = Route(
    name="aten",
    summary="the installed torch, whatever it dispatches to",
    modules=("torch",),
    operators={
        "repeat_interleave": "torch:repeat_interleave",
        # ATen lets the caller vouch for the indices on a device: there is no host check to ask for.
        "index_select_unchecked": "torch:index_select",
    },
)

TRITON = Route(
    name="triton",
    summary="the bundled Triton kernels",
    modules=("torch", "triton"),
    operators={
        "repeat_interleave": "fgtrace_kernels.repeat_interleave:repeat_interleave",
        "index_select_checked": "fgtrace_kernels.index_select:index_select_checked",
        "index_select_unchecked": "fgtrace_kernels.index_select:index_select_unchecked",
        "repeat_values": "fgtrace_kernels.repeat_select:repeat_values",
    },
    triton=True,
)

TRITON_READBACK = Route(
    name="triton-readback",
    summary="the bundled kernels with the defect: the length is read back even when it is known",
    modules=("torch", "triton"),
    operators={
        "repeat_interleave": "fgtrace_kernels.repeat_interleave:repeat_interleave_readback",
    },
    triton=True,
)

FLAGGEMS = Route(
    name="flaggems",
    summary="the installed FlagGems, its operators called directly",
    modules=("torch", "triton", "flag_gems"),
    operators={
        "repeat_interleave": "fgtrace_kernels.flaggems:repeat_interleave",
        "index_select_unchecked": "flag_gems:index_select",
        "repeat_values": "fgtrace_kernels.flaggems_switched:repeat_values",
    },
    triton=True,
    accelerator_only=True,
    serving=("flag_gems:repeat_interleave_self_tensor", "flag_gems:index_select"),
)

ROUTES = (ATEN, TRITON, TRITON_READBACK, FLAGGEMS)
