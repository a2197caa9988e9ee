"""Reads our own prompts (`prompts/*.md`), and chooses the prompt of an agent. An agent is a way to work that the user
chooses, such as `code` or `plan`. If the configuration has a prompt for the agent, it is used instead of ours.

It must not fill in variables: `template.py` does.
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
    from jupyter_eca.instructions.instruction_context import InstructionContext

# The folder of our own prompts.
_FOLDER: Final = Path(__file__).parent / "prompts"

# The fact that is true when the model has the tool that reads cells.
_READS_CELLS: Final = "toolEnabled_eca__notebook_read"

# The rule of plan mode, in both texts about it below.
_ONLY_LOOK: Final = "you may look but not change anything."


@cache
def read_prompt(name: str) -> str:
    """Return one of our own prompts. `name` is the name of its file without `.md`."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()


def write_plan_mode() -> str:
    """Return what the model reads with a message for the agent `plan`. It is not in the system prompt, so that the same
    system prompt holds when the plan is carried out."""
    return f"(Plan mode, for this message: {_ONLY_LOOK}\n\n{read_prompt('plan')})"


async def list_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return the section with the prompt of the agent, and the sections for notebooks and subagents where they apply.
    There is one prompt for notebooks and another for editors."""
    name = "notebook" if context.in_notebook else "code"
    try:
        text = render(context.agent.prompt or read_prompt(name), context.facts)
    except ValueError as error:
        context.warn(f"The prompt of the agent {context.agent.name} is taken as it is: {error}.")
        text = context.agent.prompt
    found = [Section("Prompt of the agent", text)] if text else []
    if context.facts.get(_READS_CELLS):
        found.append(Section("Notebooks", render(read_prompt("cells"), context.facts)))
    if context.subagent and context.agent.kind == PLAN and not context.agent.prompt:
        found.append(Section("Plan mode", f"You are in plan mode: {_ONLY_LOOK}\n\n{read_prompt('plan')}"))
    if context.subagent:
        found.append(Section("Subagent", subagents.write_rules(context.agent.max_steps or 0)))
    return tuple(found)
