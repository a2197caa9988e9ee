"""What fills a model's context window: estimated from the request, corrected by what the vendor counted. Pure.

It must not know how room is made: `compaction` does.
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

# Squares, not colours of ours: they are the same in every client and theme.
EMOJI = {
    "System prompt": "🟦",
    "Tools": "🟪",
    "Files": "🟨",
    "Messages": "🟩",
    "Tool results": "🟧",
}
# For clients that draw a bar of their own: those of the squares, by their names in CSS.
COLORS = {
    "System prompt": "royalblue",
    "Tools": "mediumpurple",
    "Files": "gold",
    "Messages": "limegreen",
    "Tool results": "darkorange",
}
FREE = "⬜"
BAR_SQUARES = 20


def break_down(request: ModelRequest, usage: UsageContent | None = None) -> ContextBreakdown:
    """Divide the context window among its categories.

    `usage` is the chat's last one. Its sum is exact; the estimates only divide it.
    """
    characters = dict.fromkeys(EMOJI, 0)
    for name, text in _list_pieces(request):
        characters[name] += len(text)
    estimated = {name: -(-count // CHARS_PER_TOKEN) for name, count in characters.items()}
    estimated_total = sum(estimated.values())
    used = usage.session_tokens if usage is not None and usage.session_tokens else estimated_total
    # Rounded as running sums, so that the parts are exactly the whole.
    ends = [
        round(sum_ * used / estimated_total) if estimated_total else 0
        for sum_ in accumulate(estimated.values(), initial=0)
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
    yield "System prompt", request.system
    for tool in request.tools:
        yield "Tools", f"{tool.name}{tool.description}{json.dumps(tool.parameters)}"
    for message in request.messages:
        for part in message.parts:
            match part:
                case TextPart(text=text) if message.role == "user":
                    files = "".join(CONTEXT.findall(text))
                    yield "Files", files
                    yield "Messages", text[len(files) :]
                case TextPart(text=text) | ReasoningPart(text=text):
                    yield "Messages", text
                case ToolUsePart(name=name, arguments=arguments):
                    yield "Messages", f"{name}{json.dumps(arguments)}"
                case ToolResultPart(text=text):
                    yield "Tool results", text
                case _:
                    pass  # what an image weighs is not in its characters


def draw_window(parts: ContextBreakdown, system: Sequence[Section] = ()) -> str:
    """Return Markdown: a bar, and a table of shares of the window, or of what is used when its size is not known.

    `system` are the sections of the system prompt. Each has a line of its own.
    """
    total = parts.context_limit or parts.used_tokens or 1
    rows = [(category.emoji, category.name, category.tokens) for category in parts.categories]
    if parts.free_tokens is not None:
        rows.append((FREE, "Free", parts.free_tokens))
    ends = accumulate((tokens for _, _, tokens in rows), initial=0)
    squares = pairwise(end * BAR_SQUARES // total for end in ends)
    bar = "".join(row[0] * (end - start) for row, (start, end) in zip(rows, squares, strict=True))
    size = f" of {parts.context_limit:,}" if parts.context_limit else ""
    lines: list[str] = []
    for emoji, name, tokens in rows:
        lines.append(f"| {emoji} | {name} | {tokens:,} | {tokens / total:.0%} |")
        if name == "System prompt":
            lines += [f"| ↳ | {source} | {part:,} | {part / total:.0%} |" for source, part in _divide(system, tokens)]
    head = f"About {parts.used_tokens:,}{size} tokens are used."
    return "\n".join([head, "", bar[:BAR_SQUARES], "", "| | | tokens | share |", "|---|---|---:|---:|", *lines])


def _divide(sections: Sequence[Section], tokens: int) -> Iterator[tuple[str, int]]:
    """Divide the tokens of the system prompt among its sections, so that the parts are exactly the whole."""
    ends = list(accumulate((len(section.text) for section in sections), initial=0))
    shares = pairwise(round(end * tokens / (ends[-1] or 1)) for end in ends)
    for section, (start, end) in zip(sections, shares, strict=True):
        yield section.source, end - start
