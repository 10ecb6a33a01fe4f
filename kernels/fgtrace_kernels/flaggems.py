"""FlagGems' operators in ATen's call shape, called directly and not through the dispatcher.

Torch operators that FlagGems calls inside, such as `cumsum` and `index_select`, go to whatever
torch dispatches them to.
"""

from __future__ import annotations

from typing import Optional, Union

import flag_gems
import torch


def repeat_interleave(
    input: torch.Tensor,
    repeats: Optional[Union[torch.Tensor, int]] = None,
    dim: Optional[int] = None,
    *,
    output_size: Optional[int] = None,
) -> torch.Tensor:
    """Call the overload of FlagGems' `repeat_interleave` that ATen's dispatcher would pick."""
    result: torch.Tensor
    if repeats is None:
        result = flag_gems.repeat_interleave_tensor(input, output_size=output_size)
    elif isinstance(repeats, int):
        result = flag_gems.repeat_interleave_self_int(input, repeats, dim, output_size=output_size)
    else:
        result = flag_gems.repeat_interleave_self_tensor(
            input, repeats, dim, output_size=output_size
        )
    return result
