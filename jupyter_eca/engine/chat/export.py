"""Converts a chat into a Markdown document or into the cells of a notebook, for people.

It must not write a file: its neighbour `host/commands/chats` does. The aside of an event is what only the model reads.
So asides are not exported.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, Literal

from jupyter_eca.engine.model.budget import format_dollars
from jupyter_eca.protocol.content import (
    AnswerRating,
    FileChangeDetails,
    FlagContent,
    ImageContent,
    RatingContent,
    RejectReason,
    Role,
    RunCellsDetails,
    ShellCommandDetails,
    SubagentDetails,
    TaskDetails,
    TaskStatus,
    TextContent,
    ToolCallContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    UrlContent,
    UsageContent,
)
from jupyter_eca.protocol.event import merge_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jupyter_eca.protocol.event import Event, Person

# The headings by role. The texts of the system have none.
_HEADINGS = {Role.USER: "## You", Role.ASSISTANT: "## Assistant"}

# The words for why a call did not run.
_REASONS: Final = {
    RejectReason.USER: "rejected, not run",
    RejectReason.CONFIG: "forbidden by a rule, not run",
    RejectReason.STOP: "stopped, not run",
    RejectReason.NOBODY: "nobody was there to ask, not run",
    RejectReason.HOOK: "rejected by a hook, not run",
    RejectReason.ORDER: "not run, because a call before it failed",
    RejectReason.PLAN: "planned, not run",
}

# A block with more lines is folded.
_MAX_LINES: Final = 25

# What the type and the data of a picture must look like. Other texts could change the look of the document.
_IMAGE_TYPE: Final = re.compile(r"image/[\w.+-]+", re.ASCII)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")

# A block of code in an answer that is not indented and is marked as Python.
_CODE = re.compile(r"^```(?:python|py|ipython)[0-9]?[ \t]*\n(?P<code>.*?)\n```[ \t]*$", re.M | re.S | re.I)


def format_chat(title: str, events: Sequence[Event]) -> str:
    """Return the chat as Markdown."""
    return "\n\n".join(text for _, text in _split_blocks(title, events)) + "\n"


def make_cells(title: str, events: Sequence[Event]) -> list[tuple[Literal["markdown", "code"], str]]:
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


def _split_blocks(title: str, events: Sequence[Event]) -> Iterator[tuple[Role, str]]:
    """Yield the blocks of the document as Markdown, each with a role: ASSISTANT for the text of answers, SYSTEM for
    everything else."""
    yield Role.SYSTEM, f"# {' '.join(title.split())}"
    speaker = ""
    # A rating may stand between two pieces of a later answer, which must still be joined.
    ratings = _read_ratings(events)
    merged = merge_pieces(event for event in events if not isinstance(event.content, RatingContent))
    runs: dict[str, ToolCallRunContent] = {}
    message_id: str | None = None  # of the user's message before the event
    for event in merged:
        if isinstance(event.content, ToolCallRunContent):
            # If the call waits for one before it, its content is sent again after the approval. The first content says
            # whether the user was asked.
            runs.setdefault(event.content.id, event.content)
        if event.role is Role.USER and isinstance(event.content, TextContent):
            if rating := _format_rating(ratings.get(message_id)):
                yield Role.SYSTEM, rating
            message_id = event.content.content_id
        if not (text := _as_text(event, runs)):
            continue
        if (heading := _make_heading(event)) not in {"", speaker}:
            speaker = heading
            yield Role.SYSTEM, heading
        is_answer = event.role is Role.ASSISTANT and isinstance(event.content, TextContent)
        yield (Role.ASSISTANT if is_answer else Role.SYSTEM), _quote(text) if event.role is Role.SYSTEM else text
    if rating := _format_rating(ratings.get(message_id)):
        yield Role.SYSTEM, rating
    if costs := _format_costs(merged):
        yield Role.SYSTEM, costs


def _read_ratings(events: Iterable[Event]) -> Mapping[str | None, AnswerRating | None]:
    """Return the last rating of each answer, by the id of the message before the answer. None is for a rating that the
    user has taken back."""
    contents = (event.content for event in events)
    return {content.content_id: content.rating for content in contents if isinstance(content, RatingContent)}


def _format_rating(rating: AnswerRating | None) -> str:
    """Return the rating of an answer as Markdown; empty if the answer has none."""
    return f"*Rating of this answer: {rating}*" if rating else ""


def _format_costs(events: Iterable[Event]) -> str:
    """Return what the chat has cost, as far as it is known; empty if it has cost nothing."""
    costs: defaultdict[str | None, float] = defaultdict(float)
    for event in events:
        if isinstance(event.content, UsageContent):
            costs[event.content.agent] += float(event.content.last_message_cost or 0)
    lines = [
        f"Cost: {format_dollars(cost)}{f', as {agent} says' if agent else ''}" for agent, cost in costs.items() if cost
    ]
    return "\n".join(["---", "", *lines]) if lines else ""


def _make_heading(event: Event) -> str:
    """Return the heading of a person's messages or of the answers; empty for an event that belongs to what is above it.
    Where the server tells its users apart, the messages of each have a heading of their own."""
    if event.role is Role.USER and event.by is not None:
        return f"## {_escape(event.by.name)}"
    return _HEADINGS.get(event.role, "")


def _as_text(event: Event, runs: Mapping[str, ToolCallRunContent]) -> str:
    """Return the content of an event as Markdown; empty for a content that is not exported. `runs` has the calls so far
    by their ids, as they were when their arguments were complete."""
    content = event.content
    match content:
        case TextContent(text=text):
            return text.strip("\n")
        case ToolCalledContent(id=id, outputs=outputs):
            output = "\n".join(output.text for output in outputs).strip("\n")
            return _format_call(content, _describe_run(content, runs.get(id), event.by), output)
        case ToolCallRejectedContent(reason=reason):
            by = f"rejected by {_escape(event.by.name)}, not run" if event.by and reason is RejectReason.USER else ""
            return _format_call(content, by or _REASONS[reason])
        case ImageContent():
            return _format_image(content)
        case UrlContent(title=title, url=url):
            return f"[{_escape(title)}]({url})"
        case FlagContent(text=text):
            return f"Flag: {text}"
        case _:
            return ""


def _describe_run(call: ToolCalledContent, run: ToolCallRunContent | None, by: Person | None) -> str:
    """Return in words who has allowed a call that ran, and whether it failed. `by` is the person who has approved it.
    It is None if the server does not tell its users apart."""
    cause = run.cause if run is not None else None
    if run is not None and run.manual_approval:
        words = f"approved by {_escape(by.name)}" if by else "approved"
    elif cause is not None and cause.kind == "unasked":
        words = f"{cause.agent or 'the agent'} did not ask"
    else:
        words = "allowed without a question"
    return f"{words}, failed" if call.error else words


def _format_call(call: ToolCalledContent | ToolCallRejectedContent, outcome: str, output: str = "") -> str:
    """Return a call as Markdown: what it was, who allowed it, what it did and what it returned."""
    summary = " ".join((call.summary or "").split())
    is_command = isinstance(call.details, ShellCommandDetails)
    # The summary of a command is often the command itself, which follows below.
    head = f"**{call.name}**{f': {_escape(summary)}' if summary and not is_command else ''} ({outcome})"
    parts = [head, _format_details(call), _fold(add_fence(output), "Output") if output else ""]
    return "\n\n".join(filter(None, parts))


def _format_details(call: ToolCallContent) -> str:
    """Return what a call does as Markdown: its command, its change or its tasks. Without details, return its
    arguments."""
    match call.details:
        case ShellCommandDetails(line=line, commands=commands):
            typed = line or " ".join(" ".join((command.command, *command.args)) for command in commands)
            return _fold(add_fence(typed, "sh"), "Command")
        case FileChangeDetails(path=path, diff=diff, lines_added=added, lines_removed=removed):
            head = f"{_add_ticks(path)}, lines: +{added} -{removed}"
            # `chr(10)` is a line end. Python 3.11 allows no backslash within the braces.
            return f"{head}\n\n{_fold(add_fence(diff.rstrip(chr(10)), 'diff'), 'Change')}"
        case RunCellsDetails(path=path) as cells:
            return f"{_add_ticks(path)}\n\n{_fold(add_fence(cells.as_text(), 'python'), 'Cells')}"
        case TaskDetails(tasks=tasks):
            return "\n".join(
                f"- [{'x' if task.status is TaskStatus.DONE else ' '}] {_escape(task.subject)}"
                f"{' (in progress)' if task.status is TaskStatus.IN_PROGRESS else ''}"
                for task in tasks
            )
        case SubagentDetails(agent_name=name):
            return f"Subagent: {_add_ticks(name)}"
        case _ if isinstance(call, ToolCalledContent | ToolCallRejectedContent) and call.arguments:
            arguments = json.dumps(call.arguments, indent=2, ensure_ascii=False)
            return _fold(add_fence(arguments, "json"), "Arguments")
        case _:
            return ""


def _format_image(image: ImageContent) -> str:
    """Return a picture as Markdown. Its data are in the document, which needs no other file then."""
    if not (_IMAGE_TYPE.fullmatch(image.media_type) and _BASE64.fullmatch(image.base64)):
        return f"(A picture of the type {_add_ticks(image.media_type)} is not in this document.)"
    return f"![Picture](data:{image.media_type};base64,{image.base64})"


def _fold(block: str, title: str) -> str:
    """Return a block of Markdown, folded if it is long."""
    if block.count("\n") <= _MAX_LINES:
        return block
    return f"<details><summary>{title}</summary>\n\n{block}\n\n</details>"


def _escape(text: str) -> str:
    """Return a text in one line, with its characters of Markdown and HTML escaped."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", " ".join(text.split()))


def _add_ticks(text: str) -> str:
    """Return a text as code within a line."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {text} {ticks}" if longest else f"{ticks}{text}{ticks}"


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
