"""Starts the kernels of the server without the keys of providers.

A provisioner is Jupyter's name for what starts the process of a kernel. `choose_provisioner` makes ours the default. An
administrator who has chosen another default keeps it, and so does a kernel whose specification names its own.

`kernel_rules.py` decides what a kernel gets. Its imports take long, so the first kernel does them.
"""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, Final

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

if TYPE_CHECKING:
    from jupyter_eca.apps.server.eca_server import EcaServer

# The names by which Jupyter knows its own default, and ours.
_JUPYTERS_DEFAULT: Final = "local-provisioner"
_NAME: Final = "jupyter-eca"


class EcaProvisioner(LocalProvisioner):
    """Starts one kernel. Where no server of ours is above it, it does what Jupyter's own default does."""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Return the command of the kernel and its options. Called by Jupyter before each start, and each restart."""
        eca_server = _find_eca_server(self.parent)
        if eca_server is None:
            return await super().pre_launch(**kwargs)
        rules = await eca_server.find_kernel_rules()
        environment = dict(kwargs.get("env") or os.environ)
        if removed := rules.find_removed(environment):
            self.log.info("A kernel starts without %s (`keptVariables`).", ", ".join(sorted(removed)))
        kwargs["env"] = {name: value for name, value in environment.items() if name not in removed}
        return await super().pre_launch(**kwargs)


def choose_provisioner(serverapp: Any) -> None:
    """Let a server start its kernels with our provisioner, unless its administrator has chosen another one.
    `serverapp` is Jupyter's object for the server."""
    factory = KernelProvisionerFactory.instance(parent=serverapp.kernel_manager)
    target = f"{EcaProvisioner.__module__}:{EcaProvisioner.__name__}"
    factory.provisioners[_NAME] = EntryPoint(_NAME, target, KernelProvisionerFactory.GROUP_NAME)
    if factory.default_provisioner_name == _JUPYTERS_DEFAULT:
        factory.default_provisioner_name = _NAME


def _find_eca_server(configurable: Any) -> EcaServer | None:
    """Return the server of ours that a manager of kernels belongs to; None for a manager of another program.
    `configurable` is the manager. The objects above it lead to Jupyter's object for the server."""
    while configurable is not None:
        extensions = getattr(configurable, "extension_manager", None)
        if extensions is not None:
            for app in extensions.extension_apps.get("jupyter_eca", ()):
                return app.eca_server
        configurable = getattr(configurable, "parent", None)
    return None
