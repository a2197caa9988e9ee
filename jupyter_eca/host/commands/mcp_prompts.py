"""Makes commands of the prompts of MCP servers (Model Context Protocol): `/server:prompt arguments`. Such a prompt is
a text with arguments, which the server fills in. `mcp_client` has the prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.engine.text.slash_commands import bind_arguments
from jupyter_eca.host.chat.ports import CommandAnswer, CommandReplacement
from jupyter_eca.protocol.command import ChatCommand, CommandArgument, CommandKind

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.host import Host


def list_commands(host: Host) -> tuple[ChatCommand, ...]:
    """Return the prompts of all servers as commands."""
    return tuple(
        ChatCommand(
            name=f"{server}:{prompt.name}",
            description=prompt.description,
            type=CommandKind.MCP_PROMPT,
            arguments=tuple(CommandArgument(**argument.model_dump()) for argument in prompt.arguments),
        )
        for server, prompts in host.mcp.list_prompts().items()
        for prompt in prompts
    )


async def expand_prompt(host: Host, call: CommandCall, chat: str) -> CommandAnswer | CommandReplacement | None:
    """Return the text of a prompt for the model, or an answer that says what is wrong with the command. None if no
    server has that name. A server that is starting is waited for.

    Raises: ToolError when the server does not return the prompt.
    """
    server, _, name = call.name.partition(":")
    prompts = await host.mcp.find_prompts(server, host.config.mcp_timeout_seconds)
    if prompts is None:
        return None
    for prompt in prompts:
        if prompt.name == name:
            arguments = bind_arguments([argument.name for argument in prompt.arguments], call.arguments)
            missing = [arg.name for arg in prompt.arguments if arg.required and arg.name not in arguments]
            if missing:
                usage = " ".join(f"{argument.name}=…" for argument in prompt.arguments)
                return CommandAnswer(f"`/{call.name}` needs {', '.join(missing)}: write `/{call.name} {usage}`.")
            return CommandReplacement(await host.mcp.get_prompt(server, prompt.name, arguments, chat))
    known = ", ".join(f"`/{server}:{prompt.name}`" for prompt in prompts)
    return CommandAnswer(f"The MCP server {server!r} offers no prompt {name!r} now. It offers: {known or 'none'}.")
