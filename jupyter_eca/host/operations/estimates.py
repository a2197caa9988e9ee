"""What a prompt would send and cost, before it is sent: about while somebody types, word for word when they want it.

While they type nothing that was pointed at is read twice within half a minute, and what the message itself names is not
read at all; what is shown word for word is gathered as for the prompt itself.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca import redaction
from jupyter_eca.config.masking import mask_secrets
from jupyter_eca.engine.model.context_window import CHARS_PER_TOKEN
from jupyter_eca.host.chat.ports import CommandReplacement
from jupyter_eca.host.costs.ledger import Bill
from jupyter_eca.plugins.contexts.resolve import as_model_input, find_mentioned_contexts, materials
from jupyter_eca.plugins.providers.base import ShowsRequest
from jupyter_eca.protocol.context import CursorContext

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import UsageDelta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.chat.live_chat import Prompt
    from jupyter_eca.host.chat.ports import CommandRunner
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.costs.ledger import Ledger
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.protocol.context import ChatContext

# Seconds that the size of what was pointed at is remembered, and of how many such things.
_FRESH: Final = 30.0
_MOST: Final = 64

# What is said to the model is shown word for word; of these only the rest could hold a key.
_SAID: Final = frozenset({"system", "messages", "tools"})
# Longer base64 is an image, which nobody reads.
_DATA_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """`expected` has the cost and the limit, as far as they are known."""

    model: str
    expected: UsageDelta
    request: ModelRequest

    @property
    def tokens(self) -> int:
        return self.expected.input_tokens + self.expected.cache_read_tokens


class Estimates:
    def __init__(
        self,
        catalog: Catalog,
        ledger: Ledger,
        chats: Chats,
        contexts: ToolContexts,
        turns: Turns,
        commands: CommandRunner,
    ) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._chats = chats
        self._contexts = contexts
        self._turns = turns
        self._commands = commands
        self._weights: dict[str, tuple[float, int]] = {}

    async def estimate(self, prompt: Prompt) -> Estimate:
        if prompt.message.startswith("/") and await self._commands.answers_here(prompt.message):
            prompt = replace(prompt, message="", contexts=())
        request = await self._turns.draft_prompt(prompt)
        weight = sum([await self._weight(prompt.chat, context) for context in prompt.contexts])
        return await self._add_price(prompt, request, weight)

    async def compute(self, prompt: Prompt) -> Estimate:
        meant = ""
        if prompt.message.startswith("/") and not await self._commands.answers_here(prompt.message):
            stands_for = await self._commands.run(prompt.chat, prompt.message)
            meant = stands_for.message if isinstance(stands_for, CommandReplacement) else ""
        there = self._contexts.build_surroundings(prompt.chat, None)
        live = self._chats.live(prompt.chat)
        told = live.cursor if live else None
        contexts = [one for one in prompt.contexts if not (isinstance(one, CursorContext) and one == told)]
        found = await materials(there, [*contexts, *await find_mentioned_contexts(there, meant or prompt.message)])
        return await self._add_price(
            prompt, await self._turns.draft_prompt(prompt, None, *as_model_input(found, meant))
        )

    async def _add_price(self, prompt: Prompt, request: ModelRequest, more: int = 0) -> Estimate:
        expected = self._ledger.expect(Bill(request.model, prompt.chat), request)
        expected = replace(expected, input_tokens=expected.input_tokens + more)
        return Estimate(request.model, await self._catalog.quote(request.model, expected), request)

    async def _weight(self, chat: str, context: ChatContext) -> int:
        """In tokens."""
        key, now = f"{chat} {context.model_dump_json()}", time.monotonic()
        known = self._weights.get(key)
        if known is not None and now - known[0] < _FRESH:
            return known[1]
        text, _, _ = as_model_input(await materials(self._contexts.build_surroundings(chat, None), [context]))
        weight = -(-len(text) // CHARS_PER_TOKEN)
        self._weights.pop(key, None)
        self._weights[key] = now, weight
        while len(self._weights) > _MOST:
            del self._weights[next(iter(self._weights))]
        return weight


def describe_request(catalog: Catalog, request: ModelRequest) -> str:
    """The body of a request, as JSON for a reader; images are told by their size.

    Raises: ProviderError when there is no model to ask.
    """
    chosen = catalog.choose(request.model, request.variant)
    if isinstance(chosen.provider, ShowsRequest):
        body = chosen.provider.request_body(chosen.model, request, chosen.settings)
    else:
        body = asdict(request)
    shown = {name: _short(value) if name in _SAID else mask_secrets(value, name) for name, value in body.items()}
    return redaction.redact(json.dumps(shown, indent=2, ensure_ascii=False, default=str))


def _short(value: Any, name: str = "") -> Any:
    match value:
        case dict():
            return {key: _short(item, key) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_short(item, name) for item in cast("list[Any]", value)]
        case str() if name in {"data", "base64"} and len(value) > _DATA_CHARS:
            return f"{value[:20]}… ({len(value):,} characters)"
        case _:
            return value
