"""The sections about the environment: the working directory, the kernel and its packages, and the instructions of MCP
servers. It starts no kernel and sends no request to a server.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.texts import Section
from jupyter_eca.errors import ToolError
from jupyter_eca.instructions.installed_packages import PACKAGES

if TYPE_CHECKING:
    from jupyter_eca.instructions.base import InstructionContext
    from jupyter_eca.protocol.notebook import KernelState
    from jupyter_eca.workspace.ports import Kernel

# Seconds that a kernel may take to report its state. It is short because the user's question waits for it.
STATE_SECONDS: Final = 1.0


async def sections(context: InstructionContext) -> tuple[Section, ...]:
    start = context.files.start
    others = [str(root) for root in context.files.roots if root != start]
    lines = [f"Working directory: {start}"]
    if others:
        lines.append(f"Further folders of the workspace: {', '.join(others)}")
    if context.kernel:
        lines += [context.kernel.description, *await _describe_kernel(context, context.kernel)]
    return (Section("Environment", "\n".join(lines)),)


async def servers(context: InstructionContext) -> tuple[Section, ...]:
    return tuple(
        Section(server_source(name), f"What the server {name} says of its tools:\n{text}")
        for name, text in context.servers
    )


def server_source(name: str) -> str:
    return f"Server {name}"


async def _describe_kernel(context: InstructionContext, kernel: Kernel) -> list[str]:
    """Describe the kernel. Nothing runs in the kernel for this: a second process of its interpreter is asked."""
    try:
        async with asyncio.timeout(STATE_SECONDS):
            state = await kernel.state()
            if state.language == "python" and state.python is None:
                state = await _find_state(context, kernel) or state
    except (ToolError, TimeoutError):
        return []
    if not state.language:
        return []
    version, packages = await context.interpreters.about(state.python) if state.python else ("", {})
    lines = [f"Language of the kernel: {' '.join(filter(None, (state.language, version)))}"]
    if packages:
        versions = ", ".join(f"{name} {packages[name]}" for name in PACKAGES if name in packages)
        lines.append(f"Packages, among others: {versions}")
    return lines


async def _find_state(context: InstructionContext, kernel: Kernel) -> KernelState | None:
    """Return the state of the kernel from the server that started it. The kernel of the cell that started the turn
    does not know its own interpreter; the server does. Raises: ToolError."""
    if kernel.id is None or context.notebooks is None or context.kernels is None:
        return None
    paths = [info.path for info in await context.notebooks.list() if info.kernel_id == kernel.id]
    return await (await context.kernels.find(paths[0])).state() if paths else None
