"""Owns the methods of ECA on approval rules: list all rules, propose a rule for a call that waits, try a rule
on earlier calls, and add, replace or remove a rule. The rules say which tool calls run without a question.

A new rule takes effect immediately, also in running turns. This module must not know the format of the files: `config/`
writes the rules.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca.config import approval_rules, resolve
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.engine.approval.call_targets import find_targets
from jupyter_eca.engine.approval.policy import Decision, decide, unite_policies
from jupyter_eca.engine.approval.proposed_rule import merge_rules, propose_rule
from jupyter_eca.engine.approval.reason import describe_cause
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.errors import LocalError, RemoteError
from jupyter_eca.fronts.eca.config_rights import check_may_change_config, find_config_sources
from jupyter_eca.protocol import approval as wire
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from jupyter_eca.config import Config
    from jupyter_eca.engine.approval.policy import Policy, Rule
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Model

# Errors and reasons, as the user reads them.
_NOT_WAITING: Final = "This call does not wait for anybody any more."
_NO_RULE: Final = "The configuration has another rule for this tool already. Change it in the file."
_STRICTER: Final = "The call would still need approval, because the rule `{}` comes first."
_NO_PATTERN: Final = "The rule was not written: a pattern in it is not a regular expression."
_NOTHING_TRIED: Final = "The rule was not tried: a pattern in it is not a regular expression."
_EACH_TIME: Final = "No rule can allow this call. It needs approval each time: {}."


async def list(session: EcaSession, _params: Model) -> wire.ApprovalsListResult:
    """Return all approval rules: those of the files, then those of notebooks."""
    config = session.host.config
    rules = await asyncio.to_thread(approval_rules.list_rules, config, find_config_sources(session.host))
    of_notebooks: Mapping[str, Sequence[wire.RuleText]] = {}
    if session.door.sees_all_chats:  # the code of a cell need not know other notebooks
        of_notebooks = await session.host.services.notebook_rules.list()
    notebook_rules = (
        wire.ApprovalRule(
            decision=rule.decision, rule=rule.rule, args_matchers=rule.args_matchers, notebook=notebook, own=True
        )
        for notebook, of_notebook in of_notebooks.items()
        for rule in of_notebook
    )
    return wire.ApprovalsListResult(
        rules=(*rules, *notebook_rules), by_default=config.tool_call.approval.by_default.value
    )


async def propose(session: EcaSession, params: wire.ApprovalsProposeParams) -> wire.ApprovalsProposeResult:
    """Propose a rule that would allow a call which waits, and list the places that it can be written to. If no rule can
    allow the call, say why."""
    live = session.host.chats.get_live(session.find_chat(params.chat_id))
    calls = live.state.calls if live else ()
    call = next((known for known in calls if known.id == params.tool_call_id), None)
    tool = call.tool if call and call.status is ToolCallStatus.WAITING else None
    if live is None or call is None or tool is None:
        raise RemoteError(_NOT_WAITING, ErrorCode.REFUSED)
    config = session.host.config
    if refusal := config.policy.find_feature_refusal(Feature.ALLOW_RULES):
        return wire.ApprovalsProposeResult(why=refusal)
    allowed = config.tool_call.approval.allow
    # The files that the call names. Rules can be about them.
    targets = call.targets or find_targets(tool, call.arguments)
    if (proposed := propose_rule(allowed, tool, call.arguments, targets)) is None:
        return wire.ApprovalsProposeResult(why=_NO_RULE)
    # The selector names the tools that the rule is for. Check that the call would really run with the new rule.
    selector, rule = proposed
    merged_rule = merge_rules(allowed.get(selector), rule) or rule
    policy = _build_policy_with(config, live.state.setup.agent, selector, merged_rule)
    notebook = live.asked_notebook
    policy = unite_policies(policy, session.host.services.notebook_rules.get(notebook))
    # The empty set: what the user has approved for the session does not count here. `loads` is what a page would load
    # as soon as it shows what the call changes.
    decided = decide(policy, tool, call.arguments, frozenset(), targets=targets, loads=call.loads)
    verdict = call.adjustment.apply_to(decided)  # a hook of the user may have decided otherwise
    if verdict.needs_approval_each_time:  # such a call needs approval each time, whatever the rules say
        return wire.ApprovalsProposeResult(why=_EACH_TIME.format(describe_cause(verdict.decision, verdict.cause)))
    if verdict.decision is not Decision.ALLOW:
        cause = verdict.cause.rule if verdict.cause else None
        # Another rule forbids the call, or asks about it.
        return wire.ApprovalsProposeResult(why=_STRICTER.format(cause) if cause else _NO_RULE)
    text = wire.RuleText(decision="allow", rule=selector, args_matchers=rule.args_matchers)
    places = await asyncio.to_thread(approval_rules.list_files_for_rule, find_config_sources(session.host), selector)
    if notebook.endswith(".ipynb"):
        # The narrowest place comes first.
        places = (wire.RulePlace(scope="notebook", file=notebook), *places)
    return wire.ApprovalsProposeResult(rule=text, places=places)


def _build_policy_with(config: Config, name: str, selector: str, rule: Rule) -> Policy:
    """Return the policy (all approval rules) that the agent `name` would have with one more rule, which allows calls.
    `selector` names the tools that the rule is for."""
    policy = config.tool_call.approval
    policy = policy.model_copy(update={"allow": {**policy.allow, selector: rule}})
    tool_call = config.tool_call.model_copy(update={"approval": policy})
    return resolve(config.model_copy(update={"tool_call": tool_call})).get_agent(name).policy


async def try_rule(session: EcaSession, params: wire.ApprovalsTryParams) -> wire.ApprovalsTryResult:
    """Try a rule on the newest calls of the chats that the client may see. Nothing is written. Raises: LocalError,
    ToolError."""
    _check_may_allow(session, params)
    rows = [row for row in await session.host.chats.list_rows() if session.sees(row.id)]
    try:
        calls = await session.host.rule_trials.run(rows, params, params.old)
    except ValueError as error:
        raise LocalError(_NOTHING_TRIED) from error
    # With the client's own ids of the chats.
    shown = (call.model_copy(update={"chat_id": session.wire_id(str(call.chat_id))}) for call in calls)
    return wire.ApprovalsTryResult(calls=tuple(shown))


async def add(session: EcaSession, params: wire.ApprovalsAddParams) -> wire.ApprovalsAddResult:
    """Add a rule to a file or for a notebook. Raises: RemoteError, LocalError."""
    if params.notebook is not None:
        add_rule = partial(session.host.services.notebook_rules.add, params.notebook, params)
        return await _change_notebook_rules(session, params.notebook, add_rule, params)
    return await _write_rule(
        session, params, partial(approval_rules.add_rule, find_config_sources(session.host), params)
    )


async def replace(session: EcaSession, params: wire.ApprovalsReplaceParams) -> wire.ApprovalsAddResult:
    """Replace a rule where it is. Raises: RemoteError, LocalError."""
    if (notebook := params.old.notebook) is not None:
        replace_rule = partial(session.host.services.notebook_rules.replace, notebook, params.old, params)
        return await _change_notebook_rules(session, notebook, replace_rule, params)
    write = partial(approval_rules.replace_rule, find_config_sources(session.host), params.old, params)
    return await _write_rule(session, params, write)


async def remove(session: EcaSession, params: wire.RuleText) -> Done:
    """Remove a rule from the file or the notebook that it is in. Raises: RemoteError, LocalError."""
    if (notebook := params.notebook) is not None:
        remove_rule = partial(session.host.services.notebook_rules.remove, notebook, params)
        await _change_notebook_rules(session, notebook, remove_rule)
        return Done()
    check_may_change_config(session)
    await session.host.folder_trust.keep_trust_during(
        partial(approval_rules.remove_rule, find_config_sources(session.host), params)
    )
    await session.host.reload()
    return Done()


async def _change_notebook_rules(
    session: EcaSession, notebook: str, change: Callable[[], Awaitable[None]], new: wire.RuleText | None = None
) -> wire.ApprovalsAddResult:
    """Change the rules of a notebook by `change`. `new` is the rule that is among them afterwards, None if one is
    removed. Raises: RemoteError, LocalError."""
    check_may_change_config(session)
    _check_may_allow(session, new)
    try:
        await change()
    except ValueError as error:
        raise LocalError(_NO_PATTERN) from error
    session.host.setups.apply_rules()
    return wire.ApprovalsAddResult(file=notebook)


async def _write_rule(session: EcaSession, rule: wire.RuleText, write: Callable[[], str]) -> wire.ApprovalsAddResult:
    """Write a rule with `write`, which returns the file. Raises: RemoteError, LocalError."""
    check_may_change_config(session)
    _check_may_allow(session, rule)
    try:
        # The user makes this change, so a folder whose settings the user trusts stays trusted with it.
        file = await session.host.folder_trust.keep_trust_during(write)
    except ValueError as error:
        raise LocalError(_NO_PATTERN) from error
    await session.host.reload()
    return wire.ApprovalsAddResult(file=file)


def _check_may_allow(session: EcaSession, rule: wire.RuleText | None) -> None:
    """Check that the administrator's policy lets the user make this rule. Raises: LocalError."""
    refusal = session.host.config.policy.find_feature_refusal(Feature.ALLOW_RULES)
    if refusal and rule is not None and rule.decision == Decision.ALLOW:
        raise LocalError(refusal)


HANDLERS: Final = {
    "approvals/list": list,
    "approvals/propose": propose,
    "approvals/try": try_rule,
    "approvals/add": add,
    "approvals/replace": replace,
    "approvals/remove": remove,
}
