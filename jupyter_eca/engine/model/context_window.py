"""Estimates what fills a model's context window (tools, files, messages ...), and draws it for the user. Pure.

The estimate comes from the request, and is scaled to the number of tokens that the vendor counted. This module must not
make the conversation shorter: its neighbour `compaction` does.
"""

from __future__ import annotations

import json
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.request import ReasoningPart, TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.engine.model.texts import CONTEXT
from jupyter_eca.protocol.content import ContextBreakdown, ContextCategory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.engine.model.texts import Section
    from jupyter_eca.protocol.content import UsageContent

# The usual rule of thumb for English and code.
CHARS_PER_TOKEN = 4

# Emoji squares in place of colours, because they look the same in every client and theme.
EMOJI = {
    "System prompt": "🟦",
    "Tools": "🟪",
    "Files": "🟨",
    "Messages": "🟩",
    "Tool results": "🟧",
}
# The colours of the squares as CSS names, for clients that draw their own bar.
COLORS = {
    "System prompt": "royalblue",
    "Tools": "mediumpurple",
    "Files": "gold",
    "Messages": "limegreen",
    "Tool results": "darkorange",
}
# The square for the free part of the window, and the number of squares in the bar.
FREE = "⬜"
BAR_SQUARES = 20


def break_down(request: ModelRequest, usage: UsageContent | None = None) -> ContextBreakdown:
    """Return how many tokens of the context window each category uses.

    `usage` is the last usage of the chat. Its number of tokens is exact; the estimates only divide it.
    """
    characters = dict.fromkeys(EMOJI, 0)
    for name, text in _list_pieces(request):
        characters[name] += len(text)
    # The double negation rounds up.
    estimated = {name: -(-count // CHARS_PER_TOKEN) for name, count in characters.items()}
    estimated_total = sum(estimated.values())
    used = usage.session_tokens if usage is not None and usage.session_tokens else estimated_total
    # Round the running sums, not the parts. So the parts add up to exactly the whole: 1/3 of 10, three times, becomes
    # 3, 7, 10 and then 3, 4, 3.
    ends = [
        round(running_sum * used / estimated_total) if estimated_total else 0
        for running_sum in accumulate(estimated.values(), initial=0)
    ]
    tokens = {name: end - start for name, (start, end) in zip(estimated, pairwise(ends), strict=True)}
    limit = usage.limit.context if usage is not None and usage.limit is not None else None
    return ContextBreakdown(
        categories=tuple(
            ContextCategory(name=name, tokens=tokens[name], color=COLORS[name], emoji=EMOJI[name]) for name in EMOJI
        ),
        used_tokens=used,
        free_tokens=None if limit is None else max(limit - used, 0),
        context_limit=limit,
    )


def _list_pieces(request: ModelRequest) -> Iterator[tuple[str, str]]:
    """Yield the category and the text of each piece of a request."""
    yield "System prompt", request.system
    for tool in request.tools:
        yield "Tools", f"{tool.name}{tool.description}{json.dumps(tool.parameters)}"
    for message in request.messages:
        for part in message.parts:
            match part:
                case TextPart(text=text) if message.role == "user":
                    # The contexts of a prompt (files, cells ...) are a part of its text, see `format_context`.
                    yield "Files", "".join(CONTEXT.findall(text))
                    yield "Messages", CONTEXT.sub("", text)
                case TextPart(text=text) | ReasoningPart(text=text):
                    yield "Messages", text
                case ToolUsePart(name=name, arguments=arguments):
                    yield "Messages", f"{name}{json.dumps(arguments)}"
                case ToolResultPart(text=text):
                    yield "Tool results", text
                case _:
                    pass  # the characters of an image say nothing about its tokens


def draw_window(breakdown: ContextBreakdown, system: Sequence[Section] = ()) -> str:
    """Return a bar and a table of the categories, in Markdown.

    The shares are shares of the window; if its size is unknown, they are shares of the used tokens. `system` are the
    sections of the system prompt, each of which gets its own row.
    """
    total = breakdown.context_limit or breakdown.used_tokens or 1
    rows = [(category.emoji, category.name, category.tokens) for category in breakdown.categories]
    if breakdown.free_tokens is not None:
        rows.append((FREE, "Free", breakdown.free_tokens))
    ends = accumulate((tokens for _, _, tokens in rows), initial=0)
    squares = pairwise(end * BAR_SQUARES // total for end in ends)
    # If the chat uses more tokens than the window has, the bar would be too long, so it is cut.
    squares_of_rows = (row[0] * (end - start) for row, (start, end) in zip(rows, squares, strict=True))
    bar = "".join(squares_of_rows)[:BAR_SQUARES]
    size = f" of {breakdown.context_limit:,}" if breakdown.context_limit else ""
    lines: list[str] = []
    for emoji, name, tokens in rows:
        lines.append(f"| {emoji} | {name} | {tokens:,} | {tokens / total:.0%} |")
        if name == "System prompt":
            lines += [
                f"| ↳ | {source} | {part:,} | {part / total:.0%} |" for source, part in _divide_tokens(system, tokens)
            ]
    head = f"About {breakdown.used_tokens:,}{size} tokens are used."
    return "\n".join([head, "", bar, "", "| | | tokens | share |", "|---|---|---:|---:|", *lines])


def _divide_tokens(sections: Sequence[Section], tokens: int) -> Iterator[tuple[str, int]]:
    """Yield each section of the system prompt with its tokens. Together they are exactly `tokens`."""
    ends = list(accumulate((len(section.text) for section in sections), initial=0))
    shares = pairwise(round(end * tokens / (ends[-1] or 1)) for end in ends)
    for section, (start, end) in zip(sections, shares, strict=True):
        yield section.source, end - start
