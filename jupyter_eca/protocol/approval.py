"""The rules about what runs unasked, asks or is forbidden: read, added to and taken out. Ours, for a settings page."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jupyter_eca.protocol.base import ChatId, Model


class RuleText(Model):
    """One entry of `toolCall.approval`: `rule` selects a server, a `server__tool` or a native tool by its name."""

    decision: Literal["allow", "ask", "deny"]
    rule: str = Field(min_length=1)
    args_matchers: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])


class ApprovalRule(RuleText):
    """With where it is from: `files` that name it, the last of which wins; where there is none it is built in, or was
    given to the server when it began. `agent` is whose own it is; `own` ones can be removed."""

    agent: str | None = None
    files: tuple[str, ...] = ()
    built_in: bool = False
    own: bool = False


class ApprovalsListResult(Model):
    """`by_default` is what becomes of a call that no rule is about."""

    rules: tuple[ApprovalRule, ...]
    by_default: Literal["allow", "ask", "deny"]


class ApprovalsProposeParams(Model):
    """Of a call that waits."""

    chat_id: ChatId
    tool_call_id: str


class RulePlace(Model):
    """A file that a rule can be written to."""

    scope: Literal["workspace", "global"]
    file: str


class ApprovalsProposeResult(Model):
    """The rule that would let such calls run unasked, or `why` there is none."""

    rule: RuleText | None = None
    places: tuple[RulePlace, ...] = ()
    why: str | None = None


class ApprovalsAddParams(RuleText):
    """Where a file has a rule of that name already it is written there, whatever the scope."""

    scope: Literal["workspace", "global"] = "workspace"


class ApprovalsAddResult(Model):
    file: str
