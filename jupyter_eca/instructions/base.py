"""What a source of instructions is given."""

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
class Place:
    """Of a turn that is about to begin: who answers, with which `model` (its full name), and where. `kernels` are those
    of notebooks, as the workspace knows them, `interpreters` knows what they run on; `servers` are those of tools, with
    what each says of itself; `tools` what rules call the tools that are offered (`eca__read_file`). `in_notebook`:
    whoever asks does so in a cell, or has notebooks open. `subagent`: another agent asks. `warn` tells the user, once,
    what is wrong with a file of theirs."""

    files: Files
    config: Config
    agent: Agent
    model: str
    kernel: Kernel | None
    kernels: Kernels | None
    notebooks: Notebooks | None
    servers: tuple[tuple[str, str], ...]
    interpreters: Interpreters
    warn: Callable[[str], None]
    tools: frozenset[str] = frozenset()
    in_notebook: bool = False
    subagent: bool = False

    @property
    def facts(self) -> Mapping[str, bool | str]:
        return facts(self.files, self.tools, subagent=self.subagent)


def facts(files: Files, tools: Iterable[str], *, subagent: bool) -> Mapping[str, bool | str]:
    """What prompts and rules may ask for (ECA's condition variables)."""
    return {
        "isSubagent": subagent,
        "workspaceRoots": ", ".join(str(root) for root in files.roots),
        **{f"toolEnabled_{tool}": True for tool in tools},
    }


class Source(Protocol):
    """Does not raise for what a user wrote: it warns, and the rest goes on. The same files give the same text. Each
    section has a source that no other has."""

    async def __call__(self, place: Place, /) -> tuple[Section, ...]: ...
