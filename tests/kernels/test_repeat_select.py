"""The switchable operator: each part costs its own readbacks, and none changes the result."""

import pytest
import torch

from fgtrace_kernels import reference
from fgtrace_kernels.repeat_select import repeat_values

SWITCHES = pytest.mark.parametrize(
    ("readback", "index_check", "reads"),
    [(False, False, 0), (True, False, 1), (False, True, 2), (True, True, 3)],
)


@SWITCHES
def test_a_switched_part_costs_its_readbacks_and_changes_no_result(
    readback, index_check, reads, device, count_readbacks, assert_same
):
    x = torch.arange(6, device=device).reshape(3, 2)
    repeats = torch.tensor([2, 0, 3], device=device)
    switches = {"output_size": 5, "readback": readback, "index_check": index_check}
    expected = reference.repeat_values(x, repeats, **switches)
    assert_same(repeat_values(x, repeats, **switches), expected)
    assert count_readbacks(repeat_values, x, repeats, **switches) == reads


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 127, 128, 129])
def test_the_search_reaches_every_row_whatever_their_number(rows, device, assert_same):
    x = torch.arange(rows, device=device)
    repeats = torch.ones(rows, dtype=torch.int64, device=device)
    result = repeat_values(x, repeats, output_size=rows, readback=False, index_check=True)
    assert_same(result, torch.arange(rows))
