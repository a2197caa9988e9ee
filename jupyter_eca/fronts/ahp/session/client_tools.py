"""Owns the tools that a client offers to the model in one session. The client that does so is the active client of the
session. The model calls these tools like any other tool, and the client runs them.

It must not know the session. `host/tools/registry.py` offers the tools to the model.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.engine.model.request import ImagePart, ToolSpec
from jupyter_eca.errors import ToolError
from jupyter_eca.fronts.ahp.reducers.base import get_object
from jupyter_eca.fronts.ahp.reducers.status import list_calls
from jupyter_eca.fronts.ahp.session.tool_calls import CLIENT_PREFIX, describe_denial
from jupyter_eca.mcp_client.tool_names import CLIENT
from jupyter_eca.plugins.tools.base import Plain
from jupyter_eca.protocol.ahp.content import AhpToolResult, EmbeddedResult, Markdown, TextResult
from jupyter_eca.protocol.content import JsonOutputsDetails, Origin
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.plugins.tools.base import ToolContext
    from jupyter_eca.protocol.ahp import actions, content

# The form of the names that clients can give their tools. All vendors of models accept up to 64 of these characters,
# and our prefix takes 8 of them. The limit is one lower than it has to be.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,55}")

# Seconds that a call waits when its client has left. The client may come back.
GRACE_SECONDS: Final = 30.0


@dataclass
class ClientTools:
    """The tools that the active client offers in one session, and the running calls of client tools. A client that was
    active before may still have running calls."""

    find_client: Callable[[str], str]
    """Returns the id of the client that runs a call, "" if no client runs it."""

    owner: str = ""
    """The id of the client that offers the tools and runs them; "" if no client offers any."""

    waiting: dict[str, asyncio.Future[ToolResult]] = field(default_factory=dict[str, "asyncio.Future[ToolResult]"])
    """The results of the running calls, by the id of the call."""

    departed: set[str] = field(default_factory=set[str])
    """The clients that have left and have not come back in time."""

    def make_tools(self, definitions: Iterable[content.ToolDefinition]) -> tuple[ClientTool, ...]:
        """Make the tools of a client's definitions. A definition with a name that vendors do not accept is left out."""
        return tuple(
            ClientTool(self, make_spec(definition)) for definition in definitions if _NAME.fullmatch(definition.name)
        )

    def complete(self, call: str, result: content.AhpToolResult) -> None:
        """Set the result of a call that the client has run.

        The result may come before `run` waits for it. The client starts when the state shows the call as running, and
        the host still checks the call after that moment.
        """
        if not (future := self._get_future(call)).done():
            future.set_result(_convert_result(result))

    def abandon(self, client: str) -> None:
        """End all calls of a client with an error. Called when the client has left and has not come back in time."""
        self.departed.add(client)
        for call, future in self.waiting.items():
            if self.find_client(call) == client and not future.done():
                future.set_exception(_make_left_error())

    async def run(self, call: str) -> ToolResult:
        """Wait until the client has run a call, and return the result. Raises: ToolError when the client has left."""
        if self.find_client(call) in self.departed and call not in self.waiting:
            raise _make_left_error()
        future = self._get_future(call)
        try:
            return await future
        finally:
            del self.waiting[call]

    def _get_future(self, call: str) -> asyncio.Future[ToolResult]:
        """Return the future for the result of a call. Either `run` or `complete` comes first, and makes it."""
        if call not in self.waiting:
            self.waiting[call] = asyncio.get_running_loop().create_future()
        return self.waiting[call]


def _make_left_error() -> ToolError:
    """Make the error for a call whose client has left."""
    return ToolError("The client that has this tool has left.", "Go on without it.")


@dataclass(frozen=True, slots=True)
class ClientTool(Plain):
    """A tool of a client, as a `Tool` of the host. We do not know whether it changes anything, so the model does not
    get it in plan mode, in which it may only read. `Plain` has the defaults of all other fields."""

    client_tools: ClientTools
    """The tools of the session that this tool belongs to."""
    spec: ToolSpec
    """The description of the tool for the model."""

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:  # noqa: ARG002  # the client knows them from the state
        """Wait until the client has run the call, and return the result. Raises: ToolError."""
        return await self.client_tools.run(context.call)


def make_spec(definition: content.ToolDefinition) -> ToolSpec:
    """Make the description of a client's tool for the model. Its name begins with `CLIENT_PREFIX`."""
    input_schema: dict[str, Any] = (
        definition.input_schema.as_json_object() if definition.input_schema else {"type": "object"}
    )
    schema: dict[str, Any] = {"properties": {}, **input_schema}
    return ToolSpec(
        f"{CLIENT_PREFIX}{definition.name}",
        definition.description or definition.title or definition.name,
        schema,
        CLIENT,
        Origin.UNKNOWN,
        client_asks=True,  # the client can ask its user before it runs the tool
    )


def make_denied_result(state: Json, action: actions.ToolCallDenied, client: str) -> content.AhpToolResult | None:
    """Make the result of a call that a client denies because it does not know the tool. Return None if the action is
    not such a denial.

    The call is already running when the client denies it. So the session ignores the denial. But the call must end with
    this result, because no other client will end it (specification, section 14).
    """
    turn = get_object(state, "activeTurn")
    # A call is the denied one if it has all of these fields with these values.
    wanted = {"toolCallId": action.tool_call_id, "toolClientId": client, "status": "running"}
    if turn.get("id") != action.turn_id or not any(wanted.items() <= call.items() for call in list_calls(turn)):
        return None
    reason = describe_denial(action) or "The client does not run it."
    return AhpToolResult.model_validate(
        {"success": False, "pastTenseMessage": "It did not run", "error": {"message": reason}}
    )


def _convert_result(result: content.AhpToolResult) -> ToolResult:
    """Make the result for the model from the result that a client sent: its texts and images. If it has no text, its
    structured content or its message is the text."""
    texts = [part.text for part in result.content or () if isinstance(part, TextResult)]
    images = tuple(
        ImagePart(part.content_type, part.data)
        for part in result.content or ()
        if isinstance(part, EmbeddedResult) and part.content_type.startswith("image/")
    )
    if result.structured_content and not texts:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    if not result.success and result.error is not None:
        texts.append(result.error.message)
    if not texts:
        message = result.past_tense_message
        texts = [message.markdown if isinstance(message, Markdown) else message]
    details = None
    if result.structured_content:
        details = JsonOutputsDetails(jsons=(json.dumps(cast("Any", result.structured_content)),))
    return ToolResult("\n".join(texts), error=not result.success, images=images, details=details)
