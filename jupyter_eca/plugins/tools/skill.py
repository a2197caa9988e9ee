"""The tool that loads a skill, and files that belong to it. `instructions/skills` finds and renders them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.instructions import skills
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from jupyter_eca.instructions.skills import Skill

# The types of the arguments, with their descriptions for the model.
Name = Annotated[str, Field(min_length=1, description="Its name in the list.")]
File = Annotated[str, Field(description="A file's path in the skill's folder; empty for the instructions.")]


@tool(reads=True, needs=[Need.SKILLS], summary="Loading the skill {name}")
async def skill(context: ToolContext, name: Name, file: File = "") -> str:
    """Load a skill, and follow it from then on; load each once.

    With file it gives a file that the skill names. Programs among them are run by their path in the skill's folder.
    """
    registry = context.skills
    if registry is None:
        raise ToolError("There are no skills here.")
    chosen = _find_skill(await registry.list_skills(), name)
    if file:
        return await run_read(skills.read_skill_file, chosen, file)
    return await run_read(lambda: skills.format_skill(chosen, skills.render_body(registry, chosen)))


TOOLS = (skill,)


def _find_skill(skills: tuple[Skill, ...], name: str) -> Skill:
    """Return the skill of a name. Raises: ToolError when there is none."""
    for candidate in skills:
        if candidate.name == name:
            return candidate
    names = ", ".join(skill.name for skill in skills)
    raise ToolError(f"There is no skill {name!r}.", f"There are: {names or 'none'}.")
