"""The plan: options as they are typed, refused before anything runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from fgtrace_collectors.recorder.errors import UNAVAILABLE, USAGE, RecorderError
from fgtrace_collectors.recorder.plan import (
    FACTORIAL_ROUNDS,
    QUICK,
    Plan,
    interpreted,
    make_plan,
    read_plan,
    shown,
    start_command,
)
from fgtrace_collectors.registry import installed_registry

KNOWN = {"cases": ["repeat_values_known"]}


def made(**options: object) -> Plan:
    return make_plan(installed_registry(), **{**KNOWN, **options})  # type: ignore[arg-type]


def refused(**options: object) -> RecorderError:
    with pytest.raises(RecorderError) as caught:
        made(**options)
    return caught.value


def test_the_default_is_one_quick_generation_by_every_registered_route() -> None:
    plan = made()
    assert plan.protocol.name == "quick"
    assert plan.protocol.generations == 1
    assert {"aten", "triton", "triton-readback", "flaggems"} <= {r.name for r in plan.routes}
    assert not any(route.required for route in plan.routes)


def test_all_means_every_case() -> None:
    assert {case.name for case in made(cases=["all"]).cases} == set(installed_registry().cases)


def test_a_formal_run_takes_at_least_six_generations() -> None:
    assert made(formal=True).protocol.generations >= 6


def test_the_founding_protocol_is_the_founding_issues() -> None:
    protocol = made(protocol="founding").protocol
    assert (protocol.warmup_calls, protocol.calls, protocol.batches) == (50, 200, 7)
    assert not protocol.interleaved


def test_a_cold_run_times_each_call_alone() -> None:
    protocol = made(cold=True).protocol
    assert protocol.batches == 0
    assert protocol.latency_batches > 0


def test_the_interpreter_gets_one_generation_of_three_calls() -> None:
    protocol = interpreted(made(formal=True, budget_s=600.0).protocol)
    assert (protocol.generations, protocol.calls, protocol.profile_calls) == (1, 3, 3)
    assert protocol.budget_s == 0


def test_an_unknown_case_is_a_usage_error_with_the_nearest_name() -> None:
    error = refused(cases=["repeat_value_known"])
    assert error.exit_code == USAGE
    assert "did you mean repeat_values_known?" in error.hint


def test_an_unknown_route_is_not_available_and_names_the_nearest() -> None:
    error = refused(routes=["triton_readback"])
    assert error.exit_code == UNAVAILABLE
    assert "did you mean triton-readback?" in error.hint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"params": ["rows=0"]}, "rows=0"),
        ({"params": ["rows=-3"]}, "rows=-3"),
        ({"params": ["rows=many"]}, "not a whole number"),
        ({"params": ["rows"]}, "not NAME=VALUE"),
        ({"params": ["colour=3"]}, "no chosen case has it"),
        ({"cases": ["repeat_values_switched"], "params": ["readback=2"]}, "readback=2"),
        ({"environments": ["aten"]}, "not NAME=VALUE"),
        ({"variables": ["=x"]}, "not NAME=VALUE"),
        ({"device": "gpu"}, "gpu"),
        ({"device": "cuda:x"}, "cuda:x"),
        ({"protocol": "slow"}, "slow"),
        ({"protocol": "founding", "formal": True}, "exclude each other"),
        ({"budget_s": 5.0}, "--formal"),
        ({"profile_calls": 0}, "from 1"),
        ({"profiler": "magic"}, "magic"),
        ({"formal": True, "budget_s": -5.0}, "-5"),
        ({"formal": True, "variables": ["FLAGOS_LOG=dispatch"]}, "dispatch log"),
        ({"protocol": "founding", "cold": True}, "--l2 cold"),
        ({"protocol": "founding", "graph": True}, "the founding protocol"),
        ({"cold": True, "graph": True}, "--graph beside --l2 cold"),
        ({"routes": ["aten"], "environments": ["triton=python3"]}, "not to be run"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_and_named(
    options: dict[str, object], said: str
) -> None:
    error = refused(**options)
    assert error.exit_code == USAGE
    assert said in f"{error.message} {error.hint}"
    assert error.hint
    assert "\n" not in error.message


def labels(**options: object) -> list[str]:
    return [case.label for case in made(**options).cases]


def test_several_sizes_are_a_case_each_in_the_order_in_which_they_were_typed() -> None:
    assert labels(params=["rows=64,8,1024"]) == [
        "repeat_values_known[rows=64]",
        "repeat_values_known[rows=8]",
        "repeat_values_known[rows=1024]",
    ]
    assert labels(params=["rows=4,8", "items=40,80"]) == [
        f"repeat_values_known[rows={rows},items={items}]" for rows in (4, 8) for items in (40, 80)
    ]


def test_only_what_has_several_sizes_is_in_the_name() -> None:
    assert labels(params=["rows=7"]) == ["repeat_values_known"]
    plan = made(params=["rows=4,8", "items=40"])
    assert plan.cases[0].label == "repeat_values_known[rows=4]"
    assert plan.cases[0].params == {"rows": 4, "items": 40}


def test_a_case_without_the_parameter_is_not_swept() -> None:
    cases = ["repeat_values_known", "repeat_values_switched"]
    assert labels(cases=cases, params=["readback=0,1"]) == [
        "repeat_values_known",
        "repeat_values_switched[readback=0]",
        "repeat_values_switched[readback=1]",
    ]


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (["rows=4,x"], "rows=4,x: not a whole number, nor several"),
        (["rows=4,"], "nor several"),
        (["rows=4,8,4"], "a size twice"),
        (["rows=4,0"], "rows=0"),
        (["rows=1,2,3,4,5,6", "items=10,20,30,40,50,60"], "36 sizes of case repeat_values_known"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(params: list[str], told: str) -> None:
    error = refused(params=params)
    assert error.exit_code == USAGE
    assert told in error.message
    assert error.hint


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    plan = made(formal=True, params=["rows=7,8"], variables=["A=1"], environments=["aten=python3"])
    path = tmp_path / "plan.json"
    path.write_text(plan.to_json())
    assert read_plan(path, installed_registry()) == plan


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1, "cases": 3}']
)
def test_what_is_no_plan_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(RecorderError) as caught:
        read_plan(path, installed_registry())
    assert caught.value.exit_code == USAGE
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"device": "tpu"}, "tpu"),
        ({"cases": [{"name": "nonsense", "params": {}}]}, "nonsense"),
        ({"cases": [{"name": "repeat_values_known", "params": {"rows": "a"}}]}, "rows='a'"),
        ({"cases": [{"name": "repeat_values_known", "params": {"rows": -4}}]}, "rows=-4"),
        ({"cases": [{"name": "repeat_values_known", "params": {"colour": 1}}]}, "colour"),
        ({"routes": [{"name": "nonsense"}]}, "nonsense"),
        ({"profiler": "foo"}, "foo"),
        ({"protocol": {**asdict(QUICK), "calls": 0}}, "calls=0"),
        ({"protocol": {**asdict(QUICK), "generations": 0}}, "generations=0"),
        ({"protocol": {**asdict(QUICK), "batches": -1}}, "batches=-1"),
        ({"protocol": {**asdict(QUICK), "warmup_s": "x"}}, "warmup_s='x'"),
        ({"protocol": {**asdict(QUICK), "batches": 0, "latency_batches": 0}}, "times nothing"),
    ],
)
def test_what_a_plan_asks_for_is_checked_as_options_are(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**json.loads(made().to_json()), **change}))
    with pytest.raises(RecorderError, match=said):
        read_plan(path, installed_registry())


def test_a_profiler_of_the_design_that_is_not_there_yet_is_unavailable() -> None:
    assert refused(profiler="hipprof").exit_code == UNAVAILABLE


def test_secret_values_are_hidden_where_a_plan_is_written_down() -> None:
    plan = made(
        variables=["HF_TOKEN=hf_abc", "A=1"], command=["fgtrace", "--set", "HF_TOKEN=hf_abc"]
    )
    assert plan.variables["HF_TOKEN"] == "hf_abc"
    assert "hf_abc" not in shown(plan).to_json()
    assert shown(plan).variables["A"] == "1"


def test_an_environment_is_an_interpreter_or_shell_text_that_ends_in_one(tmp_path: Path) -> None:
    interpreter = tmp_path / "python"
    interpreter.touch(0o755)
    assert start_command(None, "py", ["x"]) == ["py", "x"]
    assert start_command(str(interpreter), "py", ["x"]) == [str(interpreter), "x"]
    assert start_command(". r5/activate; exec python", "py", ["x"]) == [
        "sh",
        "-c",
        '. r5/activate; exec python "$@"',
        "sh",
        "x",
    ]


SWITCHED = {"cases": ["repeat_values_switched"]}


def test_a_factorial_has_more_rounds_than_a_plain_recording() -> None:
    plan = made(**SWITCHED, factorial="readback,index_check")
    assert plan.factorial == ("readback", "index_check")
    assert plan.protocol.batches == FACTORIAL_ROUNDS > QUICK.batches


def test_a_factorial_survives_the_plans_file(tmp_path: Path) -> None:
    plan = made(**SWITCHED, factorial="readback", no_stacks=True)
    path = tmp_path / "plan.json"
    path.write_text(plan.to_json())
    assert read_plan(path, installed_registry()) == plan


def test_a_plan_of_before_factorials_and_sweeps_has_none(tmp_path: Path) -> None:
    found = json.loads(made().to_json())
    del found["factorial"], found["stacks"], found["cases"][0]["swept"]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(found))
    plan = read_plan(path, installed_registry())
    assert (plan.factorial, plan.stacks, plan.cases[0].swept) == ((), True, ())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"factorial": "readback"}, "case repeat_values_known has no such part"),
        ({**SWITCHED, "factorial": "colour"}, "it has readback, index_check"),
        ({**SWITCHED, "factorial": "readback,readback"}, "a part twice"),
        ({**SWITCHED, "factorial": "readback", "protocol": "founding"}, "founding protocol"),
        ({**SWITCHED, "factorial": "readback", "cold": True}, "--l2 cold"),
        ({**SWITCHED, "factorial": "readback", "params": ["readback=0"]}, "--param readback=0"),
        ({**SWITCHED, "factorial": "readback", "params": ["readback=0,1"]}, "--param readback=0"),
        ({**SWITCHED, "factorial": ""}, "has no such part"),
    ],
)
def test_a_factorial_that_cannot_be_is_refused(options: dict[str, object], told: str) -> None:
    error = refused(**options)
    assert error.exit_code == USAGE
    assert told in f"{error.message} {error.hint}"
