"""Decides what the kernels of the server get: which variables of the environment.

It must not start a kernel: `kernel_provisioner.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.config import Config, read_config
from jupyter_eca.config.trust import open_trusted_folders
from jupyter_eca.errors import ConfigError
from jupyter_eca.plugins.providers.catalog import Catalog, find_plugs
from jupyter_eca.workspace.environment import SERVER_TOKENS
from jupyter_eca.workspace.paths import find_database

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

@dataclass(frozen=True, slots=True)
class KernelRules:
    """What the kernels of one server get."""

    config: Config
    """The configuration that is in effect now."""
    catalog: Catalog
    """The providers, which know the variables with their keys."""
    folder: Path
    """The folder of the server, which is the workspace."""

    def find_removed(self, environment: Mapping[str, str]) -> frozenset[str]:
        """Return the names of the variables with keys that a kernel does not get.

        The tokens of Jupyter are not among them, although a gateway may take one as a key: libraries for a Hub read
        them in kernels.
        """
        return self.catalog.find_key_variables(environment) - SERVER_TOKENS


def read_kernel_rules(folder: Path) -> KernelRules:
    """Read the configuration, and return what the kernels of a server get that has no client yet. Blocks.

    A configuration that cannot be read keeps no kernel from starting. The keys of all known providers are then left out.
    """
    try:
        trusted = open_trusted_folders(find_database())
        config = read_config((folder,), trust=trusted, skip_broken_projects=True)
    except ConfigError:
        config = Config()
    return KernelRules(config, Catalog(find_plugs(), config), folder)
