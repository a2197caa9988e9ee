"""Owns the projection of events about tool calls to actions of the Agent Host Protocol (AHP). The contents of the
events are those of ECA, the protocol of our own clients. An action is a message that changes the state of a session,
which all clients share.

It must not know the session. `projection.py` projects all other events.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypedDict, cast

from jupyter_eca.engine.approval.reason import add_warning
from jupyter_eca.engine.text.exact_text import as_exact_json, as_exact_text
from jupyter_eca.engine.text.shown_arguments import format_runs
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, omit_none
from jupyter_eca.fronts.ahp.resources import uris
from jupyter_eca.mcp_client.tool_names import CLIENT
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.ahp.content import AhpToolResult, Markdown, ToolFailure
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    JsonOutputsDetails,
    Origin,
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
    from jupyter_eca.protocol.ahp.content import ConfirmationReason

# The names of tools that a client runs begin with this prefix, so that they differ from the names of our tools.
CLIENT_PREFIX: Final = f"{CLIENT}__"

# The option that approves a call and similar calls in the same session.
REMEMBER: Final = "allow-session"
# The ids of the options that a user can choose for a tool call, and their kinds.
OPTIONS: Final = {"allow": "approve", REMEMBER: "approve", "deny": "deny"}


def list_options(wording: Wording, remembers: Sequence[str]) -> list[Json]:
    """Return the options for a tool call, in the order of the buttons. Clients draw a line between two groups.

    `remembers` describes which calls the option "allow in this session" would allow. If it is empty, this option is
    left out.
    """
    # An empty label leaves the option out.
    remember = f"{wording.remember}: {', '.join(remembers)}" if remembers else ""
    labels = zip(OPTIONS.items(), (wording.allow, as_exact_text(remember), wording.deny), strict=True)
    return [
        {"id": id, "label": label, "kind": kind, "group": int(kind == "deny")} for (id, kind), label in labels if label
    ]


class _Ids(TypedDict):
    """The fields that identify a call in each of its actions."""

    session: str
    turn_id: str
    tool_call_id: str


class ToolCallProjection:
    """The projection of the tool calls of one session."""

    def __init__(
        self,
        session: str,
        get_state: Callable[[], Json],
        root: Path,
        find_owner: Callable[[], str],
        get_wording: Callable[[], Wording],
    ) -> None:
        """Make the projection of the session with this URI.

        `get_state` returns its current state. `root` is the folder that paths in events are relative to. `find_owner`
        returns the id of the client that runs the client tools, or "". `get_wording` returns the texts in the language
        of the newest subscriber.
        """
        self._session = session
        self._get_state = get_state
        self._root = root
        self._find_owner = find_owner
        self._get_wording = get_wording

    def project(self, turn: str, content: ToolCallContent, refusal: str) -> Iterator[actions.AhpAction]:
        """Yield the actions of an event of the turn with the id `turn`. The caller must dispatch each action before it
        takes the next one, because the next one is made from the state after it.

        `refusal` is the text that the model gets about a rejected call; "" for other events.
        """
        ids = _Ids(session=self._session, turn_id=turn, tool_call_id=content.id)
        if self._find_status(content.id) is None:
            yield self._make_start(ids, content)
        match content:
            case ToolCallPrepareContent(arguments_text=text) if text:
                yield actions.ToolCallInputDelta(**ids, content=text)
            case ToolCallRunContent(manual_approval=True, remembers=remembers):
                # If a client has ended the turn meanwhile, this code is not reached: `projection.py` projects only
                # events of the active turn. So nobody is asked about a call of an ended turn.
                yield self._make_ready(ids, content, options=list_options(self._get_wording(), remembers or ()))
            case ToolCallRunningContent():
                yield from self._show_running(ids, content)
            case ToolCalledContent():
                yield from self._show_completed(ids, content)
            case ToolCallRejectedContent():
                yield from self._show_rejected(ids, content, refusal)
            case _:
                pass

    def _find_status(self, id: str) -> str | None:
        """Return the status of a call in the current state; None if the state does not have the call yet."""
        turn: Json = self._get_state().get("activeTurn") or {}
        calls = (part["toolCall"] for part in get_list(turn, "responseParts") if part["kind"] == "toolCall")
        return next((str(call["status"]) for call in calls if call["toolCallId"] == id), None)

    def _make_start(self, ids: _Ids, content: ToolCallContent) -> actions.ToolCallStart:
        """Make the action that adds a call to the turn."""
        name = content.name.removeprefix(CLIENT_PREFIX)
        # Only a tool of a client has an owner: the client that runs it.
        owner = (self._find_owner() or None) if content.server == CLIENT and content.origin is Origin.UNKNOWN else None
        bare_name = name.removeprefix(f"{content.server}__")  # a tool of another server is named `server__tool`
        display_name = bare_name.replace("_", " ").strip().capitalize() or name
        return actions.ToolCallStart(**ids, tool_name=name, display_name=display_name, tool_client_id=owner)

    def _make_ready(
        self,
        ids: _Ids,
        content: ToolCallRunContent | ToolCallRunningContent | _Ended,
        options: list[Json] | None = None,
        confirmed: ConfirmationReason | None = None,
    ) -> actions.ToolCallReady:
        """Make the action that shows the arguments of a call. The change of a file that the call would make is added
        only if a user has to decide about the call.

        `options` are what the user can choose; None if nobody is asked. `confirmed` says why the call runs without a
        question; None if it does not run yet.
        """
        edit = None if confirmed else self._make_edit(content)
        message = content.summary or f"Calling {content.name.removeprefix(CLIENT_PREFIX)}"
        if options and isinstance(content, ToolCallRunContent):
            # The user must see the code that they approve. The arguments name only the cells.
            message = "\n\n".join(filter(None, (add_warning(message, content.cause), format_runs(content.details))))
        return actions.ToolCallReady(
            **ids,
            invocation_message=as_exact_text(message),
            tool_input=as_exact_json(content.arguments),
            edits={"items": [edit]} if edit else None,
            options=options,
            confirmed=confirmed,
        )

    def _show_running(self, ids: _Ids, content: ToolCallRunningContent) -> Iterator[actions.AhpAction]:
        """Yield the action after which a call is shown as running."""
        status = self._find_status(content.id)
        if status == "streaming":
            yield self._make_ready(ids, content, confirmed="not-needed")
        elif status == "pending-confirmation":
            yield actions.ToolCallApproved(**ids, approved=True, confirmed="user-action")

    def _show_completed(self, ids: _Ids, content: ToolCalledContent) -> Iterator[actions.AhpAction]:
        """Yield the actions after which a call is shown as completed."""
        if self._find_status(content.id) == "streaming":
            yield self._make_ready(ids, content, confirmed="not-needed")
        if self._find_status(content.id) in {"running", "pending-confirmation"}:
            yield actions.ToolCallComplete(**ids, result=AhpToolResult.model_validate(self._make_result(content)))

    def _make_result(self, content: ToolCalledContent) -> Json:
        """Make the result of a call that has ended: its texts, the change of a file, and its structured content."""
        texts = [{"type": "text", "text": output.text} for output in content.outputs if output.text]
        edit = self._make_edit(content)
        summary = content.summary or f"Called {content.name.removeprefix(CLIENT_PREFIX)}"
        text = "\n".join(output.text for output in content.outputs)
        return omit_none(
            success=not content.error,
            pastTenseMessage=f"{summary}: failed" if content.error else summary,
            content=[*texts, {"type": "fileEdit", **edit}] if edit and not content.error else texts,
            structuredContent=_find_structured_content(content),
            error={"message": text or "It failed."} if content.error else None,
        )

    def _show_rejected(self, ids: _Ids, content: ToolCallRejectedContent, refusal: str) -> Iterator[actions.AhpAction]:
        """Yield the actions for a rejected call, depending on what the state shows of it."""
        status = self._find_status(content.id)
        reason = "skipped" if content.reason in {RejectReason.STOP, RejectReason.ORDER} else "denied"
        if status == "streaming":
            yield self._make_ready(ids, content)
        if status in {"streaming", "pending-confirmation"}:
            message = self._describe_rejection(content.reason)
            yield actions.ToolCallDenied(**ids, approved=False, reason=reason, reason_message=message)
        elif status == "running":
            # A client of this protocol approved the call, but another client had rejected it before.
            error = ToolFailure(message=refusal or reason)
            result = AhpToolResult(success=False, past_tense_message="It did not run", error=error)
            yield actions.ToolCallComplete(**ids, result=result)

    def _describe_rejection(self, reason: RejectReason) -> str | None:
        """Return the reason of a rejection, for the user. None if the user has rejected the call."""
        match reason:
            case RejectReason.CONFIG:
                return self._get_wording().denied_by_rule
            case RejectReason.NOBODY:
                return self._get_wording().denied_unattended
            case RejectReason.HOOK:
                return self._get_wording().denied_by_hook
            case RejectReason.ORDER:
                return self._get_wording().skipped_after_failure
            case RejectReason.PLAN:
                return self._get_wording().only_proposed
            case RejectReason.USER | RejectReason.STOP:
                return None

    def _make_edit(self, content: ToolCallContent) -> Json | None:
        """Describe the change of a file that a call makes; None if it changes no file."""
        if not isinstance(content.details, FileChangeDetails):
            return None
        return uris.make_edit(self._session, content.id, content.details, self._root)


# The contents of a call that has ended.
_Ended = ToolCalledContent | ToolCallRejectedContent


def _find_structured_content(content: ToolCalledContent) -> Json | None:
    """Return the first structured result that is a JSON object. The protocol has a field for only one."""
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
    """Return the text that the model gets about a denial: the user's reason and suggestion."""
    reason = action.reason_message
    given_reason = reason.markdown if isinstance(reason, Markdown) else reason or ""
    suggested = action.user_suggestion.text if action.user_suggestion else ""
    return "\n".join(text for text in (given_reason, suggested) if text)
