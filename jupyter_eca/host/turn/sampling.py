"""Answers what MCP servers request of a chat: questions to its user (elicitation) and requests to its model (sampling).

A request to the model costs money, and its answer may tell the server what the model knows. So the user sees the whole
request before it is sent, and allows it or not. This is skipped if the user trusts the chat, or if the configuration
allows it. In every case there is a budget for each server and chat. Only the server gets the answer; the chat shows
that there was a request, and its tokens.

It must not know the MCP protocol: `mcp_client` does.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.model.delta import Paused, Remark, TextDelta, UsageDelta
from jupyter_eca.engine.model.request import ModelRequest, TextPart
from jupyter_eca.engine.model.texts import PAUSED_TOO_OFTEN
from jupyter_eca.errors import ProviderError, SamplingRefusal
from jupyter_eca.host.costs.ledger import make_bill
from jupyter_eca.host.subscribers import ChatQuestions
from jupyter_eca.host.turn.setup import choose_model
from jupyter_eca.mcp_client.client_features import SamplingResult, StopReason
from jupyter_eca.protocol.content import TextContent
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption

if TYPE_CHECKING:
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.costs.ledger import Bill
    from jupyter_eca.host.costs.model_caller import ModelCaller
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.mcp_client.client_features import SamplingRequest
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.workspace.ports import QuestionAsker

_log = logging.getLogger(__name__)

ALLOW: Final = "Allow this once"
ALLOW_CHAT: Final = "Allow it in this chat"
DENY: Final = "Do not allow"

# About as many characters make a token. The vendor counts the tokens only at the end of a stream.
_CHARS_PER_TOKEN: Final = 4
# The most characters of a request that the user sees. Nobody would read more.
_SHOWN_CHARS: Final = 4_000


@dataclass
class _Usage:
    """The requests and tokens that a server has used in a chat since this process started."""

    requests: int = 0
    """How many requests it has sent."""
    tokens: int = 0
    """The tokens of these requests and of their answers."""
    is_allowed: bool = False
    """Whether the user has allowed all requests of the server in this chat."""


class ChatClientFeatures:
    """Implements `mcp_client.client_features.ClientFeatures` for the chats of one host."""

    def __init__(
        self, current: Current, subscribers: Subscribers, catalog: Catalog, chats: Chats, model_caller: ModelCaller
    ) -> None:
        self._current = current
        self._subscribers = subscribers
        self._catalog = catalog
        self._chats = chats
        self._model_caller = model_caller
        # What each server has used in each chat, by the id of the chat and the name of the server.
        self._usages: defaultdict[tuple[str, str], _Usage] = defaultdict(_Usage)

    def find_question_asker(self, chat: str) -> QuestionAsker | None:
        """Return the port that asks the user of a chat, None if no client can answer."""
        return ChatQuestions(self._subscribers, chat) if self._subscribers.has_answerer(chat) else None

    async def sample(self, chat: str, request: SamplingRequest) -> SamplingResult:
        """Send a request of a server to the chat's model, if the budget and the user allow it.

        Raises: SamplingRefusal when it is not allowed; ProviderError.
        """
        live = self._chats.get_live(chat)
        if live is None:
            raise SamplingRefusal("there is no such chat")
        usage = self._usages[chat, request.server]
        self._check_budget(usage)
        usage.requests += 1
        model = live.state.setup.model or await choose_model(
            self._current.resolved, self._catalog, (await self._chats.load(chat)).choice
        )
        await self._ask_permission(live, usage, request, model)
        answer = _Answer(request)
        try:
            await self._call_model(make_bill(live, model), request, answer)
        finally:
            usage.tokens += answer.tokens
            message = f"The MCP server {request.server!r} had {model} asked something: {answer.tokens} tokens."
            self._chats.add_fact(live, TextContent(text=message))
        return SamplingResult(answer.text, model, answer.stop)

    def _check_budget(self, usage: _Usage) -> None:
        """Check the budget. Raises: SamplingRefusal when it is used up, or the configuration denies all requests."""
        budget = self._current.config.mcp_sampling
        if budget.approval is Decision.DENY:
            raise SamplingRefusal("`mcpSampling.approval` of the configuration denies it")
        if usage.requests >= budget.max_requests:
            raise SamplingRefusal(f"the {budget.max_requests} requests of its budget are used up in this chat")
        if usage.tokens >= budget.max_tokens:
            raise SamplingRefusal(f"the {budget.max_tokens} tokens of its budget are used up in this chat")

    async def _ask_permission(self, live: LiveChat, usage: _Usage, request: SamplingRequest, model: str) -> None:
        """Ask the user, if that is needed. Raises: SamplingRefusal when the user does not allow the request."""
        if usage.is_allowed or live.state.trust or self._current.config.mcp_sampling.approval is Decision.ALLOW:
            return
        questions = self.find_question_asker(live.state.id) if live.bounds.asks_user else None
        if questions is None:
            raise SamplingRefusal("nobody is there who could allow it")
        params = ChatAskQuestionParams(
            chat_id=live.state.id,
            question=_describe_request(request, model),
            options=(
                QuestionOption(label=ALLOW),
                QuestionOption(label=ALLOW_CHAT, description="without being asked, within its budget"),
                QuestionOption(label=DENY),
            ),
            allow_freeform=False,
        )
        answer = (await questions.ask(params)).answer
        if answer not in {ALLOW, ALLOW_CHAT}:
            raise SamplingRefusal("the user did not allow it")
        usage.is_allowed = usage.is_allowed or answer == ALLOW_CHAT

    async def _call_model(self, bill: Bill, request: SamplingRequest, answer: _Answer) -> None:
        """Call the model, and add what it answers to `answer`. Raises: ProviderError."""
        await self._catalog.refresh()
        chosen = self._catalog.choose(bill.model)
        model_request = ModelRequest(bill.model, request.system, request.messages)
        try:
            async with aclosing(self._model_caller.stream(bill, chosen, model_request)) as deltas:
                async for delta in deltas:
                    match delta:
                        case TextDelta(text=text):
                            answer.add(text)
                        case UsageDelta():
                            answer.count(delta)
                        case Remark(text=text):
                            raise ProviderError(text)
                        case Paused():
                            raise ProviderError(PAUSED_TOO_OFTEN)
                        case _:
                            pass
                    if answer.stop is not StopReason.END:
                        return
        except ProviderError as error:
            raise ProviderError(redaction.redact(str(error))) from None
        except Exception as error:  # the boundary to plugs: whatever they raise, the server must get an answer
            _log.exception("the provider of %s failed", bill.model)
            raise ProviderError(redaction.redact(f"The provider of {bill.model} failed inside: {error!r}.")) from error


class _Answer:
    """The answer while it is streamed. It ends at the server's token limit or at one of its stop texts. These are not
    sent to the model, because not every vendor accepts them."""

    def __init__(self, request: SamplingRequest) -> None:
        self._request = request
        # The characters of the request, for an estimate of its tokens.
        self._input_chars = sum(len(message.text) for message in request.messages) + len(request.system)
        # The tokens that the vendor has counted; None as long as it has reported none.
        self._counted_tokens: int | None = None
        self.text = ""
        """The text so far."""
        self.stop = StopReason.END
        """Why the answer has ended. `END`: the model itself ends it."""

    @property
    def tokens(self) -> int:
        """The tokens of the request and the answer: those that the vendor counted, else an estimate."""
        estimated = (self._input_chars + len(self.text)) // _CHARS_PER_TOKEN
        return estimated if self._counted_tokens is None else self._counted_tokens

    def count(self, usage: UsageDelta) -> None:
        """Note the tokens that the vendor has counted so far."""
        used = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self._counted_tokens = max(used, self._counted_tokens or 0)

    def add(self, text: str) -> None:
        """Add a piece of text, and cut the answer at its end."""
        self.text += text
        ends = [place for stop in self._request.stops if (place := self.text.find(stop)) >= 0]
        if ends:
            self.text, self.stop = self.text[: min(ends)], StopReason.SEQUENCE
        elif len(self.text) > self._request.max_tokens * _CHARS_PER_TOKEN:
            self.text, self.stop = self.text[: self._request.max_tokens * _CHARS_PER_TOKEN], StopReason.TOKENS


def _describe_request(request: SamplingRequest, model: str) -> str:
    """Return the question for the user. The request is a quotation in it, because the server may write anything."""
    lines = [f"(instructions) {request.system}"] if request.system else []
    for message in request.messages:
        images = sum(not isinstance(part, TextPart) for part in message.parts)
        lines.append(f"({message.role}) {message.text}{f' [{images} images]' if images else ''}")
    text = "\n".join(lines)
    text = text if (more := len(text) - _SHOWN_CHARS) <= 0 else f"{text[:_SHOWN_CHARS]} [... {more} more characters]"
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    return (
        f"The MCP server {request.server!r} wants to have {model} asked, at your cost and for up to "
        f"{request.max_tokens} tokens of answer, which go to the server:\n\n{quoted}"
    )
