"""What every source of instructions is given, and what it must return. `sources` lists them; the host makes the
context of a turn.
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
    """The turn that is about to begin: who answers, with which model, and where."""

    files: Files
    config: Config
    agent: Agent
    model: str
    """The full name of the model: PROVIDER/MODEL."""
    kernel: Kernel | None
    kernels: Kernels | None
    """The kernels of notebooks, as the workspace knows them."""
    notebooks: Notebooks | None
    servers: tuple[tuple[str, str], ...]
    """The MCP servers: the name of each, and its instructions."""
    interpreters: Interpreters
    """The interpreters that the kernels run on."""
    warn: Callable[[str], None]
    """Tells the user, once, what is wrong with a file of theirs."""
    tools: frozenset[str] = frozenset()
    """The names by which rules select the tools that are offered, such as `eca__read_file`."""
    in_notebook: bool = False
    """Whether a cell asks, or the client has notebooks open."""
    subagent: bool = False
    """Whether another agent asks."""

    @property
    def facts(self) -> Mapping[str, bool | str]:
        return facts(self.files, self.tools, subagent=self.subagent)


def facts(files: Files, tools: Iterable[str], *, subagent: bool) -> Mapping[str, bool | str]:
    """Return the facts that conditions of prompts and rules can test (ECA's condition variables)."""
    return {
        "isSubagent": subagent,
        "workspaceRoots": ", ".join(str(root) for root in files.roots),
        **{f"toolEnabled_{tool}": True for tool in tools},
    }


class Source(Protocol):
    """A source of instructions. A mistake in a file of the user is a warning, not an error. The same files give the
    same text. No two sections have the same `source`."""

    async def __call__(self, place: InstructionContext, /) -> tuple[Section, ...]: ...
