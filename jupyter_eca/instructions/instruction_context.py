"""Defines `Source`, a source of instructions, and `InstructionContext`, its argument.

It must not collect instructions: `sources.py` calls all sources. The host builds the context of a turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jupyter_eca.config import Agent, Config
    from jupyter_eca.engine.model.texts import Section
    from jupyter_eca.instructions.installed_packages import Interpreters
    from jupyter_eca.workspace.ports import Files, Kernel, Kernels, Notebooks


@dataclass(frozen=True, slots=True)
class InstructionContext:
    """The turn that is about to begin: its agent, its model and its workspace."""

    files: Files
    """The files of the workspace, with the working directory of the chat."""
    config: Config
    """The configuration of the workspace, merged from all files."""
    agent: Agent
    """The agent that answers."""
    model: str
    """The full name of the model: PROVIDER/MODEL."""
    kernel: Kernel | None
    """The kernel of the cell that started the turn, if a cell did."""
    kernels: Kernels | None
    """Finds the kernels of notebooks; None where there are none."""
    notebooks: Notebooks | None
    """The notebooks; None where there are none."""
    servers: tuple[tuple[str, str], ...]
    """The name and the instructions of each MCP server."""
    interpreters: Interpreters
    """The interpreters that the kernels run on."""
    warn: Callable[[str], None]
    """Warns the user about an error in one of their files. The same warning is shown only once."""
    tools: frozenset[str] = frozenset()
    """The tools that the model is offered, by the names that rules use for them, such as `eca__read_file`."""
    notebook: str = ""
    """The path of the notebook in which the prompt was sent; empty for none."""
    in_notebook: bool = False
    """Whether the turn was started by a cell, or the client has notebooks open."""
    subagent: bool = False
    """Whether the turn was started by another agent."""

    @property
    def facts(self) -> Mapping[str, bool | str]:
        """The facts that conditions of prompts and rules can test, by their names, such as `workspaceRoots`."""
        return list_facts(self.files, self.tools, subagent=self.subagent)


def list_facts(files: Files, tools: Iterable[str], *, subagent: bool) -> Mapping[str, bool | str]:
    """Return the facts that conditions of prompts and rules can test (ECA's condition variables), by their names.
    `tools` are the tools that the model is offered, and `subagent` says whether another agent started the turn."""
    return {
        "isSubagent": subagent,
        "workspaceRoots": ", ".join(str(root) for root in files.roots),
        **{f"toolEnabled_{tool}": True for tool in tools},
    }


class Source(Protocol):
    """A source of instructions, such as `rules.list_sections`.

    A mistake in a file of the user must lead to a warning, not to an exception. The same files must give the same text,
    because providers cache the beginning of a prompt. All sections must have different values of `Section.source`.
    """

    async def __call__(self, context: InstructionContext, /) -> tuple[Section, ...]:
        """Return the sections of this source, which become parts of the system prompt."""
        ...
