"""Owns the command `jupyter-eca gateway`, which writes the files of a model gateway into a folder of the
administrator. This gateway is LiteLLM Proxy, which sends the requests of all users to the vendors of models. `gateway/`
has the files, and the page for administrators explains them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import LocalError

if TYPE_CHECKING:
    import argparse

# The names of the files that the command writes, and the folder in which they are now.
FILES: Final = (
    "hub_accounts.py",
    "hub_litellm.py",
    "jupyterhub_gateway.py",
    "limits.json",
    "litellm_config.yaml",
    "helm_values.yaml",
)
_SOURCE: Final = Path(__file__).parent / "gateway"

# Texts for the user: two errors, and the last line of the output.
_EXISTS: Final = "{path} exists already, so nothing was written. Name another folder, or move the file."
_NOT_WRITTEN: Final = "{folder} cannot be written: {reason}."
_NEXT: Final = (
    "What to change in them, and how to start the gateway, says the page for administrators "
    '("Models through a gateway").'
)


def write_gateway(options: argparse.Namespace) -> int:
    """Write the files, and return the exit status. No file is overwritten. Raises: LocalError."""
    folder = Path(options.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            if (path := folder / name).exists():
                raise LocalError(_EXISTS.format(path=path))
        for name in FILES:
            shutil.copyfile(_SOURCE / name, folder / name)
            print(folder / name)  # noqa: T201  # the output of a command
    except OSError as error:
        raise LocalError(_NOT_WRITTEN.format(folder=folder, reason=error.strerror)) from None
    print(_NEXT)  # noqa: T201  # the same
    return 0
