"""Requests the titles of chats from a model. The engine decides when (`engine.effects.MakeTitle`), and
`engine.model.chat_title` has the request.

A title is a small service that nobody has asked for. So a request that fails, is refused or has no usable answer shows
nothing, and is not repeated: the first message stays the title. A budget that is used up raises no question.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine import inputs
from jupyter_eca.engine.model.chat_title import MAX_ANSWER_CHARS, read_title
from jupyter_eca.engine.model.delta import TextDelta, UsageDelta
from jupyter_eca.engine.state import TitleState
from jupyter_eca.errors import EcaError
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.costs.ledger import make_bill
from jupyter_eca.protocol.content import MetadataContent

if TYPE_CHECKING:
    from jupyter_eca.engine.effects import MakeTitle
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.costs.ledger import Bill
    from jupyter_eca.host.costs.model_caller import ModelCaller
    from jupyter_eca.plugins.providers.catalog import Catalog

_log = logging.getLogger(__name__)

TITLE_TASK: Final = "title"
"""The name of the task that requests the title of a chat."""

# The seconds that a model has for a title. Until the title comes, the chat is listed under its first message. After
# this time the user knows the chat by that message, so a new title is of no use.
_TIMEOUT_SECONDS: Final = 60.0


class ChatTitles:
    """Requests the titles of the chats of one host."""

    def __init__(self, catalog: Catalog, chats: Chats, tasks: ChatTasks, model_caller: ModelCaller) -> None:
        self._catalog = catalog
        self._chats = chats
        self._tasks = tasks
        self._model_caller = model_caller

    def start(self, chat: LiveChat, effect: MakeTitle) -> None:
        """Start the task that requests the title. The turn does not wait for it. A replayed turn calls no model."""
        if chat.replay is None:
            # The request does not send the conversation, so its tokens must not be used to correct the estimates of the
            # chat's other requests.
            bill = replace(make_bill(chat, effect.request.model), asks_user=False, is_conversation=False)
            self._tasks.start(chat, TITLE_TASK, self._make_title(chat, bill, effect.request))

    async def _make_title(self, chat: LiveChat, bill: Bill, request: ModelRequest) -> None:
        """Request the title, and give it to the chat unless somebody has renamed the chat meanwhile."""
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                answer = await self._read_answer(chat, bill, request)
        except (EcaError, TimeoutError) as error:
            _log.debug("no title for the chat %s: %s", chat.state.id, error)
            return
        except Exception:  # noqa: BLE001  # the boundary to plugs: nobody has asked for this, so its errors must not disturb
            _log.debug("no title for the chat %s", chat.state.id, exc_info=True)
            return
        title = read_title(redaction.redact(answer))
        if title and chat.state.title is TitleState.REQUESTED:
            self._chats.add_fact(chat, MetadataContent(title=title))

    async def _read_answer(self, chat: LiveChat, bill: Bill, request: ModelRequest) -> str:
        """Return the answer of the model, and add its cost to the chat. Raises: ProviderError, and
        its subclass OverBudget when a budget is used up."""
        answer = ""
        await self._catalog.refresh()
        chosen = self._catalog.choose(request.model)
        async with aclosing(self._model_caller.stream(bill, chosen, request)) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta(text=text):
                        answer += text
                    case UsageDelta():
                        tokens_in = delta.input_tokens + delta.cache_read_tokens + delta.cache_write_tokens
                        spent = inputs.CostAdded(now(), tokens_in, delta.output_tokens, delta.cost)
                        self._chats.feed(chat, spent)
                    case _:
                        pass
                if len(answer) > MAX_ANSWER_CHARS:
                    break
        return answer
