"""Makes the prompt for an outside agent: the blocks of the Agent Client Protocol for what the user has said since the
agent was last prompted. Pure.

An agent keeps its own conversation. So it gets only what is new. An agent that begins in a chat with a history gets the
end of that history as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.model.request import DocumentPart, ImagePart, TextPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.model.request import ChatMessage, History, Part

ConversationPlace = tuple[int, int]
"""A place in a conversation: the number of messages before it, and the number of parts before it in the last one."""

# The most characters of the history that an agent gets when it begins in a chat that has one.
MAX_HISTORY_CHARS: Final = 8_000

_HANDOVER: Final = "This chat began without you. This is the end of what was said before:\n\n{}\n\nThe user now writes:"


def get_end(history: History) -> ConversationPlace:
    """Return the place at the end of a conversation."""
    return len(history), len(history[-1].parts) if history else 0


def make_blocks(history: History, sent: ConversationPlace | None, *, accepts_images: bool) -> list[dict[str, Any]]:
    """Return the blocks of the prompt. `sent` is the place up to which the agent knows the conversation; None when it
    knows nothing of it. `accepts_images` is whether it takes images."""
    is_known = sent is not None and sent <= get_end(history)
    parts = list(_list_new_parts(history, sent)) if sent is not None and is_known else _list_last_parts(history)
    blocks = [block for part in parts if (block := _make_block(part, accepts_images=accepts_images)) is not None]
    if sent is None and (before := _format_end(history[:-1])):
        blocks.insert(0, make_text_block(_HANDOVER.format(before)))
    return blocks


def make_text_block(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def _list_new_parts(history: History, sent: ConversationPlace) -> Iterator[Part]:
    """Yield the parts of the user's messages after a place."""
    messages, parts = sent
    for number, message in enumerate(history[max(messages - 1, 0) :], max(messages - 1, 0)):
        if message.role == "user":
            yield from message.parts[parts if number == messages - 1 else 0 :]


def _list_last_parts(history: History) -> list[Part]:
    """Return the parts of the last message, if it is the user's."""
    return list(history[-1].parts) if history and history[-1].role == "user" else []


def _make_block(part: Part, *, accepts_images: bool) -> dict[str, Any] | None:
    """Return the block of a part; None for a part that no block can show. An agent that does not take images
    (`accepts_images`) gets a text in place of an image."""
    match part:
        case TextPart(text=text):
            return make_text_block(text)
        case ImagePart(media_type=media_type, base64=base64) if accepts_images:
            return {"type": "image", "data": base64, "mimeType": media_type}
        case ImagePart():
            return make_text_block("(An image that this agent cannot see.)")
        case DocumentPart(name=name):
            return make_text_block(f"(The document {name}, which is not sent to this agent. It can read the file.)")
        case _:
            return None


def _format_end(messages: tuple[ChatMessage, ...]) -> str:
    """Return the end of a conversation as text."""
    lines = [f"{message.role}: {message.text}" for message in messages if message.text]
    return "\n\n".join(lines)[-MAX_HISTORY_CHARS:]
