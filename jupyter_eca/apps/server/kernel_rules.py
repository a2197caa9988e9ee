"""Decides what the kernels of the server get: which variables of the environment, and whether they run in the sandbox.

It must not start a kernel: `kernel_provisioner.py` does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.config import Config, read_config
from jupyter_eca.config.disk.kernel_sandbox import may_folder_want_sandbox, may_want_sandbox
from jupyter_eca.config.folders import get_user_folder
from jupyter_eca.config.trust import open_trusted_folders
from jupyter_eca.errors import ConfigError
from jupyter_eca.plugins.providers.catalog import Catalog, find_plugs
from jupyter_eca.workspace.environment import SERVER_TOKENS, drop_secrets
from jupyter_eca.workspace.jobs.sandbox import Sandbox, make_kernel_sandbox
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

    def make_sandbox(self) -> Sandbox | None:
        """Return the sandbox for kernels; None if the user wants none."""
        return make_kernel_sandbox(self.config.tool_call.sandbox, (self.folder,))

    @property
    def sandbox_reason(self) -> str:
        """Why the user cannot have kernels outside of the sandbox; "" if the user can."""
        return self.config.policy.locked.get("toolCall.sandbox.kernels", "")

    def drop_secrets(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables for a kernel in the sandbox: none whose name says that it has a key or a password, but
        those that the user keeps."""
        kept = {name: value for name, value in environment.items() if name in self.config.kept_variables}
        return {**drop_secrets(environment), **kept}


def read_kernel_rules(folder: Path) -> KernelRules:
    """Read the configuration, and return what the kernels of a server get that has no client yet. Blocks.

    A configuration of the user that cannot be read keeps no kernel from starting, unless it may ask for the sandbox.
    The keys of all known providers are then left out. Raises: ConfigError, which names the file.
    """
    try:
        trusted = open_trusted_folders(find_database())
        config = read_config((folder,), trust=trusted, skip_broken_projects=True)
    except ConfigError:
        if may_want_sandbox(os.environ.get("ECA_CONFIG", "")) or may_folder_want_sandbox(get_user_folder()):
            raise
        config = Config()
    return KernelRules(config, Catalog(find_plugs(), config), folder)
