"""Two builds of the same files are the same, byte by byte, wherever and by whomever they are made. So anybody can check
that a published wheel is made of the published source.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
UV = Path(sys.executable).with_name("uv")


def run_git(*arguments: str) -> str:
    """What a command of Git prints about this checkout."""
    command = [shutil.which("git") or "git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def build(folder: Path, mask: int) -> dict[str, str]:
    """Build a copy of the committed and changed files, and return the digests of the wheel and the sdist."""
    for name in filter(None, run_git("ls-files", "-z").split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    made = folder / "made"
    subprocess.run(
        [UV, "build", "-q", "--out-dir", made],
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": run_git("log", "-1", "--format=%ct").strip()},
        umask=mask if os.name == "posix" else -1,
        check=True,
    )
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in made.glob("jupyter_eca-*")}


@pytest.mark.nightly
@pytest.mark.skipif(not UV.exists() or shutil.which("npm") is None, reason="it builds with uv and npm")
def test_two_builds_in_different_folders_by_different_users_are_the_same(tmp_path: Path) -> None:
    first = build(tmp_path / "one", 0o022)
    assert len(first) == 2
    assert build(tmp_path / "another-place", 0o077) == first
