"""Describes the arguments and the details of a tool call as Markdown and as text. The details say what a call does: for
example a change of a file, a command of a shell, or a plan. Pure.

It must not know the state of a call: `transcript` adds the state, and puts it and the details into the answer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.answer.inert_markdown import (
    as_inert_markdown,
    as_inert_prose,
    as_inline_code,
)
from jupyter_eca.apps.kernel.answer.json_results import format_json, repeats_text
from jupyter_eca.engine.text.code_block import as_code_block
from jupyter_eca.engine.text.exact_text import as_exact_text, drop_control_characters
from jupyter_eca.engine.text.shown_arguments import format_command, format_runs, split_arguments
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
    from jupyter_eca.protocol.content import ToolCallDetails

# The most characters of a text that a cell shows. The whole text is in the chat.
SHOWN_CHARS: Final = 2_000
# The most characters of a command in the line of its call.
_HEADLINE_CHARS: Final = 80
# The most lines of a change that a cell shows: about one screen. The user can open the file to see more.
SHOWN_LINES: Final = 40


def describe_call(arguments: dict[str, Any], details: ToolCallDetails | None) -> str:
    """Describe what a call does, as Markdown: its change, command or code, and its other arguments as JSON."""
    source, others = split_arguments(arguments, details)
    markdown = "" if source is None else as_code_block(_shorten_exact(source), "python")
    match details:
        case FileChangeDetails():
            markdown += as_code_block(as_exact_text(_shorten_lines(details.diff)), "diff")
            if details.runs:
                markdown += as_code_block(_shorten_exact(format_runs(details)), "python")
        case ShellCommandDetails():
            markdown += as_code_block(_shorten_exact(format_command(arguments, details)), "sh")
        case RunCellsDetails():
            markdown += as_code_block(_shorten_exact(details.as_text()), "python")
        case _:
            pass
    return markdown + (as_code_block(_shorten_exact(_as_json(others)), "json") if others else "")


def describe_results(details: ToolCallDetails | None, text: str) -> str:
    """Describe what a call has returned besides its text, as folded Markdown; empty if there is nothing."""
    jsons = details.jsons if isinstance(details, JsonOutputsDetails) else ()
    others = [format_json(json_text) for json_text in jsons if not repeats_text(json_text, text)]
    blocks = "".join(as_code_block(shorten(other), "json") for other in others)
    return f"\n\n<details><summary>JSON</summary>{blocks}\n\n</details>" if blocks else ""


def format_headline(details: ToolCallDetails | None) -> str:
    """Return a few words that follow the name of the call, as Markdown. They begin with a space."""
    match details:
        case FileChangeDetails(path=path, lines_added=added, lines_removed=removed):
            return f" {as_inline_code(as_exact_text(path))} +{added} −{removed}"  # noqa: RUF001  # a minus sign
        case ShellCommandDetails():
            return f" {as_inline_code(_shorten_line(as_exact_text(format_command({}, details))))}"
        case SubagentDetails(agent_name=name, step=step, max_steps=most):
            return f" {as_inline_code(name)} step {step}" + (f" of {most}" if most else "")
        case _:
            return ""


def _shorten_line(text: str) -> str:
    """Return a text in one short line, with a sign for each end of a line. Three dots say that there is more, which is
    in the details."""
    line = " ⏎ ".join(" ".join(part.split()) for part in text.splitlines() if part.strip())
    return line if len(line) <= _HEADLINE_CHARS else f"{line[:_HEADLINE_CHARS]}…"


def format_checklist(details: TaskDetails) -> str:
    """Return a plan as a checklist in Markdown."""
    marks = {TaskStatus.DONE: "x", TaskStatus.PENDING: " ", TaskStatus.IN_PROGRESS: " "}
    lines = [f"- [{marks[task.status]}] {_format_subject(task.subject, task.status)}" for task in details.tasks]
    return "\n".join(lines)


def format_plain_checklist(details: TaskDetails) -> str:
    """Return a plan as a checklist for a terminal."""
    marks = {TaskStatus.DONE: "x", TaskStatus.PENDING: " ", TaskStatus.IN_PROGRESS: ">"}
    lines = [f"[{marks[task.status]}] {' '.join(task.subject.split())}" for task in details.tasks]
    return drop_control_characters("\n".join(lines))


def describe_call_as_text(arguments: dict[str, Any], details: ToolCallDetails | None) -> str:
    """Describe a call for a terminal, with all that the user must read before they approve it. Nothing is shortened,
    because nothing can be unfolded in a terminal."""
    source, others = split_arguments(arguments, details)
    parts = [] if source is None else [source]
    match details:
        case FileChangeDetails():
            parts.append(f"{details.path} (+{details.lines_added} -{details.lines_removed})\n{details.diff.rstrip()}")
            if details.runs:
                parts.append(format_runs(details))
        case ShellCommandDetails():
            parts.append(format_command(arguments, details))
        case RunCellsDetails():
            parts.append(f"{details.path}\n{details.as_text()}")
        case _:
            pass
    return "\n".join([*parts, *([_as_json(others)] if others else [])])


def as_folded_markdown(text: str, summary: str) -> str:
    """Return a text as inert Markdown. If it is long, everything after its first paragraph is folded."""
    if len(text.splitlines()) <= SHOWN_LINES:
        return as_inert_markdown(text)
    first, _, rest = text.partition("\n\n")
    if len(first.splitlines()) > 3 or not rest.strip():
        first, rest = "", text
    fold = f"<details><summary>{as_inline_code(summary)}</summary>\n\n{as_inert_markdown(rest)}\n\n</details>"
    return f"{as_inert_markdown(first)}\n\n{fold}".strip()


def shorten(text: str) -> str:
    """Return the first `SHOWN_CHARS` characters of a text, and how many more there are."""
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}\n… {len(text) - SHOWN_CHARS} characters more"


def _shorten_exact(text: str) -> str:
    """Shorten a text, and make characters visible that are not drawn or look like others. The user approves by this
    text."""
    return as_exact_text(shorten(text))


def _as_json(value: Any) -> str:
    """Return a value as JSON with indents."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def _shorten_lines(text: str) -> str:
    """Return the first `SHOWN_LINES` lines of a text, and how many more there are."""
    lines = text.rstrip("\n").split("\n")
    hidden = len(lines) - SHOWN_LINES
    return shorten("\n".join(lines if hidden <= 0 else [*lines[:SHOWN_LINES], f"… {hidden} lines more"]))


def _format_subject(subject: str, status: TaskStatus) -> str:
    """Return the subject of a task as Markdown on one line. It is bold for a task in progress."""
    text = as_inert_prose(" ".join(subject.split()))
    return f"**{text}**" if status is TaskStatus.IN_PROGRESS and text else text
