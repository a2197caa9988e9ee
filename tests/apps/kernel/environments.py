"""Environments of their own, for what this one has in another version or not at all. By night: they need a registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def environment(folder: Path, *packages: str) -> Path:
    """A Python with these and what we need; we ourselves are found by `$PYTHONPATH`."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv makes the environment: pip install uv")
    python = folder / "bin" / "python"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True)
    wanted = ("-r", str(ROOT / "pyproject.toml"), *packages)
    subprocess.run([uv, "pip", "install", "-q", "--python", python, *wanted], check=True)
    return python
