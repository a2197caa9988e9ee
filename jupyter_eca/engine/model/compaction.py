"""How a conversation becomes shorter: when a summary is due, what the model is asked for it, and what is left. Pure.

The events stay as they are, so a reader, a rollback and a fork still see all of it. The request for the summary is the
next one that would have been made anyway, with one more message at its end: the model's cache serves it. Loops are
impossible: within one turn there is no second summary before five more replies, at most one removal of old results,
and no summary of what is too little to be worth it. How a step uses this is in `engine/compaction_steps`.
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
from jupyter_eca.engine.model.texts import CONTEXT, PRUNED_RESULT, SUMMARISE, SUMMARY_FOCUS, UNANSWERED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.request import History

# What stays of the results of tools when a model's server says that the request is too long; ECA keeps as much.
KEPT_RESULTS: Final = 40_000 * CHARS_PER_TOKEN

# How many replies there must be between two summaries in one turn.
MIN_REPLIES: Final = 5

# The share of the window that a summary must be made of. A summary of less frees nothing: then it is the tools and the
# instructions that fill the window.
_WORTH: Final = 0.25

# How many characters are sent of each result and text, when even the request for a summary must be short.
_SHORT: Final = 2_000


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """How full the model's context window is, as the vendor counted for the last reply; 0 is unknown."""

    used: int = 0
    """Tokens that are used."""
    limit: int = 0
    """Tokens that there is room for."""


@dataclass(frozen=True, slots=True)
class SummaryUnderWay:
    """A summary that is being made."""

    text: str = ""
    """What the model has written of it."""
    forced: bool = False
    """Whether a request was refused as too long, so that the turn cannot go on without the summary."""
    focus: str = ""
    """What the user wants kept above all."""


def is_summary_due(window: WindowUsage, share: int, history: History, last: int | None, steps: int) -> bool:
    """Return whether the next request would leave less room than it should.

    `share` is in percent, 0 for never. `last` is the step of this turn before which the last summary was made.
    """
    if not share or not window.limit or window.used * 100 < window.limit * share:
        return False
    if last is not None and steps - last < MIN_REPLIES:
        return False
    return estimate_tokens(select_covered(history)) >= window.limit * _WORTH


def estimate_tokens(history: History) -> int:
    """Estimate the tokens of a conversation."""
    return (
        sum(len(text) for message in history for part in message.parts for text in _list_texts(part)) // CHARS_PER_TOKEN
    )


def select_covered(history: History) -> History:
    """Return what a summary is made of: all but a prompt that was not answered yet."""
    if not _find_unanswered_prompt(history):
        return history
    results = tuple(part for part in history[-1].parts if isinstance(part, ToolResultPart))
    return (*history[:-1], replace(history[-1], parts=results)) if results else history[:-1]


def build_summary_messages(history: History, summing: SummaryUnderWay) -> History:
    """Return the messages by which the model is asked for a summary."""
    words = SUMMARISE + (SUMMARY_FOCUS.format(summing.focus) if summing.focus else "")
    before = select_covered(history)
    if summing.forced:
        before = tuple(replace(message, parts=tuple(map(_shorten, message.parts))) for message in before)
    if before and before[-1].role == "user":
        return (*before[:-1], replace(before[-1], parts=(*before[-1].parts, TextPart(words))))
    return (*before, ChatMessage("user", (TextPart(words),)))


def compact(history: History, summary: str) -> History:
    """Return what is left after a summary: its text, and the prompt that is still to be answered, word for word."""
    parts: tuple[Part, ...] = (TextPart(summary), *_find_unanswered_prompt(history))
    if len(parts) == 1 and history and history[-1].role == "user":
        earlier = (_get_words(history[:end]) for end in range(len(history), 0, -1))
        parts = (*parts, TextPart(UNANSWERED.format(next(filter(None, earlier), ""))))
    return (ChatMessage("user", parts),)


def prune(history: History) -> History:
    """Leave out the results of tools, but for the last ones, which together may be as long as `KEPT_RESULTS`."""
    room = KEPT_RESULTS
    messages: list[ChatMessage] = []
    for message in reversed(history):
        parts: list[Part] = []
        for part in reversed(message.parts):
            if isinstance(part, ToolResultPart):
                room -= len(part.text)
                if room < 0 and len(part.text) > len(PRUNED_RESULT):
                    part = replace(part, text=PRUNED_RESULT, rule="")
            parts.append(part)
        messages.append(replace(message, parts=tuple(reversed(parts))))
    pruned = tuple(reversed(messages))
    return history if pruned == history else pruned


def _find_unanswered_prompt(history: History) -> tuple[Part, ...]:
    """Return what the user said and the model has not answered. A turn that was stopped leaves results before it."""
    if not history or history[-1].role != "user":
        return ()
    prompt = tuple(part for part in history[-1].parts if not isinstance(part, ToolResultPart))
    return prompt if any(isinstance(part, TextPart) for part in prompt) else ()


def _get_words(history: History) -> str:
    """Return the user's words of an unanswered prompt, without the contexts beside them."""
    texts = (part.text for part in _find_unanswered_prompt(history) if isinstance(part, TextPart))
    return CONTEXT.sub("", "\n".join(texts)).strip()


def _list_texts(part: Part) -> Iterable[str]:
    match part:
        case TextPart(text=text) | ReasoningPart(text=text) | ToolResultPart(text=text):
            yield text
        case ToolUsePart(name=name, arguments=arguments):
            yield name
            yield repr(arguments)
        case ImagePart() | DocumentPart():
            pass


def _shorten(part: Part) -> Part:
    match part:
        case TextPart(text=text) | ToolResultPart(text=text) if len(text) > _SHORT:
            return replace(part, text=f"{text[: _SHORT // 2]}\n[...]\n{text[-_SHORT // 2 :]}")
        case ImagePart():
            return TextPart("(an image)")
        case DocumentPart(name=name):
            return TextPart(f"(the document {name})")
        case _:
            return part
