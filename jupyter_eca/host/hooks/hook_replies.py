"""Reads the reply of each hook's program, and combines the replies to one event into one `HookEffects`. Pure.

A hook is a program of the user that runs when something happens in a chat, for example before a tool call.

It must not run a program or change a turn: `runner` starts the programs, and `turn_hooks` applies the effects.

The exit status of the program says how its reply is read (ECA 3.13, hooks):

- 0: the program succeeded. If its standard output is a JSON object, its fields are the effects, for example
  `{"approval": "deny"}`. All other output is only shown to the user.
- 2: the program blocks what was about to happen. Its standard error is the reason.
- any other: the program failed. It has no effect.

A hook can make the decision about a tool call stricter, and never milder. The order is allow, ask, deny.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.hooks import HookType
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.tool_call import parse_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The exit status with which a program blocks what was about to happen.
BLOCKING_STATUS: Final = 2

# The text that ECA uses when a hook hides a result and gives no reason.
HIDDEN_OUTPUT: Final = "[Tool output hidden by hook]"
NO_REASON: Final = "The hook {!r} gave no reason."

# The types of events after which a hook can start another turn.
_TYPES_WITH_FOLLOW_UP: Final = frozenset({HookType.POST_REQUEST, HookType.SUBAGENT_POST_REQUEST})
# From the mildest to the strictest.
_DECISIONS: Final = tuple(Decision)


@dataclass(frozen=True, slots=True)
class HookReply:
    """What one program of a hook returned, and what its JSON says."""

    hook: str
    """The name of the hook."""
    status: int = 0
    """The exit status of the program."""
    output: str = ""
    """What the program wrote to standard output."""
    error: str = ""
    """What the program wrote to standard error."""
    visible: bool = True
    """Whether the user sees that the hook ran."""

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object that the program wrote to standard output. Empty if the status is not 0."""
        if self.status != 0 or not self.output.lstrip().startswith("{"):
            return {}
        return parse_arguments(self.output) or {}

    @property
    def stops_turn(self) -> bool:
        """Whether the program ends the turn: its JSON has `"continue": false`."""
        return self.data.get("continue") is False

    @property
    def blocks(self) -> bool:
        """Whether the program blocks what was about to happen."""
        return self.status == BLOCKING_STATUS

    @property
    def is_failure(self) -> bool:
        """Whether the program failed."""
        return self.status not in {0, BLOCKING_STATUS}

    @property
    def decision(self) -> Decision | None:
        """The decision about the tool call in the field `approval`, None if the program made no decision there."""
        approval = self.data.get("approval")
        return Decision(approval) if approval in _DECISIONS else None

    @property
    def new_arguments(self) -> dict[str, Any] | None:
        """The arguments of the tool call that the program replaces, with their new values. None for no change."""
        value: Any = self.data.get("updatedInput")
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None

    def read_text(self, name: str) -> str | None:
        """Return a field of the JSON, None if it is missing or is not a text."""
        value = self.data.get(name)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class HookEffects:
    """The effect of all hooks of one event together. A field is None or empty if no hook requested that effect."""

    stopped_by: str | None = None
    """The name of the hook that ends the turn."""
    stop_reason: str = ""
    """Why that hook ends the turn. Only the user reads this."""
    blocked_by: HookReply | None = None
    """The reply of the first hook that blocks what was about to happen."""
    context: str = ""
    """Text that is added to the prompt or to the tool's result. Each part is marked with the name of its hook."""
    new_prompt: str | None = None
    """The prompt that replaces the user's prompt."""
    new_arguments: dict[str, Any] | None = None
    """The arguments of the tool call that are replaced, with their new values."""
    decision: Decision | None = None
    """The strictest decision about the tool call."""
    denial_reason: str = ""
    """Why the tool call is denied. The model reads this."""
    new_output: str | None = None
    """The text that replaces the tool's result."""
    follow_up: str = ""
    """A prompt that starts another turn after this one."""


