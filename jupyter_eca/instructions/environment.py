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
            state = await _find_state(context, kernel)
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


async def _find_state(context: InstructionContext, kernel: Kernel) -> KernelState:
    """Return the state of the kernel of the notebook that was asked in, from the server that started it: the kernel of
    the cell that started the turn does not know its own interpreter. Raises: ToolError."""
    if context.kernels is None or not context.notebook:
        return await kernel.state()
    return await (await context.kernels.find(context.notebook)).state()
