"""The repeat-and-select operator whose avoidable parts can each be switched on or off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fgtrace_kernels.index_select import index_select
from fgtrace_kernels.repeat_interleave import row_indices

if TYPE_CHECKING:
    import torch


def repeat_values(
    x: torch.Tensor,
    repeats: torch.Tensor,
    *,
    output_size: int,
    readback: bool,
    index_check: bool,
) -> torch.Tensor:
    """Repeat the rows of `x`, as `torch.repeat_interleave(x, repeats, 0)` with a known size does.

    The scan, the expansion and the gather are the same with every setting, so a difference between
    two settings is the cost of the part alone.

    Args:
        x: shape (rows, ...), any dtype.
        repeats: shape (rows,), int32 or int64.
        output_size: the sum of the repeats.
        readback: read the length back although it is known: one scalar readback.
        index_check: check on the host that the rows are in range, which they are by construction:
            two scalar readbacks.
    """
    rows = row_indices(repeats, output_size, readback=readback)
    return index_select(x, 0, rows, check="host" if index_check else "none")
