"""Owns the record of a panel: the chat as Markdown and as text, for readers of the saved notebook. Without it, a saved
notebook would have no text of the chat, because a widget needs a running kernel.

The record is built from the messages between page and engine. A content is one piece of a chat, which the engine sends
in a message `chat/contentReceived`. This module must not display anything: `recorder` decides when the record is
written, and `widget` publishes it in an output after the panel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from jupyter_eca.apps.kernel.answer.inert_markdown import as_inert_markdown
from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.protocol.chat import ChatContentReceivedParams
from jupyter_eca.protocol.content import Role, TextContent

# The line that is shown while the record is folded.
_SUMMARY = "The text of this chat"

# The reader of a saved notebook has a new kernel, which must load the extension first.
_LOAD = "%load_ext jupyter_eca"


@dataclass
class _RecordedTurn:
    """A question of the user, and the answer to it so far."""

    question: str
    """The text of the question."""
    answer: CellTranscript = field(default_factory=CellTranscript)
    """The transcript of the answer."""


@dataclass
class _RecordedChat:
    """One of the chats that the page has shown."""

    seq: int = 0
    """The highest sequence number of its contents. A replay repeats contents, which are then ignored."""
    turns: list[_RecordedTurn] = field(default_factory=list[_RecordedTurn])
    """Its turns, in their order."""


class Record:
    """The record of the chat in one open page of the notebook. Another page gets a record of its own."""

    def __init__(self) -> None:
        self._chats: dict[str, _RecordedChat] = {}  # by their ids
        self._current = ""  # the id of the chat that the page shows
        self.ended_turns = 0
        """How many turns have ended."""
        self.size = 0
        """The characters of all texts that were received. The length of the record grows with it."""

    def add_page_message(self, method: str, params: Any) -> None:
        """Remember which chat the page shows."""
        if method in {"chat/prompt", "chat/open"} and isinstance(params, dict):
            self._current = str(params.get("chatId", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # raw JSON

    def add_engine_message(self, method: str, params: Any) -> None:
        """Add a content of a chat, or clear a chat."""
        if method == "chat/contentReceived":
            try:
                self._add_content(ChatContentReceivedParams.model_validate(params))
            except ValidationError:
                return  # the page ignores this message as well
            return
        match method, params:
            case "chat/cleared", {"messages": True, "chatId": chat}:
                self._chats[str(chat)] = _RecordedChat()
            case _:
                pass

    def _add_content(self, received: ChatContentReceivedParams) -> None:
        """Add a content to its chat, unless it is there already. The contents of a subagent, which have a parent chat,
        are added to the turn of the parent chat."""
        chat = self._chats.setdefault(str(received.parent_chat_id or received.chat_id), _RecordedChat())
        if received.parent_chat_id is None:
            if 0 < (received.seq or 0) <= chat.seq:
                return
            chat.seq = max(chat.seq, received.seq or 0)
        content = received.content
        if isinstance(content, TextContent):
            self.size += len(content.text)
            if received.role is Role.USER and received.parent_chat_id is None:
                chat.turns.append(_RecordedTurn(content.text))
                return
        if chat.turns:
            chat.turns[-1].answer.add(received)
        self.ended_turns += received.outcome is not None and received.parent_chat_id is None

    @property
    def chat(self) -> str:
        """The id of the chat that the page shows."""
        return self._current

    @property
    def turns(self) -> list[_RecordedTurn]:
        """The turns of the chat that the page shows."""
        chat = self._chats.get(self._current)
        return chat.turns if chat else []

    def as_markdown(self, *, folded: bool) -> str:
        """Return the record as Markdown; empty if the chat has no turn. `folded`: the reader must unfold it, because
        the panel above shows the same."""
        turns = [
            f"**You:** {as_inert_markdown(turn.question)}\n\n{turn.answer.as_markdown(final=True)}"
            for turn in self.turns
        ]
        body = "\n\n---\n\n".join(text.strip() for text in turns)
        if not body:
            return ""
        code = f"```python\n{_LOAD}\n%eca panel {self._current}\n```"
        record = f"*A record of a chat with the assistant. To continue it, run:*\n\n{code}\n\n{body}"
        return f"<details><summary>{_SUMMARY}</summary>\n\n{record}\n\n</details>" if folded else record

    def as_text(self) -> str:
        """Return the record as plain text; empty if the chat has no turn."""
        turns = [f"You: {turn.question}\n\n{turn.answer.as_text()}".strip() for turn in self.turns]
        if not turns:
            return ""
        code = f"{_LOAD}\n%eca panel {self._current}"
        return "\n\n".join([*turns, f"A record of a chat with the assistant. To continue it, run:\n\n{code}"])
