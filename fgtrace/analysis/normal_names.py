"""Names that stay the same on other devices, builds and days."""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl

from fgtrace.analysis.signatures import Mention, signature

_ROUNDS = 4
"""A name that is not steady after so many is left alone; real ones need one or two."""


class Rule(NamedTuple):
    """What is replaced in a name. Every pattern takes time in proportion to the name's length."""

    name: str
    pattern: re.Pattern[str]
    replacement: str = ""
    among: re.Pattern[str] = re.compile("")  # is found in the names that the rule is for


def _rule(name: str, pattern: str, replacement: str = "", among: str = "") -> Rule:
    return Rule(name, re.compile(pattern), replacement, re.compile(among))


_VENDOR = "(?:cuda|cu|hip|musa|mu|mc)"
_DEVICE = "(?:kepler|maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell|sm[0-9]{2,3}a?)"

DECORATION = (
    _rule("clone", r" ?\[clone [^\[\]]*\]"),  # GCC; roctracer writes "f(int) [clone .kd]"
    _rule("descriptor", r" ?\(?\.kd\)?$"),  # AMD's kernel descriptors: "f.kd"
    # clang: a function of its file alone, called from others; the hash is the build's.
    _rule("own-to-file", r"\.(?:intern|static)\.[0-9a-f]{8,32}$"),
    _rule("abi-tag", r"\[abi:\w*\]"),
    # An anonymous namespace, as demanglers, clang and nvcc write it.
    _rule(
        "anonymous",
        r"\(anonymous namespace\)::|\(anonymous\)::|\{anonymous\}::|<unnamed>::"
        r"|\b(?:_GLOBAL__N_|_INTERNAL_)\w{0,200}::",
    ),
    # rocprim::ROCPRIM_400200_NS::, cub::CUB_200700_800_NS::, cub::_V_300100_SM_900::, std::__4::
    _rule("version", r"\b(?:[A-Z]{3,9}_[0-9][0-9_]{0,200}_NS|_V_[0-9_]{1,99}\w{0,99}|__[0-9]+)::"),
    _rule("cub-wrapped", r"\bat_cuda_detail::(?=cub::)"),  # PyTorch since 1.11
    _rule("cub-detail", r"\bcub::detail::(?:\w+::)*", "cub::"),  # moved in CCCL 2
    _rule("cub-plus", r"\b(?:hip)?cub::Sum\b", "std::plus"),  # an alias since CCCL 2.8
    _rule("cublas-part", r"\bcublasLt::"),  # splitKreduce_kernel is in either
    # cuDNN 8 was divided: cask_cudnn_infer::, cutlass_cudnn_train::, cutlass__5x_cudnn::
    _rule(
        "cudnn-part",
        r"\b(cask_cudnn|cutlass)_{1,2}(?:5x_cudnn|(?:cudnn_)?(?:infer|train))::",
        r"\1::",
    ),
)
"""What is replaced anywhere, before a name is read."""

