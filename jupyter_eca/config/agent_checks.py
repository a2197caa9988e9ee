"""Finds mistakes in the user's agents: names of parents, models, tools and spawners that do not exist.

An agent is a named set of settings for chats. It may inherit from a parent, and other agents (spawners) may give it
tasks. A mistake must not stop an agent: the agent works without what is missing. `agents` is the neighbour: it computes
the agents from the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.config.schema import AGENT_ALIASES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from jupyter_eca.config.resolved import ResolvedConfig
    from jupyter_eca.config.schema import AgentConfig, Config

# Tools of ECA that we do not have. A file that names them is not wrong.
_ECA_ONLY: Final = frozenset({"compact_chat", "git", "tool_search", "web_search"})


@dataclass(frozen=True, slots=True)
class AgentProblem:
    """A mistake in the settings of an agent."""

    agent: str
    """The name of the agent."""
    word: str
    """The unknown name, as it is written in the file."""
    text: str
    """A sentence for the user."""


def find_problems(
    resolved: ResolvedConfig, tools: Collection[str], providers: Collection[str]
) -> Iterator[AgentProblem]:
    """Yield the mistakes in all agents.

    `tools` are the names of our own tools. A server's tools can change at any time, so for them only the server's name
    is checked.
    """
    config, known = resolved.config, resolved.agents
    for name, settings in config.agent.items():
        subject = f"The agent {name!r}"
        parent = settings.inherit
        if parent and AGENT_ALIASES.get(parent, parent) not in known:
            text = f"{subject} inherits from {parent!r}, which does not exist. It works without a parent."
            yield AgentProblem(name, parent, text)
        for spawner in settings.spawnable_by or ():
            if AGENT_ALIASES.get(spawner, spawner) not in known:
                yield AgentProblem(
                    name, spawner, f"{subject} names {spawner!r} in `spawnableBy`. There is no such agent."
                )
        model = settings.default_model
        if model and ("/" not in model or model.partition("/")[0] not in providers):
            text = f"{subject} names the model {model!r}, which no provider offers. Another model answers instead."
            yield AgentProblem(name, model, text)
        for selector in _list_selectors(settings):
            if not is_known_selector(selector, config, tools):
                text = f"{subject} names the tool {selector!r}, which does not exist. This setting has no effect."
                yield AgentProblem(name, selector, text)


def locate_problem(problem: AgentProblem, sources: Iterable[str]) -> str:
    """Return the place of the mistake as `FILE:LINE: `, or "" when no file has it. Blocks: it reads files.

    `sources` are the configuration files, whose last one counts most.
    """
    for source in reversed(list(sources)):
        path = Path(source)
        is_markdown = path.suffix == ".md"  # such a file has only one agent
        if is_markdown and path.stem.casefold() != problem.agent.casefold():
            continue
        try:
            lines = read_regular(path, MAX_TEXT_BYTES).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        # In JSON, the search begins at the name of the agent.
        heading = f'"{problem.agent}"'
        start = 0 if is_markdown else next((index for index, line in enumerate(lines) if heading in line), len(lines))
        for number, line in enumerate(lines[start:], start + 1):
            if problem.word in line:
                return f"{path}:{number}: "
    return ""


def _list_selectors(settings: AgentConfig) -> Iterator[str]:
    """Yield the names of tools and servers in the settings of an agent, each once."""
    rules = settings.tool_call.approval
    yield from dict.fromkeys(
        [*(settings.disabled_tools or ()), *(name for group in rules.rules_by_key.values() for name in group)]
    )


def is_known_selector(selector: str, config: Config, tools: Collection[str]) -> bool:
    """Return whether a selector means something: a server, `server__tool`, or the name of a native tool."""
    server, separator, tool = selector.partition("__")
    if separator:
        return server in config.mcp_servers or (server == "eca" and (tool in tools or tool in _ECA_ONLY))
    return selector == "eca" or selector in config.mcp_servers or selector in tools or selector in _ECA_ONLY
