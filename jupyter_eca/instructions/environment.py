"""Writes the sections about the environment: the working directory, the kernel and its packages, and the instructions
of MCP servers.

It must not start a kernel, or send requests to a server. `installed_packages.py` beside it finds the packages.
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

# Seconds that a kernel has to report its state. It is short, because the prompt of the user waits for it.
STATE_SECONDS: Final = 1.0


async def list_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return one section about the folders and the kernel."""
    start = context.files.start
    others = [str(root) for root in context.files.roots if root != start]
    lines = [f"Working directory: {start}"]
    if others:
        lines.append(f"Further folders of the workspace: {', '.join(others)}")
    if context.kernel:
        lines += [context.kernel.description, *await _describe_kernel(context, context.kernel)]
    return (Section("Environment", "\n".join(lines)),)


async def list_server_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return a section for each MCP server that has instructions."""
    return tuple(
        Section(name_server_source(name), f"What the server {name} says of its tools:\n{text}")
        for name, text in context.servers
    )


def name_server_source(name: str) -> str:
    """Return the `source` of the section of a server."""
    return f"Server {name}"


async def _describe_kernel(context: InstructionContext, kernel: Kernel) -> list[str]:
    """Describe the kernel in lines; none when its state is unknown. No code runs in the kernel itself: the packages are
    found by another process of its interpreter."""
    try:
        async with asyncio.timeout(STATE_SECONDS):
            state = await _find_state(context, kernel)
    except (ToolError, TimeoutError):
        return []
    if not state.language:
        return []
    version, packages = await context.interpreters.find_facts(state.python) if state.python else ("", {})
    lines = [f"Language of the kernel: {' '.join(filter(None, (state.language, version)))}"]
    if packages:
        versions = ", ".join(f"{name} {packages[name]}" for name in PACKAGES if name in packages)
        lines.append(f"Packages, among others: {versions}")
    return lines


async def _find_state(context: InstructionContext, kernel: Kernel) -> KernelState:
    """Return the state of the kernel. If the prompt was sent in a notebook, ask the server that started its kernel: the
    kernel of a cell that asks does not know its own interpreter.

    Raises: ToolError.
    """
    if context.kernels is None or not context.notebook:
        return await kernel.state()
    return await (await context.kernels.find(context.notebook)).state()
