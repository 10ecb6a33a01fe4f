"""Whether a result is right: dtype, shape, exact values, and what is said where it is not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="results are tensors", exc_type=ImportError)

from fgtrace_collectors.recorder.workload import (  # noqa: E402
    difference,
    effective_parameters,
    prepare,
    variants,
)
from fgtrace_kernels.cases import REPEAT_VALUES_KNOWN  # noqa: E402


def compared(actual: object, expected: object, rtol: float = 0.0, atol: float = 0.0) -> str:
    return difference(torch, actual, expected, rtol, atol)


def test_equal_integers_are_ok() -> None:
    assert compared(torch.tensor([1, 2]), torch.tensor([1, 2])) == "ok"


@pytest.mark.parametrize(
    ("actual", "said"),
    [
        (torch.tensor([1, 2], dtype=torch.int32), "dtype is torch.int32, expected torch.int64"),
        (torch.tensor([[1, 2]]), "shape is (1, 2), expected (2,)"),
        (torch.tensor([1, 3]), "1 of 2 values differ, first at (1,): 3, expected 2"),
        (None, "a NoneType came back, not a tensor"),
    ],
)
def test_a_difference_is_said_in_one_sentence(actual: object, said: str) -> None:
    assert compared(actual, torch.tensor([1, 2])) == said


def test_integers_have_no_tolerance() -> None:
    assert compared(torch.tensor([10_000]), torch.tensor([10_001]), rtol=0.1) != "ok"


def test_floats_are_equal_within_the_cases_tolerance_only() -> None:
    near, right = torch.tensor([1.0001]), torch.tensor([1.0])
    assert compared(near, right) != "ok"
    assert compared(near, right, rtol=1e-3) == "ok"
    assert compared(torch.tensor([float("nan")]), right, rtol=1e-3) != "ok"


def test_only_what_nobody_asked_for_is_shrunk_for_the_interpreter() -> None:
    assert effective_parameters(REPEAT_VALUES_KNOWN, {}, interpreted=False) == (
        {"rows": 17096, "items": 854524},
        False,
    )
    assert effective_parameters(REPEAT_VALUES_KNOWN, {}, interpreted=True) == (
        {"rows": 64, "items": 3200},
        True,
    )
    assert effective_parameters(REPEAT_VALUES_KNOWN, {"rows": 5}, interpreted=True)[0] == {
        "rows": 5,
        "items": 3200,
    }


def test_a_result_on_another_device_is_wrong_however_right() -> None:
    device = SimpleNamespace(
        torch=torch, name="cpu", kind=SimpleNamespace(name="cpu"), synchronize=lambda: None
    )
    case = SimpleNamespace(
        arguments=lambda params: ((torch.tensor([1]),), {}),
        reference=lambda x: x,
        rtol=0.0,
        atol=0.0,
    )
    assert prepare(case, lambda x: x, {}, device)[1] == "ok"  # type: ignore[arg-type]
    elsewhere = prepare(case, lambda x: x.to("meta"), {}, device)[1]  # type: ignore[arg-type]
    assert elsewhere == "the result is on meta, expected on cpu"


def test_the_variants_of_a_factorial_are_every_combination_the_full_one_first() -> None:
    case = SimpleNamespace(name="c", operator="op")
    made = variants(case, "c[rows=6]", {"rows": 6, "readback": 1}, ("readback", "check"))
    assert [one.variant for one in made] == [
        "readback=1,check=1",
        "readback=1,check=0",
        "readback=0,check=1",
        "readback=0,check=0",
    ]
    assert [one.full for one in made] == [True, False, False, False]
    assert made[2].params == {"rows": 6, "readback": 0, "check": 1}
    assert {(one.case, one.name) for one in made} == {("c", "c[rows=6]")}
    assert len({one.key for one in made}) == 4


def test_a_case_that_is_not_switched_is_one_workload_of_its_name() -> None:
    (one,) = variants(SimpleNamespace(name="c", operator="op"), "c", {"rows": 6}, ())
    assert (one.key, one.variant, one.full) == ("c", None, True)
