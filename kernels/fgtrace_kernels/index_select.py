"""`index_select` in Triton, with a check of the indices on the host or none."""

from __future__ import annotations

import math
from typing import Literal

import torch
import triton
import triton.language as tl

from fgtrace_kernels.launch import launch
from fgtrace_kernels.phases import phase

Check = Literal["host", "none"]

# A gather moves bits, so it sees every dtype as the integer of its width: Triton versions differ in
# the floating types they know.
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


# Unannotated, because Triton reads annotations as argument types.
@triton.jit  # type: ignore[untyped-decorator]
def _gather(  # type: ignore[no-untyped-def]
    input_ptr,
    index_ptr,
    output_ptr,
    elements,
    size,
    items,
    inner,
    outer_stride,
    row_stride,
    inner_stride,
    index_stride,
    BLOCK: tl.constexpr,  # noqa: N803 (Triton's spelling of a compile-time constant)
):
    """output[o, i, n] = input[o, index[i], n], or 0 where index[i] lies outside [0, size)."""
    position = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = position < elements
    column = position % inner
    item = (position // inner) % items
    outer = (position // inner) // items
    row = tl.load(index_ptr + item * index_stride, mask=inside, other=0).to(tl.int64)
    valid = inside & (row >= 0) & (row < size)
    source = outer * outer_stride + row * row_stride + column * inner_stride
    value = tl.load(input_ptr + source, mask=valid, other=0)
    tl.store(output_ptr + position, value, mask=inside)


def index_select(
    input: torch.Tensor, dim: int, index: torch.Tensor, *, check: Check = "host"
) -> torch.Tensor:
    """Take the slices `index` of `input` along `dim`, as `torch.index_select` does.

    `input` has any shape, strides and dtype; `index` is int32 or int64 with one dimension or none.
    The result is contiguous, with `index.numel()` slices along `dim`. Forward only. An input whose
    strides do not allow a view as (outer, size, inner) is copied first.

    Args:
        check: "host" reads the smallest and the largest index back, two scalar readbacks a call,
            as Torch-FL's `csrc/aten/index_bounds.h` does. "none" waits for nothing: an index out of
            range reads nothing and gives 0.

    Raises:
        IndexError: `dim` is out of range, `index` has two dimensions or more, or, with
            check="host", an index is out of range.
        RuntimeError: another dtype of `index`, another device, or not exactly one index for an
            input without dimensions.
        NotImplementedError: `input` requires a gradient.
        ValueError: another `check`.
    """
    dim = wrap_dim(dim, input.dim())
    size = input.size(dim) if input.dim() else 1
    items = index.numel()
    _check_arguments(input, index, check)
    if check == "host" and items:
        with phase("index_check"):
            check_indices(index, dim, size)

    source = _as_integers(input)
    shape = list(source.shape)
    if input.dim():
        shape[dim] = items
    with phase("allocate"):
        output = torch.empty(shape, dtype=source.dtype, device=source.device)
    if output.numel():
        inner = math.prod(shape[dim + 1 :])
        source = source.reshape(output.numel() // (items * inner), size, inner)
        with phase("gather"):
            launch(
                _gather,
                output.numel(),
                output.device,
                source,
                index,
                output,
                output.numel(),
                size,
                items,
                inner,
                *source.stride(),
                index.stride(0) if index.dim() else 1,
            )
    return _as_dtype(output, input.dtype)


def index_select_checked(input: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    """Call `index_select` with check="host"."""
    return index_select(input, dim, index, check="host")


def index_select_unchecked(input: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    """Call `index_select` with check="none"."""
    return index_select(input, dim, index, check="none")


def wrap_dim(dim: int, dims: int) -> int:
    """Count `dim` from the front; a tensor without dimensions counts as having one.

    Raises IndexError, in ATen's words, outside [-dims, dims).
    """
    last = max(dims, 1) - 1
    if not -last - 1 <= dim <= last:
        raise IndexError(
            "Dimension out of range"
            f" (expected to be in range of [{-last - 1}, {last}], but got {dim})"
        )
    return dim % (last + 1)


def _check_arguments(input: torch.Tensor, index: torch.Tensor, check: str) -> None:
    if check not in ("host", "none"):
        raise ValueError(f'check must be "host" or "none", but got {check!r}')
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (torch.int32, torch.int64):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.device != input.device:
        raise RuntimeError(
            f"index_select(): input is on {input.device}, but index is on {index.device}"
        )
    if input.dim() == 0 and index.numel() != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)"
        )
    if input.requires_grad and torch.is_grad_enabled():
        raise NotImplementedError("index_select(): the bundled kernel has no backward")


def check_indices(index: torch.Tensor, dim: int, size: int) -> None:
    """Read the smallest and the largest index back; raise IndexError where one is out of range."""
    low, high = (int(end.item()) for end in torch.aminmax(index))
    if low < 0 or high >= size:
        raise IndexError(
            f"index {low if low < 0 else high} is out of bounds"
            f" for dimension {dim} with size {size}"
        )


def _as_integers(tensor: torch.Tensor) -> torch.Tensor:
    """View `tensor` as integers of its width; complex numbers gain a last dimension of 2."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    integer = _INTEGERS[tensor.element_size()]
    return tensor if tensor.dtype == integer else tensor.view(integer)


def _as_dtype(integers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Undo `_as_integers`."""
    if integers.dtype == dtype:
        return integers
    if dtype.is_complex:
        return torch.view_as_complex(integers.view(_REAL[dtype]))
    return integers.view(dtype)


_REAL = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}
