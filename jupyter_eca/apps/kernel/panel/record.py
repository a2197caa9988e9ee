"""The chat that a panel shows, as Markdown and as text: a widget alone leaves none in the saved notebook. It
displays nothing; `widget` puts the text below the cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from jupyter_eca.apps.kernel.answer.inert_markdown import inert
from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.protocol.chat import ChatContentReceivedParams
from jupyter_eca.protocol.content import Role, TextContent

if TYPE_CHECKING:
    from jupyter_eca.protocol.base import ChatId

_SUMMARY = "The text of this chat"

# The reader of a saved notebook has a new kernel, so it must load us first.
_LOAD = "%load_ext jupyter_eca"


@dataclass
class _Turn:
    asked: str
    answer: CellTranscript = field(default_factory=CellTranscript)


@dataclass
class _Chat:
    seq: int = 0
    turns: list[_Turn] = field(default_factory=list[_Turn])


class Record:
    """The record of the chat on one page. When another page comes, it starts again."""

    def __init__(self) -> None:
        self._chats: dict[str, _Chat] = {}
        self._current = ""
        self.ended = 0
        """How many turns have come to their end."""
        self.size = 0
        """How much was heard, in characters: the record grows with it."""

    def add_page_message(self, method: str, params: Any) -> None:
        if method in {"chat/prompt", "chat/open"} and isinstance(params, dict):
            self._current = str(params.get("chatId", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # raw JSON

    def add_engine_message(self, method: str, params: Any) -> None:
        if method == "chat/contentReceived":
            try:
                self._hear(ChatContentReceivedParams.model_validate(params))
            except ValidationError:
                return  # the page ignores this message as well
        elif method == "chat/cleared" and params.get("messages"):
            self._chats[str(params.get("chatId"))] = _Chat()

    def _hear(self, received: ChatContentReceivedParams) -> None:
        chat = self._chats.setdefault(_id(received.parent_chat_id or received.chat_id), _Chat())
        if received.parent_chat_id is None:
            if 0 < (received.seq or 0) <= chat.seq:
                return
            chat.seq = max(chat.seq, received.seq or 0)
        content = received.content
        if isinstance(content, TextContent):
            self.size += len(content.text)
            if received.role is Role.USER and received.parent_chat_id is None:
                chat.turns.append(_Turn(content.text))
                return
        if chat.turns:
            chat.turns[-1].answer.add(received)
        self.ended += received.outcome is not None and received.parent_chat_id is None

    @property
    def chat(self) -> str:
        return self._current

    @property
    def turns(self) -> list[_Turn]:
        chat = self._chats.get(self._current)
        return chat.turns if chat else []

    def as_markdown(self, *, folded: bool) -> str:
        """Render the record. With `folded` it is folded, because the panel above shows the same."""
        turns = [f"**You:** {inert(turn.asked)}\n\n{turn.answer.as_markdown(final=True)}" for turn in self.turns]
        body = "\n\n---\n\n".join(text.strip() for text in turns)
        if not body:
            return ""
        code = f"```python\n{_LOAD}\n%eca panel {self._current}\n```"
        record = f"*A record of a chat with the assistant. To continue it, run:*\n\n{code}\n\n{body}"
        return f"<details><summary>{_SUMMARY}</summary>\n\n{record}\n\n</details>" if folded else record

    def plain(self) -> str:
        turns = [f"You: {turn.asked}\n\n{turn.answer.plain()}".strip() for turn in self.turns]
        if not turns:
            return ""
        code = f"{_LOAD}\n%eca panel {self._current}"
        return "\n\n".join([*turns, f"A record of a chat with the assistant. To continue it, run:\n\n{code}"])


def _id(chat: ChatId) -> str:
    return str(chat)
