"""Makes commands of skills: `/NAME text` lets the model follow a skill. `/skills` lists them, and `/skill-create` lets
the model write one. A skill is a file `SKILL.md` with instructions for one kind of work (agentskills.io).
`instructions.skills` reads the skills.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.text.slash_commands import expand_template, find_mixed_line, list_arguments
from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.instructions import skills
from jupyter_eca.protocol.command import ChatCommand, CommandArgument, CommandKind
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.host.host import Host
    from jupyter_eca.instructions.skills import Skill

# The names that agentskills.io allows. Existing skills may have other names.
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# The message that the model gets for `/skill-create`.
_CREATE: Final = """Write the skill `{name}`: the file {path}, with `write_file`. It begins with this front matter:

---
name: {name}
description: what the skill does and when to use it, with the words by which a user would ask for it, in 1024 \
characters at most
---

Below it stand the instructions for a model that knows nothing of this conversation: short, concrete, in the order of \
the work, with the tools and commands to use and how to check the result; fewer than 500 lines. What is long or seldom \
needed goes into files beside it (`references/`, `scripts/`), which the text names by their relative paths.

What the skill is for: {purpose}"""
_NO_PURPOSE: Final = "take it from this conversation; ask the user if that is not plain."


def make_registry(host: Host) -> skills.SkillRegistry:
    """Return the registry of the skills of a host."""
    return skills.SkillRegistry(host.workspace.files, host.config, host.subscribers.warn)


def describe(skill: Skill) -> ChatCommand:
    """Return a skill as a command."""
    arguments = () if find_mixed_line(skill.body) else list_arguments(skill.body, skill.arguments)
    return ChatCommand(name=skill.name, description=skill.description, type=CommandKind.SKILL, arguments=arguments)


async def find(host: Host) -> tuple[Skill, ...]:
    """Return all skills of a host."""
    return await make_registry(host).list_skills()


async def list_commands(host: Host) -> tuple[ChatCommand, ...]:
    """Return all skills as commands."""
    return tuple(map(describe, await find(host)))


async def expand_skill(host: Host, call: CommandCall) -> CommandReplacement | None:
    """Return the text of a skill for the model, None when there is no such skill."""
    skill = next((skill for skill in await find(host) if skill.name == call.name), None)
    if skill is None:
        return None
    body = await run_read(skills.render_body, make_registry(host), skill)
    # Without arguments the text is the same as when the model loads the skill: a `$1` in its code is no placeholder.
    if call.text or call.arguments:
        text = call.text or " ".join(call.arguments)
        # With both kinds of placeholders (`$1` and `{{name}}`) it is not clear which are meant.
        body = f"{body}\n\n{text}" if find_mixed_line(body) else expand_template(body, call)
    return CommandReplacement(await run_read(skills.format_skill, skill, body))


async def preview(host: Host, name: str) -> str | None:
    """Return what the model is given when it loads a skill; None when there is no such skill."""
    skill = next((skill for skill in await find(host) if skill.name == name), None)
    if skill is None:
        return None
    body = await run_read(skills.render_body, make_registry(host), skill)
    return await run_read(skills.format_skill, skill, body)


async def list_skills(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """List the skills."""
    lines = [
        f"- `/{skill.name}` ({skill.origin.value}): {skill.description}\n  `{skill.path}`"
        for skill in await find(place.host)
    ]
    return CommandAnswer("\n".join([*lines, "", "`/skill-create NAME what it is for` writes one for this project."]))


async def create(place: CommandPlace, call: CommandCall) -> CommandAnswer | CommandReplacement:
    """Let the model write a skill."""
    name, _, purpose = call.text.partition(" ")
    if not _NAME.fullmatch(name) or len(name) > 64:
        return CommandAnswer(
            "Write `/skill-create NAME what it is for`; a name has small letters, digits and single hyphens."
        )
    files = place.host.workspace.files
    path = files.resolve(f".eca/skills/{name}/SKILL.md")
    if await asyncio.to_thread(path.exists):
        return CommandAnswer(f"There is a skill `{name}` already, in {files.shorten(path)}.")
    return CommandReplacement(
        _CREATE.format(name=name, path=files.shorten(path), purpose=purpose.strip() or _NO_PURPOSE)
    )


COMMANDS: Final = {
    "skills": NativeCommand(list_skills, "List the skills: instructions that the model loads when they fit"),
    "skill-create": NativeCommand(
        create,
        "Have a skill written for this project",
        (
            CommandArgument(name="name", description="small letters, digits and hyphens"),
            CommandArgument(name="purpose", description="what it is for; taken from this chat when left out"),
        ),
        may_ask_model=True,
    ),
}
