"""What a child says of the interpreter it runs in: versions, allowed variables, source hashes."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import os
import platform
import sys
from contextlib import suppress
from typing import Any, Dict, Iterable

PACKAGES = (
    "torch",
    "triton",
    "pytorch-triton",
    "pytorch-triton-rocm",
    "flagtree",
    "flag-gems",
    "torch-fl",
    "numpy",
)
"""Distributions whose version can change a result or a time."""

VARIABLES = frozenset(
    (
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_VISIBLE_DEVICES",
        "FLAGTREE_BACKEND",
        "GEMS_VENDOR",
        "HIP_VISIBLE_DEVICES",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "ROCR_VISIBLE_DEVICES",
        "SLURM_JOB_ID",
        "TORCH_DEVICE_BACKEND_AUTOLOAD",
        "TRITON_CACHE_AUTOTUNING",
        "TRITON_DEBUG",
        "TRITON_INTERPRET",
    )
)
"""The allow-list; an environment holds secrets, so nothing else of it is ever written."""

SECRETS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "API_KEY")
HIDDEN = "(hidden)"

ROUTING_PREFIXES = ("FLAGOS_", "USE_FLAGGEMS", "ALL_USE_")
"""Variables that choose an implementation (Torch-FL, FlagGems): cleared before a child starts, and
written down where an environment's own start-up sets them again."""


def base_environment(*, own: bool) -> Dict[str, str]:
    """Give the environment that a child starts from: no routing, one thread.

    `own` tells that it runs the interpreter of its parent, to which PYTHONPATH belongs.
    """
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(ROUTING_PREFIXES)
    }
    if not own:
        # What it names may be built for another interpreter.
        kept.pop("PYTHONPATH", None)
    kept.pop("TRITON_INTERPRET", None)
    kept.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    return kept


def environment_facts(torch: Any, extra_variables: Iterable[str]) -> Dict[str, Any]:
    """Describe this interpreter for provenance."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    allowed = VARIABLES | frozenset(extra_variables)
    triton = sys.modules.get("triton")
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "torch": torch.__version__,
        "torch_git": getattr(torch.version, "git_version", None),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "triton": getattr(triton, "__version__", None) or packages.get("triton"),
        "packages": packages,
        "variables": {
            name: HIDDEN if hides(name) else value
            for name, value in sorted(os.environ.items())
            if name in allowed or name.startswith(ROUTING_PREFIXES)
        },
        "threads": torch.get_num_threads(),
    }


def source_hashes(route: Any) -> Dict[str, str]:
    """Give the sha256 of the sources that serve a route, by module.

    Those are the modules of its operators and of what they hand the work to (`route.serving`).
    Torch's own are left out: its build is known by its git hash.
    """
    references = [*route.operators.values(), *route.serving]
    hashes = {}
    for reference in references:
        module = inspect.getmodule(inspect.unwrap(_loaded(reference)))
        if module is None or module.__name__.partition(".")[0] == "torch":
            continue
        with suppress(OSError, TypeError):  # compiled: there is no source to hash
            source = inspect.getsource(module)
            hashes[module.__name__] = hashlib.sha256(source.encode("utf-8")).hexdigest()
    return hashes


def _loaded(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(sys.modules.get(module), attribute, None)


def hides(name: str) -> bool:
    """Tell whether a variable's name says that its value is a secret."""
    return any(word in name.upper() for word in SECRETS)
