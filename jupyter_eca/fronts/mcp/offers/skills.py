"""The user's own commands, which are prompts in Markdown files: as tools, and as prompts of the protocol."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import mcp_types as types
from pydantic import Field

from jupyter_eca.commands import custom
from jupyter_eca.engine.commands import Called, expand
from jupyter_eca.fronts.mcp.base import Call, Hints, Offers, Refused, offer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jupyter_eca.fronts.mcp.assistant import Assistant

    Assisted = Call[Assistant]


@offer("eca_skill_list", Hints.READS)
async def skills(call: Assisted) -> dict[str, Any]:
    """The prompts that the user has written for the assistant; in a session, `/NAME` runs one."""
    found = await custom.find(call.backend.host.workspace.files)
    return {
        "skills": [
            {
                "name": one.name,
                "description": one.description,
                "arguments": [argument.name for argument in one.described.arguments or ()],
            }
            for one in found.values()
        ]
    }


@offer("eca_skill_create", Hints.CREATES, governed=True)
async def create(
    call: Assisted,
    name: Annotated[str, Field(pattern=r"^[A-Za-z][\w.-]*$", description="Letters, digits, `-`, `_` and `.`.")],
    description: Annotated[str, Field(min_length=1, description="A line that says what it does.")],
    content: Annotated[str, Field(min_length=1, description="The prompt; $ARGS is what is typed behind /NAME.")],
) -> dict[str, Any]:
    """Write a prompt that is run as `/NAME` from then on, in the project's .eca/commands. Overwrites none."""
    files = call.backend.host.workspace.files
    path = files.resolve(f".eca/commands/{name}.md")
    line = " ".join(description.split())
    if not await asyncio.to_thread(_written, path, f"---\ndescription: {line}\n---\n{content}\n"):
        raise Refused(f"There is a skill {name!r} already; nothing was written.", "Choose another name.")
    return {"name": name, "file": files.shown(path)}


class Written:
    """`base.Prompts`."""

    async def list(self, backend: Assistant) -> list[types.Prompt]:
        found = await custom.find(backend.host.workspace.files)
        return [
            types.Prompt(
                name=one.name,
                description=one.description,
                arguments=[
                    types.PromptArgument(
                        name=argument.name, description=argument.description, required=argument.required
                    )
                    for argument in one.described.arguments or ()
                ],
            )
            for one in found.values()
        ]

    async def get(self, backend: Assistant, params: types.GetPromptRequestParams) -> types.GetPromptResult | None:
        found = (await custom.find(backend.host.workspace.files)).get(params.name)
        if found is None:
            return None
        text = _expanded(found, params.arguments or {})
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=found.description, messages=[message])


OFFERS = Offers((skills, create), prompts=(Written(),))


def _expanded(command: custom.CustomCommand, given: Mapping[str, str]) -> str:
    """`1`, `2` are by position, `args` is all of it, and the others are by name."""
    numbers = [int(name) for name in given if name.isdecimal()]
    loose = [given.get(str(number), "") for number in range(1, max(numbers, default=0) + 1)]
    named = [f"{name}={value}" for name, value in given.items() if not name.isdecimal() and name != "args"]
    return expand(command.template, Called(command.name, given.get("args", ""), (*loose, *named)))


def _written(path: Path, text: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
