"""Owns compaction: it shortens the conversation that the model reads, by a summary or by leaving out old results. Pure.

It must not call the model or change the state of a chat: its neighbour `engine/compaction_steps` does that in a step.

Only the model's conversation becomes shorter. The stored events stay as they are. So readers still see the whole chat,
and it can still be rolled back or forked. The request for a summary is the request that would have come next, with one
more message at its end. So most of it is already in the vendor's cache, and costs less.

Compaction cannot repeat forever. Within one turn there is no second summary before five more replies, and old results
are removed at most once. There is no summary of a conversation that is only a small part of the window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.context_window import CHARS_PER_TOKEN
from jupyter_eca.engine.model.request import (
    ChatMessage,
    DocumentPart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
)
from jupyter_eca.engine.model.texts import CONTEXT, PRUNED_RESULT, REPEATED_PROMPT, SUMMARISE, SUMMARY_FOCUS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.request import History

# How many characters of tool results are kept when a model's server says that the request is too long: as many as in
# ECA.
KEPT_RESULT_CHARS: Final = 40_000 * CHARS_PER_TOKEN

# The minimum number of replies between two summaries in one turn.
MIN_REPLIES: Final = 5

# A summary is made only if the conversation fills at least this share of the window. Otherwise the tools and the
# instructions fill it, and a summary would free almost nothing.
_MIN_SHARE: Final = 0.25

# How many characters of each result and text are sent when even the request for a summary must be short.
_SHORT_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """How full the model's context window was with the last reply, as the vendor counted it."""

    used: int = 0
    """The number of used tokens; 0 when it is unknown."""
    limit: int = 0
    """The size of the window in tokens; 0 when it is unknown."""


@dataclass(frozen=True, slots=True)
class SummaryUnderWay:
    """A summary that the model is writing."""

    text: str = ""
    """The text that has arrived so far."""
    forced: bool = False
    """Whether the turn cannot go on without the summary, because a request was refused as too long."""
    focus: str = ""
    """What the summary must contain above all, in the user's words."""


def would_free_enough(history: History, limit: int) -> bool:
    """Return whether a summary would free a good part of a window of `limit` tokens."""
    return estimate_tokens(select_messages_to_summarise(history)) >= limit * _MIN_SHARE


def estimate_tokens(history: History) -> int:
    """Estimate the number of tokens in a conversation, from its characters."""
    return (
        sum(len(text) for message in history for part in message.parts for text in _list_texts(part)) // CHARS_PER_TOKEN
    )


def select_messages_to_summarise(history: History) -> History:
    """Return the messages that a summary replaces: all except a prompt that the model has not answered yet."""
    if not _get_unanswered_prompt(history):
        return history
    results = tuple(part for part in history[-1].parts if isinstance(part, ToolResultPart))
    return (*history[:-1], replace(history[-1], parts=results)) if results else history[:-1]


def build_summary_messages(history: History, summary: SummaryUnderWay) -> History:
    """Return the messages of the request for a summary. If the summary is made because a request was refused as too
    long, long texts in these messages are shortened."""
    instruction = SUMMARISE + (SUMMARY_FOCUS.format(summary.focus) if summary.focus else "")
    before = select_messages_to_summarise(history)
    if summary.forced:
        before = tuple(replace(message, parts=tuple(map(_shorten_part, message.parts))) for message in before)
    if before and before[-1].role == "user":
        return (*before[:-1], replace(before[-1], parts=(*before[-1].parts, TextPart(instruction))))
    return (*before, ChatMessage("user", (TextPart(instruction),)))


def compact(history: History, summary: str) -> History:
    """Return the conversation after a summary: the text of the summary, and the prompt that is not answered yet.

    If the last message has only results of tools, a prompt was answered in part. Then the prompt is repeated.
    """
    parts: tuple[Part, ...] = (TextPart(summary), *_get_unanswered_prompt(history))
    # The last message has only results of tools. Search backwards for the prompt that they belong to.
    if len(parts) == 1 and history and history[-1].role == "user":
        earlier = (_get_prompt_text(history[:end]) for end in range(len(history), 0, -1))
        parts = (*parts, TextPart(REPEATED_PROMPT.format(next(filter(None, earlier), ""))))
    return (ChatMessage("user", parts),)


def prune(history: History) -> History:
    """Return the conversation without old results of tools. The newest ones stay, up to `KEPT_RESULT_CHARS`
    characters."""
    room = KEPT_RESULT_CHARS
    messages: list[ChatMessage] = []
    for message in reversed(history):
        parts: list[Part] = []
        for part in reversed(message.parts):
            if isinstance(part, ToolResultPart):
                room -= len(part.text)
                if room < 0 and len(part.text) > len(PRUNED_RESULT):
                    part = replace(part, text=PRUNED_RESULT, fetched_rule="", images=())
            parts.append(part)
        messages.append(replace(message, parts=tuple(reversed(parts))))
    pruned = tuple(reversed(messages))
    return history if pruned == history else pruned


def _get_unanswered_prompt(history: History) -> tuple[Part, ...]:
    """Return the parts of the prompt that the model has not answered yet; empty when there is none.

    A stopped turn leaves results of tools in the same message, before the prompt.
    """
    if not history or history[-1].role != "user":
        return ()
    prompt = tuple(part for part in history[-1].parts if not isinstance(part, ToolResultPart))
    return prompt if any(isinstance(part, TextPart) for part in prompt) else ()


def _get_prompt_text(history: History) -> str:
    """Return the text of the prompt that is not answered yet, without its contexts."""
    texts = (part.text for part in _get_unanswered_prompt(history) if isinstance(part, TextPart))
    return CONTEXT.sub("", "\n".join(texts)).strip()


def _list_texts(part: Part) -> Iterable[str]:
    """Yield the texts of a part, whose characters are counted."""
    match part:
        case TextPart(text=text) | ReasoningPart(text=text) | ToolResultPart(text=text):
            yield text
        case ToolUsePart(name=name, arguments=arguments):
            yield name
            yield repr(arguments)
        case ImagePart() | DocumentPart():
            pass


def _shorten_part(part: Part) -> Part:
    """Return a part for a request that must be short: without the middle of a long text, and with a few words in place
    of an image or a document."""
    match part:
        case ToolResultPart(text=text):
            return replace(part, text=_shorten_text(text), images=())
        case TextPart(text=text):
            return replace(part, text=_shorten_text(text))
        case ImagePart():
            return TextPart("(an image)")
        case DocumentPart(name=name):
            return TextPart(f"(the document {name})")
        case _:
            return part


def _shorten_text(text: str) -> str:
    """Return a text without its middle if it has more than `_SHORT_CHARS` characters."""
    return text if len(text) <= _SHORT_CHARS else f"{text[: _SHORT_CHARS // 2]}\n[...]\n{text[-_SHORT_CHARS // 2 :]}"
