"""Kernels that are copies of one that was started already, in a server or a test whose environment says so.

Only what starts the process of a kernel is another: what Jupyter and our provisioner do before it and after it is as
always. A kernel in a sandbox, of another environment or of another language is started as always, too.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_client.provisioning import local_provisioner

from tests.support.copies import Original, can_be_copied, running_original

if TYPE_CHECKING:
    from collections.abc import Generator

# Names the socket of the original.
VARIABLE: Final = "TESTS_ORIGINAL_KERNEL"
_COMMAND: Final = ["-m", "ipykernel_launcher"]

_jupyter: Any = local_provisioner  # in part without types
_start_anew: Final = _jupyter.launch_kernel


def _start(cmd: list[str], **options: Any) -> Any:
    """Return what is used like a `Popen`."""
    environment, folder = options.get("env") or dict(os.environ), options.get("cwd") or Path.cwd()
    address, is_heard = os.environ.get(VARIABLE), options.keys() & {"stdin", "stdout", "stderr"}
    if address is None or is_heard or cmd[1:3] != _COMMAND or not can_be_copied(cmd[0], environment):
        return _start_anew(cmd, **options)
    own = {name: value for name, value in environment.items() if name != VARIABLE}
    return Original(address).start(cmd[2], cmd[3:], own, folder, own_session=True)


_jupyter.launch_kernel = _start


@contextmanager
def original_kernel() -> Generator[None]:
    """Kernels of this process are copies, and so are those of the processes that it starts and that import this."""
    with running_original("ipykernel.kernelapp") as original:
        os.environ[VARIABLE] = original.address
        yield
        del os.environ[VARIABLE]
