"""Owns the parts of a session's state other than its turns: its customizations (what extends the agent, such as tool
servers and rules), its tools, and the files that it changed. The state is a JSON object that all clients share, and
that actions change. These parts follow from the host, and not from events of the chat.

It must not know the turns: `projection.py` owns them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.errors import EcaError
from jupyter_eca.fronts.ahp.customizations import list_client_customizations, list_customizations, list_disabled
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list
from jupyter_eca.fronts.ahp.resources import uris
from jupyter_eca.fronts.ahp.session import config
from jupyter_eca.host.subscribers import ChatQuestions
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.changes import ChangedCell, ChangeExtent

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.changes import Change


class SessionExtras:
    """Updates the customizations, the tools and the changed files of one session. `chat` is the id of its chat and
    `session` its URI. `get_state` returns its current state. `dispatch` applies an action and sends it to all
    clients."""

    def __init__(
        self,
        host: Host,
        chat: str,
        session: str,
        get_state: Callable[[], Json],
        dispatch: Callable[[actions.AhpAction], None],
    ) -> None:
        self._host = host
        self._chat = chat
        self._session = session
        self._get_state = get_state
        self._dispatch = dispatch

    async def refresh(self) -> None:
        """Compute the parts again, and dispatch an action for each part that has changed."""
        state = self._get_state()
        customizations = disable_customizations(await list_customizations(self._host), list_disabled(state))
        customizations += list_client_customizations(state)
        if get_list(state, "customizations") != customizations:
            self._dispatch(actions.CustomizationsChanged(session=self._session, customizations=customizations))
        server_tools = list_tools(self._host, self._chat, self._get_state())
        if get_list(state, "serverTools") != server_tools:
            self._dispatch(actions.ServerToolsChanged(session=self._session, tools=server_tools))
        diffs_now = await list_diffs(self._host, self._chat, self._session)
        if get_list(self._get_state()["summary"], "diffs") != diffs_now:
            self._dispatch(actions.DiffsChanged(session=self._session, diffs=diffs_now))


def disable_customizations(customizations: list[Json], disabled: set[str]) -> list[Json]:
    """Return the customizations. Those whose URIs are in `disabled` are marked as disabled."""
    return [
        {**customization, "enabled": customization["enabled"] and customization["customization"]["uri"] not in disabled}
        for customization in customizations
    ]


def list_tools(host: Host, chat: str, state: Json) -> list[Json]:
    """Return the tools of the session's agent. The tools of the active client are left out: `activeClient` has them."""
    # The tools that ask the user are included: users who watch a session can be asked.
    tool_context = replace(host.tool_contexts.build_expected(chat), questions=ChatQuestions(host.subscribers, chat))
    agent_tools = host.setups.list_tools(config.read_choice(state).agent, tool_context, config.make_bounds(host, state))
    # Only the tools of clients have `client_asks`: such a client can ask its user itself before it runs a tool.
    return [_describe_tool(tool) for tool in agent_tools if not tool.spec.client_asks]


def _describe_tool(tool: Tool) -> Json:
    """Describe a tool as the protocol does, which takes this from MCP (Model Context Protocol)."""
    schema: dict[str, Any] = {"type": "object", **tool.spec.parameters}
    return {
        "name": tool.spec.name,
        "description": tool.spec.description,
        "inputSchema": schema,
        "annotations": {"readOnlyHint": tool.only_reads},
    }


async def list_diffs(host: Host, chat: str, session: str) -> list[Json]:
    """Return the changes that the chat has made and nobody has reverted."""
    try:
        changes = await host.changes.list(chat, extent=ChangeExtent.CHAT)
    except EcaError:
        return []  # the chat has no turn yet, or another program answers in it
    return [_describe_change(host, session, change) for change in changes]


def _describe_change(host: Host, session: str, change: Change) -> Json:
    """Describe a change of a file or a cell. The URI of a cell is the URI of its notebook, followed by `#` and the id
    of the cell."""
    uri = (host.workspace.files.roots[0] / change.path).as_uri()
    if isinstance(change, ChangedCell):
        uri = f"{uri}#{change.cell_id}"
    return uris.make_change(session, change.id, uri, change.kind, change.text)
