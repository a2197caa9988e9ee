"""Estimates what a prompt would cost before it is sent, and shows the request that it would send.

While the user types, `estimate` is called again and again. So it reads a context at most every 30 seconds, and does not
read the contexts that the message mentions. When the user asks for the exact request, `estimate_exactly` reads
everything as for the prompt itself, and runs a command that is replaced by a message to the model, such as `/init`, to
get this message.

It must not send anything to a model. `host.costs.ledger` estimates the tokens, and `host.turn.turns` drafts the
request.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca import redaction
from jupyter_eca.config.masking import mask_secrets
from jupyter_eca.engine.model.context_window import CHARS_PER_TOKEN
from jupyter_eca.host.chat.ports import CommandReplacement
from jupyter_eca.host.costs.ledger import Bill
from jupyter_eca.plugins.contexts.resolve import as_model_input, read_materials
from jupyter_eca.plugins.providers.base import ShowsRequest

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import UsageDelta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.chat.live_chat import Prompt
    from jupyter_eca.host.chat.ports import CommandRunner
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.costs.ledger import Ledger
    from jupyter_eca.host.turn.prompt_contexts import PromptContexts
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.ports import Kernel

# The seconds that the size of a context is remembered, and the number of contexts whose size is remembered.
_MAX_AGE_SECONDS: Final = 30.0
_MAX_SIZES: Final = 64

# The fields of a request that are shown word for word. The other fields are options of the vendor, which may hold a
# key.
_CONVERSATION_FIELDS: Final = frozenset({"system", "messages", "tools"})
# The characters of base64 that are shown. A longer text is an image, which nobody reads.
_MAX_DATA_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected size and cost of a prompt."""

    model: str
    """The full name of the model."""
    expected: UsageDelta
    """The tokens, the cost and the limit of the model, as far as they are known."""
    request: ModelRequest
    """The request that would be sent."""

    @property
    def tokens(self) -> int:
        """The tokens of the request, the cached ones included."""
        return self.expected.input_tokens + self.expected.cache_read_tokens


class Estimates:
    """Estimates the prompts of one host."""

    def __init__(
        self,
        catalog: Catalog,
        ledger: Ledger,
        chats: Chats,
        contexts: ToolContexts,
        prompt_contexts: PromptContexts,
        turns: Turns,
        commands: CommandRunner,
    ) -> None:
        self._catalog = catalog
        self._ledger = ledger
        self._chats = chats
        self._contexts = contexts
        self._prompt_contexts = prompt_contexts
        self._turns = turns
        self._commands = commands
        # When each context was read, and its tokens, by chat and context.
        self._sizes: dict[str, tuple[float, int]] = {}

    async def estimate(self, prompt: Prompt) -> Estimate:
        """Return a rough estimate of a prompt, while the user types it."""
        # A command that is answered without the model, such as `/help`, sends no request. Its estimate is then that of
        # an empty message: the size of the conversation so far.
        if prompt.message.startswith("/") and await self._commands.is_answered_without_model(prompt.message):
            prompt = replace(prompt, message="", contexts=())
        request = await self._turns.draft_prompt(prompt)
        tokens = sum([await self._measure(prompt.chat, context) for context in prompt.contexts])
        return await self._add_price(prompt, request, tokens)

    async def estimate_exactly(self, prompt: Prompt, kernel: Kernel | None = None) -> Estimate:
        """Return the exact request of a prompt, with its estimate. `kernel` is that of the cell which asks. A
        command that is answered without the model, such as `/help`, is treated like any other text."""
        # For a message that is a command for the model, such as `/init`: the message that the command puts in its
        # place. It is only known after the command has run.
        model_message = ""
        if prompt.message.startswith("/") and not await self._commands.is_answered_without_model(prompt.message):
            outcome = await self._commands.run(prompt.chat, prompt.message)
            model_message = outcome.message if isinstance(outcome, CommandReplacement) else ""
        live = await self._chats.load(prompt.chat)
        found = await self._prompt_contexts.read_for_draft(live, prompt, model_message or prompt.message)
        # `as_model_input` returns the text, the images and the documents of the contexts.
        return await self._add_price(
            prompt, await self._turns.draft_prompt(prompt, kernel, *as_model_input(found, model_message))
        )

    async def _add_price(self, prompt: Prompt, request: ModelRequest, more_tokens: int = 0) -> Estimate:
        """Return the estimate of a request. `more_tokens` are the tokens of contexts that are not in `request`. They
        are added to its own tokens before the price is computed."""
        # Nothing is charged: the bill only names the model and the chat. The ledger knows the estimate and the true
        # count of the chat's last request, and corrects this estimate by them.
        expected = self._ledger.estimate_usage(Bill(request.model, prompt.chat), request)
        expected = replace(expected, input_tokens=expected.input_tokens + more_tokens)
        return Estimate(request.model, await self._catalog.quote(request.model, expected), request)

    async def _measure(self, chat: str, context: ChatContext) -> int:
        """Return the size of a context in tokens, which is remembered for a while."""
        key, now = f"{chat} {context.model_dump_json()}", time.monotonic()
        known = self._sizes.get(key)
        if known is not None and now - known[0] < _MAX_AGE_SECONDS:
            return known[1]
        # None stands for the kernel of the cell that asks: no cell asks while the user types.
        text, _, _ = as_model_input(await read_materials(self._contexts.build_surroundings(chat, None), [context]))
        tokens = math.ceil(len(text) / CHARS_PER_TOKEN)
        self._sizes.pop(key, None)
        self._sizes[key] = now, tokens
        while len(self._sizes) > _MAX_SIZES:
            del self._sizes[next(iter(self._sizes))]
        return tokens


def describe_request(catalog: Catalog, request: ModelRequest) -> str:
    """Return the body of a request as JSON for a user. Images are shortened, and keys are hidden.

    Raises: ProviderError when there is no model.
    """
    chosen = catalog.choose(request.model, request.variant, thinks=True)  # as for each request of a chat
    if isinstance(chosen.provider, ShowsRequest):
        body = chosen.provider.request_body(chosen.model, request, chosen.settings)
    else:
        body = asdict(request)
    shown = {
        name: _shorten_data(value) if name in _CONVERSATION_FIELDS else mask_secrets(value, name)
        for name, value in body.items()
    }
    return redaction.redact(json.dumps(shown, indent=2, ensure_ascii=False, default=str))


def _shorten_data(value: Any, name: str = "") -> Any:
    """Return a JSON value whose long base64 texts are cut. `name` is the field that has the value."""
    match value:
        case dict():
            return {key: _shorten_data(item, key) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_shorten_data(item, name) for item in cast("list[Any]", value)]
        case str() if name in {"data", "base64"} and len(value) > _MAX_DATA_CHARS:
            return f"{value[:20]}… ({len(value):,} characters)"
        case _:
            return value
