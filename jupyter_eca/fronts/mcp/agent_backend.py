"""Owns what our MCP server (Model Context Protocol) offers to one outside agent, which is another program that answers
in our chats, such as Codex. The agent gets our tools for notebooks and kernels, and nothing else, because it has tools
of its own for files and commands. An offer is a tool in the form in which an MCP client sees and calls it. A native
tool is a tool of this package, unlike the tools of other MCP servers.

The tools work in the chat and the notebook of the agent's session. Each call becomes a tool call of the chat. This
module must not know the address or the token of the MCP server: `agent_endpoint.py` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.fronts.mcp.native_tools import NativeOffers
from jupyter_eca.fronts.mcp.offers_base import About, Offers, RefusedCall, ToolAnswer
from jupyter_eca.fronts.mcp.turn_result import FAILED

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.fronts.mcp.offers_base import Caller, ChangeListener, Offer, OfferCall, OfferResult
    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.tools.base import Tool

# The beginnings of the names of those tools that are offered.
_OFFERED: Final = ("eca_notebook_", "eca_kernel_", "eca_preview_notebook_")

# What the front tells the agent about itself.
_ABOUT: Final = About(
    "jupyter",
    "The live notebook",
    "Reads, changes and runs the cells of the notebook that the user has open, in its live kernel, as the user sees "
    "them: eca_notebook_read first. Use these tools in place of any tool that changes .ipynb files. What changes "
    "anything may have to be approved by the user; a call that waits for that is not stuck.",
)


class AgentBackend:
    """The backend of our MCP server for one outside agent: it lists the tools that are offered to the agent, and runs
    them. It implements `offers_base.Backend`."""

    def __init__(self, host: Host, chat: str) -> None:
        self._host = host
        self._chat = chat
        self._native_offers = NativeOffers(host)

    @property
    def about(self) -> About:
        """What the MCP server tells the agent about itself."""
        return _ABOUT

    def list_offers(self) -> Offers:
        """Return the tools that the agent may use."""
        return Offers(tuple(offer for offer in self._native_offers.list_available() if offer.name.startswith(_OFFERED)))

    async def call(self, offer: Offer, call: OfferCall[Any], arguments: dict[str, Any]) -> OfferResult:
        """Answer a call of the agent. `call` has the client that calls and this backend, so the offer of a native tool
        can call `run_tool`. Raises: ToolError."""
        return await offer.run(call, arguments)

    async def run_tool(self, tool: Tool, caller: Caller, arguments: dict[str, Any]) -> ToolAnswer:
        """Run the native tool of an offer as a call of the agent's chat. The offer calls this. `caller` says which MCP
        client has called the tool.

        Raises: RefusedCall (a ToolError) when the tool did not run, or failed.
        """
        del caller  # the only client is the agent of this chat
        result = await self._host.outside_agents.call_tool(self._chat, tool, arguments)
        if result.error:
            raise RefusedCall(result.text, FAILED)  # FAILED suggests what the agent can do about it
        return ToolAnswer({"text": result.text}, result.images)

    def listen(self, listener: ChangeListener) -> Callable[[], None]:
        """Ignore the listener: no change is announced, because an agent asks for the list of tools only once."""
        del listener
        return lambda: None
