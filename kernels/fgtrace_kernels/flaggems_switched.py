"""FlagGems' repeat and select with the avoidable parts switched: what FlagGems could leave out."""

from __future__ import annotations

import torch
from flag_gems.ops.repeat_interleave import repeat_interleave_tensor_kernel

from fgtrace_kernels.index_select import check_indices

_BLOCK = 32
"""The block and the single warp that FlagGems itself launches the kernel with."""


def repeat_values(
    x: torch.Tensor,
    repeats: torch.Tensor,
    *,
    output_size: int,
    readback: bool,
    index_check: bool,
) -> torch.Tensor:
    """Do as `fgtrace_kernels.repeat_select.repeat_values` does, by FlagGems' kernel.

    With the readback it launches what FlagGems 5.0.2 launches for a known size. No range marks its
    parts, as none marks FlagGems' own.
    """
    scan = repeats.cumsum(0)
    length = int(scan[-1].item()) if readback else output_size
    rows = torch.empty(length, dtype=repeats.dtype, device=repeats.device)
    repeat_interleave_tensor_kernel[(repeats.numel(),)](
        repeats, scan, rows, repeats.numel(), BLOCK_SIZE=_BLOCK, num_warps=1
    )
    if index_check:
        check_indices(rows, 0, x.size(0))
    return torch.index_select(x, 0, rows)
