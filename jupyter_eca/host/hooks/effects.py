"""What the hooks of one moment say, and what comes of it all. Pure.

One that ended with 0 speaks JSON, and each field has the effect that ECA's documentation gives it; with 2 it steps in,
and its words on stderr are what it means; with anything else it failed, and has no say. A text that is no JSON is for
the reader. A hook can only make a call's decision stricter: deny over ask over allow.
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

BLOCKS: Final = 2

# ECA's words for a result whose hook hides it without saying why.
HIDDEN: Final = "[Tool output hidden by hook]"
DENIED: Final = "The hook {!r} gave no reason."

_FOLLOWED: Final = frozenset({HookType.POST_REQUEST, HookType.SUBAGENT_POST_REQUEST})
_DECISIONS: Final = tuple(Decision)


@dataclass(frozen=True, slots=True)
class HookReply:
    """Of one action of a hook. `output` and `error` are what it wrote."""

    hook: str
    status: int = 0
    output: str = ""
    error: str = ""
    visible: bool = True

    @property
    def data(self) -> dict[str, Any]:
        """Its JSON; nothing unless it ended well."""
        if self.status != 0 or not self.output.lstrip().startswith("{"):
            return {}
        return parse_arguments(self.output) or {}

    @property
    def stops(self) -> bool:
        return self.data.get("continue") is False

    @property
    def blocks(self) -> bool:
        return self.status == BLOCKS

    @property
    def is_failure(self) -> bool:
        return self.status not in {0, BLOCKS}

    @property
    def decision(self) -> Decision | None:
        wanted = self.data.get("approval")
        return Decision(wanted) if wanted in _DECISIONS else None

    @property
    def updated(self) -> dict[str, Any] | None:
        """The arguments that it changes."""
        value: Any = self.data.get("updatedInput")
        return cast("dict[str, Any]", value) if isinstance(value, dict) else None

    def read_text(self, name: str) -> str | None:
        value = self.data.get(name)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Effects:
    """Of the hooks of one moment together; what none of them wants is None, or empty. `stopped` names the one that ends
    the turn, with `reason` for the user alone; `blocked` the first that blocks, with its words. `words` are for the
    model, on a denial."""

    stopped: str | None = None
    reason: str = ""
    blocked: HookReply | None = None
    context: str = ""
    prompt: str | None = None
    arguments: dict[str, Any] | None = None
    decision: Decision | None = None
    words: str = ""
    output: str | None = None
    follow_up: str = ""
    messages: tuple[str, ...] = field(default=())


NOTHING: Final = Effects()


def combine(type: HookType, replies: Sequence[HookReply]) -> Effects:
    """In the order in which they ran; those behind one that stops did not run at all."""
    stop = next((reply for reply in replies if reply.stops), None)
    heard = replies if stop is None else replies[: replies.index(stop) + 1]
    decision = max(filter(None, (_decision(reply) for reply in heard)), key=_DECISIONS.index, default=None)
    return Effects(
        stopped=None if stop is None else stop.hook,
        reason="" if stop is None else stop.read_text("stopReason") or "",
        blocked=next((reply for reply in heard if reply.blocks), None),
        context="".join(wrap(reply.hook, text) for reply in heard if (text := reply.read_text("additionalContext"))),
        prompt=_last(reply.read_text("replacedPrompt") for reply in heard),
        arguments=_merge_inputs(heard),
        decision=decision,
        words="\n".join(_words(reply) for reply in heard if _decision(reply) is Decision.DENY),
        output=_last(_output(reply) for reply in heard),
        follow_up="" if stop else "\n\n".join(filter(None, (_follow_up(type, reply) for reply in heard))),
    )


def chain(data: dict[str, Any], reply: HookReply) -> dict[str, Any]:
    """What the next hook of the same moment is given: what the ones before it changed, as it will be."""
    prompt, updated = reply.read_text("replacedPrompt"), reply.updated
    if "prompt" in data and prompt is not None:
        return {**data, "prompt": prompt}
    if "tool_input" in data and "tool_response" not in data and updated is not None:
        return {**data, "tool_input": {**data["tool_input"], **updated}}
    if "tool_response" in data and (output := _output(reply)) is not None:
        return {**data, "tool_response": output}
    return data


def wrap(hook: str, text: str) -> str:
    """For the model, who is to know that the user did not write it."""
    name = hook.replace('"', "'")
    return f'\n\n<additionalContext from="{name}">\n{text}\n</additionalContext>'


def lines(reply: HookReply) -> tuple[str | None, str | None]:
    """What the reader is shown of it: what it wrote, or what it wants, and its errors."""
    if reply.data.get("suppressOutput") is True:
        return None, None
    shown = [f"{_TOLD[name]}: {_line(reply.data[name])}" for name in _TOLD if name in reply.data]
    output = "\n".join(shown) if reply.data else reply.output.strip()
    return output or None, reply.error.strip() or None


_TOLD: Final = {
    "updatedInput": "UpdatedInput",
    "followUp": "FollowUp",
    "replacedOutput": "ReplacedOutput",
    "additionalContext": "AdditionalContext",
    "replacedPrompt": "ReplacedPrompt",
    "approval": "Approval",
    "stopReason": "StopReason",
}


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _decision(reply: HookReply) -> Decision | None:
    return Decision.DENY if reply.blocks else reply.decision


def _words(reply: HookReply) -> str:
    said = reply.error.strip() if reply.blocks else reply.read_text("additionalContext")
    return said or DENIED.format(reply.hook)


def _output(reply: HookReply) -> str | None:
    return reply.error.strip() or HIDDEN if reply.blocks else reply.read_text("replacedOutput")


def _follow_up(type: HookType, reply: HookReply) -> str:
    if type not in _FOLLOWED:
        return ""
    return (reply.error if reply.blocks else reply.read_text("followUp") or "").strip()


def _merge_inputs(replies: Iterable[HookReply]) -> dict[str, Any] | None:
    """Later ones win."""
    every = [reply.updated for reply in replies if reply.updated is not None]
    return {name: value for one in every for name, value in one.items()} if every else None


def _last(values: Iterable[str | None]) -> str | None:
    found = [value for value in values if value is not None]
    return found[-1] if found else None
