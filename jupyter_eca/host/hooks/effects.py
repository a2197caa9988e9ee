"""Combines what all hooks of one event answered into one effect. Pure.

A hook is a program. Its exit status says how to read its answer (ECA 3.13, hooks):

- 0: its standard output is JSON, whose fields have the effects that ECA documents. Other text is shown to the user.
- 2: it blocks what was about to happen, and its standard error is the reason.
- any other: it failed, and has no effect.

A hook can only make the decision about a tool call stricter: deny before ask before allow. `runner.py` starts the
programs and `turn_hooks.py` applies the effects.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.hooks import HookType
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.tool_call import parse_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The exit status that blocks.
BLOCKS: Final = 2

# The text that ECA uses when a hook hides a result and gives no reason.
HIDDEN: Final = "[Tool output hidden by hook]"
DENIED: Final = "The hook {!r} gave no reason."

_FOLLOWED: Final = frozenset({HookType.POST_REQUEST, HookType.SUBAGENT_POST_REQUEST})
_DECISIONS: Final = tuple(Decision)


@dataclass(frozen=True, slots=True)
class HookReply:
    """What one program of a hook answered."""

    hook: str
    """The name of the hook."""
    status: int = 0
    """The exit status."""
    output: str = ""
    """What it wrote to standard output."""
    error: str = ""
    """What it wrote to standard error."""
    visible: bool = True
    """Whether the user sees that it ran."""

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object of its output. Empty unless its status is 0."""
        if self.status != 0 or not self.output.lstrip().startswith("{"):
            return {}
        return parse_arguments(self.output) or {}

    @property
    def stops(self) -> bool:
        """Whether it ends the turn."""
        return self.data.get("continue") is False

    @property
    def blocks(self) -> bool:
        """Whether it blocks what was about to happen."""
        return self.status == BLOCKS

    @property
    def is_failure(self) -> bool:
        return self.status not in {0, BLOCKS}

    @property
    def decision(self) -> Decision | None:
        """Its own decision about the tool call, None for none."""
        approval = self.data.get("approval")
        return Decision(approval) if approval in _DECISIONS else None

    @property
    def updated(self) -> dict[str, Any] | None:
        """The arguments of the tool call that it changes, None for no change."""
        value: Any = self.data.get("updatedInput")
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None

    def read_text(self, name: str) -> str | None:
        """Return a field of its JSON, None where it is missing or no text."""
        value = self.data.get(name)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Effects:
    """The effect of all hooks of one event together. A field is None or empty where no hook asked for it."""

    stopped: str | None = None
    """The name of the hook that ends the turn."""
    reason: str = ""
    """Why it ends the turn. Only the user reads it."""
    blocked: HookReply | None = None
    """The reply of the first hook that blocks."""
    context: str = ""
    """Text that is added to the prompt or to the tool's result, each part marked with the name of its hook."""
    prompt: str | None = None
    """The prompt that replaces the user's."""
    arguments: dict[str, Any] | None = None
    """The arguments of the tool call that are changed."""
    decision: Decision | None = None
    """The strictest decision about the tool call."""
    words: str = ""
    """Why the tool call is denied. The model reads it."""
    output: str | None = None
    """The result that replaces the tool's."""
    follow_up: str = ""
    """A prompt that starts the next turn."""
    messages: tuple[str, ...] = field(default=())
    """What the user is told."""


NOTHING: Final = Effects()


def combine(type: HookType, replies: Sequence[HookReply]) -> Effects:
    """Combine the replies in the order in which the hooks ran. Those after a hook that ends the turn are ignored."""
    stop = next((reply for reply in replies if reply.stops), None)
    counted = replies if stop is None else replies[: replies.index(stop) + 1]
    decision = max(filter(None, (_decision(reply) for reply in counted)), key=_DECISIONS.index, default=None)
    return Effects(
        stopped=None if stop is None else stop.hook,
        reason="" if stop is None else stop.read_text("stopReason") or "",
        blocked=next((reply for reply in counted if reply.blocks), None),
        context="".join(wrap(reply.hook, text) for reply in counted if (text := reply.read_text("additionalContext"))),
        prompt=_last(reply.read_text("replacedPrompt") for reply in counted),
        arguments=_merge_inputs(counted),
        decision=decision,
        words="\n".join(_explain_denial(reply) for reply in counted if _decision(reply) is Decision.DENY),
        output=_last(_output(reply) for reply in counted),
        follow_up="" if stop else "\n\n".join(filter(None, (_follow_up(type, reply) for reply in counted))),
    )


def chain(data: dict[str, Any], reply: HookReply) -> dict[str, Any]:
    """Return the input of the next hook of the same event: `data` with what this reply changed in it."""
    prompt, updated = reply.read_text("replacedPrompt"), reply.updated
    if "prompt" in data and prompt is not None:
        return {**data, "prompt": prompt}
    if "tool_input" in data and "tool_response" not in data and updated is not None:
        return {**data, "tool_input": {**data["tool_input"], **updated}}
    if "tool_response" in data and (output := _output(reply)) is not None:
        return {**data, "tool_response": output}
    return data


def wrap(hook: str, text: str) -> str:
    """Mark a hook's text with the hook's name, so that the model knows that the user did not write it."""
    name = hook.replace('"', "'")
    return f'\n\n<additionalContext from="{name}">\n{text}\n</additionalContext>'


def format_lines(reply: HookReply) -> tuple[str | None, str | None]:
    """Return what the user is shown of a reply: its output (of JSON, a line for each known field), and its errors."""
    if reply.data.get("suppressOutput") is True:
        return None, None
    fields = [f"{label}: {_format_value(reply.data[name])}" for name, label in _LABELS.items() if name in reply.data]
    output = "\n".join(fields) if reply.data else reply.output.strip()
    return output or None, reply.error.strip() or None


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
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _decision(reply: HookReply) -> Decision | None:
    return Decision.DENY if reply.blocks else reply.decision


def _explain_denial(reply: HookReply) -> str:
    reason = reply.error.strip() if reply.blocks else reply.read_text("additionalContext")
    return reason or DENIED.format(reply.hook)


def _output(reply: HookReply) -> str | None:
    return reply.error.strip() or HIDDEN if reply.blocks else reply.read_text("replacedOutput")


def _follow_up(type: HookType, reply: HookReply) -> str:
    if type not in _FOLLOWED:
        return ""
    return (reply.error if reply.blocks else reply.read_text("followUp") or "").strip()


def _merge_inputs(replies: Iterable[HookReply]) -> dict[str, Any] | None:
    """Merge the changed arguments. The value of a later hook counts."""
    inputs = [reply.updated for reply in replies if reply.updated is not None]
    return {name: value for updated in inputs for name, value in updated.items()} if inputs else None


def _last(values: Iterable[str | None]) -> str | None:
    present = [value for value in values if value is not None]
    return present[-1] if present else None
