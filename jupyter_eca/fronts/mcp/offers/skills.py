"""Owns the offers about the user's own commands and skills, which are texts for the model in Markdown files. Over MCP
they are offered as prompts, which a client can insert. Two tools list them and create a command. The docstring of a
tool is its description for the client's model.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import mcp_types as types
from pydantic import Field

from jupyter_eca.engine.text.slash_commands import CommandCall, expand_template, list_arguments
from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer
from jupyter_eca.host.commands import markdown_commands
from jupyter_eca.host.commands import skills as skill_commands
from jupyter_eca.protocol.command import CommandKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from jupyter_eca.fronts.mcp.assistant import Assistant
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.command import ChatCommand, CommandArgument

    AssistantCall = OfferCall[Assistant]


@offer("eca_skill_list", Hints.READS)
async def list_skills(call: AssistantCall) -> dict[str, Any]:
    """List the prompts that the user has written for the assistant, and the skills, which the assistant loads by itself
    when they fit. In a session, `/NAME` runs a prompt or a skill."""
    return {
        "skills": [
            {
                "name": prompt.name,
                "description": prompt.description,
                "arguments": [argument.name for argument in prompt.arguments],
                "loadedWhenItFits": prompt.type is CommandKind.SKILL,
            }
            for prompt in await _list_prompts(call.backend.host)
        ]
    }


@offer("eca_skill_create", Hints.CREATES, needs_approval=True)
async def create_skill(
    call: AssistantCall,
    name: Annotated[str, Field(pattern=r"^[A-Za-z][\w.-]*$", description="Letters, digits, `-`, `_` and `.`.")],
    description: Annotated[str, Field(min_length=1, description="A line that says what it does.")],
    content: Annotated[str, Field(min_length=1, description="The prompt; $ARGS is what is typed behind /NAME.")],
) -> dict[str, Any]:
    """Write a prompt that is run as `/NAME` from then on, in the project's .eca/commands. Never overwrites one."""
    files = call.backend.host.workspace.files
    path = files.resolve(f".eca/commands/{name}.md")
    line = " ".join(description.split())
    if not await asyncio.to_thread(_write_new, path, f"---\ndescription: {line}\n---\n{content}\n"):
        raise RefusedCall(f"There is a skill {name!r} already; nothing was written.", "Choose another name.")
    return {"name": name, "file": files.shorten(path)}


class WrittenPrompts:
    """The commands and skills, as `Prompts`."""

    async def list(self, backend: Assistant) -> list[types.Prompt]:
        """Return all commands and skills."""
        return [
            types.Prompt(
                name=prompt.name,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(
                        name=argument.name, description=argument.description, required=argument.required
                    )
                    for argument in prompt.arguments
                ],
            )
            for prompt in await _list_prompts(backend.host)
        ]

    async def get(self, backend: Assistant, params: types.GetPromptRequestParams) -> types.GetPromptResult | None:
        """Return the text of a command or skill, with the arguments filled in; None if there is none of this name."""
        host, arguments = backend.host, params.arguments or {}
        if command := (await _read_commands(host)).get(params.name):
            shown_arguments = command.as_chat_command.arguments
            text = expand_template(
                command.template, _make_command_call(params.name, command.template, shown_arguments, arguments)
            )
            return _make_prompt(command.description, text)
        for skill in await skill_commands.find(host):
            if skill.name == params.name:
                shown_arguments = skill_commands.describe(skill).arguments
                command_call = _make_command_call(skill.name, skill.body, shown_arguments, arguments)
                expanded = await skill_commands.expand_skill(host, command_call)
                return None if expanded is None else _make_prompt(skill.description, expanded.message)
        return None


OFFERS = Offers((list_skills, create_skill), prompts=(WrittenPrompts(),))


async def _read_commands(host: Host) -> Mapping[str, markdown_commands.CustomCommand]:
    """Return the user's commands, by their names."""
    return await markdown_commands.find(host.workspace.files, host.config, host.subscribers.warn)


async def _list_prompts(host: Host) -> list[ChatCommand]:
    """List the commands, and then the skills. A skill with the name of a command is left out, because the command runs
    when a user types the name."""
    written = {name: command.as_chat_command for name, command in (await _read_commands(host)).items()}
    return [
        *written.values(),
        *(skill for skill in await skill_commands.list_commands(host) if skill.name not in written),
    ]


def _make_prompt(description: str, text: str) -> types.GetPromptResult:
    """Make the result of `prompts/get`: one message of the user."""
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=description, messages=[message])


def _make_command_call(
    name: str, template: str, shown: Sequence[CommandArgument], values: Mapping[str, str]
) -> CommandCall:
    """Return the call of a command or skill with these values of its arguments, as if a user had typed it.

    `shown` are its arguments as the client sees them. The template may have other names for them. In the template, `1`,
    `2` and so on are positional, `args` is the whole text, and all others have names. For example, the values
    {"1": "a.csv", "mode": "fast"} give the words `a.csv` and `mode=fast`.
    """
    template_names = {
        argument.name: in_template.name for argument, in_template in zip(shown, list_arguments(template), strict=False)
    }
    by_name = {template_names.get(name, name): value for name, value in values.items()}
    numbers = [int(name) for name in by_name if name.isdecimal()]
    positional = [by_name.get(str(number), "") for number in range(1, max(numbers, default=0) + 1)]
    named = [f"{name}={value}" for name, value in by_name.items() if not name.isdecimal() and name != "args"]
    return CommandCall(name, by_name.get("args", ""), (*positional, *named))


def _write_new(path: Path, text: str) -> bool:
    """Write a new file. Return False if the file exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
