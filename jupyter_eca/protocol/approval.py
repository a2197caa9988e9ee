"""Owns the messages with which a settings page reads, adds, changes and removes approval rules.

The messages are our additions to ECA, the protocol that our clients speak. This module must not decide anything:
`engine.approval` applies the rules. `tool` is its neighbour: the rules are about its calls.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from jupyter_eca.protocol.base import ChatId, Model
from jupyter_eca.protocol.content import Cause


class RuleText(Model):
    """An approval rule, as it is written in the configuration: one entry below `toolCall.approval`."""

    decision: Literal["allow", "ask", "alwaysAsk", "deny"]
    """What happens to a call that the rule selects. In the configuration, it is the key above the rule. `ask`: the call
    needs approval, unless the user has approved the tool for the session or trusts the chat. `alwaysAsk`: it needs
    approval each time."""
    rule: str = Field(min_length=1)
    """The selector: a server, `server__tool`, or the name of a native tool."""
    args_matchers: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """Regular expressions by the name of an argument. The rule is only for calls whose arguments match."""
    notebook: str | None = None
    """The notebook that the rule is for, as its path in Jupyter: the rule counts in turns that were asked there. Such a
    rule is in no configuration file, but is stored with the user's chats. Absent for a rule in a file."""


class ApprovalRule(RuleText):
    """A rule and where it comes from."""

    agent: str | None = None
    """The agent that the rule belongs to; absent for a rule of all agents."""
    files: tuple[str, ...] = ()
    """The configuration files that have the rule; the last one counts. Without a file, the rule is built in, or a
    client sent it when the server started."""
    built_in: bool = False
    """Whether the rule is one of our defaults."""
    own: bool = False
    """Whether the rule can be changed with `approvals/replace`, and removed with `approvals/remove`."""


class ApprovalsListResult(Model):
    """All rules, and what happens to the calls that no rule selects."""

    rules: tuple[ApprovalRule, ...]
    by_default: Literal["allow", "ask", "deny"]
    """What happens to a call that no rule selects."""


class ApprovalsProposeParams(Model):
    """Asks for a rule that would allow a waiting call."""

    chat_id: ChatId
    tool_call_id: str


class RulePlace(Model):
    """A place to which a rule can be written: a configuration file, or a notebook."""

    scope: Literal["notebook", "workspace", "global"]
    """`notebook`: only for turns that were asked in the notebook, see `RuleText.notebook`. `workspace`: the file of
    this workspace. `global`: the user's own file, for all workspaces."""
    file: str
    """The path of the file or of the notebook, for the user. A rule for the notebook is sent with this path."""


class ApprovalsProposeResult(Model):
    """A rule that would allow the waiting call and similar calls."""

    rule: RuleText | None = None
    """Absent when there is no such rule."""
    places: tuple[RulePlace, ...] = ()
    """The places to which the rule can be written, the best one first."""
    why: str | None = None
    """Why there is no such rule; absent when there is one."""


class ApprovalsAddParams(RuleText):
    """Adds a rule. If a file already has a rule with this selector, that file is changed, even if `scope` names another
    one."""

    scope: Literal["workspace", "global"] = "workspace"
    """The file to which a new rule is written, see `RulePlace`. It does not count for a rule with a `notebook`."""


class ApprovalsReplaceParams(RuleText):
    """Replaces a rule of the user's by another one, in the file or for the notebook that has it."""

    old: RuleText
    """The rule as `approvals/list` has it."""


class ApprovalsAddResult(Model):
    """The file or the notebook that has the added or changed rule now."""

    file: str
    """The path of the file or of the notebook, for the user."""


class ApprovalsTryParams(RuleText):
    """Tries a rule on tool calls of earlier turns, without writing it."""

    old: RuleText | None = None
    """The rule that it would replace; absent for a new rule."""


class PastDecision(StrEnum):
    """What happened to a tool call."""

    UNASKED = "unasked"
    """It ran without a question."""
    APPROVED = "approved"
    """The user approved it."""
    REJECTED = "rejected"
    """The user rejected it."""
    FORBIDDEN = "forbidden"
    """A rule or a hook forbade it."""
    NOT_RUN = "notRun"
    """It did not run for another reason. For example, the turn was stopped, or nobody was there to approve it."""
    OPEN = "open"
    """It has not ended yet."""


class TriedCall(Model):
    """A tool call of an earlier turn, and what would happen to it with the rule."""

    chat_id: ChatId
    tool_call_id: str
    name: str
    """The name of the tool."""
    summary: str | None = None
    """What the call does, for the user."""
    at: int
    """When the model asked for it, in milliseconds since the epoch."""
    selected: bool
    """Whether the rule selects the call. The calls of its tool that it does not select are listed, too."""
    decision: Literal["allow", "ask", "deny"]
    """What would happen to the call, by all rules together with this one. Trust and approvals for a session do not
    count, nor do hooks."""
    cause: Cause | None = None
    """Why it would happen."""
    happened: PastDecision
    """What happened to the call."""


class ApprovalsTryResult(Model):
    """The newest calls of the tools that the rule names."""

    calls: tuple[TriedCall, ...]
    """At most 20, the newest first. Calls of a tool that is gone are not listed."""
