"""Copies the notebooks to the folder in which `make lab` opens them: `python -m tests.support.tour FOLDER`.

So a tour changes no file of the checkout. The copies have no outputs, because the reader makes them. They name the
kernel as JupyterLab does as soon as the kernel answers: otherwise a notebook would be shown as changed when it is
opened. A copy that the reader has changed is kept.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from ipykernel.ipkernel import IPythonKernel
from jupyter_client.kernelspec import KernelSpecManager

NOTEBOOKS: Final = Path(__file__).parents[2] / "notebooks"

# What the README and the tests use, but no notebook.
_LEFT_OUT: Final = ("images", "nbval.cfg", "__pycache__", ".ipynb_checkpoints")

# The hashes of the copies as they were made, by path.
_RECORD: Final = ".copied.json"


def copy_tour(target: Path) -> list[str]:
    """Copy the notebooks and their files. Return the paths of those that the reader has changed, which stay."""
    record = target / _RECORD
    copied: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    kept: list[str] = []
    for source in sorted(NOTEBOOKS.rglob("*")):
        path = source.relative_to(NOTEBOOKS)
        if source.is_dir() or set(path.parts) & set(_LEFT_OUT):
            continue
        copy = target / path
        if copy.exists() and _hash(copy.read_bytes()) != copied.get(str(path)):
            kept.append(str(path))
            continue
        content = _prepare(source) if source.suffix == ".ipynb" else source.read_bytes()
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        copied[str(path)] = _hash(content)
    record.write_text(json.dumps(copied, indent=1))
    return kept


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _prepare(source: Path) -> bytes:
    """Return a notebook without outputs, and with the metadata that JupyterLab writes for this Python."""
    notebook: dict[str, Any] = json.loads(source.read_text())
    name = notebook["metadata"]["kernelspec"]["name"]
    spec = KernelSpecManager().get_kernel_spec(name)
    notebook["metadata"]["kernelspec"] = {"display_name": spec.display_name, "language": spec.language, "name": name}
    notebook["metadata"]["language_info"] = IPythonKernel.language_info
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return json.dumps(notebook, indent=1, ensure_ascii=False).encode() + b"\n"


if __name__ == "__main__":
    for path in copy_tour(Path(sys.argv[1])):
        print(f"You have changed {path} in the tour: it stays as it is. Delete it to get it anew.")
