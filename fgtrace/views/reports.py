"""The reports by their names, and the functions from a trace that make them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Names are all that the command line's help and completion need: Polars takes 0.2 s to import.
    from fgtrace.frames.trace import Trace

REPORTS = {
    "summary": "fgtrace.analysis.summary:summarise",
    "findings": "fgtrace.analysis.findings:findings_report",
    "calls": "fgtrace.analysis.calls:calls_report",
    "phases": "fgtrace.analysis.phases:phases_report",
    "breakdown": "fgtrace.analysis.breakdown:breakdown_report",
    "attribution": "fgtrace.analysis.attribution:attribution_report",
    "whatif": "fgtrace.analysis.whatif:whatif_report",
    "effects": "fgtrace.analysis.effects:effects_report",
    "host": "fgtrace.analysis.host:host_report",
    "kernels": "fgtrace.analysis.kernels:kernels_report",
    "ops": "fgtrace.analysis.ops:ops_report",
    "launches": "fgtrace.analysis.launches:launches_report",
    "syncs": "fgtrace.analysis.syncs:syncs_report",
    "idle": "fgtrace.analysis.idle:idle_report",
    "tree": "fgtrace.analysis.tree:tree_report",
    "matrix": "fgtrace.analysis.matrix:matrix_report",
    "witnesses": "fgtrace.views.notices:witnesses_report",
    "notes": "fgtrace.views.notices:notes_report",
}
"""The reports, and the function from a trace that makes each."""

VARIANTS = {
    "calls by case": "fgtrace.analysis.calls:calls_by_case_report",
    "host by group": "fgtrace.analysis.host:host_by_group_report",
    "matrix by pair": "fgtrace.analysis.matrix_by_pair:matrix_by_pair_report",
    "matrix by size": "fgtrace.analysis.matrix_by_size:matrix_by_size_report",
    "ops by shape": "fgtrace.analysis.ops:ops_by_shape_report",
    "phases explained": "fgtrace.analysis.phases:explained_report",
}
"""The reports that are made in another way too: grouped, or with reasons."""

GROUPINGS = tuple(dict.fromkeys(kind.split(" by ")[1] for kind in VARIANTS if " by " in kind))
"""What reports can be grouped by."""

TAKES = {
    "rules": ("phases", "breakdown", "attribution", "whatif", "findings"),
    "call_ns": ("whatif", "attribution", "findings"),
    "without": ("whatif",),
}
"""The reports that take an option of their own: a keyword argument of their function."""


def report_of(kind: str, trace: Trace, **own: Any) -> Any:
    """Make the frame of one of REPORTS or VARIANTS; of `summary`, its struct."""
    module, name = {**REPORTS, **VARIANTS}[kind].split(":")
    return getattr(import_module(module), name)(trace, **own)
