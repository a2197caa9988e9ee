"""Skills as commands: `/NAME words` has the model follow one; `/skills` lists them, `/skill-create` has one made."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.text.slash_commands import expand, find_mixed_line, list_arguments
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

# As agentskills.io has them; those that exist already may be looser.
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_CREATE: Final = """Write the skill `{name}`: the file {path}, with `write_file`. It begins with this front matter:

---
name: {name}
description: what the skill does and when to use it, with the words by which a user would ask for it, in 1024 \
characters at most
---

Below it stand the instructions for a model that knows nothing of this conversation: short, concrete, in the order of \
the work, with the tools and commands to use and how to check the result; fewer than 500 lines. What is long or seldom \
needed goes into files beside it (`references/`, `scripts/`), which the text names by their relative paths.

What the skill is for: {wanted}"""
_UNSAID: Final = "take it from this conversation; ask the user if that is not plain."


def shelf(host: Host) -> skills.SkillRegistry:
    return skills.SkillRegistry(host.workspace.files, host.config, host.audiences.warn)


def describe(skill: Skill) -> ChatCommand:
    arguments = () if find_mixed_line(skill.body) else list_arguments(skill.body, skill.arguments)
    return ChatCommand(name=skill.name, description=skill.description, type=CommandKind.SKILL, arguments=arguments)


async def find(host: Host) -> tuple[Skill, ...]:
    return await shelf(host).all()


async def list_commands(host: Host) -> tuple[ChatCommand, ...]:
    return tuple(describe(one) for one in await find(host))


async def expand_skill(host: Host, called: CommandCall) -> CommandReplacement | None:
    """None for a skill nobody has."""
    skill = next((one for one in await find(host) if one.name == called.name), None)
    if skill is None:
        return None
    body = await run_read(skills.render, shelf(host), skill)
    # Typed without arguments it says what it says when the model loads it: a `$1` in its code is no place for one.
    if called.text or called.arguments:
        words = called.text or " ".join(called.arguments)
        body = f"{body}\n\n{words}" if find_mixed_line(body) else expand(body, called)
    return CommandReplacement(await run_read(skills.text, skill, body))


async def overview(place: CommandPlace, _called: CommandCall) -> CommandAnswer:
    lines = [
        f"- `/{one.name}` ({one.origin.value}): {one.description}\n  `{one.path}`" for one in await find(place.host)
    ]
    return CommandAnswer("\n".join([*lines, "", "`/skill-create NAME what it is for` writes one for this project."]))


async def create(place: CommandPlace, called: CommandCall) -> CommandAnswer | CommandReplacement:
    name, _, wanted = called.text.partition(" ")
    if not _NAME.fullmatch(name) or len(name) > 64:
        return CommandAnswer(
            "Write `/skill-create NAME what it is for`; a name has small letters, digits and single hyphens."
        )
    files = place.host.workspace.files
    path = files.resolve(f".eca/skills/{name}/SKILL.md")
    if await asyncio.to_thread(path.exists):
        return CommandAnswer(f"There is a skill `{name}` already, in {files.shorten(path)}.")
    return CommandReplacement(_CREATE.format(name=name, path=files.shorten(path), wanted=wanted.strip() or _UNSAID))


COMMANDS: Final = {
    "skills": NativeCommand(overview, "List the skills: instructions that the model loads when they fit"),
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
