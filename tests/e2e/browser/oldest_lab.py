"""Builds environments with other packages than those of the tests, such as the oldest JupyterLab that the assistant
supports."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[3]

# The README names it, too. JupyterLab 4.2 does not say of a cell whether it is running.
OLDEST: Final = "4.3"


def build(folder: Path) -> Path:
    """Return the Python of a new environment in `folder`, with the oldest JupyterLab. See `build_environment`."""
    # pandas is for the stories.
    return build_environment(folder, f"jupyterlab=={OLDEST}.*", "pandas>=2")


def build_environment(folder: Path, *packages: str) -> Path:
    """Return the Python of a new environment in `folder`. It has these packages, our dependencies, and this checkout as
    it was built. Raises: CalledProcessError when a package cannot be installed."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    uv = str(Path(sys.executable).with_name("uv"))
    python = folder / "bin" / "python"
    wanted = [*packages, *project["project"]["dependencies"]]
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *wanted], check=True)
    # What the wheel would install: the package, and its files for Jupyter.
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "checkout.pth").write_text(f"{ROOT}\n")
    for source, target in project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"].items():
        _copy(ROOT / source, folder / target)
    return python


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)
