"""The bundled index_select against the plain reference and ATen's contract."""

import pytest
import torch

from fgtrace_kernels import reference
from fgtrace_kernels.index_select import _gather, index_select
from fgtrace_kernels.launch import BLOCK

CHECKS = pytest.mark.parametrize("check", ["host", "none"])


@CHECKS
@pytest.mark.parametrize("items", [0, 1, 123, BLOCK - 1, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_a_vector_gives_its_values_at_the_indices(check, items, dtype, device, assert_same):
    x = torch.arange(17, device=device) * 3
    index = (torch.arange(items) * 7 % 17).to(device, dtype)
    assert_same(index_select(x, 0, index, check=check), reference.index_select(x, 0, index))


@CHECKS
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_any_dim_can_be_selected_from(check, dim, device, assert_same):
    x = torch.arange(5 * 6 * 7, device=device).reshape(5, 6, 7)
    index = torch.tensor([4, 0, 3, 3], device=device)
    expected = reference.index_select(x, dim, index)
    assert_same(index_select(x, dim, index, check=check), expected.contiguous())
    assert torch.equal(torch.index_select(x, dim, index).cpu(), expected)


def views(device):
    base = torch.arange(2 * 3 * 4 * 5, device=device).reshape(2, 3, 4, 5)
    return {
        "permuted": base.permute(3, 1, 0, 2),
        "strided": base[:, ::2, 1:, ::3],
        "expanded": base[:, :1].expand(2, 3, 4, 5),
        "channels last": base.contiguous(memory_format=torch.channels_last),
        "offset": base[1, 1:],
    }


@pytest.mark.parametrize("name", ["permuted", "strided", "expanded", "channels last", "offset"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_neither_input_nor_index_need_be_contiguous(name, dim, device, assert_same):
    x = views(device)[name]
    index = torch.tensor([1, 9, 0, 9, 1, 9], device=device)[::2]
    expected = reference.index_select(x, dim, index).contiguous()
    assert_same(index_select(x, dim, index), expected)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.bool,
        torch.uint8,
        torch.int16,
        torch.int32,
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    ],
)
def test_every_dtype_is_moved_bit_by_bit(dtype, device, assert_same):
    x = (torch.arange(12).reshape(3, 4) % 5 - 1).to(dtype).to(device)
    index = torch.tensor([2, 0, 2], device=device)
    for dim in (0, 1):
        assert_same(index_select(x, dim, index), torch.index_select(x.cpu(), dim, index.cpu()))


def test_nan_and_negative_zero_keep_their_bits(device):
    x = torch.tensor([float("nan"), -0.0, float("-inf")], device=device)
    result = index_select(x, 0, torch.tensor([1, 0, 2], device=device))
    assert result.view(torch.int32).tolist() == x.view(torch.int32)[[1, 0, 2]].tolist()


def test_lazily_conjugated_and_negated_inputs_are_resolved(device, assert_same):
    x = torch.tensor([1 + 2j, 3 - 4j], device=device)
    index = torch.tensor([1, 0], device=device)
    assert_same(index_select(x.conj(), 0, index), torch.tensor([3 + 4j, 1 - 2j]))
    assert_same(index_select(x.conj().imag, 0, index), torch.tensor([4.0, -2.0]))


@CHECKS
def test_index_and_input_may_have_no_dimensions(check, device, assert_same):
    x = torch.arange(6, device=device).reshape(2, 3)
    index = torch.tensor(2, device=device)
    assert_same(index_select(x, 1, index, check=check), torch.tensor([[2], [5]]))
    zero = torch.tensor([0], device=device)
    for scalar in (torch.tensor(5), torch.tensor(5 + 1j)):
        assert_same(index_select(scalar.to(device), -1, zero, check=check), scalar)


@CHECKS
def test_empty_inputs_and_indices_give_empty_results(check, device):
    none = torch.empty(0, dtype=torch.int64, device=device)
    zero = torch.zeros(1, dtype=torch.int64, device=device)
    assert index_select(torch.empty(2, 3, device=device), 1, none, check=check).shape == (2, 0)
    assert index_select(torch.empty(0, device=device), 0, none, check=check).shape == (0,)
    assert index_select(torch.empty(2, 0, device=device), 0, zero, check=check).shape == (1, 0)


# Errors


@pytest.mark.parametrize(
    ("x", "dim", "index", "error", "words"),
    [
        ([[1, 2]], 2, [0], IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        ([[1, 2]], -3, [0], IndexError, "but got -3"),
        (5, 1, [0], IndexError, r"expected to be in range of \[-1, 0\], but got 1"),
        ([[1, 2]], 1, [[0]], IndexError, "supposed to be a vector"),
        ([[1, 2]], 1, [0.0], RuntimeError, "int32 or int64"),
        (5, 0, [0, 0], RuntimeError, "can have only 1 value, got 2"),
        (5, 0, [], RuntimeError, "can have only 1 value, got 0"),
    ],
)
def test_what_aten_refuses_is_refused_with_the_same_error(x, dim, index, error, words, device):
    x, index = torch.tensor(x), torch.tensor(index) if index else torch.empty(0).long()
    with pytest.raises(error, match=words):
        torch.index_select(x, dim, index)
    with pytest.raises(error, match=words):
        index_select(x.to(device), dim, index.to(device))


@pytest.mark.parametrize(("index", "named"), [([0, 3], 3), ([-1, 1], -1), ([-2, 9], -2)])
@pytest.mark.parametrize("dim", [1, -1])
def test_the_host_check_names_the_index_the_dimension_and_its_size(index, named, dim, device):
    x = torch.zeros(2, 3, device=device)
    message = f"index {named} is out of bounds for dimension 1 with size 3"
    with pytest.raises(IndexError, match=message):
        index_select(x, dim, torch.tensor(index, device=device))


def test_an_index_into_nothing_fails_the_host_check(device):
    with pytest.raises(IndexError, match="index 0 is out of bounds for dimension 1 with size 0"):
        index_select(torch.empty(2, 0, device=device), 1, torch.tensor([0], device=device))


def test_an_unknown_check_is_refused(device):
    x = torch.zeros(1, device=device)
    with pytest.raises(ValueError, match="'device'"):
        index_select(x, 0, torch.tensor([0], device=device), check="device")


def test_an_input_that_requires_a_gradient_is_refused_rather_than_detached(device, assert_same):
    x = torch.zeros(3, device=device, requires_grad=True)
    index = torch.tensor([0], device=device)
    with pytest.raises(NotImplementedError):
        index_select(x, 0, index)
    with torch.no_grad():
        assert_same(index_select(x, 0, index), torch.zeros(1))


# Waits of the host, and addresses


def test_the_host_check_reads_two_scalars_and_no_check_reads_none(device, count_readbacks):
    x, index = torch.arange(9, device=device), torch.tensor([8, 0, 4], device=device)
    assert count_readbacks(index_select, x, 0, index, check="host") == 2
    assert count_readbacks(index_select, x, 0, index, check="none") == 0


@pytest.mark.parametrize("outside", [-1, 3, 2**40, -(2**40), 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("dim", [0, 1])
def test_without_a_check_an_index_out_of_range_gives_zero(outside, dim, device):
    x = torch.arange(1, 10, device=device).reshape(3, 3)
    index = torch.tensor([2, outside, 0], device=device)
    result = index_select(x, dim, index, check="none").movedim(dim, 0)
    assert (result[1] == 0).all()
    assert torch.equal(result[[0, 2]], x.movedim(dim, 0)[[2, 0]])


def test_without_a_check_an_index_into_nothing_gives_zero(device, assert_same):
    x = torch.empty(2, 0, device=device)
    index = torch.tensor([0, 5, -1], device=device)
    assert_same(index_select(x, 1, index, check="none"), torch.zeros(2, 3))


@pytest.mark.parametrize("items", [1, BLOCK - 1, BLOCK, BLOCK + 1])
def test_the_gather_writes_exactly_its_output_whatever_the_indices(items, device):
    margin, poison = 2 * BLOCK, -77
    x = torch.arange(8, device=device)
    index = torch.arange(items, device=device) * 1_000_003 - 5_000
    buffer = torch.full((margin + items + margin,), poison, device=device)
    grid = ((items + BLOCK - 1) // BLOCK,)
    _gather[grid](x, index, buffer[margin:], items, 8, items, 1, 0, 1, 1, 1, BLOCK=BLOCK)
    assert (buffer[:margin] == poison).all()
    assert (buffer[margin + items :] == poison).all()
    assert (buffer[margin : margin + items] != poison).all()
