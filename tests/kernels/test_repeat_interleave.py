"""The bundled repeat_interleave against the plain reference and ATen's contract."""

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fgtrace_kernels import reference
from fgtrace_kernels.launch import BLOCK
from fgtrace_kernels.repeat_interleave import (
    _expand,
    repeat_interleave,
    repeat_interleave_readback,
)

NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
BOTH = pytest.mark.parametrize("operator", [repeat_interleave, repeat_interleave_readback])


def tensor(values, device, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype, device=device)


# Results


@BOTH
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize(
    "counts",
    [
        [0],
        [1],
        [5],
        [0, 0, 0],
        [0, 3, 0, 0, 2, 0],
        [1] * 123,
        [BLOCK - 1],
        [1, BLOCK - 1],
        [BLOCK, 1],
        [0, 2 * BLOCK + 17, 1, 0],
        [1] * (BLOCK + 1),
    ],
)
def test_repeats_alone_give_the_row_of_every_position(
    operator, known, dtype, counts, device, assert_same
):
    repeats = tensor(counts, device, dtype)
    size = sum(counts) if known else None
    assert_same(operator(repeats, output_size=size), reference.repeat_interleave(repeats))


@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=12), known=st.booleans())
@settings(max_examples=40, deadline=None)
def test_any_small_repeats_give_what_the_reference_gives(counts, known, device, assert_same):
    repeats = tensor(counts, device)
    values = torch.arange(len(counts), dtype=torch.float32, device=device) - 0.5
    size = sum(counts) if known else None
    for arguments in ((repeats,), (values, repeats)):
        expected = reference.repeat_interleave(*arguments)
        assert_same(repeat_interleave(*arguments, output_size=size), expected)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3, None])
def test_values_repeat_along_any_dim_and_flatten_without_one(dim, known, device, assert_same):
    x = torch.arange(24, device=device).reshape(2, 3, 4)
    counts = [i % 4 for i in range(x.size(dim) if dim is not None else 24)]
    repeats = tensor(counts, device)
    size = sum(counts) if known else None
    expected = reference.repeat_interleave(x, repeats, dim)
    assert_same(repeat_interleave(x, repeats, dim, output_size=size), expected)
    assert_same(torch.repeat_interleave(x, repeats, dim), expected)


@pytest.mark.parametrize("repeats", [3, 0, [3], [0]], ids=str)
@pytest.mark.parametrize("dim", [0, -1, None])
def test_a_single_repeat_serves_every_slice(repeats, dim, device, assert_same):
    x = torch.arange(6, device=device).reshape(2, 3)
    given = repeats if isinstance(repeats, int) else tensor(repeats, device)
    expected = reference.repeat_interleave(x, given, dim)
    assert_same(repeat_interleave(x, given, dim), expected)
    assert_same(torch.repeat_interleave(x, given, dim), expected)


def test_a_repeat_without_dimensions_serves_every_slice(device, assert_same):
    x = torch.arange(6, device=device).reshape(2, 3)
    repeats = tensor(2, device)
    assert_same(repeat_interleave(x, repeats, 1), reference.repeat_interleave(x, repeats, 1))


def test_values_and_repeats_need_not_be_contiguous(device, assert_same):
    x = torch.arange(24, device=device).reshape(4, 6).t()[::2]
    repeats = tensor([2, 9, 0, 9, 3, 9], device)[::2]
    for dim, counts in ((0, repeats), (1, tensor([1, 9, 0, 9, 2, 9, 3, 9], device)[::2])):
        assert_same(repeat_interleave(x, counts, dim), reference.repeat_interleave(x, counts, dim))
    assert_same(repeat_interleave(repeats), reference.repeat_interleave(repeats))


@pytest.mark.parametrize(
    ("shape", "repeats", "dim"),
    [((0,), [], 0), ((0, 3), [], 0), ((2, 0), [1, 2], 0), ((0, 3), 2, 0), ((2, 0), 2, None)],
)
def test_empty_inputs_give_empty_results(shape, repeats, dim, device, assert_same):
    x = torch.empty(shape, device=device)
    given = repeats if isinstance(repeats, int) else tensor(repeats, device)
    assert_same(repeat_interleave(x, given, dim), torch.repeat_interleave(x, given, dim).cpu())


@pytest.mark.parametrize("size", [None, 0, 3])
def test_empty_repeats_give_an_empty_result_whatever_the_size(size, device, assert_same):
    for dtype in (torch.int32, torch.int64):
        assert_same(
            repeat_interleave(tensor([], device, dtype), output_size=size),
            torch.empty(0, dtype=dtype),
        )


