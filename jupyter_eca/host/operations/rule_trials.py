"""Tries an approval rule on the newest tool calls of the user's chats: what would happen to them with the rule, and
what has happened to them.

Each call is decided by the function that decides new calls, `engine.approval.policy.decide`. The files that a call
names are looked up as they are now. What cannot be repeated does not count: hooks, trust, and what was approved for a
session. This module must not write a rule: `config.approval_rules` and `host.chat.notebook_rules` do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.config import resolve
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.engine.approval.policy import Policy, Rule, assign_to_notebook, decide, is_selected
from jupyter_eca.engine.approval.policy_edits import add_rule, remove_rule
from jupyter_eca.engine.tool_call import ToolCall
from jupyter_eca.host.chat.notebook_rules import NO_RULES, add_notebook_rules
from jupyter_eca.host.tools.path_resolution import find_call_targets, find_default_notebook
from jupyter_eca.protocol.approval import PastDecision, TriedCall
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import (
    RejectReason,
    ToolCallContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.config import ResolvedConfig
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.store import ChatRow
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.protocol.approval import RuleText
    from jupyter_eca.protocol.event import Event

# The user reads the list below the form of the rule, so it is short.
_MAX_CALLS: Final = 20
# How far back calls are looked for. At most `_MAX_CALL_EVENTS` events that announce or end a call are read, and only
# the newest `_SEARCHED_EVENTS` events of all kinds are searched for them. A long answer has some thousand events.
_MAX_CALL_EVENTS: Final = 1_000
_SEARCHED_EVENTS: Final = 100_000

# What happened to a call that was rejected. For the other reasons, it is `NOT_RUN`.
_REJECTIONS: Final = {
    RejectReason.USER: PastDecision.REJECTED,
    RejectReason.CONFIG: PastDecision.FORBIDDEN,
    RejectReason.HOOK: PastDecision.FORBIDDEN,
}


@dataclass(frozen=True, slots=True)
class _PastCall:
    """A call of an earlier turn."""

    chat: str
    """The id of its chat."""
    at: int
    """When it was announced, in milliseconds since the epoch."""
    content: ToolCallRunContent
    """How it was announced."""
    end: ToolCallContent | None
    """How it ended; None when it has not ended yet."""


class RuleTrials:
    """Tries rules on the calls of one host."""

    def __init__(self, services: Services, contexts: ToolContexts) -> None:
        self._services = services
        self._contexts = contexts

    async def run(self, rows: Sequence[ChatRow], rule: RuleText, old: RuleText | None) -> tuple[TriedCall, ...]:
        """Try a rule on the newest calls of the chats `rows` whose tools it names. `old` is the rule that it would
        replace; None for a new rule.

        Raises: ValueError when a pattern is not a regular expression; ToolError when the disk does not answer;
        NotSaved when the database cannot be used.
        """
        # The rule without its patterns of arguments: it selects all calls of the tools that the rule names.
        rule_for_all_calls = _edit(NO_RULES, rule.model_copy(update={"args_matchers": {}}), None)
        _edit(NO_RULES, rule, None)  # raises ValueError
        resolved = self._resolve_config(rule, old)
        chats = {row.id: row for row in rows}
        events = await self._services.store.do(
            lambda tables: tables.list_newest_calls([*chats], _MAX_CALL_EVENTS, _SEARCHED_EVENTS)
        )
        tried: list[TriedCall] = []
        for call in _pair_with_ends(events):
            row = chats[call.chat]
            tool = self._find_tool(call, row, resolved)
            is_elsewhere = rule.notebook is not None and rule.notebook != row.notebook
            if tool is None or is_elsewhere or not is_selected(rule_for_all_calls, tool, call.content.arguments):
                continue
            tried.append(await self._try(call, row, tool, resolved, rule, old))
            if len(tried) == _MAX_CALLS:
                break
        return tuple(tried)

    def _resolve_config(self, rule: RuleText, old: RuleText | None) -> ResolvedConfig:
        """Return the configuration as it would be with `rule` in place of `old`. A rule of a notebook is not in the
        configuration."""
        config = self._services.config
        rule_in_file, old_in_file = [
            None if text is None or text.notebook is not None else text for text in (rule, old)
        ]
        policy = _edit(config.tool_call.approval, rule_in_file, old_in_file)
        tool_call = config.tool_call.model_copy(update={"approval": policy})
        return resolve(config.model_copy(update={"tool_call": tool_call}))

    def _find_tool(self, call: _PastCall, row: ChatRow, resolved: ResolvedConfig) -> ToolSpec | None:
        """Return the tool of a call, without the parts that the agent of its chat does not have now; None when the
        tool is gone."""
        tool = self._services.toolbox.get(call.content.name, row.id)
        if tool is None or tool.spec.server != call.content.server:
            return None
        spec = replace(tool.spec, read_only_hint=tool.only_reads)
        return resolved.get_agent(row.agent or "").drop_disabled_parts(spec)

    async def _try(
        self,
        call: _PastCall,
        row: ChatRow,
        tool: ToolSpec,
        resolved: ResolvedConfig,
        rule: RuleText,
        old: RuleText | None,
    ) -> TriedCall:
        """Return what would happen to one call with `rule` in place of `old`, and what has happened to it. `row` is its
        chat, `tool` its tool, and `resolved` the configuration with the rule. Raises: ToolError."""
        services, content, notebook = self._services, call.content, row.notebook or ""
        context = self._contexts.build(row.id, None, notebook=notebook, folder=row.folder or "")
        registered = services.toolbox.get(tool.name, row.id)
        default_notebook = await find_default_notebook(context, registered, content.arguments) if registered else ""
        targets = await find_call_targets(
            context.files, services.config, tool, content.arguments, default_notebook, content.details
        )
        policy = resolved.get_agent(row.agent or "").policy
        if notebook:
            own_rule, own_old = [
                text if text is not None and text.notebook == notebook else None for text in (rule, old)
            ]
            rules = assign_to_notebook(_edit(await services.notebook_rules.read(notebook), own_rule, own_old), notebook)
            # The administrator's policy can refuse rules that allow.
            may_have_allow_rules = not services.config.policy.find_feature_refusal(Feature.ALLOW_RULES)
            policy = add_notebook_rules(policy, rules, may_have_allow_rules=may_have_allow_rules)
        tool_call = ToolCall(content.id, content.name, tool, arguments=content.arguments, details=content.details)
        # Whether an edit can be reviewed afterwards is only known when it is made. So the setting `review` is used only
        # for a call that ran without approval because of it. All other calls count as ones to approve before they run.
        ran_before_review = content.cause is not None and content.cause.kind == "review"
        verdict = decide(
            policy,
            tool,
            content.arguments,
            frozenset(),  # what was approved for a session does not count
            targets=targets,
            loads=tool_call.loads,  # what a page loads from elsewhere when it shows the cells that the call changes
            review=services.config.review if ran_before_review else ReviewTime.BEFORE,
            is_sandboxed=tool_call.is_sandboxed,
        )
        return TriedCall(
            chat_id=call.chat,
            tool_call_id=content.id,
            name=content.name,
            summary=content.summary,
            at=call.at,
            selected=is_selected(_edit(NO_RULES, rule, None), tool, content.arguments, targets),
            decision=verdict.decision.value,
            cause=verdict.cause,
            happened=_describe_past(call),
        )


def _edit(policy: Policy, rule: RuleText | None, old: RuleText | None) -> Policy:
    """Return the policy with one more rule, and without an old one. None for no rule. Raises: ValueError when a pattern
    is not a regular expression."""
    if old is not None:
        policy = remove_rule(policy, old.decision, old.rule, Rule(args_matchers=old.args_matchers))
    if rule is not None:
        policy = add_rule(policy, rule.decision, rule.rule, Rule(args_matchers=rule.args_matchers))
    return policy


def _pair_with_ends(events: Iterable[Event]) -> Iterator[_PastCall]:
    """Yield the calls that events announce, each with its end. The events come with the newest first."""
    calls: dict[tuple[str, str], _PastCall] = {}
    ends: dict[tuple[str, str], ToolCallContent] = {}
    for event in events:
        match event.content:
            case ToolCalledContent() | ToolCallRejectedContent() as content:
                ends[event.chat, content.id] = content
            case ToolCallRunContent() as content:
                key = event.chat, content.id
                # A call that waits for another one after its approval is announced again. The first time counts.
                calls[key] = _PastCall(event.chat, event.at, content, ends.get(key))
            case _:
                pass
    yield from calls.values()


def _describe_past(call: _PastCall) -> PastDecision:
    """Return what happened to a call."""
    match call.end:
        case ToolCallRejectedContent(reason=reason):
            return _REJECTIONS.get(reason, PastDecision.NOT_RUN)
        case ToolCalledContent():
            return PastDecision.APPROVED if call.content.manual_approval else PastDecision.UNASKED
        case _:
            return PastDecision.OPEN