KERNEL = (
    # ncclKernel_AllReduce_RING_LL_Sum_float, ncclDevKernel_AllReduce_Sum_f32_RING_LL and, over
    # symmetric memory, ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f32. RCCL has the same names.
    _rule(
        "collective", r"^nccl(?:Symk?)?(?:Dev)?Kernel(?:Debug)?_([A-Za-z]+)(?:_.*)?$", r"nccl \1"
    ),
    # NCCL before 2.8: ncclAllReduceRingLLKernel_sum_f32
    _rule(
        "collective-2.7",
        r"^nccl(AllReduce|AllGather|ReduceScatter|Reduce|Broadcast)(?:Ring|Tree|CollNet)\w*$",
        r"nccl \1",
    ),
    # ATen/native/cuda/CUDALoops.cuh: ROCm builds launch this in the place of elementwise_kernel.
    _rule("rocm-unroll", r"^(at::native::elementwise_kernel)_manual_unroll$", r"\1"),
    # FlagGems' pointwise_dynamic makes a kernel for each number of dimensions.
    _rule("flaggems-rank", r"(?<=_kernel)_rank_[0-9]+$"),
    # cuBLAS: volta_sgemm_128x32_nt; xmma: sm80_xmma_gemm_…; nvjet_sm100_…; cutlass_80_…
    _rule("device", rf"^{_DEVICE}_(?=\w*(?:gemm|gemv|xmma|cudnn))"),
    _rule("device-cudnn", rf"^cudnn_(?:(?:infer|train)_)?{_DEVICE}_", "cudnn_"),
    _rule("device-cutlass", r"^(cutlass(?:3x)?)_(?:sm)?[0-9]+a?_", r"\1_"),
    _rule("device-nvjet", r"^nvjet_sm[0-9]+a?_", "nvjet_"),
    _rule("device-fmha", r"(?<=.)_sm[0-9]+$", among=r"^fmha_cutlass"),
    _rule("library", r"(?<=_kernel)_(?:_5x_)?(?:cublas|cudnn(?:_infer|_train)?)$"),
    # MIOpen: batched_transpose_16x64_pack_1x4_ediv_1x2_half
    _rule(
        "tile-transpose",
        r"^batched_transpose_[0-9]+x[0-9]+(?:_pack_[0-9]+x[0-9]+_ediv_[0-9]+x[0-9]+)?(?=_)",
        "batched_transpose",
    ),
    # _128x32, _32x3, _sliced1x4, _stages_64x3; xmma: _tilesize64x128x8_stage3_warpsize1x4x1
    _rule(
        "tile",
        r"_(?:(?:stages_|sliced|tilesize|warpsize|warpgroupsize|tensor)?[0-9]+x[0-9]+(?:x[0-9]+)*"
        r"|stage[0-9]+)(?=_|$)",
        among=r"gemm|matmul|cudnn|nvjet_|fmha_cutlass|^cutlass_|_implicit_",
    ),
    # Tensile (rocBLAS, hipBLASLt): all after the problem is how it is solved, ISA included.
    _rule("tile-tensile", r"^((?:Custom_)?Cijk_\w+?)_MT[0-9]+x.*$", r"\1"),
    _rule("split-tensile", r"^(Cijk_\w+?_PostGSU)[0-9]+(?:_VW[0-9]+)?$", r"\1"),
    # MIOpen: igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_…
    _rule("tile-igemm", r"^(igemm_[a-z]+_gtc)x?[0-9]*(_[a-z]+_[a-z]+[0-9]+)_bx[0-9].*$", r"\1\2"),
)
"""What is replaced in a kernel's name without arguments and parameters."""

RANGE = (
    _rule("call", r"^(fgtrace::.*::)[0-9]+$", r"\1*"),
    _rule("number", r"#[0-9]+$", "#*"),  # ProfilerStep#12
    _rule(
        "step",
        r"(?i)(?<![a-z])(call|step|iter|iteration|epoch)([ =:_-])[0-9]+(?![a-z0-9])",
        r"\1\2*",
        among=r"^(?!fgtrace::)",  # a case's parameters are its name
    ),
    # Inductor: "## Call CompiledFxGraph fal4xpi… ##"
    _rule("graph", r"(?<=CompiledFxGraph )[a-z0-9]{40,64}(?![a-z0-9])", "*"),
)
"""What is replaced in the name of a range."""

API = (
    # Of other vendors, and versions: hipMemcpyAsync, cuMemcpyAsync_v2, cudaMemcpyAsync_ptsz
    _rule("version-api", r"^([A-Za-z][A-Za-z0-9]*)(?:_v[0-9]+|_ptsz|_ptds|_spt)+$", r"\1"),
    _rule("revision-api", r"(?<=[a-z])R[0-9]{4}$"),  # hipGetDevicePropertiesR0600
    # cudaLaunchKernelExC, cuLaunchKernelEx, hipExtModuleLaunchKernel, urEnqueueKernelLaunch
    _rule(
        "launch",
        rf"^{_VENDOR}(?:[A-Z][A-Za-z]{{1,20}})?Launch[A-Za-z]{{0,20}}Kernel[A-Za-z]{{0,20}}$"
        r"|^ur[A-Z][A-Za-z]{1,20}KernelLaunch[A-Za-z]{0,20}$",
        "LaunchKernel",
    ),
    _rule("vendor", rf"^{_VENDOR}(?=[A-Z])"),
)
"""What is replaced in the name of an API call."""

