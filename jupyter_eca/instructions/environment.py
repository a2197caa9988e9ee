"""Facts about the place where the assistant works, and what MCP servers say about themselves. It starts nothing and
asks no server.
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

# Seconds that a kernel has to say what it is: a question waits for it.
STATE_SECONDS: Final = 1.0


async def sections(place: InstructionContext) -> tuple[Section, ...]:
    first, *others = (str(root) for root in place.files.roots)
    lines = [f"Working directory: {first}"]
    if others:
        lines.append(f"Further folders of the workspace: {', '.join(others)}")
    if place.kernel:
        lines += [place.kernel.description, *await _kernel(place, place.kernel)]
    return (Section("Environment", "\n".join(lines)),)


async def servers(place: InstructionContext) -> tuple[Section, ...]:
    return tuple(
        Section(server_source(name), f"What the server {name} says of its tools:\n{text}")
        for name, text in place.servers
    )


def server_source(name: str) -> str:
    return f"Server {name}"


async def _kernel(place: InstructionContext, kernel: Kernel) -> list[str]:
    """Describe the kernel. Nothing runs in it for that: its interpreter is asked beside it."""
    try:
        async with asyncio.timeout(STATE_SECONDS):
            state = await kernel.state()
            if state.language == "python" and state.python is None:
                state = await _find_state(place, kernel) or state
    except (ToolError, TimeoutError):
        return []
    if not state.language:
        return []
    version, packages = await place.interpreters.about(state.python) if state.python else ("", {})
    lines = [f"Language of the kernel: {' '.join(filter(None, (state.language, version)))}"]
    if packages:
        told = ", ".join(f"{name} {packages[name]}" for name in PACKAGES if name in packages)
        lines.append(f"Packages, among others: {told}")
    return lines


async def _find_state(place: InstructionContext, kernel: Kernel) -> KernelState | None:
    """Return the state of the kernel. A kernel whose cell asks does not know its interpreter; the server that started
    it does. Raises: ToolError."""
    if kernel.id is None or place.notebooks is None or place.kernels is None:
        return None
    paths = [info.path for info in await place.notebooks.list() if info.kernel_id == kernel.id]
    return await (await place.kernels.find(paths[0])).state() if paths else None
