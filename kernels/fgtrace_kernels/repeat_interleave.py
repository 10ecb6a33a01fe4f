"""`repeat_interleave` in Triton, with and without the avoidable readback of the output's length."""

from __future__ import annotations

from typing import Optional, Union, overload

import torch
import triton
import triton.language as tl

from fgtrace_kernels.index_select import index_select, wrap_dim
from fgtrace_kernels.launch import launch
from fgtrace_kernels.phases import phase


# Unannotated, because Triton reads annotations as argument types.
@triton.jit
def _search(scan_ptr, position, low, high):  # type: ignore[no-untyped-def]
    """Give the first row in [low, high) whose inclusive prefix sum exceeds position, or high.

    Only rows with low <= row < high are loaded, whatever the sums are.
    """
    width = tl.max(high - low, axis=0)
    while width > 0:
        searching = low < high
        middle = (low + high) // 2
        end = tl.load(scan_ptr + middle, mask=searching, other=0)
        passed = searching & (end <= position)
        low = tl.where(passed, middle + 1, low)
        high = tl.where(passed, high, middle)
        width = width // 2
    return low


@triton.jit  # type: ignore[untyped-decorator]
def _expand(  # type: ignore[no-untyped-def]
    scan_ptr,
    output_ptr,
    rows,
    output_size,
    BLOCK: tl.constexpr,  # noqa: N803 (Triton's spelling of a compile-time constant)
):
    """output[p] = the first row whose inclusive prefix sum exceeds p, or 0 where there is none.

    Every output position searches for its own row, so skewed repeats cost about what even ones do.
    It searches between the rows of the block's two ends, which are found first.
    """
    start = tl.program_id(0).to(tl.int64) * BLOCK
    ends = start + tl.arange(0, 2) * (BLOCK - 1)
    around = _search(scan_ptr, ends, ends * 0, ends * 0 + rows)

    position = start + tl.arange(0, BLOCK)
    inside = position < output_size
    low = position * 0 + tl.min(around, axis=0)
    high = tl.where(inside, tl.max(around, axis=0), low)
    row = _search(scan_ptr, position, low, high)
    # Compiled in under TRITON_DEBUG only.
    tl.device_assert(
        tl.load(scan_ptr + rows - 1) == output_size, "output_size is not the sum of the repeats"
    )
    tl.store(output_ptr + position, tl.where(row < rows, row, 0), mask=inside)


@overload
def repeat_interleave(
    input: torch.Tensor, *, output_size: Optional[int] = None
) -> torch.Tensor: ...
@overload
def repeat_interleave(
    *, repeats: torch.Tensor, output_size: Optional[int] = None
) -> torch.Tensor: ...
@overload
def repeat_interleave(
    input: torch.Tensor,
    repeats: Union[torch.Tensor, int],
    dim: Optional[int] = None,
    *,
    output_size: Optional[int] = None,
) -> torch.Tensor: ...
def repeat_interleave(
    input: Optional[torch.Tensor] = None,
    repeats: Optional[Union[torch.Tensor, int]] = None,
    dim: Optional[int] = None,
    *,
    output_size: Optional[int] = None,
) -> torch.Tensor:
    """Repeat the slices of `input` along `dim`, as `torch.repeat_interleave` does.

    With one tensor, those are the repeats, and the result is row 0 `repeats[0]` times, row 1
    `repeats[1]` times, ..., of shape (sum,) and of the repeats' dtype. With two, that result
    selects from `input`, unchecked since the rows are in range by construction: ATen composes the
    call the same way, which makes the phases of the two comparable. Without `dim`, `input` is
    flattened. A single repeat, as an int or as a tensor of one element, serves every slice. Int
    repeats need no search: like ATen's, they are one strided copy.

    With `output_size` the host waits for nothing, and therefore cannot tell a wrong one: what is
    missing is cut off, what is too much repeats row 0. TRITON_DEBUG=1 compiles an assertion on the
    device for it. Without `output_size` the host reads back the length and one flag, as ATen's
    `repeat_interleave_common` (ATen/native/Repeat.h) does.

    Args:
        input: values of any shape, strides and dtype; or the repeats, as the only tensor.
        repeats: int32 or int64, of shape (input.size(dim),), (1,) or (); or an int.
        dim: the dimension to repeat along.
        output_size: the sum of the repeats, when the caller knows it.

    Raises:
        RuntimeError: repeats of another rank, dtype, device or size; negative int repeats; negative
            repeats without `output_size`; a negative `output_size`, or one that int repeats
            contradict.
        IndexError: `dim` is out of range.
        TypeError: arguments of other types.
    """
    return _repeat(input, repeats, dim, output_size, readback=output_size is None)


