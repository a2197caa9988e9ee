"""What machine was measured on. Knows nothing that would tell whose it is."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import psutil


def describe_run(command: str) -> str:
    """Return the command, the day and the machine, as documents show them."""
    return f"`{command}` on {datetime.now(UTC):%Y-%m-%d}: {describe_machine()}."


def describe_machine() -> str:
    """Return the cores, the memory, the processor, the system and the Python, in one line."""
    gib = psutil.virtual_memory().total / 2**30
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {gib:.0f} GiB, {_processor()}, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; load {load:.1f} at the end"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "processor unknown"
