"""What a child says of its interpreter, and what it keeps to itself."""

from __future__ import annotations

import hashlib
import json
import math  # noqa: F401 - a compiled module that is imported
from pathlib import Path
from types import SimpleNamespace

import pytest

from fgtrace_collectors.recorder.facts import (
    HIDDEN,
    base_environment,
    environment_facts,
    hides,
    source_hashes,
)

TORCH = SimpleNamespace(
    __version__="9.9",
    version=SimpleNamespace(git_version="abc", cuda="13.0", hip=None),
    get_num_threads=lambda: 1,
)


def test_only_listed_variables_are_told_and_secret_ones_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {"CUDA_VISIBLE_DEVICES": "1", "FLAGOS_OP_add": "cuda", "HOME": "/x", "A_TOKEN": "t"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    told = environment_facts(TORCH, ["A_TOKEN"])["variables"]
    assert told["CUDA_VISIBLE_DEVICES"] == "1"
    assert told["FLAGOS_OP_add"] == "cuda"
    assert told["A_TOKEN"] == HIDDEN
    assert "HOME" not in told


@pytest.mark.parametrize("name", ["HF_TOKEN", "aws_secret_key", "DB_PASSWORD", "OPENAI_API_KEY"])
def test_these_names_hide_their_values(name: str) -> None:
    assert hides(name)


def test_a_routes_sources_are_hashed_and_torchs_own_and_compiled_ones_are_not() -> None:
    route = SimpleNamespace(
        operators={"a": "json:dumps", "b": "math:sqrt", "c": "not_imported:x"},
        serving=("hashlib:file_digest",),
    )
    hashes = source_hashes(route)
    assert set(hashes) == {"json", "hashlib"}
    assert hashes["json"] == hashlib.sha256(Path(json.__file__).read_bytes()).hexdigest()


def test_routing_is_cleared_for_every_child(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FLAGOS_LOG", "USE_FLAGGEMS", "ALL_USE_X"):
        monkeypatch.setenv(name, "1")
    assert not {"FLAGOS_LOG", "USE_FLAGGEMS", "ALL_USE_X"} & set(base_environment(own=True))
