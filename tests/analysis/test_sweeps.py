import pytest

from fgtrace.analysis.sweeps import SWEEPS, sweeps, unsized


def rows(*points, **more):
    found = sweeps({point: dict(values) for point, values in points} | more)
    assert found.schema == SWEEPS
    return found.drop("point").rows()


def at(case, **sizes):
    inside = ",".join(f"{name}={size}" for name, size in sizes.items())
    return f"{case}[{inside}]", {**sizes, "items": 5}


def test_sizes_of_one_parameter_follow_each_other_as_numbers():
    found = rows(at("c", rows=1024), at("c", rows=64), at("b", rows=7), at("b", rows=70))
    assert found == [
        ("b", None, "rows", 7),
        ("b", None, "rows", 70),
        ("c", None, "rows", 64),
        ("c", None, "rows", 1024),
    ]


def test_of_two_parameters_each_has_its_sizes_at_each_size_of_the_other():
    grid = [at("c", rows=rows, cols=cols) for rows in (64, 512) for cols in (8, 16)]
    assert rows(*grid) == [
        ("c", "rows=64", "cols", 8),
        ("c", "rows=64", "cols", 16),
        ("c", "rows=512", "cols", 8),
        ("c", "rows=512", "cols", 16),
        ("c", "cols=8", "rows", 64),
        ("c", "cols=8", "rows", 512),
        ("c", "cols=16", "rows", 64),
        ("c", "cols=16", "rows", 512),
    ]


def test_a_parameter_of_one_size_was_not_swept():
    found = rows(at("c", rows=64, cols=8), at("c", rows=512, cols=8))
    assert found == [("c", "cols=8", "rows", 64), ("c", "cols=8", "rows", 512)]


@pytest.mark.parametrize("name", ["c", "c[rows]", "c[rows=64", "c[]", "c[x=64]"])
def test_other_cases_are_no_sweep(name):
    assert rows((name, {"rows": 64}), (f"{name} too", {"rows": 65})) == []


def test_a_case_has_its_own_name_without_its_sizes():
    assert unsized("repeat_known[rows=64,cols=8]") == "repeat_known"
    assert unsized("repeat_known") == "repeat_known"
    assert unsized("take[0][rows=64]") == "take[0]"
