"""The operators' results on the CPU, in plain Python loops that share nothing with what they check.

Every function takes the arguments of the operator that it stands for, ignores those that only
change how the result is computed, and expects valid ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, List, Optional, Union

if TYPE_CHECKING:
    import torch


def repeat_interleave(
    input: torch.Tensor,
    repeats: Optional[Union[torch.Tensor, int]] = None,
    dim: Optional[int] = None,
    *,
    output_size: Optional[int] = None,
) -> torch.Tensor:
    """Give what `torch.repeat_interleave` gives, for either overload."""
    import torch

    if repeats is None:
        return torch.tensor(_rows(input.tolist()), dtype=input.dtype)
    if dim is None:
        input, dim = input.flatten(), 0
    counts = repeats if isinstance(repeats, int) else repeats.tolist()
    if isinstance(counts, list) and len(counts) == 1:
        counts = counts[0]
    if isinstance(counts, int):
        counts = [counts] * input.size(dim)
    return index_select(input, dim, torch.tensor(_rows(counts), dtype=torch.int64))


def index_select(input: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    """Give what `torch.index_select` gives."""
    import torch

    if input.dim() == 0:
        return input.cpu().clone()
    front = input.cpu().movedim(dim, 0)
    rest = front.shape[1:]
    slices = front.reshape(front.size(0), math.prod(rest)).tolist()
    picked = index.reshape(-1).tolist()
    flat = [value for row in picked for value in slices[row]]
    return torch.tensor(flat, dtype=input.dtype).reshape(len(picked), *rest).movedim(0, dim)


def repeat_values(
    x: torch.Tensor,
    repeats: torch.Tensor,
    *,
    output_size: int,
    readback: bool,
    index_check: bool,
) -> torch.Tensor:
    """Give the rows of `x`, each as often as `repeats` says."""
    return repeat_interleave(x, repeats, 0)


def _rows(counts: List[int]) -> List[int]:
    return [row for row, count in enumerate(counts) for _ in range(count)]