def combine(type: HookType, replies: Sequence[HookReply]) -> HookEffects:
    """Combine the replies in the order in which the hooks ran. Those after a hook that ends the turn are ignored."""
    stop = next((reply for reply in replies if reply.stops_turn), None)
    counted = replies if stop is None else replies[: replies.index(stop) + 1]
    decision = max(filter(None, (_read_decision(reply) for reply in counted)), key=_DECISIONS.index, default=None)
    return HookEffects(
        stopped_by=None if stop is None else stop.hook,
        stop_reason=(stop.read_text("stopReason") or "") if stop else "",
        blocked_by=next((reply for reply in counted if reply.blocks), None),
        context="".join(
            mark_source(reply.hook, text) for reply in counted if (text := reply.read_text("additionalContext"))
        ),
        new_prompt=_get_last(reply.read_text("replacedPrompt") for reply in counted),
        new_arguments=_merge_arguments(counted),
        decision=decision,
        denial_reason="\n".join(_explain_denial(reply) for reply in counted if _read_decision(reply) is Decision.DENY),
        new_output=_get_last(_read_new_output(reply) for reply in counted),
        follow_up="" if stop else "\n\n".join(filter(None, (_read_follow_up(type, reply) for reply in counted))),
    )


def update_input(data: dict[str, Any], reply: HookReply) -> dict[str, Any]:
    """Return the input of the next hook of the same event: `data`, the input of this hook, with the changes that its
    reply makes to the prompt, to the arguments of the call or to its result."""
    prompt, arguments = reply.read_text("replacedPrompt"), reply.new_arguments
    if "prompt" in data and prompt is not None:
        return {**data, "prompt": prompt}
    if "tool_input" in data and "tool_response" not in data and arguments is not None:
        return {**data, "tool_input": {**data["tool_input"], **arguments}}
    if "tool_response" in data and (output := _read_new_output(reply)) is not None:
        return {**data, "tool_response": output}
    return data


def mark_source(hook: str, text: str) -> str:
    """Mark a text with the name of its hook, so that the model knows that the user did not write it."""
    name = hook.replace('"', "'")
    return f'\n\n<additionalContext from="{name}">\n{text}\n</additionalContext>'


def format_output_and_errors(reply: HookReply) -> tuple[str | None, str | None]:
    """Return the output and the errors of a reply as the user sees them, each None if it is empty or hidden.

    JSON output is shown as one line for each field that ECA knows.
    """
    if reply.data.get("suppressOutput") is True:
        return None, None
    fields = [f"{label}: {_format_value(reply.data[name])}" for name, label in _LABELS.items() if name in reply.data]
    output = "\n".join(fields) if reply.data else reply.output.strip()
    return output or None, reply.error.strip() or None


# The field of the JSON, and the label that ECA shows for it.
_LABELS: Final = {
    "updatedInput": "UpdatedInput",
    "followUp": "FollowUp",
    "replacedOutput": "ReplacedOutput",
    "additionalContext": "AdditionalContext",
    "replacedPrompt": "ReplacedPrompt",
    "approval": "Approval",
    "stopReason": "StopReason",
}


def _format_value(value: Any) -> str:
    """Return a value as the user sees it: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# A program that blocks (exit status 2) writes its text to standard error. Otherwise the text is in a field of its JSON.


def _read_decision(reply: HookReply) -> Decision | None:
    """Return the decision of a reply about a tool call, None for none."""
    return Decision.DENY if reply.blocks else reply.decision


def _explain_denial(reply: HookReply) -> str:
    """Return why a reply denies a tool call, for the model."""
    reason = reply.error.strip() if reply.blocks else reply.read_text("additionalContext")
    return reason or NO_REASON.format(reply.hook)


def _read_new_output(reply: HookReply) -> str | None:
    """Return the text that replaces the tool's result, None to keep the result."""
    if reply.blocks:
        return reply.error.strip() or HIDDEN_OUTPUT
    return reply.read_text("replacedOutput")


def _read_follow_up(type: HookType, reply: HookReply) -> str:
    """Return the prompt that starts another turn, "" for none."""
    if type not in _TYPES_WITH_FOLLOW_UP:
        return ""
    return (reply.error if reply.blocks else reply.read_text("followUp") or "").strip()


def _merge_arguments(replies: Iterable[HookReply]) -> dict[str, Any] | None:
    """Merge the new arguments of all replies; None if no reply has any. Where two replies change the same argument, the
    later one wins."""
    inputs = [reply.new_arguments for reply in replies if reply.new_arguments is not None]
    return {name: value for arguments in inputs for name, value in arguments.items()} if inputs else None


def _get_last(values: Iterable[str | None]) -> str | None:
    """Return the last value that is not None, None if there is none."""
    present = [value for value in values if value is not None]
    return present[-1] if present else None
