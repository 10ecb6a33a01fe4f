"""Groups of the host's Python: which part of the way to the device a frame belongs to, as data."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Group(NamedTuple):
    """One group: the frames whose names have the pattern, and where that can be read."""

    name: str
    pattern: str
    source: str


DISPATCHER = "dispatcher"
PROFILER = "profiler"
"""What recording adds; an unprofiled call has none of it."""

GROUPS = (
    Group(
        PROFILER,
        r"torch/(autograd/)?profiler|_record_function_(enter|exit)|fgtrace_kernels/phases\.py"
        r"|<built-in method  of pybind11_builtins",
        "torch/autograd/profiler.py of PyTorch; recording makes them, an unprofiled call has none",
    ),
    Group(
        "triton: key",
        r"triton/runtime/jit\.py\(\d+\): (compute_cache_key|cache_key|get_key|mangle_type"
        r"|specialize_impl|serialize_specialization_data|_hash|hash)|native_specialize_impl"
        r"|triton/_utils\.py",
        "compute_cache_key and the specialisation of arguments in triton/runtime/jit.py of Triton",
    ),
    Group(
        "triton: bind",
        r"triton/runtime/jit\.py\(\d+\): (<lambda>|__getitem__|_pack_args|dynamic_func"
        r"|create_binder|bind|_do_compile|__call__)|: dynamic_func$",
        "KernelInterface.__getitem__ and the generated dynamic_func in triton/runtime/jit.py",
    ),
    Group(
        "triton: launch",
        r"triton/runtime/jit\.py\(\d+\): run|triton/backends/.*/driver\.py|triton/knobs\.py"
        r"|triton/compiler/compiler\.py\(\d+\): (launch_metadata|runner|__getitem__|_init_handles)"
        r"|<built-in function launch>|method launch of|triton/runtime/driver\.py",
        "JITFunction.run in triton/runtime/jit.py, CompiledKernel in triton/compiler/compiler.py, "
        "the launchers in triton/backends/*/driver.py",
    ),
    Group(
        "triton: interpreter",
        r"triton/runtime/interpreter\.py|triton/language/|triton/compiler/code_generator",
        "triton/runtime/interpreter.py: the kernel itself, on the host",
    ),
    Group("triton: other", r"(^|/)triton/", "compilation, tuning and caches of Triton"),
    Group(
        "flaggems",
        r"(^|/)flag_gems/|\.flaggems/",
        "libentry, pointwise_dynamic and ops of FlagGems, and the wrappers that it generates",
    ),
    Group("bundled kernels", r"(^|/)fgtrace_kernels/", "kernels/fgtrace_kernels"),
    Group(
        "allocator",
        r"torch/cuda/memory\.py|method (empty|empty_like|new_empty|resize_) of"
        r"|function (empty|empty_like|empty_strided)>",
        "torch.empty and torch/cuda/memory.py of PyTorch",
    ),
    Group(
        "backward",
        r"method run_backward of|torch/autograd/(graph|__init__)\.py",
        "_engine_run_backward in torch/autograd/graph.py: the host is in it while other threads do "
        "the backward pass",
    ),
    Group(
        DISPATCHER,
        r"torch/(_ops|_tensor|overrides|library)\.py|torch/_library/|torch/autograd/function\.py"
        r"|method (impl|reset) of pybind11"
        r"|<built-in (method (\w+ of (Tensor|_VariableFunctionsClass|_?TensorBase)"
        r"|[a-z]\w* of type) ?(object)?|function _(cuda|xpu|has_torch_function)_?)|torch\._C",
        "the way from Python into ATen: bindings of tensors and functions, torch/_ops.py",
    ),
    Group("torch Python", r"(^|/)torch/|nn\.Module: ", "the Python part of PyTorch"),
)
"""The groups, in the order in which they are asked: the first whose pattern is found counts."""

USER = "user code"
"""Everything else in Python."""

CALLERS = (
    r"^<built-in |^<frozen |^(.*/python3\.\d+/)?("
    + "|".join(sorted(sys.stdlib_module_names))
    + r")(/[\w/]+)?\.py\("
)
"""Python's own functions and library: whose time it is depends on who calls them."""
