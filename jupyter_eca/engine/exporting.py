"""A chat as a Markdown document, for people. What only the model was told is left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_eca.protocol.content import (
    FlagContent,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    UrlContent,
)
from jupyter_eca.protocol.event import merged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.content import Content
    from jupyter_eca.protocol.event import Event

_HEADINGS = {Role.USER: "## You", Role.ASSISTANT: "## Assistant"}


def document(title: str, events: Iterable[Event]) -> str:
    blocks, speaker = [f"# {' '.join(title.split())}"], Role.SYSTEM
    for event in merged(events):
        if not (text := _text(event.content)):
            continue
        if event.role is not speaker and event.role in _HEADINGS:
            speaker = event.role
            blocks.append(_HEADINGS[speaker])
        blocks.append(_quoted(text) if event.role is Role.SYSTEM else text)
    return "\n\n".join(blocks) + "\n"


def _text(content: Content) -> str:
    match content:
        case TextContent(text=text):
            return text.strip("\n")
        case ToolCalledContent(name=name, outputs=outputs, error=error):
            output = "\n".join(one.text for one in outputs)
            return f"**{name}**{' failed' if error else ''}\n\n{fenced(output)}"
        case ToolCallRejectedContent(name=name):
            return f"**{name}** was not run."
        case UrlContent(title=title, url=url):
            return f"[{title}]({url})"
        case FlagContent(text=text):
            return f"Flag: {text}"
        case _:
            return ""


def fenced(text: str, language: str = "") -> str:
    """Inside a fence that is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def file_name(title: str) -> str:
    """A plain file name for a chat of this title."""
    plain = re.sub(r"[^\w]+", "-", title, flags=re.ASCII).strip("-").lower()
    return f"{plain[:40].rstrip('-') or 'chat'}.md"
