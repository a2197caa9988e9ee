"""Our own prompts (`prompts/*.md`) and the prompt of an agent: its own, or else one of those. It fills in nothing:
`template` does.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.agents import PLAN
from jupyter_eca.engine.chat import subagents
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions.template import render

if TYPE_CHECKING:
    from jupyter_eca.instructions.base import InstructionContext

_FOLDER: Final = Path(__file__).parent / "prompts"

_READS_CELLS: Final = "toolEnabled_eca__notebook_read"


@cache
def ours(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()


async def sections(place: InstructionContext) -> tuple[Section, ...]:
    """Return the prompt. An agent's own prompt replaces all of ours. In a notebook the agent `code` has another prompt
    than in an editor."""
    of_ours = "plan" if place.agent.kind == PLAN else "notebook" if place.in_notebook else "code"
    try:
        words = render(place.agent.prompt or ours(of_ours), place.facts)
    except ValueError as error:
        place.warn(f"The prompt of the agent {place.agent.name} is taken as it is: {error}.")
        words = place.agent.prompt
    found = [Section("Prompt of the agent", words)] if words else []
    if place.facts.get(_READS_CELLS):
        found.append(Section("Notebooks", ours("cells")))
    if place.subagent:
        found.append(Section("Subagent", subagents.write_rules(place.agent.max_steps or 0)))
    return tuple(found)
