"""Converts a chat into a Markdown document or into the cells of a notebook, for people.

It must not write a file: its neighbour `host/commands/chats` does. The aside of an event is what only the model reads.
So asides are not exported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from jupyter_eca.protocol.content import (
    FlagContent,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    UrlContent,
)
from jupyter_eca.protocol.event import merge_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.protocol.content import Content
    from jupyter_eca.protocol.event import Event

_HEADINGS = {Role.USER: "## You", Role.ASSISTANT: "## Assistant"}

# A block of code in an answer that is not indented and is marked as Python.
_CODE = re.compile(r"^```(?:python|py|ipython)[0-9]?[ \t]*\n(?P<code>.*?)\n```[ \t]*$", re.M | re.S | re.I)


def format_chat(title: str, events: Iterable[Event]) -> str:
    """Return the chat as Markdown."""
    return "\n\n".join(text for _, text in _split_blocks(title, events)) + "\n"


def make_cells(title: str, events: Iterable[Event]) -> list[tuple[Literal["markdown", "code"], str]]:
    """Return the chat as cells, each with its type and its source.

    The Python code of answers becomes code cells, which have not been run. All other text becomes Markdown cells.
    """
    cells: list[tuple[Literal["markdown", "code"], str]] = []
    paragraphs: list[str] = []
    for role, text in _split_blocks(title, events):
        end = 0
        for code in _CODE.finditer(text) if role is Role.ASSISTANT else ():
            paragraphs.append(text[end : code.start()].strip("\n"))
            cells.append(("markdown", "\n\n".join(filter(None, paragraphs))))
            cells.append(("code", code["code"]))
            paragraphs, end = [], code.end()
        paragraphs.append(text[end:].strip("\n"))
    cells.append(("markdown", "\n\n".join(filter(None, paragraphs))))
    return [(kind, text) for kind, text in cells if text]


def _split_blocks(title: str, events: Iterable[Event]) -> Iterator[tuple[Role, str]]:
    """Yield the blocks of the document as Markdown, each with a role: ASSISTANT for the text of answers, SYSTEM for
    everything else."""
    yield Role.SYSTEM, f"# {' '.join(title.split())}"
    speaker = Role.SYSTEM
    for event in merge_pieces(events):
        if not (text := _as_text(event.content)):
            continue
        if event.role is not speaker and event.role in _HEADINGS:
            speaker = event.role
            yield Role.SYSTEM, _HEADINGS[speaker]
        is_answer = event.role is Role.ASSISTANT and isinstance(event.content, TextContent)
        yield (Role.ASSISTANT if is_answer else Role.SYSTEM), _quote(text) if event.role is Role.SYSTEM else text


def _as_text(content: Content) -> str:
    """Return a content as Markdown; empty for a content that is not exported."""
    match content:
        case TextContent(text=text):
            return text.strip("\n")
        case ToolCalledContent(name=name, outputs=outputs, error=error):
            output = "\n".join(output.text for output in outputs)
            return f"**{name}**{' failed' if error else ''}\n\n{add_fence(output)}"
        case ToolCallRejectedContent(name=name):
            return f"**{name}** was not run."
        case UrlContent(title=title, url=url):
            return f"[{title}]({url})"
        case FlagContent(text=text):
            return f"Flag: {text}"
        case _:
            return ""


def add_fence(text: str, language: str = "") -> str:
    """Return a text in a block of code. Its fence is longer than any fence in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _quote(text: str) -> str:
    """Return a text as a Markdown quote."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def make_file_name(title: str) -> str:
    """Return the name of a Markdown file for a chat of this title, for example `why-the-merge-loses-rows.md`. Before
    `.md` it has at most 40 characters: lower-case ASCII letters, digits, underscores and hyphens. Without any of them
    it is `chat.md`."""
    plain = re.sub(r"[^\w]+", "-", title, flags=re.ASCII).strip("-").lower()
    return f"{plain[:40].rstrip('-') or 'chat'}.md"
