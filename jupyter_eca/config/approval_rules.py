"""Owns the approval rules in the configuration files. It lists the rules with their files, and adds, replaces or
removes a rule.

It must not decide about a call: `engine.approval` does. `editing` is its neighbour: it changes the files.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config.editing import WRITING, ConfigFiles
from jupyter_eca.config.layers import ALLOWED
from jupyter_eca.config.schema import AGENT_ALIASES
from jupyter_eca.engine.approval.policy import Decision, Rule
from jupyter_eca.engine.approval.proposed_rule import merge_rules, subtract_rule
from jupyter_eca.errors import LocalError
from jupyter_eca.protocol import approval as wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_eca.config.editing import Place
    from jupyter_eca.config.mcp_servers import ConfigSources
    from jupyter_eca.config.schema import Config
    from jupyter_eca.engine.approval.policy import Policy

# The keys that lead to the approval rules in a configuration file.
_APPROVAL: Final = ("toolCall", "approval")
# The errors for the user: why a rule cannot be added, replaced or removed.
_NO_ROOM: Final = "{file} has another rule {rule!r} already. Change it there."
_CHANGED: Final = "No file that can be changed from here has this rule {rule!r} any more. Look at the rules again."
_NOT_OURS: Final = "No file that can be changed from here has the rule {rule!r}."


def list_rules(config: Config, sources: ConfigSources) -> tuple[wire.ApprovalRule, ...]:
    """Return all rules: the rules of all agents, then the rules of single agents. Blocks: it reads files."""
    files = ConfigFiles(sources)
    listed = [*_list_policy_rules(files, config.tool_call.approval)]
    for name, agent in config.agent.items():
        listed += _list_policy_rules(files, agent.tool_call.approval, name)
    return tuple(listed)


def _list_policy_rules(files: ConfigFiles, policy: Policy, agent: str = "") -> Iterator[wire.ApprovalRule]:
    """Yield the rules of a policy, each with the files that define it. `agent` owns the policy; "" means all agents.

    If several files have a rule for the same selector, the policy has one united rule. It is listed as its parts.
    """
    for decision, rules in policy.rules_by_key.items():
        for name, rule in ((name, simple) for name, united in rules.items() for simple in united.alternatives):
            defining = [
                file
                for place in _list_places(agent, decision, name)
                for file in files.find_defining_files(place)
                # Two files may have different rules for this selector, and both count.
                if len(rules[name].alternatives) == 1 or _parse_rule(files.get(file, place)) == rule
            ]
            yield wire.ApprovalRule(
                decision=decision,
                rule=name,
                args_matchers=rule.args_matchers,
                agent=agent or None,
                files=tuple(map(files.get_display_name, defining)),
                built_in=not agent and decision == Decision.ALLOW and name in ALLOWED and not defining,
                own=not agent and any(file in files.own for file in defining),
            )


def _list_places(agent: str, decision: str, name: str) -> list[Place]:
    """Return all places in a file where a rule can be written. Agents have older names, and `agent` an older key."""
    if not agent:
        return [(*_APPROVAL, decision, name)]
    agent_names = [agent, *(old for old, new in AGENT_ALIASES.items() if new == agent)]
    return [(key, of_agent, *_APPROVAL, decision, name) for key in ("agent", "behavior") for of_agent in agent_names]


def list_files_for_rule(sources: ConfigSources, rule: str) -> tuple[wire.RulePlace, ...]:
    """Return the files to which a rule of `allow` can be written, the best one first. Blocks: it reads files.

    `rule` is the selector. If a file already has a rule for it, only that file is returned.
    """
    files = ConfigFiles(sources)
    if own_files := _find_own_files(files, Decision.ALLOW, rule):
        scope = "global" if own_files[-1] == files.user_file else "workspace"
        return (wire.RulePlace(scope=scope, file=files.get_display_name(own_files[-1])),)
    return (
        wire.RulePlace(scope="workspace", file=files.get_display_name(files.workspace)),
        wire.RulePlace(scope="global", file=files.get_display_name(files.user_file)),
    )


def add_rule(sources: ConfigSources, rule: wire.ApprovalsAddParams) -> str:
    """Add a rule, and return the file to which it was written. Blocks: it writes a file.

    Raises: LocalError when the file has another rule for this selector, ConfigError when the file cannot be changed,
    ValueError when a matcher is not a regular expression.
    """
    added = Rule(args_matchers=rule.args_matchers)
    with WRITING:
        files = ConfigFiles(sources)
        own_files = _find_own_files(files, rule.decision, rule.rule)
        file = own_files[-1] if own_files else files.workspace if rule.scope == "workspace" else files.user_file
        old = _parse_rule(files.get(file, (*_APPROVAL, rule.decision, rule.rule))) if own_files else None
        if (merged := merge_rules(old, added)) is None:
            raise LocalError(_NO_ROOM.format(file=files.get_display_name(file), rule=rule.rule))
        files.put(file, (*_APPROVAL, rule.decision, rule.rule), _to_json(merged))
    return files.get_display_name(file)


def remove_rule(sources: ConfigSources, rule: wire.RuleText) -> None:
    """Remove a rule from all files that the user may change. Blocks: it writes files.

    Raises: LocalError when no such file has this rule, ConfigError when a file cannot be changed.
    """
    removed = Rule(args_matchers=rule.args_matchers)
    place = (*_APPROVAL, rule.decision, rule.rule)
    with WRITING:
        files = ConfigFiles(sources)
        own_files = _find_own_files(files, rule.decision, rule.rule)
        if not own_files:
            raise LocalError(_NOT_OURS.format(rule=rule.rule))
        for file in own_files:
            try:
                remaining = subtract_rule(_parse_rule(files.get(file, place)), removed)
            except ValueError as error:
                raise LocalError(_NO_ROOM.format(file=files.get_display_name(file), rule=rule.rule)) from error
            files.drop(file, place) if remaining is None else files.put(file, place, _to_json(remaining))


def replace_rule(sources: ConfigSources, old: wire.RuleText, new: wire.RuleText) -> str:
    """Replace a rule by another one, and return the file that has it now. Blocks: it writes files.

    The new rule is in the file whose old rule counted, which is written once. If other files have the old rule too, it
    is removed from them. Raises: LocalError when no file has the old rule, or the file has another rule for the new
    selector; ConfigError when a file cannot be changed; ValueError when a matcher is not a regular expression.
    """
    added, removed = Rule(args_matchers=new.args_matchers), Rule(args_matchers=old.args_matchers)
    old_place, new_place = ((*_APPROVAL, rule.decision, rule.rule) for rule in (old, new))
    with WRITING:
        files = ConfigFiles(sources)
        remaining: dict[Path, Rule | None] = {}
        for file in _find_own_files(files, old.decision, old.rule):
            # A file that has only another part of the rule is left as it is.
            with suppress(ValueError):
                remaining[file] = subtract_rule(_parse_rule(files.get(file, old_place)), removed)
        if not remaining:
            raise LocalError(_CHANGED.format(rule=old.rule))
        file = [*remaining][-1]
        if old_place == new_place:
            existing = remaining[file]
        else:
            value = files.get(file, new_place)
            existing = None if value is None else _parse_rule(value)
        if (merged := merge_rules(existing, added)) is None:
            raise LocalError(_NO_ROOM.format(file=files.get_display_name(file), rule=new.rule))
        # The file with the new rule is written first. If it cannot be written, nothing has changed.
        for changed in reversed(remaining):
            remaining_rule = remaining[changed]
            values = {old_place: None if remaining_rule is None else _to_json(remaining_rule)}
            files.change(changed, {**values, new_place: _to_json(merged)} if changed == file else values)
    return files.get_display_name(file)


def _find_own_files(files: ConfigFiles, decision: str, rule: str) -> list[Path]:
    """Return the files with this rule that the user may change."""
    return [file for file in files.find_defining_files((*_APPROVAL, decision, rule)) if file in files.own]


def _parse_rule(value: Any) -> Rule:
    """Parse a rule in the format of ECA's files: the reverse of `_to_json`."""
    return Rule.model_validate(value)


def _to_json(rule: Rule) -> dict[str, Any]:
    """Return a rule in the format of ECA's files."""
    return (
        {"argsMatchers": {name: [*texts] for name, texts in rule.args_matchers.items()}} if rule.args_matchers else {}
    )