def test_a_value_without_dimensions_repeats_when_flattened(device, assert_same):
    for repeats in (3, tensor([3], device)):
        assert_same(repeat_interleave(tensor(5, device), repeats), torch.tensor([5, 5, 5]))


def test_arguments_go_by_the_names_that_aten_gives_them(device, assert_same):
    x, repeats = tensor([7, 8], device), tensor([1, 2], device)
    assert_same(repeat_interleave(input=x, repeats=repeats, dim=0), torch.tensor([7, 8, 8]))
    assert_same(repeat_interleave(repeats=repeats), torch.tensor([0, 1, 1]))


# Errors


X = [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("positional", "size", "error", "words"),
    [
        ([[[1, 2]]], None, RuntimeError, "only accept 1D vector"),
        ([3], None, RuntimeError, "only accept 1D vector"),
        ([[1, -2]], None, RuntimeError, "repeats can not be negative"),
        ([[2, -1]], None, RuntimeError, "repeats can not be negative"),
        ([[1, 2]], -3, RuntimeError, "negative"),
        ([X, [1, 2, 3], 0], None, RuntimeError, r"repeats.size\(0\) = 3 and input.size\(0\) = 2"),
        ([X, [], 0], None, RuntimeError, "must have the same size"),
        ([X, [[1, 2]], 0], None, RuntimeError, "must be 0-dim or 1-dim"),
        ([X, [1, -2], 0], None, RuntimeError, "repeats can not be negative"),
        ([X, [-2], 0], None, RuntimeError, "repeats can not be negative"),
        ([X, [1, 2], 2], None, IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        ([X, [1, 2], -3], None, IndexError, "but got -3"),
        ([X, [1, 2], 0], -1, RuntimeError, "negative"),
        ([5, [1], 0], None, IndexError, "no dimensions"),
    ],
)
def test_what_aten_refuses_is_refused_with_the_same_error(positional, size, error, words, device):
    tensors = [torch.tensor(a) if i < 2 else a for i, a in enumerate(positional)]
    with pytest.raises(error, match=words):
        torch.repeat_interleave(*tensors, output_size=size)
    moved = [t.to(device) if isinstance(t, torch.Tensor) else t for t in tensors]
    with pytest.raises(error, match=words):
        repeat_interleave(*moved, output_size=size)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.bool])
def test_repeats_of_another_dtype_are_refused(dtype, device):
    repeats = tensor([1, 1], device, dtype)
    with pytest.raises(RuntimeError):
        torch.repeat_interleave(repeats)
    with pytest.raises(RuntimeError, match="repeats has to be Long or Int"):
        repeat_interleave(repeats)


def test_int_repeats_are_checked_on_the_host(device, assert_same):
    x = tensor([1, 2], device)
    with pytest.raises(RuntimeError, match="non-negative"):
        repeat_interleave(x, -1)
    with pytest.raises(RuntimeError, match="expected 4 but got 5"):
        repeat_interleave(x, 2, output_size=5)
    assert_same(repeat_interleave(x, 2, output_size=4), torch.tensor([1, 1, 2, 2]))


@pytest.mark.parametrize("arguments", [([1, 2], 2), ("x", 2.0), ("x", True), ("x", [1]), ()])
def test_arguments_of_other_types_are_refused_as_aten_does(arguments, device):
    arguments = [tensor([1, 2], device) if a == "x" else a for a in arguments]
    for operator in (torch.repeat_interleave, repeat_interleave):
        with pytest.raises(TypeError):
            operator(*arguments)
        with pytest.raises(TypeError):
            operator(tensor([1, 2], device), output_size=3.0)
        with pytest.raises(TypeError):
            operator(tensor([1, 2], device), None, 0)


# Waits of the host


@pytest.mark.parametrize("repeats", [[1, 0, 2], [3]])
@pytest.mark.parametrize("with_values", [False, True])
def test_a_known_size_makes_no_host_read_and_the_specimen_does(
    repeats, with_values, device, count_readbacks
):
    x = tensor([7, 8, 9], device)[: len(repeats)]
    arguments = (x, tensor(repeats, device)) if with_values else (tensor(repeats, device),)
    # Dynamic: the length and the negative check, as ATen.
    assert count_readbacks(repeat_interleave, *arguments) == 2
    assert count_readbacks(repeat_interleave, *arguments, output_size=3) == 0
    assert count_readbacks(repeat_interleave_readback, *arguments, output_size=3) == 1


