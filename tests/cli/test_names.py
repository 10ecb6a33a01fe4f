import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from fgtrace.cli.names import CASE, ROUTE, unknown_name
from fgtrace.errors import ExitCode


@click.command()
@click.option("--case", type=CASE)
@click.option("--route", type=ROUTE)
def collect(case, route):
    click.echo(f"{case} {route}")


def offered(*words):
    completion = ShellComplete(collect, {}, "collect", "_COLLECT_COMPLETE")
    return [item.value for item in completion.get_completions(list(words[:-1]), words[-1])]


def test_cases_and_routes_are_completed():
    assert offered("--case", "repeat_values_") == [
        "repeat_values_dynamic",
        "repeat_values_known",
        "repeat_values_switched",
    ]
    assert "all" in offered("--case", "")
    assert offered("--route", "triton") == ["triton", "triton-readback"]


def test_a_case_that_is_not_installed_is_left_to_the_verb():
    result = CliRunner().invoke(collect, ["--case", "other", "--route", "mine"])
    assert result.output == "other mine\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("repeat_value_known", "did you mean repeat_values_known?"),
        ("x", "one of: repeat_values_known, b"),
    ],
)
def test_the_nearest_name_is_in_the_hint(name, hint):
    error = unknown_name("case", name, ["repeat_values_known", "b"])
    assert error.message == f"there is no case {name!r}"
    assert error.hint == hint
    assert error.exit_code == ExitCode.USAGE
