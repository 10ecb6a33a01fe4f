import pytest

from fgtrace.analysis.matrix import matrix_report
from fgtrace.analysis.matrix_by_size import MATRIX_BY_SIZE, matrix_by_size_report

ROUTES = {"aten": {64: 10, 1024: 20, 4096: 80}, "triton": {64: 40, 1024: 41, 4096: 42}}


@pytest.fixture
def swept(timed):
    """Make a sweep of routes that take so many microseconds at each size."""

    def make(routes=ROUTES, generations=6):
        times = {
            (f"c[rows={size}]", route): [
                [1000 * us + batch + generation for batch in range(5)]
                for generation in range(generations)
            ]
            for route, sizes in routes.items()
            for size, us in sizes.items()
        }
        return timed(times, {case: {"rows": int(case[7:-1])} for case, _ in times})

    return make


def rows(trace):
    found = matrix_by_size_report(trace)
    assert found.schema == MATRIX_BY_SIZE
    return found


def test_a_row_is_a_size_and_route_with_what_the_matrix_says_of_it(swept):
    trace = swept()
    found = rows(trace)
    expected = [(size, route) for size in (64, 1024, 4096) for route in ("aten", "triton")]
    assert found.select("size", "route").rows() == expected
    assert found.select("case", "parameters", "parameter").unique().rows() == [("c", None, "rows")]
    same = ("throughput_ns", "throughput_low_ns", "throughput_high_ns", "device_time_ns")
    matrix = matrix_report(trace)
    for row in found.iter_rows(named=True):
        of_point = matrix.filter(case=f"c[rows={row['size']}]", route=row["route"])
        assert of_point.select(same).row(0) == tuple(row[name] for name in same)


def fastest(trace):
    return dict(rows(trace).filter("fastest").select("size", "route").rows())


def test_the_fastest_route_of_a_size_is_surely_faster_than_each_other(swept):
    assert fastest(swept()) == {64: "aten", 1024: "aten", 4096: "triton"}
    third = {"other": {64: 10, 1024: 90, 4096: 90}}
    assert fastest(swept(ROUTES | third)) == {1024: "aten", 4096: "triton"}


def test_with_one_generation_or_one_route_none_is_the_fastest(swept):
    assert fastest(swept(generations=1)) == {}
    assert fastest(swept({"aten": ROUTES["aten"]})) == {}


def test_a_run_without_a_sweep_has_no_rows(timed):
    assert rows(timed({("c", "aten"): [[1000] * 5]}, {"c": {"rows": 64}})).is_empty()