def repeat_interleave_readback(
    input: Optional[torch.Tensor] = None,
    repeats: Optional[Union[torch.Tensor, int]] = None,
    dim: Optional[int] = None,
    *,
    output_size: Optional[int] = None,
) -> torch.Tensor:
    """Do as `repeat_interleave` does, but read the length back even when `output_size` tells it.

    This is the specimen of a real defect: FlagGems' `repeat_interleave_tensor` accepts
    `output_size` and ignores it (flagos-ai/FlagGems#7241).
    """
    return _repeat(input, repeats, dim, output_size, readback=True)


def row_indices(
    repeats: torch.Tensor, output_size: Optional[int], *, readback: bool
) -> torch.Tensor:
    """Give the row of every output position: shape (sum of repeats,), the repeats' dtype.

    Args:
        repeats: shape (rows,), int32 or int64.
        output_size: the sum; None needs `readback`, and adds the check for negative repeats.
        readback: wait for the length and use it instead of `output_size`.
    """
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.numel() == 0:
        return torch.empty_like(repeats)
    if repeats.dtype not in (torch.int32, torch.int64):
        raise RuntimeError("repeats has to be Long or Int tensor")

    with phase("prefix_scan"):
        scan = repeats.cumsum(0)  # ATen's scan, in int64 for either dtype
    length = output_size
    if readback:
        with phase("length_readback"):
            length = int(scan[-1].item())
    if output_size is None:
        with phase("negative_check"):
            if not (repeats >= 0).all().item():
                raise RuntimeError("repeats can not be negative")
    assert length is not None, "without output_size the length must be read back"
    if length < 0:
        raise RuntimeError(f"repeat_interleave: the output's size {length} is negative")

    with phase("allocate"):
        output = torch.empty(length, dtype=repeats.dtype, device=repeats.device)
    with phase("expand"):
        launch(_expand, length, output.device, scan, output, repeats.numel(), length)
    return output


def _repeat(
    input: Optional[torch.Tensor],
    repeats: Optional[Union[torch.Tensor, int]],
    dim: Optional[int],
    output_size: Optional[int],
    *,
    readback: bool,
) -> torch.Tensor:
    # `type(...) is int`, because a bool is no size.
    if output_size is not None and type(output_size) is not int:
        raise TypeError(f"output_size must be an int, but got {type(output_size).__name__}")
    if repeats is None and dim is None:
        input, repeats = None, input
    if input is None and dim is None and isinstance(repeats, torch.Tensor):
        return row_indices(repeats, output_size, readback=readback)
    if not isinstance(input, torch.Tensor):
        raise TypeError(f"input must be a tensor, but got {type(input).__name__}")

    if dim is None:
        input, dim = input.flatten(), 0
    dim = wrap_dim(dim, input.dim())
    size = input.size(dim)
    if type(repeats) is int:
        return _repeat_evenly(input, repeats, dim, output_size)
    if not isinstance(repeats, torch.Tensor):
        raise TypeError(f"repeats must be a tensor or an int, but got {type(repeats).__name__}")
    if repeats.dim() > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(size)
    elif repeats.numel() != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got"
            f" repeats.size(0) = {repeats.numel()} and input.size({dim}) = {size}"
        )
    rows = row_indices(repeats, output_size, readback=readback)
    return index_select(input, dim, rows, check="none")


def _repeat_evenly(
    input: torch.Tensor, repeats: int, dim: int, output_size: Optional[int]
) -> torch.Tensor:
    """Repeat every slice the same number of times: a strided copy, all sizes known to the host."""
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    expected = input.size(dim) * repeats
    if output_size is not None and output_size != expected:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {expected} but got {output_size}"
        )
    shape = list(input.shape)
    shape.insert(dim + 1, repeats)
    with phase("gather"):
        copies = input.unsqueeze(dim + 1).expand(shape)
        return copies.clone(memory_format=torch.contiguous_format).flatten(dim, dim + 1)
