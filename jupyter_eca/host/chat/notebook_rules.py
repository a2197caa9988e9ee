"""Owns the approval rules of notebooks. A rule of a notebook is for the calls of turns that were asked in the notebook.
It counts together with the rules of the configuration, in the same order: what the configuration denies or asks about
comes first.

The rules are the user's own and are stored with the chats, so a notebook that somebody else has written brings none.
Like the chats, they follow a notebook that was moved (`host.chat.notebook_ids`); a copy of the notebook has none.

This module must not decide a call: `engine.approval.policy` does. `config.approval_rules` has the rules in files.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from jupyter_eca.engine.approval.policy import Policy, Rule, assign_to_notebook, unite_policies
from jupyter_eca.engine.approval.policy_edits import add_rule
from jupyter_eca.errors import LocalError, NotSaved
from jupyter_eca.protocol.approval import RuleText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_eca.host.store import Store

_log = logging.getLogger(__name__)

NO_RULES: Final = Policy()
"""The rules of a notebook that has none."""

_CHANGED: Final = "The notebook {notebook} does not have this rule {rule!r} any more. Look at the rules again."
_NO_NOTEBOOK: Final = "A rule can only be made for a notebook. {path} is none."


class NotebookRules:
    """The rules of the notebooks of one workspace. Notebooks are named by their paths in Jupyter's contents API."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # The rules as they were last read. Another process may have changed them since.
        self._policies: dict[str, Policy] = {}
        # Held while rules are changed, because they are read before.
        self._lock = asyncio.Lock()

    async def read(self, notebook: str) -> Policy:
        """Return the rules of a notebook as they are stored now. If they cannot be read, there are none."""
        try:
            await self.list()
        except NotSaved as error:
            _log.warning("the approval rules of notebooks cannot be read: %s", error)
            self._policies.clear()
        return self.get(notebook)

    def get(self, notebook: str) -> Policy:
        """Return the rules of a notebook as they were last read."""
        return self._policies.get(notebook, NO_RULES)

    async def list(self) -> Mapping[str, Sequence[RuleText]]:
        """Read the rules of each notebook that has some, and return them. `get` returns them from now on. Raises:
        NotSaved."""
        stored = await self._store.do(lambda tables: tables.notebook_rules.list())
        rules = {notebook: _parse(text) for notebook, text in stored.items()}
        self._policies = {
            notebook: assign_to_notebook(_make_policy(texts), notebook) for notebook, texts in rules.items()
        }
        return rules

    async def add(self, notebook: str, rule: RuleText) -> None:
        """Add a rule to those of a notebook. Raises: LocalError, NotSaved; ValueError when a matcher is not a regular
        expression."""
        if not notebook.endswith(".ipynb"):
            raise LocalError(_NO_NOTEBOOK.format(path=notebook))
        await self._change(notebook, None, rule)

    async def replace(self, notebook: str, old: RuleText, new: RuleText) -> None:
        """Replace a rule of a notebook. Raises: LocalError when it is gone, and what `add` raises."""
        await self._change(notebook, old, new)

    async def remove(self, notebook: str, rule: RuleText) -> None:
        """Remove a rule of a notebook. Raises: LocalError when it is gone; NotSaved."""
        await self._change(notebook, rule, None)

    async def forget(self, path: str) -> None:
        """Forget the rules of a notebook that was deleted, or of all notebooks in a folder. Raises: NotSaved."""
        async with self._lock:
            await self._store.do(lambda tables: tables.notebook_rules.forget(path))
            await self.list()

    async def _change(self, notebook: str, old: RuleText | None, new: RuleText | None) -> None:
        """Take the rule `old` out of the rules of a notebook, and add the rule `new`. If `old` is None, nothing is
        taken out; if `new` is None, nothing is added."""
        async with self._lock:
            rules = [*(await self.list()).get(notebook, ())]
            if old is not None:
                if (removed := _strip(old)) not in rules:
                    raise LocalError(_CHANGED.format(notebook=notebook, rule=old.rule))
                rules.remove(removed)
            if new is not None:
                Rule(args_matchers=new.args_matchers)  # raises ValueError
                added = _strip(new)
                rules = [*(rule for rule in rules if rule != added), added]
            dumped = [rule.model_dump(mode="json", by_alias=True, exclude_none=True) for rule in rules]
            text = json.dumps(dumped) if dumped else ""
            await self._store.do(lambda tables: tables.notebook_rules.keep(notebook, text))
            await self.list()


def add_notebook_rules(policy: Policy, rules: Policy, *, may_have_allow_rules: bool) -> Policy:
    """Return the rules of an agent with those of a notebook. Without `may_have_allow_rules`, the `allow` rules of the
    notebook do not count, because the administrator's policy does not let users make such rules."""
    return unite_policies(policy, rules if may_have_allow_rules else rules.model_copy(update={"allow": {}}))


def _parse(text: str) -> list[RuleText]:
    """Return the rules in a stored text. If the text cannot be read, because a newer version has written it, return
    none: then the calls need approval."""
    try:
        rules = [RuleText.model_validate(rule) for rule in json.loads(text)]
        _make_policy(rules)
    except (ValueError, ValidationError):
        _log.warning("the approval rules of a notebook cannot be read")
        return []
    else:
        return rules


def _make_policy(rules: Sequence[RuleText]) -> Policy:
    """Return the rules as the engine applies them."""
    policy = NO_RULES
    for rule in rules:
        policy = add_rule(policy, rule.decision, rule.rule, Rule(args_matchers=rule.args_matchers))
    return policy


def _strip(rule: RuleText) -> RuleText:
    """Return a rule with only what is stored. A client may send it with more: the file or notebook that it is from."""
    return RuleText(decision=rule.decision, rule=rule.rule, args_matchers=rule.args_matchers)
