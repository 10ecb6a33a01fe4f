"""Rules: by what the parts of a call are told where no range marks them, as data."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from fgtrace.analysis.names import checked_pattern
from fgtrace.errors import ExitCode, FgtraceError


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule: what it looks for, and which phase that is.

    It has exactly one of `operator`, `kernel` and `readback_of`, a regular expression that is found
    in a name. Its conditions are on the same call: expressions over the names of operators and
    kernels there.
    """

    name: str
    phase: str
    sentence: str
    """What it takes the event for, and why."""
    source: str = ""
    """Where that can be read."""
    operator: str | None = None
    """Marks operators, with all that is inside."""
    kernel: str | None = None
    """Marks launches of kernels."""
    readback_of: str | None = None
    """Marks readbacks of at most 16 bytes by the kernel before them on their stream, which made
    what is read: the operator that reads, or the copy and the wait for it."""
    followed_by: str | None = None
    """What has to come later in the call."""
    preceded_by: str | None = None
    """What has to come earlier."""
    workless: bool = False
    """Marks an operator only where nothing is launched and nothing copied inside."""
    generic: bool = False
    """Says nothing inside of what another rule has marked."""


# rocprim's selections and sorts have `lookback_scan_state` in their names, and are no scans.
_SCAN = (
    r"DeviceScan(Init)?Kernel|tensor_kernel_scan|reduce_then_scan_|scan_part_sum_kernel"
    r"|\bscan_impl<|(lookback|single)_scan_kernel|init_lookback_scan_state_kernel"
    r"|(Loop|Segment)ScanKernel|AccumulateCarrierKernelFunctor"
)
_EXPANDS = r"compute_(cuda|hip)_kernel<|^repeat_interleave_|RepeatInterleaveKernelFunctor|^_expand$"
_EXPANSION = rf"^aten::repeat_interleave$|{_EXPANDS}"
_GATHER = (
    r"^aten::(index_select|gather|take|index)$|index_select_kernel|^_?gather(_kernel)?$"
    r"|_scatter_gather_elementwise_kernel|indexSelect|vectorized_gather_kernel"
)
_MIN_MAX = r"MinMaxOps|MinOps|MaxOps|aminmax_kernel|(amin|amax|min|max)_kernel"
_ALL_TRUE = r"ReduceOp<bool|and_kernel|(^|_)all_kernel"

ALLOCATES = r"^aten::(empty|empty_like|empty_strided|new_empty|new_empty_strided|resize_)$"
"""Operators that make a tensor and fill it with nothing."""

_REPEAT = (
    "ATen/native/Repeat.h and ATen/native/cuda/Repeat.cu of PyTorch; RepeatKernel.cpp and "
    "ScanUtils.h of torch-xpu-ops; device_scan.hpp of rocPRIM"
)
_FLAGGEMS = "src/flag_gems/ops/repeat_interleave.py of FlagGems"
_INDEX = "ATen/native/cuda/IndexKernel.cu and Indexing.cu of PyTorch; index_select.py of FlagGems"
_CHECK = "the index check of Torch-FL's boxed index_select: aminmax, then two reads"