def test_a_single_repeat_of_known_size_makes_no_host_read(device, count_readbacks, assert_same):
    x, repeats = tensor([7, 8, 9], device), tensor([2], device)
    assert count_readbacks(repeat_interleave, x, repeats, output_size=6) == 0
    assert_same(repeat_interleave(x, repeats, output_size=6), torch.tensor([7, 7, 8, 8, 9, 9]))


@NEEDS_CUDA
def test_a_known_size_never_synchronises_the_device(device):
    x, repeats = tensor([7, 8, 9], device), tensor([1, 0, 2], device)
    repeat_interleave(x, repeats, output_size=3)
    torch.cuda.set_sync_debug_mode("error")
    try:
        repeat_interleave(x, repeats, output_size=3)
        with pytest.raises(RuntimeError, match="synchronizing"):
            repeat_interleave_readback(x, repeats, output_size=3)
    finally:
        torch.cuda.set_sync_debug_mode("default")


# Wrong sizes


@pytest.mark.parametrize("size", [0, 1, 4, 6, BLOCK + 3])
def test_a_wrong_size_cuts_off_or_repeats_row_zero(size, device, assert_same):
    repeats = tensor([0, 2, 3], device)
    expected = ([1, 1, 2, 2, 2] + [0] * size)[:size]
    assert_same(repeat_interleave(repeats, output_size=size), tensor(expected, "cpu"))
    values = tensor([5, 6, 7], device)
    assert_same(
        repeat_interleave(values, repeats, output_size=size),
        torch.tensor([[5, 6, 7][row] for row in expected], dtype=torch.int64),
    )


@pytest.mark.parametrize("size", [3, 6, BLOCK + 3])
def test_negative_repeats_of_known_size_give_rows_that_exist(size, device):
    rows = repeat_interleave(tensor([4, -9, 8, -1], device), output_size=size)
    assert rows.shape == (size,)
    assert 0 <= rows.min() <= rows.max() < 4


@NEEDS_CUDA
@pytest.mark.parametrize("size", [4, 6])
def test_a_wrong_size_fails_on_the_device_under_triton_debug(size):
    script = f"""
import sys; sys.path[:0] = {sys.path!r}
import torch
from fgtrace_kernels.repeat_interleave import repeat_interleave
repeats = torch.tensor([0, 2, 3], device="cuda")
print(repeat_interleave(repeats, output_size=5).tolist())
print(repeat_interleave(repeats, output_size={size}).tolist())
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRITON_DEBUG": "1"},
    )
    assert run.stdout.splitlines()[-1] == "[1, 1, 2, 2, 2]"
    assert "output_size is not the sum of the repeats" in run.stderr


SCANS = pytest.mark.parametrize(
    "sums",
    [
        [3, 3, 5],
        [5],
        [0, 0, 0, 0],
        [4, -5, 3, 2],
        [-1, -2, -3],
        [2**62, -(2**62), 7],
        [9, 8, 7, 6, 5, 4, 3, 2],
    ],
)
SIZES = pytest.mark.parametrize("size", [1, 4, 5, 6, BLOCK - 1, BLOCK, BLOCK + 1])


def expand_into(buffer, margin, size, scan):
    grid = ((size + BLOCK - 1) // BLOCK,)
    _expand[grid](scan, buffer[margin:], scan.numel(), size, BLOCK=BLOCK)


@SCANS
@SIZES
def test_the_expansion_writes_exactly_its_output_whatever_the_sums(sums, size, device):
    margin, poison = 2 * BLOCK, -77
    buffer = torch.full((margin + size + margin,), poison, device=device)
    expand_into(buffer, margin, size, tensor(sums, device))
    assert (buffer[:margin] == poison).all()
    assert (buffer[margin + size :] == poison).all()
    rows = buffer[margin : margin + size]
    assert 0 <= rows.min() <= rows.max() < len(sums)


@SCANS
@SIZES
def test_the_expansion_reads_only_the_sums_whatever_they_are(sums, size, device, monkeypatch):
    interpreter = pytest.importorskip("triton.runtime.interpreter")
    if device != "cpu":
        pytest.skip("only the interpreter shows the addresses that are loaded")
    loaded = []
    load = interpreter.InterpreterBuilder.create_masked_load

    def spy(self, ptrs, mask, *rest):
        loaded.extend(ptrs.data[mask.data].ravel().tolist())
        return load(self, ptrs, mask, *rest)

    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_masked_load", spy)
    scan = tensor(sums, device)
    # The interpreter works on a copy of the storage: give it one that it takes over as it is.
    expand_into(torch.empty(size, dtype=torch.int64), 0, size, scan)
    first = scan.data_ptr()
    offsets = {(address - first) / scan.element_size() for address in loaded}
    assert offsets <= set(range(len(sums)))
    assert offsets