_SPECIALISED = re.compile(r"0(?=[0-9]*[cde])[0-9cde]*")
"""What Triton before 3 appended: of each argument its number, and what was known of it."""

_HASH = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])(?!(?:b?f[0-9]{1,2})+$)[0-9a-f]{8,}")
"""A hash; `bf16f32` is two types."""

_TYPE = re.compile(
    r"u?int[0-9]+(?:_t)?|size_t|ptrdiff_t|(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]"
    r"|(?:__)?half(?:_t|2)?|Half|_Float16|tfloat32_t|float(?:8|16|32|64)_t"
    r"|(?:__)?(?:nv_|hip_)?bfloat16(?:_t|2)?|BFloat16"
    r"|(?:(?:__)?(?:nv|hip)_fp[468]_|[Ff]loat[468]?_)e[2-8]m[0-7]\w{0,10}"
    r"|[Cc]omplex|OpaqueType|HIP_vector_type|ScalarType|nullptr_t|array|Array"
)
"""Types of elements: they say of what, not what, a kernel computes."""

_WRAPPER = re.compile(
    # ATen: what calls the function of an elementwise kernel or of a reduction, and what finds
    # the elements for it.
    r"gpu_kernel_impl(?:_nocast)?|gpu_index_kernel|func_wrapper_t|ReduceOp"
    r"|type_specialized_broadcast_kernel_launcher|(?:Trivial)?OffsetCalculator"
    r"|(?:Load|Store)With(?:out)?Cast|(?:FusedOptimizer)?TensorList(?:ScalarList)?Metadata"
    r"|TensorInfo|(?:Generic)?PackedTensorAccessor(?:32|64)?|(?:Default|Restrict)PtrTraits"
    # cuBLAS: how a GEMV is given its arguments.
    r"|cublas\w{0,40}(?:Params\w{0,10}|Batched)"
)
"""What differs by build, and says nothing of what is computed."""

_LIBRARY = re.compile(
    r"(?:std|thrust|cuda|c10|at(?!::native)|cub|rocprim|hipcub|cutlass|cute|ck|ck_tile)::"
)
"""Namespaces whose templates are parts of an algorithm: their policies differ by build."""

_OPERATOR = re.compile(
    r"plus|minus|multiplies|divides|modulus|negate|(?:min|max)(?:imum)?|(?:Arg)?(?:Min|Max)|Sum"
    r"|[A-Z][A-Za-z]{1,20}Op|Equality|(?:not_)?equal(?:_to)?|(?:less|greater)(?:_equal)?"
    r"|(?:logical|bit)_(?:and|or|xor|not)"
)
"""What such an algorithm does with elements."""

_ENTRY = re.compile(r"(?:cutlass|ck|ck_tile)::(?:\w+::)*\w+")
"""Kernels that are all in their first template argument."""

_IS_API = re.compile(r"(?:cuda|hip|cu)[A-Z][A-Za-z0-9]*(?:_[a-z0-9]+)*")
_IS_RANGE = re.compile(r"ProfilerStep#|fgtrace::|## ")
_IS_COPY = re.compile(
    r"Memcpy(?: |$)|\[CUDA memcpy|__amd_rocclr_copy|MEMORY_COPY_"
    r"|Copy(?:Device|Host)To(?:Device|Host)$"
)
_IS_FILL = re.compile(r"Memset(?: |$)|\[CUDA memset|__amd_rocclr_fill|FillBuffer(?: |$)")
_DIRECTION = re.compile(
    r"([HDP])to([HDP])(?![a-z])|(?i:([hd])(?:ost|evice)[ _-]?to[ _-]?([hd])(?:ost|evice))"
)


