"""What servers of the Model Context Protocol ask: a chat's user, and its model when the user allows that.

A model costs money and may tell what is in a server's own words, so each request is shown to the user whole before it
is sent, unless they trust this chat or the configuration allows it; a budget for each server and chat holds in any
case. The answer goes to the server alone; the chat is told that there was one, and what it took.
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
from jupyter_eca.engine.model.texts import PAUSED
from jupyter_eca.errors import ProviderError, SamplingRefusal
from jupyter_eca.host.costs.ledger import bill
from jupyter_eca.host.subscribers import ChatQuestions
from jupyter_eca.host.turn.setup import choose_model
from jupyter_eca.mcp_client.caller import Sampled, Stop
from jupyter_eca.protocol.content import TextContent
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption

if TYPE_CHECKING:
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.costs.ledger import Bill
    from jupyter_eca.host.costs.metered import Metered
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.mcp_client.caller import Sampling
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.workspace.ports import QuestionAsker

_log = logging.getLogger(__name__)

ALLOW: Final = "Allow this once"
ALLOW_CHAT: Final = "Allow it in this chat"
DENY: Final = "Do not allow"

# Characters of a token, about: streams do not count their tokens before the end.
_TOKEN: Final = 4
# Characters of a request that are shown before it is allowed: more is not read.
_SHOWN: Final = 4_000


@dataclass
class _Account:
    """What a server has used in a chat since this process began. `allowed`: its user need not be asked again."""

    requests: int = 0
    tokens: int = 0
    allowed: bool = False


class ChatPeople:
    """`mcp_client.caller.People`: who is there in the chats of one host."""

    def __init__(
        self, current: Current, subscribers: Subscribers, catalog: Catalog, chats: Chats, metered: Metered
    ) -> None:
        self._current = current
        self._subscribers = subscribers
        self._catalog = catalog
        self._chats = chats
        self._metered = metered
        self._accounts: defaultdict[tuple[str, str], _Account] = defaultdict(_Account)

    def questions(self, chat: str) -> QuestionAsker | None:
        return ChatQuestions(self._subscribers, chat) if self._subscribers.has_answerer(chat) else None

    async def sample(self, chat: str, wanted: Sampling) -> Sampled:
        """Raises: SamplingRefusal, ProviderError."""
        live = self._chats.live(chat)
        if live is None:
            raise SamplingRefusal("there is no such chat")
        account = self._accounts[chat, wanted.server]
        self._check(account)
        account.requests += 1
        model = live.state.setup.model or await choose_model(
            self._current.resolved, self._catalog, (await self._chats.load(chat)).choice
        )
        await self._allow(live, account, wanted, model)
        answer = _Answer(wanted)
        try:
            await self._ask(bill(live, model), wanted, answer)
        finally:
            account.tokens += answer.tokens
            told = f"The MCP server {wanted.server!r} had {model} asked something: {answer.tokens} tokens."
            self._chats.mark(live, TextContent(text=told))
        return Sampled(answer.text, model, answer.stop)

    def _check(self, account: _Account) -> None:
        budget = self._current.config.mcp_sampling
        if budget.approval is Decision.DENY:
            raise SamplingRefusal("`mcpSampling.approval` of the configuration denies it")
        if account.requests >= budget.max_requests:
            raise SamplingRefusal(f"the {budget.max_requests} requests of its budget are used up in this chat")
        if account.tokens >= budget.max_tokens:
            raise SamplingRefusal(f"the {budget.max_tokens} tokens of its budget are used up in this chat")

    async def _allow(self, live: LiveChat, account: _Account, wanted: Sampling, model: str) -> None:
        """Raises: SamplingRefusal."""
        if account.allowed or live.state.trust or self._current.config.mcp_sampling.approval is Decision.ALLOW:
            return
        questions = self.questions(live.state.id) if live.bounds.asks else None
        if questions is None:
            raise SamplingRefusal("nobody is there who could allow it")
        asked = ChatAskQuestionParams(
            chat_id=live.state.id,
            question=_question(wanted, model),
            options=(
                QuestionOption(label=ALLOW),
                QuestionOption(label=ALLOW_CHAT, description="without being asked, within its budget"),
                QuestionOption(label=DENY),
            ),
            allow_freeform=False,
        )
        answer = (await questions.ask(asked)).answer
        if answer not in {ALLOW, ALLOW_CHAT}:
            raise SamplingRefusal("the user did not allow it")
        account.allowed = account.allowed or answer == ALLOW_CHAT

    async def _ask(self, to: Bill, wanted: Sampling, answer: _Answer) -> None:
        """Raises: ProviderError."""
        await self._catalog.refresh()
        chosen = self._catalog.choose(to.model)
        request = ModelRequest(to.model, wanted.system, wanted.messages)
        try:
            async with aclosing(self._metered.stream(to, chosen, request)) as deltas:
                async for delta in deltas:
                    match delta:
                        case TextDelta(text=text):
                            answer.add(text)
                        case UsageDelta():
                            answer.count(delta)
                        case Remark(text=text):
                            raise ProviderError(text)
                        case Paused():
                            raise ProviderError(PAUSED)
                        case _:
                            pass
                    if answer.stop is not Stop.END:
                        return
        except ProviderError as error:
            raise ProviderError(redaction.redact(str(error))) from None
        except Exception as error:  # the boundary to plugs: whatever they raise, the server must be answered
            _log.exception("the provider of %s failed", to.model)
            raise ProviderError(redaction.redact(f"The provider of {to.model} failed inside: {error!r}.")) from error


class _Answer:
    """As it comes. A model is given no limit of tokens and no stops, which not every vendor takes: both hold here."""

    def __init__(self, wanted: Sampling) -> None:
        self._wanted = wanted
        self._asked = sum(len(message.text) for message in wanted.messages) + len(wanted.system)
        self._counted: int | None = None
        self.text = ""
        self.stop = Stop.END

    @property
    def tokens(self) -> int:
        return (self._asked + len(self.text)) // _TOKEN if self._counted is None else self._counted

    def count(self, usage: UsageDelta) -> None:
        used = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self._counted = max(used, self._counted or 0)

    def add(self, text: str) -> None:
        self.text += text
        ends = [place for stop in self._wanted.stops if (place := self.text.find(stop)) >= 0]
        if ends:
            self.text, self.stop = self.text[: min(ends)], Stop.SEQUENCE
        elif len(self.text) > self._wanted.max_tokens * _TOKEN:
            self.text, self.stop = self.text[: self._wanted.max_tokens * _TOKEN], Stop.TOKENS


def _question(wanted: Sampling, model: str) -> str:
    """What would be sent, as a quotation: it is the server's, and may look like anything."""
    lines = [f"(instructions) {wanted.system}"] if wanted.system else []
    for message in wanted.messages:
        others = sum(not isinstance(part, TextPart) for part in message.parts)
        lines.append(f"({message.role}) {message.text}{f' [{others} images]' if others else ''}")
    text = "\n".join(lines)
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} [... {len(text) - _SHOWN} more characters]"
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    return (
        f"The MCP server {wanted.server!r} wants to have {model} asked, at your cost and for up to "
        f"{wanted.max_tokens} tokens of answer, which go to the server:\n\n{quoted}"
    )