RULES = (
    Rule(
        name="scan-operator",
        phase="prefix_scan",
        sentence="a cumulative sum whose ends an expansion later in the call searches",
        source=f"{_REPEAT}; {_FLAGGEMS}",
        operator=r"^aten::(_)?cumsum$",
        followed_by=_EXPANSION,
    ),
    Rule(
        name="scan-kernel",
        phase="prefix_scan",
        sentence="a scan kernel before an expansion in the call",
        source=f"{_REPEAT}; src/flag_gems/ops/cumsum.py of FlagGems",
        kernel=_SCAN,
        followed_by=_EXPANSION,
    ),
    Rule(
        name="length-readback",
        phase="length_readback",
        sentence="a scalar that a scan made is read back before the expansion: its last value is "
        "the output's length",
        source=f"{_REPEAT}; {_FLAGGEMS} (result_size = cumsum[-1].item())",
        readback_of=_SCAN,
        followed_by=_EXPANSION,
    ),
    Rule(
        name="negative-test",
        phase="negative_check",
        sentence="repeats are compared with 0 and the answers joined, after the scan and before "
        "the expansion",
        source=f"{_REPEAT}: TORCH_CHECK((repeat >= 0).all().item())",
        operator=r"^aten::(ge|lt|le|gt|all|any)$",
        preceded_by=_SCAN,
        followed_by=_EXPANSION,
    ),
    Rule(
        name="negative-readback",
        phase="negative_check",
        sentence="one truth value that joins many is read back before the expansion",
        source=f"{_REPEAT}: TORCH_CHECK((repeat >= 0).all().item())",
        readback_of=_ALL_TRUE,
        preceded_by=_SCAN,
        followed_by=_EXPANSION,
    ),
    Rule(
        name="expansion-operator",
        phase="expand",
        sentence="the operator whose own work is to write each row's number as often as it repeats",
        source=_REPEAT,
        operator=r"^aten::repeat_interleave$",
    ),
    Rule(
        name="expansion-kernel",
        phase="expand",
        sentence="the kernel that writes each row's number as often as it repeats",
        source=f"{_REPEAT}; {_FLAGGEMS}",
        kernel=_EXPANDS,
    ),
    Rule(
        name="index-range",
        phase="index_check",
        sentence="the smallest and largest index are found before a gather, and read back",
        source=_CHECK,
        operator=r"^aten::(_)?(aminmax|amin|amax)$",
        followed_by=_GATHER,
    ),
    Rule(
        name="index-range-kernel",
        phase="index_check",
        sentence="the same by kernels that no operator is around",
        source=f"{_CHECK}; src/flag_gems/ops/aminmax.py of FlagGems",
        kernel=r"^aminmax_kernel",
        followed_by=_GATHER,
    ),
    Rule(
        name="index-readback",
        phase="index_check",
        sentence="a scalar that a search for the smallest or largest made is read back before a "
        "gather",
        source=_CHECK,
        readback_of=_MIN_MAX,
        followed_by=_GATHER,
    ),
    Rule(
        name="gather-operator",
        phase="gather",
        sentence="an operator that takes rows by their numbers",
        source=_INDEX,
        operator=r"^aten::(index_select|gather|take|index)$",
    ),
    Rule(
        name="gather-kernel",
        phase="gather",
        sentence="a kernel that takes rows by their numbers",
        source=_INDEX,
        kernel=r"index_select_kernel|_scatter_gather_elementwise_kernel|indexSelect"
        r"|vectorized_gather_kernel|^_gather$",
    ),
    Rule(
        name="allocation",
        phase="allocate",
        sentence="an operator that makes a tensor and fills it with nothing",
        source="torch.empty and Tensor.resize_ of PyTorch's documentation",
        operator=ALLOCATES,
        generic=True,
    ),
    Rule(
        name="view",
        phase="dispatch",
        sentence="an operator that only gives another view of a tensor, or hands on; none that had "
        "to copy",
        source="Tensor Views of PyTorch's documentation",
        operator=r"^aten::(view|as_strided|expand|select|slice|permute|transpose|t|squeeze|unsqueeze"
        r"|flatten|reshape|detach|alias|contiguous|narrow|unfold|diagonal|movedim|view_as)$",
        workless=True,
        generic=True,
    ),
)
"""The rules, in the order in which they are asked: of two that mark one event the first counts."""

GROUP = "fgtrace.rules"
"""The entry points by which other packages add rules."""

RANGE = "range"
"""In the place of a rule's name: an explicit range marks it."""

PHASE_ORDER = (
    "prefix_scan",
    "length_readback",
    "negative_check",
    "expand",
    "index_check",
    "gather",
)
"""The order of these phases in a call; others come after them."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    rule: list[Rule] = []


def read_rules(path: Path | None) -> tuple[Rule, ...]:
    """Read the user's rules from a TOML file, if there is one, before the installed ones.

    Raises FgtraceError (usage) for a file that is not one, and for a rule that cannot be used.
    """
    if path is None:
        return installed_rules()
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File)
    except OSError as error:
        raise _unusable(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise _unusable(f"{path}: {error}") from None
    if not found.rule:
        raise _unusable(f"{path} has no [[rule]]")
    return _before(found.rule, installed_rules(), str(path))


def installed_rules() -> tuple[Rule, ...]:
    """Give the rules that installed packages register as `fgtrace.rules`, then the built-in ones.

    Such an entry point is a rule or a sequence of them. Raises FgtraceError (usage) for one that
    cannot be loaded or used.
    """
    rules: tuple[Rule, ...] = RULES
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
            registered = msgspec.convert(
                [loaded] if isinstance(loaded, Rule) else loaded, list[Rule]
            )
        except Exception as error:
            raise _unusable(f"{GROUP} {point.value} cannot be loaded: {error!r}") from error
        rules = _before(registered, rules, point.value)
    return rules


def _before(new: list[Rule], rules: tuple[Rule, ...], origin: str) -> tuple[Rule, ...]:
    taken = {RANGE, *(rule.name for rule in rules)}
    for rule in new:
        if (wrong := _wrong_with(rule, taken)) is not None:
            raise _unusable(f"{origin}: rule {rule.name!r}: {wrong}")
        taken.add(rule.name)
        for pattern in (*_looks_for(rule), rule.followed_by, rule.preceded_by):
            checked_pattern(pattern or "")
    return (*new, *rules)


def _looks_for(rule: Rule) -> tuple[str | None, ...]:
    return (rule.operator, rule.kernel, rule.readback_of)


def _wrong_with(rule: Rule, taken: set[str]) -> str | None:
    if rule.name in taken:
        return f"{rule.name!r} is taken"
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", rule.phase) is None:
        return f"phase {rule.phase!r} is no name of letters, digits and _"
    if sum(bool(pattern) for pattern in _looks_for(rule)) != 1:
        return "it has not exactly one of operator, kernel, readback_of"
    if rule.workless and not rule.operator:
        return "workless goes with operator"
    return None


def _unusable(message: str) -> FgtraceError:
    return FgtraceError(
        message,
        hint="docs/phases.md says what a rule has, with one to begin with",
        kind="usage",
        exit_code=ExitCode.USAGE,
    )