def normal_names(names: pl.Series, kinds: pl.Series | None = None) -> pl.Series:
    """Give the normal form of each event's name, with its kind where one is given.

    Each distinct name is looked at once. Null stays null.
    """
    rows = pl.DataFrame({"name": names}).with_columns(
        kind=pl.lit(None, pl.String) if kinds is None else kinds.cast(pl.String)
    )
    distinct = rows.unique()
    normal = [
        None if name is None else normal_name(name, kind)
        for name, kind in distinct.with_columns(pl.col("name").cast(pl.String)).iter_rows()
    ]
    found = distinct.with_columns(normal=pl.Series(normal, dtype=pl.String))
    return rows.join(
        found, on=["name", "kind"], how="left", nulls_equal=True, maintain_order="left"
    )["normal"].alias(names.name)


def normal_name(name: str, kind: str | None = None) -> str:
    """Give the normal form of an event's name.

    Without the kind it is decided by the name. A name's normal form is its own normal form.
    """
    normal = name
    for _ in range(_ROUNDS):
        before, normal = normal, _once(normal, kind)
        if normal == before:
            return normal
    return name


def _once(name: str, kind: str | None) -> str:
    match kind or _kind(name):
        case "memcpy":
            return _copy(name)
        case "memset":
            return "Memset"
        case "kernel":
            return _kernel(name)
        case "runtime" | "driver":
            return _replaced(name, API)
        case "range" | "device_range":
            return _replaced(name, RANGE)
    return name


def _kind(name: str) -> str:
    if _IS_API.fullmatch(name):
        return "runtime"
    return "range" if _IS_RANGE.match(name) else "kernel"


def _replaced(name: str, rules: tuple[Rule, ...]) -> str:
    for rule in rules:
        if rule.among.search(name):
            name = rule.pattern.sub(rule.replacement, name)
    return name


def _copy(name: str) -> str:
    found = _DIRECTION.search(name)
    if found is None:
        return "Memcpy"
    source, target = (side.upper() for side in found.groups() if side)
    return f"Memcpy {source}to{target}"


def _kernel(name: str) -> str:
    if _IS_COPY.match(name):
        return _copy(name)
    if _IS_FILL.match(name):
        return "Memset"
    name = _replaced(name, DECORATION)
    read = None if name.startswith("_Z") else signature(name)
    if read is None:
        return name
    path = "::".join(read.path)
    said = [*dict.fromkeys(_said(path, read.mentions))]
    if said and path in ("cutlass::Kernel", "cutlass::Kernel2") and said[0].startswith("cutlass"):
        path, *said = said  # a kernel of cuBLAS or cuDNN, which has its name there
    path = _without_suffixes(_replaced(path, KERNEL))
    return f"{path}<{', '.join(said)}>" if said else path


def _said(path: str, mentions: tuple[Mention, ...]) -> list[str]:
    """Select the names of what is computed."""
    first = 1 if _ENTRY.fullmatch(path) else 0
    said = [mention.path for mention in mentions[:first]]
    for mention in mentions[first:]:
        name = mention.path.rpartition("::")[2]
        if _TYPE.fullmatch(name) or _WRAPPER.fullmatch(name):
            continue
        if mention.called or _OPERATOR.fullmatch(name) or not _LIBRARY.match(mention.path):
            said.append(name)
    return said


def _without_suffixes(name: str) -> str:
    """Drop what Triton, its caches and Inductor append."""
    parts = name.split("_")
    while len(parts) > 1 and (_SPECIALISED.fullmatch(parts[-1]) or _HASH.fullmatch(parts[-1])):
        parts.pop()
    if parts[0] == "triton" and "fused" in parts and parts[-1].isdecimal():
        parts.pop()
    kept = "_".join(parts)
    return kept if kept.strip("_") else name
