"""The details of a tool call as Markdown and as text: a change of a file, a command, a plan. Pure. `transcript` puts
them into the answer.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.answer.exact_text import as_exact_text, drop_control_characters
from jupyter_eca.apps.kernel.answer.inert_markdown import block, code, inert, prose
from jupyter_eca.apps.kernel.answer.json_results import format_json, repeats_text
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    JsonOutputsDetails,
    RunCellsDetails,
    ShellCommandDetails,
    SubagentDetails,
    TaskDetails,
    TaskStatus,
)

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import ShellCommandPart, ToolCallDetails

# A reader sees at most this much of one text; all of it is in the chat.
SHOWN_CHARS: Final = 2_000
# A reader sees about one screen of a change, and can open the file to see more.
SHOWN_LINES: Final = 40

# These arguments are left out, because the details show them in a better way.
_SAID: Final[dict[type, frozenset[str]]] = {
    FileChangeDetails: frozenset({"path", "content", "original_content", "new_content"}),
    ShellCommandDetails: frozenset({"command", "background"}),
    TaskDetails: frozenset({"op", "tasks", "ids", "active_summary"}),
    RunCellsDetails: frozenset({"cells"}),
}


def about(arguments: dict[str, Any], details: ToolCallDetails | None) -> str:
    """Describe what a call was asked to do: its change or its command, its code as code, other arguments as JSON."""
    source, others = _split_arguments(arguments, details)
    markdown = "" if source is None else block(_shorten_exact(source), "python")
    match details:
        case FileChangeDetails():
            markdown += block(as_exact_text(_lines(details.diff)), "diff")
        case ShellCommandDetails():
            markdown += block(_shorten_exact(_command(arguments, details)), "sh")
        case RunCellsDetails():
            markdown += block(_shorten_exact(details.as_text()), "python")
        case _:
            pass
    return markdown + (block(_shorten_exact(_as_json(others)), "json") if others else "")


def results(details: ToolCallDetails | None, text: str) -> str:
    """Describe what a call returned besides its text, folded."""
    jsons = details.jsons if isinstance(details, JsonOutputsDetails) else ()
    others = [format_json(json_text) for json_text in jsons if not repeats_text(json_text, text)]
    blocks = "".join(block(shorten(other), "json") for other in others)
    return f"\n\n<details><summary>JSON</summary>{blocks}\n\n</details>" if blocks else ""


def headline(details: ToolCallDetails | None) -> str:
    """Return a few words for the place after the name of the call, as Markdown. They begin with a space."""
    match details:
        case FileChangeDetails(path=path, lines_added=added, lines_removed=removed):
            return f" {code(as_exact_text(path))} +{added} −{removed}"  # noqa: RUF001  # a minus sign
        case SubagentDetails(agent_name=name, step=step, max_steps=most):
            return f" {code(name)} step {step}" + (f" of {most}" if most else "")
        case _:
            return ""


def checklist(details: TaskDetails) -> str:
    marks = {TaskStatus.DONE: "x", TaskStatus.PENDING: " ", TaskStatus.IN_PROGRESS: " "}
    lines = [f"- [{marks[task.status]}] {_subject(task.subject, task.status)}" for task in details.tasks]
    return "\n".join(lines)


def plain_checklist(details: TaskDetails) -> str:
    marks = {TaskStatus.DONE: "x", TaskStatus.PENDING: " ", TaskStatus.IN_PROGRESS: ">"}
    lines = [f"[{marks[task.status]}] {' '.join(task.subject.split())}" for task in details.tasks]
    return drop_control_characters("\n".join(lines))


def plain_about(arguments: dict[str, Any], details: ToolCallDetails | None) -> str:
    """Describe, for a terminal, all that somebody must read before they approve. Nothing can be unfolded there."""
    source, others = _split_arguments(arguments, details)
    parts = [] if source is None else [source]
    match details:
        case FileChangeDetails():
            parts.append(f"{details.path} (+{details.lines_added} -{details.lines_removed})\n{details.diff.rstrip()}")
        case ShellCommandDetails():
            parts.append(_command(arguments, details))
        case RunCellsDetails():
            parts.append(f"{details.path}\n{details.as_text()}")
        case _:
            pass
    return "\n".join([*parts, *([_as_json(others)] if others else [])])


def _split_arguments(arguments: dict[str, Any], details: ToolCallDetails | None) -> tuple[str | None, dict[str, Any]]:
    """Return the code among the arguments, and the arguments that neither the code nor the details show."""
    source = arguments.get("code")
    covered = _SAID.get(type(details), frozenset[str]()) | ({"code"} if isinstance(source, str) else set[str]())
    others = {name: value for name, value in arguments.items() if name not in covered}
    return (source if isinstance(source, str) else None), others


def fold(text: str, summary: str) -> str:
    """Fold long Markdown after its first paragraph; leave short Markdown as it is."""
    if len(text.splitlines()) <= SHOWN_LINES:
        return inert(text)
    first, _, rest = text.partition("\n\n")
    if len(first.splitlines()) > 3 or not rest.strip():
        first, rest = "", text
    fold = f"<details><summary>{code(summary)}</summary>\n\n{inert(rest)}\n\n</details>"
    return f"{inert(first)}\n\n{fold}".strip()


def shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}\n… {len(text) - SHOWN_CHARS} characters more"


def _shorten_exact(text: str) -> str:
    return as_exact_text(shorten(text))


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _lines(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    hidden = len(lines) - SHOWN_LINES
    return shorten("\n".join(lines if hidden <= 0 else [*lines[:SHOWN_LINES], f"… {hidden} lines more"]))


def _command(arguments: dict[str, Any], details: ShellCommandDetails) -> str:
    """Return the command line as it was written, which is what runs. Chats of older versions have it only in the
    arguments."""
    written = details.line or arguments.get("command")
    text = written if isinstance(written, str) else "\n".join(map(_join, details.commands))
    return f"{text}\n# in the background" if details.background else text


def _join(part: ShellCommandPart) -> str:
    return shlex.join((part.command, *part.args)) if part.args else part.command


def _subject(subject: str, status: TaskStatus) -> str:
    text = prose(" ".join(subject.split()))
    return f"**{text}**" if status is TaskStatus.IN_PROGRESS and text else text
