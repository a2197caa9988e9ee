"""Owns the methods of ECA on tools. A client can lend tools to the chats in which it prompts: it offers them to the
model, and runs them itself. It can also switch tools on and off.

This module must not know how tools are called: `host/tools/` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jupyter_eca.config import disabled_tools
from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.fronts.eca.config_rights import check_may_change_config, find_config_sources
from jupyter_eca.mcp_client.tool_names import PYTHON, make_tool_name
from jupyter_eca.plugins.tools.base import Plain
from jupyter_eca.protocol import tool as wire
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.content import Origin
from jupyter_eca.protocol.mcp import ToolServerUpdatedParams
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.plugins.tools.base import ToolContext


@dataclass(frozen=True, slots=True)
class LinkTool(Plain):
    """A tool that the client at the other end of a link runs. `Plain` has the defaults of all other fields."""

    session: EcaSession
    """The connection of the client."""
    spec: ToolSpec
    """The description of the tool for the model."""
    only_reads: bool
    """Whether the tool changes nothing, as the client says."""

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Let the client run the tool, and return its result. Raises: ToolError."""
        params = wire.ToolCallParams(
            chat_id=self.session.wire_id(context.chat),
            tool_call_id=context.call,
            name=self.spec.name,
            arguments=arguments,
        )
        await self.session.catch_up()  # send all events first: the function may block the client
        try:
            answer = await self.session.peer.request("tool/call", params.as_json_object())
            result = wire.ToolCallResult.model_validate(answer)
        except RemoteError as error:
            raise ToolError(f"{self.spec.name} did not answer: {error}.", "Go on without it.") from error
        except ValidationError as error:
            raise ToolError(f"The answer of {self.spec.name} makes no sense.") from error
        return ToolResult(result.text, result.error)


async def lend_tools(session: EcaSession, params: wire.ToolLendParams) -> Done:
    """Save the tools that the client lends. Raises: ToolError for a name that another tool has."""
    toolbox = session.host.toolbox
    if names_in_use := [tool.name for tool in params.tools if toolbox.get(tool.name) is not None]:
        raise ToolError(f"There is a tool {', '.join(names_in_use)} already.", "Give yours another name.")
    session.client_tools = tuple(
        LinkTool(session, ToolSpec(tool.name, tool.description, tool.parameters, PYTHON, Origin.UNKNOWN), tool.reads)
        for tool in params.tools
    )
    return Done()


async def switch_tool(session: EcaSession, params: wire.ToolSwitchParams) -> Done:
    """Switch a tool on or off in the configuration. Raises: RemoteError."""
    check_may_change_config(session)
    # In the configuration a tool is named `server__tool`. A name without its server may be written there too.
    is_native = params.server == ToolServerUpdatedParams().name  # the default of the field is the native server
    server, tool = ("eca", params.tool) if is_native else (params.server, make_tool_name(params.server, params.tool))
    name = tool if tool.startswith(f"{server}__") else f"{server}__{tool}"
    names = frozenset({name, tool})
    host = session.host
    await host.folder_trust.keep_trust_during(
        partial(disabled_tools.switch_tool, host.config, find_config_sources(host), names, name, on=params.on)
    )
    await host.reload()
    return Done()


HANDLERS: Final = {"tool/lend": lend_tools, "tool/switch": switch_tool}
