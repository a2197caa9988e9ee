"""Owns the models of the Agent Client Protocol (ACP), version 1: what a client such as an editor and an agent send each
other. The agent is our assistant, or another program that works as one.

A client starts a session, prompts in it, and gets updates until the turn ends: pieces of text, tool calls, plans. The
agent asks for permission before it runs a tool. `content.py` has the parts of messages, `requests.py` the params and
results of both sides, `updates.py` the updates of a session, and `json_lines.py` the form of a message on a stream.

The models follow the schema of version 1, with these rules. A field that is left out or null has its default. Unknown
fields are ignored, because version 1 grows by new fields. What a side does not announce as a capability, the other side
must not use. The models must not know our own events: `fronts/acp/` translates them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from jupyter_eca.protocol.jsonrpc import Cancellation

VERSION: Final = 1
"""The version that we speak. A client that asks for a newer version gets this one as the answer, and decides whether to
continue. Version 2 is a draft."""

CANCELLATION: Final = Cancellation("$/cancel_request", "requestId")
"""How either side cancels its own request."""


class AcpErrorCode(IntEnum):
    """The error codes of the protocol, besides those of JSON-RPC."""

    AUTH_REQUIRED = -32000
    RESOURCE_NOT_FOUND = -32002
