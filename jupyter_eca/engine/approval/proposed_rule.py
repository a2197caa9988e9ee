"""Owns the approval rule that the button "Always…" adds to the configuration, so that such calls run without approval.
Pure.

The rule is never wider than what the user approved. For a shell command it allows the exact line in the same folder.
For a tool that is approved by folders, it allows the folders of the paths, without their subfolders. Characters are
escaped in a way that Java's regular expressions, which ECA uses, understand too.

This module must not write files: its neighbour `config/approval_rules` does.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.approval.approval_scope import get_selector
from jupyter_eca.engine.approval.call_targets import FOLDER_ARGUMENT
from jupyter_eca.engine.approval.policy import Rule
from jupyter_eca.engine.approval.rule_matching import COMMAND_ARGUMENT
from jupyter_eca.engine.model.request import ApprovalCoverage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.policy import Rules
    from jupyter_eca.engine.model.request import ToolSpec


def propose_rule(
    rules: Rules, tool: ToolSpec, arguments: dict[str, Any], targets: CallTargets
) -> tuple[str, Rule] | None:
    """Return the selector (`server__tool`) and the rule to add to the `allow` rules, which are `rules`.

    None when each possible selector already has a rule that cannot be merged with the new one.
    """
    added = Rule(args_matchers=dict(_list_matchers(tool, arguments, targets)))
    names = (get_selector(tool), tool.name) if tool.server == "eca" else (get_selector(tool),)
    return next(((name, added) for name in names if merge_rules(rules.get(name), added) is not None), None)


def _list_matchers(
    tool: ToolSpec, arguments: dict[str, Any], targets: CallTargets
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the arguments that the rule compares, with the patterns for them."""
    match tool.approval_covers:
        case ApprovalCoverage.COMMANDS:
            yield COMMAND_ARGUMENT, (re.escape(str(arguments.get(COMMAND_ARGUMENT, ""))),)
            yield FOLDER_ARGUMENT, (re.escape(targets.paths.get(FOLDER_ARGUMENT, ("",))[0]),)
        case ApprovalCoverage.FOLDER:
            for name, forms in targets.paths.items():
                folder = posixpath.dirname(forms[0])
                yield name, (re.escape(f"{folder}/" if folder else "") + "[^/]*",)
        case ApprovalCoverage.ARGUMENTS:
            for name, value in arguments.items():
                yield name, (re.escape(str(value)),)
        case ApprovalCoverage.TOOL | ApprovalCoverage.NOTEBOOK:
            pass


def merge_rules(old: Rule | None, added: Rule) -> Rule | None:
    """Return one rule that matches exactly the calls that one of the two matches; None when there is no such rule."""
    if old is None or old == added:
        return added
    before, after = old.args_matchers, added.args_matchers
    if not before or before.keys() != after.keys() or len(_list_differing_arguments(old, added)) != 1:
        return None
    return Rule(args_matchers={name: tuple(dict.fromkeys((*before[name], *after[name]))) for name in before})


def subtract_rule(old: Rule, removed: Rule) -> Rule | None:
    """Return the old rule without the part `removed`; None when nothing remains.

    Raises: ValueError when `removed` is not a part of the rule.
    """
    before, after = old.args_matchers, removed.args_matchers
    if before.keys() != after.keys() or any(set(after[name]) - set(before[name]) for name in before):
        raise ValueError("the rule has changed since")
    differing = _list_differing_arguments(old, removed)
    if not differing:
        return None
    if len(differing) > 1:
        raise ValueError("a part of the rule cannot be taken out")
    remaining = {
        name: tuple(text for text in before[name] if name != differing[0] or text not in after[name]) for name in before
    }
    return Rule(args_matchers=remaining)


def _list_differing_arguments(first: Rule, second: Rule) -> list[str]:
    """Return the names of the arguments for which two rules have different patterns."""
    return [name for name, texts in first.args_matchers.items() if set(texts) != set(second.args_matchers[name])]
