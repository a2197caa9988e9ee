"""matplotlib, which only the pictures of the documentation need: the group `bench` of `pyproject.toml` installs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_pyplot() -> Any:
    """Return `matplotlib.pyplot`, which draws into files and needs no screen."""
    import_module("matplotlib").use("Agg")
    return import_module("matplotlib.pyplot")


def save(picture: Any, file: Any) -> None:
    """Write without the version of matplotlib: the same figures give the same file."""
    picture.savefig(file, dpi=110, metadata={"Software": None})
    load_pyplot().close(picture)
