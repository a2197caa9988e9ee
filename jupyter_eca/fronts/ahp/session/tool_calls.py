"""Owns how ECA's tool call contents become the protocol's actions.

It must not know the session. `projection.py` has all other contents.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypedDict, cast

from jupyter_eca.engine.approval.reason import add_warning
from jupyter_eca.fronts.ahp.reducers.base import Json, items, omit_none
from jupyter_eca.fronts.ahp.resources import uris
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.ahp.content import AhpToolResult, Markdown, ToolFailure
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    JsonOutputsDetails,
    RejectReason,
    ToolCallContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from jupyter_eca.fronts.ahp.locales import Wording
    from jupyter_eca.protocol.ahp.content import Confirmed

# The prefix of a client's tools among the names of our tools.
CLIENT_PREFIX: Final = "client__"

REMEMBER: Final = "allow-session"
# The options of an approval, and their kinds.
OPTIONS: Final = {"allow": "approve", REMEMBER: "approve", "deny": "deny"}


def list_options(words: Wording, remembers: Sequence[str]) -> list[Json]:
    """Return the options of an approval, in the order of the buttons; clients draw a line between groups. `remembers`
    is what an approval for the session would remember, in words; without it there is no such option."""
    remember = f"{words.remember}: {', '.join(remembers)}" if remembers else ""
    labels = zip(OPTIONS.items(), (words.allow, remember, words.deny), strict=True)
    return [
        {"id": id, "label": label, "kind": kind, "group": int(kind == "deny")} for (id, kind), label in labels if label
    ]


class _Ids(TypedDict):
    """The fields that identify a call in each of its actions."""

    session: str
    turn_id: str
    tool_call_id: str


class ToolCallProjection:
    """The tool calls of one session.

    `owner` gives the client that has the client tools, "" for none; `words` gives the texts in the language of the
    newest subscriber.
    """

    def __init__(
        self,
        session: str,
        state: Callable[[], Json],
        root: Path,
        owner: Callable[[], str],
        words: Callable[[], Wording],
    ) -> None:
        self._session = session
        self._state = state
        self._root = root
        self._owner = owner
        self._wording = words

    def actions(self, turn: str, content: ToolCallContent, words: str) -> Iterator[actions.AhpAction]:
        """Yield the actions of an event. Dispatch each one before taking the next, which is made for the state after
        it.

        `words` is the text about a refusal that the model gets.
        """
        about = _Ids(session=self._session, turn_id=turn, tool_call_id=content.id)
        if self._status(content.id) is None:
            yield self._start(about, content)
        match content:
            case ToolCallPrepareContent(arguments_text=text) if text:
                yield actions.ToolCallInputDelta(**about, content=text)
            case ToolCallRunContent(manual_approval=True, remembers=remembers):
                # A call is not asked about after a client has ended its turn.
                yield self._ready(about, content, options=list_options(self._wording(), remembers or ()))
            case ToolCallRunningContent():
                yield from self._confirm(about, content)
            case ToolCalledContent():
                yield from self._complete(about, content)
            case ToolCallRejectedContent():
                yield from self._refuse(about, content, words)
            case _:
                pass

    def _status(self, id: str) -> str | None:
        turn: Json = self._state().get("activeTurn") or {}
        calls = (part["toolCall"] for part in items(turn, "responseParts") if part["kind"] == "toolCall")
        return next((str(call["status"]) for call in calls if call["toolCallId"] == id), None)

    def _start(self, about: _Ids, content: ToolCallContent) -> actions.ToolCallStart:
        lent = content.name.startswith(CLIENT_PREFIX)
        name = content.name.removeprefix(CLIENT_PREFIX)
        owner = (self._owner() or None) if lent else None
        bare_name = name.removeprefix(f"{content.server}__")
        display_name = bare_name.replace("_", " ").strip().capitalize() or name
        return actions.ToolCallStart(**about, tool_name=name, display_name=display_name, tool_client_id=owner)

    def _ready(
        self,
        about: _Ids,
        content: ToolCallRunContent | ToolCallRunningContent | _Ended,
        options: list[Json] | None = None,
        confirmed: Confirmed | None = None,
    ) -> actions.ToolCallReady:
        """Return the action with the arguments of a call. The change that it would make is shown only while a user has
        to decide about it."""
        edit = None if confirmed else self._edit(content)
        message = content.summary or f"Calling {content.name.removeprefix(CLIENT_PREFIX)}"
        if options and isinstance(content, ToolCallRunContent):
            message = add_warning(message, content.cause)
        return actions.ToolCallReady(
            **about,
            invocation_message=message,
            tool_input=json.dumps(content.arguments, ensure_ascii=False),
            edits={"items": [edit]} if edit else None,
            options=options,
            confirmed=confirmed,
        )

    def _confirm(self, about: _Ids, content: ToolCallRunningContent) -> Iterator[actions.AhpAction]:
        status = self._status(content.id)
        if status == "streaming":
            yield self._ready(about, content, confirmed="not-needed")
        elif status == "pending-confirmation":
            yield actions.ToolCallApproved(**about, approved=True, confirmed="user-action")

    def _complete(self, about: _Ids, content: ToolCalledContent) -> Iterator[actions.AhpAction]:
        if self._status(content.id) == "streaming":
            yield self._ready(about, content, confirmed="not-needed")
        if self._status(content.id) in {"running", "pending-confirmation"}:
            yield actions.ToolCallComplete(**about, result=AhpToolResult.model_validate(self._result(content)))

    def _result(self, content: ToolCalledContent) -> Json:
        texts = [{"type": "text", "text": output.text} for output in content.outputs if output.text]
        edit = self._edit(content)
        summary = content.summary or f"Called {content.name.removeprefix(CLIENT_PREFIX)}"
        text = "\n".join(output.text for output in content.outputs)
        return omit_none(
            success=not content.error,
            pastTenseMessage=f"{summary}: failed" if content.error else summary,
            content=[*texts, {"type": "fileEdit", **edit}] if edit and not content.error else texts,
            structuredContent=_find_structured_content(content),
            error={"message": text or "It failed."} if content.error else None,
        )

    def _refuse(self, about: _Ids, content: ToolCallRejectedContent, words: str) -> Iterator[actions.AhpAction]:
        status = self._status(content.id)
        reason = "skipped" if content.reason in {RejectReason.STOP, RejectReason.ORDER} else "denied"
        if status == "streaming":
            yield self._ready(about, content)
        if status in {"streaming", "pending-confirmation"}:
            message = self._describe_error(content.reason)
            yield actions.ToolCallDenied(**about, approved=False, reason=reason, reason_message=message)
        elif status == "running":
            # Another client has refused the call before the approval from here arrived.
            error = ToolFailure(message=words or reason)
            result = AhpToolResult(success=False, past_tense_message="It did not run", error=error)
            yield actions.ToolCallComplete(**about, result=result)

    def _describe_error(self, reason: RejectReason) -> str | None:
        match reason:
            case RejectReason.CONFIG:
                return self._wording().forbidden
            case RejectReason.NOBODY:
                return self._wording().nobody
            case RejectReason.HOOK:
                return self._wording().hooked
            case RejectReason.ORDER:
                return self._wording().skipped
            case RejectReason.USER | RejectReason.STOP:
                return None

    def _edit(self, content: ToolCallContent) -> Json | None:
        if not isinstance(content.details, FileChangeDetails):
            return None
        return uris.make_edit(self._session, content.id, content.details, self._root)


_Ended = ToolCalledContent | ToolCallRejectedContent


def _find_structured_content(content: ToolCalledContent) -> Json | None:
    """Return the first object of the structured results: the protocol has room for one."""
    if isinstance(content.details, JsonOutputsDetails):
        for text in content.details.jsons:
            try:
                value = json.loads(text)
            except ValueError:
                continue
            if isinstance(value, dict):
                return cast("Json", value)
    return None


def describe_denial(action: actions.ToolCallDenied) -> str:
    """Return the text about a denial that the model gets."""
    reason = action.reason_message
    given_reason = reason.markdown if isinstance(reason, Markdown) else reason or ""
    suggested = action.user_suggestion.text if action.user_suggestion else ""
    return "\n".join(text for text in (given_reason, suggested) if text)
