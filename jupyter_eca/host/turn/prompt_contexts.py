"""Reads the contexts of a prompt: those that a client sent, those that the message mentions, the short files that it
names, and the place of the cell that asks. It decides which of them the model needs, and checks whether the model may
read the notebook of the place and the named files.

This module must not know how a context is read: `plugins/contexts` does. `effect_runner` uses it for a prompt that is
sent, and `host/operations/estimates.py` for a prompt that the user still writes. So both read the same texts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.policy import Decision, Policy, decide
from jupyter_eca.engine.text.mentions import SIGNS
from jupyter_eca.engine.text.named_paths import find_named_paths
from jupyter_eca.errors import ToolError
from jupyter_eca.host.tools.path_resolution import find_call_targets
from jupyter_eca.host.turn import path_rules
from jupyter_eca.plugins.contexts.mcp_resource import list_changed_resources
from jupyter_eca.plugins.contexts.reading.named_files import find_named_files
from jupyter_eca.plugins.contexts.resolve import find_mentioned_contexts, read_asking_place, read_materials
from jupyter_eca.protocol.context import CursorContext

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jupyter_eca.host.chat.live_chat import LiveChat, Prompt
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.plugins.contexts.base import Material, Surroundings
    from jupyter_eca.protocol.context import ChatContext

# The tool that a model reads notebooks with. A prompt has no content of a notebook that this tool may not read.
_READER: Final = "notebook_read"

# The tool that a model reads files with. A prompt has the content of a file that the user has not mentioned only if
# this tool may read the file without a question.
_FILE_READER: Final = "read_file"


@dataclass(frozen=True, slots=True)
class PromptMaterials:
    """What was read for a prompt.

    A *locked question* is what a stored answer in a lock file beside the notebook belongs to. The stored answer is used
    only as long as the question is the same.
    """

    pointed_at: tuple[Material, ...] = ()
    """The contexts that a client sent or that the message mentions, and the resources of MCP servers that have changed.
    They are a part of a locked question."""
    place: Material | None = None
    """The place of the cell that asks; None for a prompt of a panel or an editor. It changes with each run, so it is no
    part of a locked question."""
    named_files: tuple[Material, ...] = ()
    """The short files that the message names without the sign of a mention. The message itself stays the same when they
    change, so they are no part of a locked question."""

    def list_all(self) -> list[Material]:
        """Return all materials in the order in which the model reads them."""
        return [*((self.place,) if self.place else ()), *self.pointed_at, *self.named_files]


class PromptContexts:
    """Reads the contexts of the prompts of one host."""

    def __init__(self, services: Services, contexts: ToolContexts) -> None:
        self._services = services
        self._contexts = contexts

    async def read(self, chat: LiveChat, prompt: Prompt, message: str) -> PromptMaterials:
        """Read the contexts of the prompt whose turn is under way, and the resources of MCP servers that have changed.
        The chat remembers the prompt's last cursor in a file.

        `message` is what the model gets. It differs from the user's message if that is a command.
        """
        changed = await self._services.mcp.read_changed_resources(prompt.chat)
        # Whether the model is told the place of the cell that asks.
        tells_place = chat.kernel is not None and self._services.config.notebook.place
        may_mention = any(sign in message for sign in SIGNS)
        # A command's own text may name files, too, but those are not what the user asks about. An outside agent reads
        # files on its own.
        is_own = message == prompt.message and not chat.state.setup.outside
        names_files = is_own and "." in message and bool(find_named_paths(message))
        if not (prompt.contexts or changed or tells_place or may_mention or names_files):
            return PromptMaterials()
        surroundings = self._contexts.build_surroundings(
            prompt.chat, chat.kernel, chat.asked_notebook, chat.known_versions
        )
        surroundings = self._add_checks(surroundings, chat, chat.state.setup.policy or Policy())
        contexts = [*prompt.contexts, *await find_mentioned_contexts(surroundings, message, prompt.contexts)]
        place = None
        if tells_place and not any(isinstance(context, CursorContext) for context in contexts):
            place = await read_asking_place(surroundings, prompt.lock.cell if prompt.lock else "", contexts)
        changes = list_changed_resources(changed, contexts)
        found = await _read_new(chat, surroundings, contexts)
        named = await find_named_files(surroundings, message, contexts) if names_files else []
        return PromptMaterials((*found, *changes), place, tuple(await read_materials(surroundings, named)))

    async def read_during_turn(self, chat: LiveChat, message: str, contexts: Iterable[ChatContext]) -> list[Material]:
        """Read the contexts of a message that the user sends during the turn of a chat: those that the client
        sent, and those that the message mentions."""
        surroundings = self._contexts.build_surroundings(
            chat.state.id, chat.kernel, chat.asked_notebook, chat.known_versions
        )
        surroundings = self._add_checks(surroundings, chat, chat.state.setup.policy or Policy())
        sent = tuple(contexts)
        return await _read_new(chat, surroundings, [*sent, *await find_mentioned_contexts(surroundings, message, sent)])

    async def read_for_draft(self, chat: LiveChat, prompt: Prompt, message: str) -> list[Material]:
        """Read the contexts of a prompt that is not sent yet. The chat remembers nothing. See `read` for `message`."""
        notebook = next((context.path for context in prompt.contexts if isinstance(context, CursorContext)), "")
        agent = self._services.current.resolved.get_agent(prompt.choice.fill_from(chat.choice).agent)
        surroundings = self._contexts.build_surroundings(
            prompt.chat, None, notebook, chat.known_versions.copy_for_call()
        )
        surroundings = self._add_checks(surroundings, chat, agent.policy)
        sent = drop_known_cursor(chat.cursor, prompt.contexts)
        contexts = [*sent, *await find_mentioned_contexts(surroundings, message, sent)]
        named = await find_named_files(surroundings, message, contexts) if message == prompt.message else []
        return await read_materials(surroundings, [*contexts, *named])

    def _add_checks(self, surroundings: Surroundings, chat: LiveChat, policy: Policy) -> Surroundings:
        """Return the surroundings with the checks of what the model may read. `policy` are the approval rules of the
        turn. A notebook may be read even if the rules ask about it, because the user works in it. A file that the user
        has not mentioned may be read only if the rules allow it without a question."""
        return replace(
            surroundings,
            check_reading=partial(self._check_reading, chat, policy, _READER, (Decision.ALLOW, Decision.ASK)),
            check_reading_file=partial(self._check_reading, chat, policy, _FILE_READER, (Decision.ALLOW,)),
        )

    async def _check_reading(
        self, chat: LiveChat, policy: Policy, reader: str, accepted: Collection[Decision], path: str
    ) -> None:
        """Check whether the model may get the content of a notebook or a file, as if it called the tool `reader`. It
        may, if the decision about that call is among those that are `accepted`.

        Raises: ToolError when it may not, or when the model must fetch a rule of the user's first.
        """
        tool = self._services.toolbox.get(reader)
        if tool is None:
            return
        arguments: dict[str, Any] = {"path": path}
        files = self._contexts.get_files(chat.state.id)
        targets = await find_call_targets(files, self._services.config, tool.spec, arguments)
        verdict = decide(policy, tool.spec, arguments, frozenset(), targets=targets)
        if verdict.decision not in accepted:
            raise ToolError("a rule of the user's forbids to read it.")
        await path_rules.check_call(self._contexts.build(chat.state.id, chat.kernel), tool, arguments)


async def _read_new(chat: LiveChat, surroundings: Surroundings, contexts: list[ChatContext]) -> list[Material]:
    """Read contexts, except the cursor that the model knows already. Remember the last cursor."""
    found = await read_materials(surroundings, drop_known_cursor(chat.cursor, contexts))
    cursors = [context for context in contexts if isinstance(context, CursorContext) and _is_in_file(context)]
    chat.cursor = cursors[-1] if cursors else chat.cursor
    return found


def drop_known_cursor(known: CursorContext | None, contexts: Iterable[ChatContext]) -> list[ChatContext]:
    """Return the contexts without the cursor in a file that the model knows already (`known`).

    If the cursor were sent with every prompt, it would often be the only change, and would make the vendor's cache
    useless. A cursor in a notebook is kept, because its cell may have changed although the cursor has not moved. The
    text about the cell says what is new in it.
    """
    return [context for context in contexts if context != known or not _is_in_file(context)]


def _is_in_file(context: ChatContext) -> bool:
    """Return whether a context is a cursor in a file that is no notebook."""
    return isinstance(context, CursorContext) and not context.path.lower().endswith(".ipynb")
