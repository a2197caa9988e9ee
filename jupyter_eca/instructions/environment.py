"""Writes the sections about the environment: the date, the operating system, the git branch, the Python of the shell,
the working directory, the kernel and its packages, and the instructions of MCP servers.

All of this is as it was when the chat began. `host/turn/system_prompt.py` keeps the text for the whole chat: vendors of
models cache the beginning of a conversation, and a new date or branch would make this cache useless.

It must not start a kernel, or send requests to a server. `installed_packages.py` beside it finds the packages.
"""

from __future__ import annotations

import asyncio
import platform
import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.texts import Section
from jupyter_eca.errors import ToolError
from jupyter_eca.instructions.installed_packages import PACKAGES
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from jupyter_eca.instructions.instruction_context import InstructionContext
    from jupyter_eca.protocol.notebook import KernelState
    from jupyter_eca.workspace.ports import Kernel

# Seconds that a kernel has to report its state. It is short, because the prompt of the user waits for it.
STATE_SECONDS: Final = 1.0

# The content of `HEAD` of a git repository: a branch, or a commit where no branch is checked out. Anybody may have
# written the file, and text after a space or a line break could be instructions for the model. Git allows neither in a
# name.
_HEAD: Final = re.compile(r"ref: refs/heads/(?P<branch>\S{1,200})|(?P<commit>[0-9a-f]{40,64})")


async def list_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return one section about the machine, the folders and the kernel."""
    start = context.files.start
    others = [str(root) for root in context.files.roots if root != start]
    lines = [*await run_read(_describe_machine, start), f"Working directory: {start}"]
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


def _describe_machine(folder: Path) -> list[str]:
    """Describe the date, the operating system, the git branch and the Python of the shell. It starts no process,
    because the prompt of the user waits for it. This blocks."""
    lines = [
        f"Date: {datetime.now().astimezone().date().isoformat()}",
        f"Operating system: {platform.system()} {platform.release()}",
    ]
    if branch := find_branch(folder):
        lines.append(f"Git branch: {branch}")
    if interpreter := shutil.which("python3") or shutil.which("python"):
        lines.append(f"Python of the shell: {interpreter}{_describe_real_name(Path(interpreter))}")
    return lines


def _describe_real_name(interpreter: Path) -> str:
    """Return the name that an interpreter has after all links, such as ` (python3.12)`; empty when that is the same
    name."""
    name = interpreter.resolve().name
    return f" ({name})" if name != interpreter.name else ""


def find_branch(folder: Path) -> str:
    """Return the git branch that is checked out in a folder. Where no branch is checked out, return the commit in
    words. Return an empty text outside of a repository, and if `HEAD` names neither. This blocks.

    It reads `HEAD` itself, because a `git` process would take longer. In a worktree `.git` is a file that names the
    folder with `HEAD`.
    """
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        try:
            if git.is_file():
                git = parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            head = (git / "HEAD").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            continue
        found = _HEAD.fullmatch(head)
        if found is None or not head.isprintable():
            return ""
        return found["branch"] or f"none, at commit {found['commit'][:12]}"
    return ""


async def _describe_kernel(context: InstructionContext, kernel: Kernel) -> list[str]:
    """Describe the kernel in lines; none when its state is unknown. No code runs in the kernel itself: the packages are
    found by another process of its interpreter."""
    try:
        async with asyncio.timeout(STATE_SECONDS):
            state = await _ask_state(context, kernel)
    except (ToolError, TimeoutError):
        return []
    if not state.language:
        return []
    version, packages = await context.interpreters.ask_facts(state.python) if state.python else ("", {})
    lines = [f"Language of the kernel: {' '.join(filter(None, (state.language, version)))}"]
    if version:
        lines.append(f"Python of the kernel: {state.python}")
    if packages:
        versions = ", ".join(f"{name} {packages[name]}" for name in PACKAGES if name in packages)
        lines.append(f"Packages, among others: {versions}")
    return lines


async def _ask_state(context: InstructionContext, kernel: Kernel) -> KernelState:
    """Return the state of the kernel. If the prompt was sent in a notebook, the server that started its kernel is
    asked. The kernel of the cell that asked the assistant does not know the path of its own interpreter.

    Raises: ToolError.
    """
    if context.kernels is None or not context.notebook:
        return await kernel.state()
    return await (await context.kernels.find(context.notebook)).state()
