"""Writes the list of skills in the system prompt: their names and descriptions.

It must not contain the text of a skill: the tool `skill` (`plugins/tools/skill.py`) loads it when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.policy import Decision, decide, is_hidden
from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import skills

if TYPE_CHECKING:
    from jupyter_eca.instructions.instruction_context import InstructionContext

SKILL_TOOL: Final = ToolSpec("skill", "", {})
"""Stands for the tool that loads a skill, where approval rules are applied. It only reads. The tool itself cannot be
used here: it is a plug that imports this room."""

_HEAD = """Skills are instructions for one kind of work. When one fits, load it with the tool `skill` before you \
begin, and follow it:"""


async def list_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return one section with the list. Skills that the approval rules deny (ECA's `argsMatchers` for `name`) are left
    out. `skills.find` sorts by name, so the same skills always give the same text."""
    agent = context.agent
    if is_hidden(agent.policy, SKILL_TOOL) or not agent.has_tool(SKILL_TOOL, only_reads=True):
        return ()
    lines = [
        f"- {skill.name}: {skill.description}"
        for skill in await skills.find(context.files, context.config, context.warn)
        if decide(agent.policy, SKILL_TOOL, {"name": skill.name}, approved_scopes=frozenset()).decision
        is not Decision.DENY
    ]
    return (Section("Skills", "\n".join([_HEAD, *lines])),) if lines else ()
