"""What agents name and nobody has: a parent, a model, a tool, a spawner. The agent goes on without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import ALIASES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from jupyter_eca.config.resolved import Resolved
    from jupyter_eca.config.schema import AgentConfig, Config

# Tools of ECA's that there are none of here: files that name them are not wrong.
_ELSEWHERE: Final = frozenset({"compact_chat", "git", "tool_search", "web_search"})


@dataclass(frozen=True, slots=True)
class Problem:
    """`text` is a sentence for the user about a `word` that an agent's file has."""

    agent: str
    word: str
    text: str


def problems(resolved: Resolved, tools: Collection[str], providers: Collection[str]) -> Iterator[Problem]:
    """`tools` are the names of our own; those of servers come and go, so of these only the server is looked for."""
    config, known = resolved.config, resolved.agents
    for name, settings in config.agent.items():
        of = f"The agent {name!r}"
        parent = settings.inherit
        if parent and ALIASES.get(parent, parent) not in known:
            text = f"{of} inherits from {parent!r}, which is not there. It goes on without it."
            yield Problem(name, parent, text)
        for spawner in settings.spawnable_by or ():
            if ALIASES.get(spawner, spawner) not in known:
                yield Problem(name, spawner, f"{of} names {spawner!r} in `spawnableBy`; there is no such agent.")
        model = settings.default_model
        if model and ("/" not in model or model.partition("/")[0] not in providers):
            text = f"{of} names the model {model!r}, which nobody offers. Another one answers for it."
            yield Problem(name, model, text)
        for selector in _selectors(settings):
            if not _is_there(selector, config, tools):
                text = f"{of} names the tool {selector!r}, which is not there; what it says of it is unused."
                yield Problem(name, selector, text)


def place(problem: Problem, sources: Iterable[str]) -> str:
    """`FILE:LINE: ` of the file that names it; "" when it came otherwise. Blocks."""
    for source in reversed(list(sources)):
        path = Path(source)
        own = path.suffix == ".md"
        if own and path.stem.casefold() != problem.agent.casefold():
            continue
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        begins = 0 if own else next((n for n, line in enumerate(lines) if f'"{problem.agent}"' in line), len(lines))
        for number, line in enumerate(lines[begins:], begins + 1):
            if problem.word in line:
                return f"{path}:{number}: "
    return ""


def _selectors(settings: AgentConfig) -> Iterator[str]:
    rules = settings.tool_call.approval
    yield from dict.fromkeys([*(settings.disabled_tools or ()), *rules.deny, *rules.ask, *rules.allow])


def _is_there(selector: str, config: Config, tools: Collection[str]) -> bool:
    """A server, `server__tool`, or the bare name of a native tool."""
    server, named, tool = selector.partition("__")
    if named:
        return server in config.mcp_servers or (server == "eca" and (tool in tools or tool in _ELSEWHERE))
    return selector == "eca" or selector in config.mcp_servers or selector in tools or selector in _ELSEWHERE
