"""The registries: what they promise a listing, and that every bundled route serves its cases."""

import importlib.util
import itertools
import subprocess
import sys
import time

import pytest
import torch

from fgtrace_kernels import cases, routes

RUNNABLE = [route for route in routes.ROUTES if route.name != "flaggems"]


def placed(arguments, device):
    positional, named = arguments
    moved = [a.to(device) if isinstance(a, torch.Tensor) else a for a in positional]
    return moved, named


@pytest.mark.parametrize("module", ["cases", "routes", "phases", "reference", "launch"])
def test_listing_loads_neither_torch_nor_triton(module):
    code = (
        f"import sys, fgtrace_kernels.{module}\n"
        "print([m for m in ('torch', 'triton', 'numpy') if m in sys.modules])"
    )
    root = str(importlib.util.find_spec("fgtrace_kernels").submodule_search_locations[0])
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r} + '/..')\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("route", RUNNABLE, ids=lambda route: route.name)
def test_every_route_gives_the_expected_result_of_the_cases_it_has(route, case, device):
    if case.operator not in route.operators:
        with pytest.raises(LookupError, match=case.operator):
            route.resolve(case.operator)
        return
    operator = route.resolve(case.operator)
    switches = itertools.product((0, 1), repeat=len(case.parts))
    for setting in switches:
        values = {**case.defaults(interpreted=True), **dict(zip(case.parts, setting, strict=True))}
        assert case.misfit(values) is None
        positional, named = case.arguments(values)
        expected = case.reference(*positional, **named)
        positional, named = placed((positional, named), device)
        result = operator(*positional, **named)
        assert result.dtype == expected.dtype
        assert torch.equal(result.cpu(), expected)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_a_reference_agrees_with_aten_at_full_size_and_is_quick(case):
    positional, named = case.arguments(case.defaults())
    start = time.perf_counter()
    expected = case.reference(*positional, **named)
    taken = time.perf_counter() - start
    if case.operator.startswith("index_select"):
        aten = torch.index_select(*positional)
    else:
        aten = torch.repeat_interleave(*positional)
    assert expected.shape == (854524,)
    assert torch.equal(expected, aten)
    # It takes a fifth of a second on a quiet machine.
    assert taken < 3


@pytest.mark.parametrize(
    ("route", "case", "readbacks"),
    [
        (routes.TRITON, cases.REPEAT_VALUES_KNOWN, 0),
        (routes.TRITON, cases.REPEAT_VALUES_DYNAMIC, 2),
        (routes.TRITON_READBACK, cases.REPEAT_VALUES_KNOWN, 1),
        (routes.TRITON_READBACK, cases.REPEAT_TENSOR_KNOWN, 1),
        (routes.TRITON, cases.INDEX_SELECT_CHECKED, 2),
        (routes.TRITON, cases.INDEX_SELECT_UNCHECKED, 0),
        (routes.TRITON, cases.REPEAT_VALUES_SWITCHED, 3),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_route_makes_the_readbacks_that_it_stands_for(
    route, case, readbacks, device, count_readbacks
):
    positional, named = placed(case.arguments(case.defaults(interpreted=True)), device)
    assert count_readbacks(route.resolve(case.operator), *positional, **named) == readbacks


def test_the_founding_repeats_differ_by_one_at_most():
    positional, named = cases.REPEAT_VALUES_KNOWN.arguments({"rows": 5, "items": 13})
    assert positional[0].tolist() == [0, 1, 2, 3, 4]
    assert positional[1].tolist() == [3, 3, 3, 2, 2]
    assert positional[1].dtype == torch.int64
    assert named == {"output_size": 13}


def test_switches_reach_the_operator_as_booleans():
    values = {"rows": 5, "items": 13, "readback": 0, "index_check": 1}
    _, named = cases.REPEAT_VALUES_SWITCHED.arguments(values)
    assert named == {"output_size": 13, "readback": False, "index_check": True}


def test_names_are_unique_and_interpreted_sizes_are_small():
    for registry in (cases.CASES, routes.ROUTES):
        assert len({entry.name for entry in registry}) == len(registry)
    for case in cases.CASES:
        assert case.defaults()["rows"] == 17096
        assert case.defaults(interpreted=True)["rows"] == 64
        assert set(case.parts) <= {param.name for param in case.params}


def test_every_operator_of_a_bundled_route_can_be_imported():
    for route in RUNNABLE:
        for operator in route.operators:
            assert callable(route.resolve(operator))


def test_flaggems_is_called_directly_in_the_overload_that_aten_would_pick(monkeypatch):
    calls = []

    def record(name):
        return lambda *args, **named: calls.append((name, args, named))

    fake = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("flag_gems", None))
    for name in (
        "repeat_interleave_tensor",
        "repeat_interleave_self_int",
        "repeat_interleave_self_tensor",
        "index_select",
    ):
        setattr(fake, name, record(name))
    monkeypatch.setitem(sys.modules, "flag_gems", fake)
    monkeypatch.delitem(sys.modules, "fgtrace_kernels.flaggems", raising=False)
    operator = routes.FLAGGEMS.resolve("repeat_interleave")
    x, repeats = torch.tensor([7, 8]), torch.tensor([1, 2])
    operator(repeats, output_size=3)
    operator(x, repeats, output_size=3)
    operator(x, 2)
    assert routes.FLAGGEMS.resolve("index_select_unchecked") is fake.index_select
    monkeypatch.delitem(sys.modules, "fgtrace_kernels.flaggems")
    assert calls == [
        ("repeat_interleave_tensor", (repeats,), {"output_size": 3}),
        ("repeat_interleave_self_tensor", (x, repeats, None), {"output_size": 3}),
        ("repeat_interleave_self_int", (x, 2, None), {"output_size": None}),
    ]
