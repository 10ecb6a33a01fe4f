"""The house: what the wheel holds and needs, and what the README promises."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1]

BASE = {
    "polars",
    "msgspec",
    "isal",
    "zstandard",
    "click",
    "platformdirs",
    "textual",
    "plotly",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=PROJECT,
        check=True,
        capture_output=True,
    )
    (found,) = folder.glob("*.whl")
    return zipfile.ZipFile(found)


@pytest.fixture(scope="module")
def needs(wheel: zipfile.ZipFile) -> dict[str, set[str]]:
    """Names of the requirements by extra; "" is the base."""
    (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    found: dict[str, set[str]] = {}
    for line in Parser().parsestr(wheel.read(metadata).decode()).get_all("Requires-Dist") or []:
        requirement = Requirement(line)
        extra = re.search(r"extra == ['\"](\w+)['\"]", str(requirement.marker or ""))
        found.setdefault(extra.group(1) if extra else "", set()).add(requirement.name)
    return found


def test_the_base_reads_and_shows_and_has_no_torch(needs: dict[str, set[str]]) -> None:
    assert needs[""] == BASE


def test_collecting_never_replaces_a_vendors_torch_or_triton(needs: dict[str, set[str]]) -> None:
    assert not {"torch", "triton"} & needs["collect"]
    assert needs["torch"] == {"torch", "triton"}


def test_the_wheel_holds_three_typed_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    packages = {name.split("/")[0] for name in names}
    assert packages == {"fgtrace", "fgtrace_kernels", "fgtrace_collectors"}
    assert {f"{package}/py.typed" for package in packages} <= set(names)


def test_hugging_faces_package_named_kernels_stays_importable_beside_ours() -> None:
    assert not (PROJECT / "kernels" / "__init__.py").exists()
    assert not (PROJECT / "collectors" / "__init__.py").exists()


def test_every_dependency_has_its_reason() -> None:
    text = (PROJECT / "pyproject.toml").read_text()
    section = text[text.index("dependencies = [") : text.index("[project.scripts]")]
    requirements = [line for line in section.splitlines() if line.lstrip().startswith('"')]
    assert len(requirements) > len(BASE)
    assert all(re.search(r'"\s*,\s*# \w+', line) for line in requirements), requirements


def test_the_readme_sets_up_with_exactly_two_commands() -> None:
    readme = (PROJECT / "README.md").read_text()
    section = readme[readme.index("## Set up") :]
    section = section[: section.index("\n## ", 1)]
    commands = [
        line
        for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
        for line in block.strip().splitlines()
    ]
    assert len(commands) == 2
    assert commands[0].endswith("fgtrace collect --case repeat_values_known")
    assert commands[1].endswith("pytest")
    assert all(command.startswith("python3 -m venv .venv && ") for command in commands)


def test_the_readme_names_every_verb() -> None:
    from fgtrace.cli.main import VERBS

    readme = (PROJECT / "README.md").read_text()
    assert all(f"`fgtrace {verb}" in readme for verb in VERBS)


def test_every_option_of_collect_and_the_recorder_is_the_same_and_documented() -> None:
    def options(*command: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, *command, "--help"], capture_output=True, text=True, check=True
        )
        return set(re.findall(r"(?<![\w-])--[a-z0-9][a-z0-9-]+", done.stdout)) - {"--help"}

    collect = options("-m", "fgtrace", "collect")
    recorder = options(
        "-c",
        "from fgtrace_collectors.recorder.main import _parser;"
        "from fgtrace_collectors.registry import installed_registry;"
        "_parser(installed_registry()).parse_args()",
    )
    only_here = {"--from", "--fail-on", "--format"}
    only_there = {"--plan"}
    assert recorder - only_there == collect - only_here
    documented = (PROJECT / "docs" / "collect.md").read_text()
    assert not [option for option in collect | recorder if option not in documented]
