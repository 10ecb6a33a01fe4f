"""The host, and the device's clocks as its driver reports them."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional

QUERY = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
"""What `nvidia-smi --query-gpu` is asked; the parent asks between batches, never inside one."""


def host_facts() -> Dict[str, Any]:
    """Describe the machine."""
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    models = [
        line.partition(":")[2].strip()
        for line in (_read("/proc/cpuinfo") or "").splitlines()
        if line.startswith("model name")
    ]
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": models[0] if models else platform.processor() or None,
        "cores": os.cpu_count(),
        "governor": governor.strip() if governor else None,
    }


def driver_version() -> Optional[str]:
    """Give the version of NVIDIA's driver, or None."""
    rows = _nvidia_smi(("driver_version",), None)
    return rows[0] if rows else None


def clocks(when: str, uuid: Optional[str]) -> Optional[Dict[str, Any]]:
    """Read the clocks of one NVIDIA device; None where its driver's tool is not there."""
    values = _nvidia_smi(QUERY, uuid)
    if values is None:
        return None
    sm, memory, power, temperature = (_number(value) for value in values)
    return {
        "when": when,
        "sm_mhz": None if sm is None else int(sm),
        "memory_mhz": None if memory is None else int(memory),
        "power_w": power,
        "temperature_c": None if temperature is None else int(temperature),
    }


def _nvidia_smi(fields: Any, uuid: Optional[str]) -> Optional[List[str]]:
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    if uuid is not None:
        command.append(f"--id={uuid if uuid.startswith('GPU-') else 'GPU-' + uuid}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    values = [value.strip() for value in done.stdout.splitlines()[0].split(",")]
    return values if len(values) == len(fields) else None


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None


def _read(path: str) -> Optional[str]:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return None
