"""Owns the user's rules for certain files, as they apply to one chat. These rules are instructions, and not rules of
approval. The model must fetch a rule with the tool `fetch_rule` before it reads or changes a file that the rule is for.

A rule counts as fetched as long as its text is in the conversation. Nothing else is stored. So after a restart the
model need not fetch it again, and after a summary that has removed the text it must.

It must not read rule files: `instructions.rules` does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.approval_scope import get_selector
from jupyter_eca.engine.model.request import ToolResultPart
from jupyter_eca.errors import ToolError
from jupyter_eca.host.tools.path_resolution import find_default_notebook
from jupyter_eca.instructions import rules
from jupyter_eca.instructions.instruction_context import list_facts
from jupyter_eca.workspace.ports import FetchedRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jupyter_eca.engine.model.request import History
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.services import Current
    from jupyter_eca.instructions.rules import InstructionRule
    from jupyter_eca.plugins.tools.base import Tool, ToolContext
    from jupyter_eca.workspace.ports import Files

# The texts for the model: the head of a fetched rule, the text of an empty rule, the answer when the rule was fetched
# before, and a hint about patterns.
_HEAD: Final = "Rule {}, for {}:\n\n"
_EMPTY: Final = "(It says nothing for this chat.)"
_AGAIN: Final = "You have fetched {} already in this chat; it still holds."
_GLOBS: Final = "In these patterns, `**/` stands for at least one folder, and `**` may stand for no folder."

# The tools that read files, by their names. A tool that changes files says so itself (`Tool.makes_checkpoints`).
_READERS: Final = frozenset({"read_file", "notebook_read"})
# The arguments of our tools that are paths.
_PATHS: Final = ("path", "source", "destination")


class ChatPathRules:
    """Implements `workspace.ports.PathRules` for one chat."""

    def __init__(self, current: Current, chats: Chats, warn: Callable[[str], None], chat: str, files: Files) -> None:
        """`warn` shows a warning to the users. `chat` is the id of the chat, and `files` are the files as it sees
        them."""
        self._current = current
        self._files = files
        self._chats = chats
        self._warn = warn
        self._chat = chat

    async def fetch(self, id: str, path: str) -> FetchedRule:
        """Return the text of a rule for a file, or the message that the model has it already.

        `id` is that of the rule, and `path` the absolute path of the file.

        Raises: ToolError when there is no such rule, or when it is not about this file.
        """
        rule = next((rule for rule in await self._list_rules() if rule.id == id), None)
        if rule is None:
            raise ToolError(f"There is no rule {id!r} for paths.", "Take the exact id from the list of rules.")
        if not Path(path).is_absolute():
            raise ToolError(f"{path!r} must be an absolute path.")
        pattern = rule.find_pattern(self._files.resolve(path), self._roots)
        if not pattern:
            within = f" in {rule.root}" if rule.root else ""
            raise ToolError(f"The rule is not about {path}: it is for {', '.join(rule.paths)}{within}. {_GLOBS}")
        if id in self._list_fetched():
            return FetchedRule(_AGAIN.format(rule.name), new=False)
        try:
            text = rule.render(self._facts)
        except ValueError:  # a condition in it is not valid
            text = rule.text
        return FetchedRule(_HEAD.format(rule.name, pattern) + (text or _EMPTY), new=True)

    async def check_fetched(self, kind: str, path: str) -> None:
        """Check that the model has fetched the rules for a file that it changes or reads. `kind` is `rules.MODIFY` or
        `rules.READ`.

        Raises: ToolError when it must fetch rules first. The message names them.
        """
        real = self._files.resolve(path)
        fetched = self._list_fetched()
        missing = [
            rule
            for rule in await self._list_rules()
            if kind in rule.enforce and rule.id not in fetched and rule.find_pattern(real, self._roots)
        ]
        if missing:
            doing = "changed" if kind == rules.MODIFY else "read"
            calls = "\n".join(f"fetch_rule with id {rule.id} and path {real}" for rule in missing)
            raise ToolError(f"{path} is not {doing} before the user's rules for it are fetched.", f"Call\n{calls}")

    @property
    def _roots(self) -> tuple[Path, ...]:
        """The real paths of the folders of the workspace."""
        return tuple(root.resolve() for root in self._files.roots)

    @property
    def _facts(self) -> Mapping[str, bool | str]:
        """The facts that the conditions in the text of a rule are about."""
        live = self._chats.get_live(self._chat)
        tools = [get_selector(tool) for tool in live.state.setup.tools] if live else []
        return list_facts(self._files, tools, subagent=bool(live and live.parent))

    async def _list_rules(self) -> list[InstructionRule]:
        """Return the rules for paths that hold in this chat. Their files are read each time, so that a rule which the
        user writes during the chat holds too."""
        live = self._chats.get_live(self._chat)
        if live is None:
            return []
        setup = live.state.setup
        found = await rules.find(self._files, self._current.config, self._warn)
        return [rule for rule in found if rule.paths and rule.applies_to(setup.agent, setup.model)]

    def _list_fetched(self) -> frozenset[str]:
        """Return the ids of the rules whose text is in the conversation of this chat."""
        live = self._chats.get_live(self._chat)
        return frozenset() if live is None else list_fetched_rules(live.state.history)


def list_fetched_rules(history: History) -> frozenset[str]:
    """Return the ids of the rules whose text is in a conversation."""
    parts = (part for message in history for part in message.parts)
    return frozenset(part.fetched_rule for part in parts if isinstance(part, ToolResultPart) and part.fetched_rule)


async def check_call(context: ToolContext, tool: Tool, arguments: dict[str, object]) -> None:
    """Check whether the model has fetched the rules for the files of a call, and for the notebook that a call without a
    path is about. Only calls of our own tools that change or read files need rules.

    Raises: ToolError when the model must fetch rules first.
    """
    if context.rules is None or tool.spec.server != "eca":
        return
    kind = rules.MODIFY if tool.makes_checkpoints else rules.READ if tool.spec.name in _READERS else ""
    if kind:
        notebook = await find_default_notebook(context, tool, arguments)
        for path in (*_list_paths(arguments), *filter(None, [notebook])):
            await context.rules.check_fetched(kind, path)


def _list_paths(arguments: dict[str, object]) -> Iterator[str]:
    """Yield the paths among the arguments of a call."""
    for name in _PATHS:
        if isinstance(path := arguments.get(name), str) and path:
            yield path
