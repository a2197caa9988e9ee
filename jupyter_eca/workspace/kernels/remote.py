"""The interface of a kernel behind a kernel gateway, which runs on another machine.

`jupyter_server.py` uses it, and `apps/server/gateway/` implements it, because it needs Tornado, which only rooms above
this one import.
"""

from __future__ import annotations

from typing import Protocol

from jupyter_eca.workspace.kernels.client import KernelChannels, KernelManager


class RemoteKernel(KernelManager, KernelChannels, Protocol):
    """One kernel behind a gateway. It is used in place of the manager and of the client of jupyter_client, which do not
    work there: see `apps/server/gateway/kernel.py`.

    A method that sends a request raises a ToolError when the gateway cannot be used. Its text says why.
    """

    @property
    def language(self) -> str:
        """The language of the kernel in small letters; empty before the kernel has said it."""
        ...

    async def wait_until_connected(self) -> None:
        """Connect to the kernel, unless it is connected.

        Raises: ToolError when the gateway cannot be reached, refuses, or does not answer in time.
        """
        ...

    async def restart(self) -> None:
        """Restart the kernel, and return when the new process answers.

        Raises: ToolError when it does not start again.
        """
        ...


class RemoteKernels(Protocol):
    """Finds the kernels behind a gateway."""

    def find(self, id: str) -> RemoteKernel | None:
        """Return the kernel with this id; None when the kernel is not behind a gateway."""
        ...
