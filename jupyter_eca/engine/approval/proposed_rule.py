"""What "always" writes for one call: a rule that lets such calls run unasked, no wider than what was approved. Pure.

For a shell command it is the line as it stands, in the folder where it ran. For a tool that is remembered by folders it
is the folders of its paths, without those below them. Characters are escaped in a way that Java's regular expressions,
which are ECA's, know as well. It must not write files: the editing of configuration files is in `config`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.approval.approval_scope import key
from jupyter_eca.engine.approval.call_targets import FOLDER
from jupyter_eca.engine.approval.policy import Rule
from jupyter_eca.engine.approval.rule_matching import COMMAND
from jupyter_eca.engine.model.request import Remembers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.policy import Rules
    from jupyter_eca.engine.model.request import ToolSpec


def propose_rule(
    rules: Rules, tool: ToolSpec, arguments: dict[str, Any], targets: CallTargets
) -> tuple[str, Rule] | None:
    """Return a selector and a rule to add to those that `allow`; None where they leave no place for it."""
    added = Rule(args_matchers=dict(_list_matchers(tool, arguments, targets)))
    names = (key(tool), tool.name) if tool.server == "eca" else (key(tool),)
    return next(((name, added) for name in names if merge_rules(rules.get(name), added) is not None), None)


def _list_matchers(
    tool: ToolSpec, arguments: dict[str, Any], targets: CallTargets
) -> Iterator[tuple[str, tuple[str, ...]]]:
    match tool.remembers:
        case Remembers.COMMANDS:
            yield COMMAND, (re.escape(str(arguments.get(COMMAND, ""))),)
            yield FOLDER, (re.escape(targets.paths.get(FOLDER, ("",))[0]),)
        case Remembers.FOLDER:
            for name, forms in targets.paths.items():
                folder = posixpath.dirname(forms[0])
                yield name, (re.escape(f"{folder}/" if folder else "") + "[^/]*",)
        case Remembers.ARGUMENTS:
            for name, value in arguments.items():
                yield name, (re.escape(str(value)),)
        case Remembers.TOOL | Remembers.NOTEBOOK:
            pass


def merge_rules(old: Rule | None, added: Rule) -> Rule | None:
    """Return a rule that matches what one of the two does, and nothing else; None when there is none."""
    if old is None or old == added:
        return added
    before, after = old.args_matchers, added.args_matchers
    if not before or before.keys() != after.keys() or len(_find_differences(old, added)) != 1:
        return None
    return Rule(args_matchers={name: tuple(dict.fromkeys((*before[name], *after[name]))) for name in before})


def subtract_rule(old: Rule, removed: Rule) -> Rule | None:
    """Return what is left of a rule without the other, None for nothing.

    Raises: ValueError when `removed` is no part of it.
    """
    before, after = old.args_matchers, removed.args_matchers
    if before.keys() != after.keys() or any(set(after[name]) - set(before[name]) for name in before):
        raise ValueError("the rule is another one by now")
    differing = _find_differences(old, removed)
    if not differing:
        return None
    if len(differing) > 1:
        raise ValueError("a part of the rule cannot be taken out")
    remaining = {
        name: tuple(text for text in before[name] if name != differing[0] or text not in after[name]) for name in before
    }
    return Rule(args_matchers=remaining)


def _find_differences(first: Rule, second: Rule) -> list[str]:
    return [name for name, texts in first.args_matchers.items() if set(texts) != set(second.args_matchers[name])]
