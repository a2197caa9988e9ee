"""Owns the events of an outside agent: what it says and does in a session, in the order in which it happens.

The events must not know our chats: `host/outside` feeds them to the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.acp_client.agent_call import AgentCall
    from jupyter_eca.acp_client.permission import PermissionOption
    from jupyter_eca.protocol.lifecycle import AgentOption


@dataclass(frozen=True, slots=True)
class TextSaid:
    """A piece of the agent's answer."""

    text: str
    message: str = ""
    """The id of the message; "" if the agent gives none. Another id begins another message."""


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of the agent's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ImageShown:
    """An image in the agent's answer."""

    media_type: str
    base64: str
    """The data of the image, without a prefix."""


@dataclass(frozen=True, slots=True)
class CallDescribed:
    """A tool call has begun, or more is known of it. `call.status` says how far it is."""

    call: AgentCall


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """The agent asks whether a call may run, and waits for the answer."""

    call: AgentCall
    number: int
    """The number of the request. `AgentSession.answer_permission` needs it."""
    options: tuple[PermissionOption, ...]
    """The answers that the agent offers."""


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The agent has changed its plan."""

    entries: tuple[tuple[str, str], ...]
    """The text and the status of each step: `pending`, `in_progress` or `completed`."""


@dataclass(frozen=True, slots=True)
class AgentUsageChanged:
    """How full the context window of the agent's model is."""

    used: int
    """Tokens in the window."""
    size: int
    """The size of the window in tokens; 0 when it is not known."""
    cost: float | None = None
    """What the session has cost so far in US dollars; None when it is not known, or another currency."""


@dataclass(frozen=True, slots=True)
class AgentTitleChanged:
    """The agent has given the session a title."""

    title: str


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The session has another mode."""

    mode: str
    """The name that the agent gives to the mode."""


@dataclass(frozen=True, slots=True)
class OptionsChanged:
    """The session has other options, or other values of them. `AgentSession.options` has them."""

    changed: tuple[AgentOption, ...] = ()
    """The options that have another value than before."""


@dataclass(frozen=True, slots=True)
class NoticeShown:
    """A notice for the user, from the agent or from us."""

    text: str


@dataclass(frozen=True, slots=True)
class PromptEnded:
    """The agent has answered the prompt. Nothing of its turn follows."""

    stop_reason: str
    """Why the agent ended its turn, in a word of the protocol: `end_turn`, `cancelled` and others."""


AgentEvent = (
    TextSaid
    | Thought
    | ImageShown
    | CallDescribed
    | PermissionAsked
    | PlanChanged
    | AgentUsageChanged
    | AgentTitleChanged
    | ModeChanged
    | OptionsChanged
    | NoticeShown
    | PromptEnded
)
