"""What a recording consists of before it becomes a run: one JSON file, profiles, and logs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

RECORDING_FORMAT = 1
RECORDING_FILE = "recording.json"
PLAN_FILE = "plan.json"
PROFILES = "profiles"
LOGS = "logs"

Row = Dict[str, Any]


@dataclass
class Recording:
    """Rows as they come in; the names of their fields are the columns of the frames."""

    plan: Row
    started: str
    protocol: Row = field(default_factory=dict)
    """The plan's protocol as it was carried out."""
    generations: int = 0
    parameters: Dict[str, Dict[str, int]] = field(default_factory=dict)
    device: Row = field(default_factory=dict)
    host: Row = field(default_factory=dict)
    environments: List[Row] = field(default_factory=list)
    clocks: List[Row] = field(default_factory=list)
    profiler_options: Row = field(default_factory=dict)
    samples: List[Row] = field(default_factory=list)
    witnesses: List[Row] = field(default_factory=list)
    calibration: List[Row] = field(default_factory=list)
    profiles: List[Row] = field(default_factory=list)
    notes: List[Row] = field(default_factory=list)
    format: int = RECORDING_FORMAT

    def note(
        self, level: str, kind: str, message: str, count: int = 1, option: Optional[str] = None
    ) -> None:
        """Add a note; its kind is one of `fgtrace.frames.notes.KINDS`."""
        self.notes.append(
            {"level": level, "kind": kind, "count": count, "message": message, "option": option}
        )

    def write(self, folder: Path) -> None:
        """Write the JSON file, last of all: a folder without it is an incomplete recording."""
        (folder / RECORDING_FILE).write_text(json.dumps(asdict(self)), encoding="utf-8")
