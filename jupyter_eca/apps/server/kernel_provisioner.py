"""Starts the kernels of the server: without the keys of providers, and in the sandbox if the user wants this.

A provisioner is Jupyter's name for what starts the process of a kernel. `choose_provisioner` makes ours the default. An
administrator who has chosen another default keeps it, and so does a kernel whose specification names its own.

In the sandbox a kernel has a network of its own, which leads nowhere. So the server and the kernel speak over Unix
sockets in a folder that both can reach, in place of ports (`ipc` in Jupyter). `workspace/jobs/sandbox.py` decides what
else a kernel can reach, and `kernel_rules.py` what it gets. Their imports take long, so the first kernel does them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from jupyter_core.paths import SYSTEM_CONFIG_PATH

from jupyter_eca.workspace.environment import SERVER_TOKENS, drop_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_eca.apps.server.eca_server import EcaServer
    from jupyter_eca.workspace.jobs.sandbox import Sandbox

# The names by which Jupyter knows its own default, and ours.
_JUPYTERS_DEFAULT: Final = "local-provisioner"
_NAME: Final = "jupyter-eca"

# The same as in `config.policy.sources` and `config.layers`, whose import would take long.
_POLICY_FILE: Final = "jupyter_eca_policy.json"
_CONFIGURATION_VARIABLES: Final = frozenset({"ECA_CONFIG", "JUPYTER_ECA_POLICY", "JUPYTER_ECA_SERVER_POLICY"})

# The folder of our package `jupyter_eca`.
_PACKAGE: Final = Path(__file__).parents[2]

_STARTED_OUTSIDE: Final = (
    "The kernel was not started again. It was first started outside of the sandbox, and `toolCall.sandbox.kernels` is "
    "set now. Shut it down, and start a new kernel."
)


class EcaProvisioner(LocalProvisioner):
    """Starts one kernel. Where no server of ours is above it, it does what Jupyter's own default does."""

    # The folder of the Unix sockets; None for a kernel that was first started outside of the sandbox.
    _socket_folder: Path | None = None
    # Whether the kernel was started before, and whether it was last started in the sandbox.
    _has_started = False
    _is_sandboxed = False

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Return the command of the kernel and its options. Called by Jupyter before each start, and each restart.

        Raises: RuntimeError when the kernel must run in the sandbox, and there is none.
        """
        eca_server = _find_eca_server(self.parent)
        if eca_server is None:
            return await super().pre_launch(**kwargs)
        environment = dict(kwargs.get("env") or os.environ)
        if not eca_server.has_host and not await asyncio.to_thread(may_have_rules, eca_server.folder, environment):
            self._has_started, self._is_sandboxed = True, False
            return await super().pre_launch(**kwargs)
        rules = await eca_server.find_kernel_rules()
        if removed := rules.find_removed(environment):
            self.log.info("A kernel starts without %s (`keptVariables`).", ", ".join(sorted(removed)))
        kwargs["env"] = {name: value for name, value in environment.items() if name not in removed}
        sandbox, prefix = rules.make_sandbox(), list[str]()
        if sandbox is not None:
            kwargs["env"] = rules.drop_secrets(kwargs["env"])
            await asyncio.to_thread(self._prepare_sockets)
        prepared = await super().pre_launch(**kwargs)
        if sandbox is not None:
            prefix = await asyncio.to_thread(self._build_prefix, sandbox, prepared["cmd"], rules.sandbox_reason)
        self._has_started, self._is_sandboxed = True, sandbox is not None
        return {**prepared, "cmd": [*prefix, *prepared["cmd"]]}

    def _prepare_sockets(self) -> None:
        """Let the server and the kernel speak over Unix sockets. Their folder stays the same when the kernel is
        restarted, because the clients of the kernel stay connected to it. Blocks. Raises: RuntimeError."""
        from jupyter_eca.workspace.jobs.process_folder import make_process_folder

        if self._socket_folder is None:
            if self._has_started:
                raise RuntimeError(_STARTED_OUTSIDE)
            self._socket_folder = Path(tempfile.mkdtemp(prefix="kernel-", dir=make_process_folder()))
            manager: Any = self.parent
            manager.transport, manager.cache_ports = "ipc", False
            manager.ip = str(self._socket_folder / "socket")
        for left in self._socket_folder.iterdir():
            left.unlink()

    def _build_prefix(self, sandbox: Sandbox, command: Sequence[str], reason: str) -> list[str]:
        """Return the command that makes the sandbox, which comes before the command of the kernel. `reason` says why
        the user cannot have the kernel outside of it; "" if the user can. Blocks: it looks at the disk. Raises:
        RuntimeError."""
        from jupyter_eca.errors import ToolError
        from jupyter_eca.workspace.jobs.sandbox import REPLACED

        manager: Any = self.parent
        folders = (*sandbox.writable, *filter(None, (self._socket_folder,)))
        # The environment of the kernel, and our own package, which may be in another place.
        programs = (Path(command[0]).parent.parent, _PACKAGE)
        # The sandbox replaces some folders by its own (`REPLACED`). A program in one of them would be hidden from the
        # kernel, unless it is in a folder that the kernel sees anyway.
        seen = (*sandbox.roots, *folders)
        hidden = (
            program
            for program in programs
            if any(program.is_relative_to(name) for name in REPLACED)
            if not any(program.is_relative_to(folder) for folder in seen)
        )
        own = replace(sandbox, writable=folders, readable=(Path(manager.connection_file), *hidden))
        try:
            return list(own.prepare().prefix)
        except ToolError as error:
            raise RuntimeError(f"The kernel was not started. {error} {reason}".rstrip()) from error

    async def send_signal(self, signum: int) -> None:
        """Send a signal to the kernel. Called by Jupyter, for example to interrupt it.

        The program that makes the sandbox would end at an interrupt, and the kernel with it. So only the session of the
        kernel gets it. Any other signal ends both.
        """
        if signum == signal.SIGINT and self._is_sandboxed and self.has_process:
            await asyncio.to_thread(self._interrupt)
        else:
            await super().send_signal(signum)

    def _interrupt(self) -> None:
        """Interrupt the kernel in the sandbox, unless it has not begun yet, or has ended. Blocks."""
        import psutil

        process: Any = self.process  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # jupyter_client
        with suppress(psutil.Error, ProcessLookupError):
            own = os.getpgid(process.pid)
            groups = {os.getpgid(child.pid) for child in psutil.Process(process.pid).children()} - {own}
            for group in groups:
                os.killpg(group, signal.SIGINT)

    async def cleanup(self, restart: bool = False) -> None:
        """Delete the sockets of a kernel that has ended. Called by Jupyter."""
        await super().cleanup(restart=restart)
        if self._socket_folder is not None and not restart:
            await asyncio.to_thread(shutil.rmtree, self._socket_folder, ignore_errors=True)


def choose_provisioner(serverapp: Any) -> None:
    """Let a server start its kernels with our provisioner, unless its administrator has chosen another one.
    `serverapp` is Jupyter's object for the server."""
    factory = KernelProvisionerFactory.instance(parent=serverapp.kernel_manager)
    target = f"{EcaProvisioner.__module__}:{EcaProvisioner.__name__}"
    factory.provisioners[_NAME] = EntryPoint(_NAME, target, KernelProvisionerFactory.GROUP_NAME)
    if factory.default_provisioner_name == _JUPYTERS_DEFAULT:
        factory.default_provisioner_name = _NAME


def may_have_rules(folder: Path, environment: Mapping[str, str]) -> bool:
    """Return whether a kernel with these variables may need anything of what `kernel_rules.py` decides: a variable may
    have a key, or there is a configuration or a policy. `folder` is that of the server. Blocks: it looks at the disk.

    Otherwise a server that nobody asks would import our configuration and providers for its first kernel, which takes
    15 MiB and half a second.
    """
    secrets = environment.keys() - drop_secrets(environment).keys() - SERVER_TOKENS
    own_folder = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "eca"
    has_files = any(any(place.glob("*.json*")) for place in (own_folder, folder / ".eca"))
    has_policy = any(os.path.lexists(Path(place) / _POLICY_FILE) for place in SYSTEM_CONFIG_PATH)
    return bool(secrets) or has_files or has_policy or not _CONFIGURATION_VARIABLES.isdisjoint(environment)


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
