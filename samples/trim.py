"""Make a sample of a recording: small, and without the paths of the machine.

    python samples/trim.py recording.zip trimmed.zip

Only the profiles of the first generation stay; the stopwatch's samples, the witnesses and the
calibration of all generations do. Of absolute paths in the command and of interpreters the last
part stays.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

RECORDING = "recording.json"


def trim(source: Path, target: Path) -> None:
    """Copy a recorder's zip without logs and without the profiles of later generations."""
    with zipfile.ZipFile(source) as full, zipfile.ZipFile(target, "w") as small:
        recording = json.loads(full.read(RECORDING))
        kept = [one for one in recording["profiles"] if one["generation"] == 0]
        left_out = len(recording["profiles"]) - len(kept)
        recording["profiles"] = kept
        if left_out:
            message = f"profiles of later generations that are not in this sample: {left_out}"
            recording["notes"].append(
                {
                    "level": "info",
                    "kind": "profiles-left-out",
                    "count": left_out,
                    "message": message,
                    "option": None,
                }
            )
        plan = recording["plan"]
        plan["command"] = [_last_part(word) for word in plan["command"]]
        for environment in recording["environments"]:
            environment["executable"] = _last_part(environment["executable"])
        small.writestr(RECORDING, json.dumps(recording))
        for profile in recording["profiles"]:
            small.writestr(profile["file"], full.read(profile["file"]))


def _last_part(word: str) -> str:
    return re.sub(r"(?<![\w.])/[\w./-]*/([\w.-]+)", r"\1", word)


if __name__ == "__main__":
    trim(Path(sys.argv[1]), Path(sys.argv[2]))
