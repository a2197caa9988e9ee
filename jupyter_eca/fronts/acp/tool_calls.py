"""Owns the projection of events about tool calls to updates of the Agent Client Protocol (ACP). Pure.

It must not know the session. `projection.py` projects all other events, and `permission.py` asks about a call.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.approval.reason import add_warning, describe_cause
from jupyter_eca.engine.text.code_block import as_code_block
from jupyter_eca.engine.text.exact_text import as_exact_text
from jupyter_eca.engine.text.shown_arguments import format_command, split_arguments
from jupyter_eca.fronts.unified_diff import apply_diff, read_side
from jupyter_eca.protocol.acp.content import (
    BlockContent,
    CallContent,
    CallLocation,
    DiffContent,
    ImageBlock,
    TextBlock,
)
from jupyter_eca.protocol.acp.updates import (
    CallChange,
    CallFields,
    CallKind,
    CallStart,
    CallStatus,
    PlanEntry,
    PlanUpdate,
)
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    JsonOutputsDetails,
    RejectReason,
    RunCellsDetails,
    ShellCommandDetails,
    TaskDetails,
    TaskStatus,
    ToolCallContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jupyter_eca.protocol.acp.updates import SessionUpdate

# The kind of each of our tools. For another tool, the details of the call decide.
_KINDS: Final = {
    "read_file": CallKind.READ,
    "read_output": CallKind.READ,
    "notebook_read": CallKind.READ,
    "directory_tree": CallKind.READ,
    "fetch_rule": CallKind.READ,
    "skill": CallKind.READ,
    "variables": CallKind.READ,
    "inspect": CallKind.READ,
    "kernel_state": CallKind.READ,
    "editor_diagnostics": CallKind.READ,
    "editor_definition": CallKind.SEARCH,
    "editor_references": CallKind.SEARCH,
    "grep": CallKind.SEARCH,
    "write_file": CallKind.EDIT,
    "edit_file": CallKind.EDIT,
    "notebook_change": CallKind.EDIT,
    "notebook_create": CallKind.EDIT,
    "notebook_edit_cell": CallKind.EDIT,
    "notebook_insert_cell": CallKind.EDIT,
    "notebook_move_cell": CallKind.EDIT,
    "notebook_delete_cell": CallKind.DELETE,
    "move_file": CallKind.MOVE,
    "shell_command": CallKind.EXECUTE,
    "bg_job": CallKind.EXECUTE,
    "run_code": CallKind.EXECUTE,
    "notebook_run_cells": CallKind.EXECUTE,
    "kernel_interrupt": CallKind.EXECUTE,
    "kernel_restart": CallKind.EXECUTE,
    "task": CallKind.THINK,
    "spawn_agent": CallKind.THINK,
}

# The arguments of our tools that are paths of files.
_PATHS: Final = ("path", "source", "destination", "notebook")

# The largest text of a file that is sent whole. A diff block has the whole text before and after the change, and some
# clients keep all of them. Of a larger file, only the changed places are sent.
MAX_TEXT_CHARACTERS: Final = 1_000_000

# What the client reads about a call that did not run.
_REJECTION_TEXTS: Final = {
    RejectReason.USER: "It was rejected. It did not run.",
    RejectReason.CONFIG: "A rule in `toolCall.approval` forbids it. It did not run.",
    RejectReason.STOP: "It was stopped. It did not run.",
    RejectReason.NOBODY: "Nobody was there to approve it. It did not run.",
    RejectReason.HOOK: "A hook rejected it. It did not run.",
    RejectReason.ORDER: "A call before it failed. It did not run.",
    RejectReason.PLAN: "Proposed only: plan mode changes nothing.",
}


CallKey = tuple[str, str]
"""The chat of a call, and its id there."""


@dataclass
class _CallState:
    """The state of a call as it was sent to the client last."""

    id: str
    """The id by which the client knows the call."""
    change: tuple[CallContent, ...] = ()
    """The part of the content that shows the change which the call makes. It is sent again with the result, because an
    update replaces the whole content."""
    content: tuple[CallContent, ...] = ()
    """All content."""
    status: CallStatus = CallStatus.PENDING
    """The status."""
    title: str = ""
    """The title, which is sent again only if it changes."""


@dataclass
class CallProjection:
    """The projection of the tool calls of one session."""

    chat: str
    """The chat of the session. The other chats are those of its subagents."""
    root: Path
    """The folder that paths in the details of calls are relative to."""
    find_start: Callable[[str], Path]
    """Returns the folder that paths in the arguments of calls are relative to, for a chat."""
    _calls: dict[CallKey, _CallState] = field(default_factory=dict[CallKey, _CallState])
    """The calls that the client was shown."""

    def make_wire_id(self, chat: str, call: str) -> str:
        """Return the id by which the client knows a call. Model providers use the same ids in several chats, so the ids
        of calls of subagents begin with their chat."""
        return call if chat == self.chat else f"{chat}/{call}"

    def project(self, chat: str, content: ToolCallContent, before: str | None = None) -> Iterator[SessionUpdate]:
        """Yield the updates of an event of a chat. `before` is the current text of the file that the call would change.
        If it is known, the change is shown with the whole texts, and otherwise with the changed places only."""
        state = self._calls.get((chat, content.id))
        if state is None:
            id = self.make_wire_id(chat, content.id)
            state = self._calls[chat, content.id] = _CallState(id, title=_make_title(content))
            yield CallStart(
                tool_call_id=state.id,
                title=state.title,
                name=content.name,
                kind=get_kind(content),
                status=CallStatus.PENDING,
            )
        match content:
            case ToolCallRunContent():
                yield self._describe_run(chat, state, content, before)
            case ToolCallRunningContent():
                state.status = CallStatus.IN_PROGRESS
                yield CallChange(tool_call_id=state.id, status=state.status)
            case ToolCalledContent():
                yield from self._describe_result(state, content)
            case ToolCallRejectedContent():
                yield self._describe_rejection(state, content)
            case _:
                pass

    def describe(self, chat: str, content: ToolCallRunContent) -> CallFields:
        """Return all fields of a call that waits for approval, as the request for permission shows them."""
        state = self._calls.get((chat, content.id)) or _CallState(self.make_wire_id(chat, content.id))
        return CallFields(
            tool_call_id=state.id,
            title=_make_title(content),
            kind=get_kind(content),
            status=CallStatus.PENDING,
            content=state.content or None,
            locations=self._list_locations(chat, content),
            raw_input=content.arguments,
        )

    def report(self, id: str, text: str) -> CallChange | None:
        """Return the update that shows the output so far of a call of the session; None if the call does not run."""
        state = self._calls.get((self.chat, id))
        if state is None or state.status is not CallStatus.IN_PROGRESS or not text:
            return None
        return CallChange(tool_call_id=id, content=(*state.change, _make_text(text)))

    def add_image(self, id: str, image: ImageBlock) -> CallChange | None:
        """Return the update that adds an image to the result of a call of the session; None for an unknown call."""
        state = self._calls.get((self.chat, id))
        if state is None:
            return None
        state.content = (*state.content, BlockContent(content=image))
        return CallChange(tool_call_id=id, content=state.content)

    # -- the parts of a call

    def _describe_run(
        self, chat: str, state: _CallState, content: ToolCallRunContent, before: str | None
    ) -> CallChange:
        """Make the update for a call whose arguments are complete."""
        state.title = _make_title(content)
        state.change = tuple(self._describe_change(content, before))
        state.content = (*state.change, *(_describe_question(content) if content.manual_approval else ()))
        return CallChange(
            tool_call_id=state.id,
            title=state.title,
            kind=get_kind(content),
            content=state.content or None,
            locations=self._list_locations(chat, content),
            raw_input=content.arguments,
        )

    def _describe_change(self, content: ToolCallContent, before: str | None) -> Iterator[CallContent]:
        """Yield what a call would change or run. All characters of the texts are visible, because the user reads them
        to decide about the call. `before` is explained at `project`."""
        arguments = _get_arguments(content)
        # The first part is the argument `code`, if the call has one.
        if (source := split_arguments(arguments, content.details)[0]) is not None:
            yield _make_exact_text(source, "python")
        match content.details:
            case FileChangeDetails(cells=None, diff=diff) as details if diff:
                yield self._make_diff(details, before)
                # The texts of a diff block are those of the file, so their characters cannot be replaced.
                if as_exact_text(diff) != diff.replace("\r\n", "\n"):
                    yield _make_text_block("Some of its characters are not drawn, or look like others:")
                    yield _make_exact_text(diff, "diff")
            case FileChangeDetails() as details:
                # The file of a notebook has another text than its cells, so clients must not show it as a changed file.
                if details.diff:
                    yield _make_exact_text(details.diff, "diff")
                if details.runs:
                    runs = RunCellsDetails(path=details.path, cells=details.runs)
                    yield _make_text_block("It then runs:")
                    yield _make_exact_text(runs.as_text(), "python")
            case ShellCommandDetails() as details:
                if command := format_command(arguments, details):
                    yield _make_exact_text(command, "sh")
            case RunCellsDetails() as details:
                yield _make_exact_text(details.as_text(), "python")
            case _:
                pass

    def _make_diff(self, details: FileChangeDetails, before: str | None) -> DiffContent:
        """Make the diff block of a file change. If `before`, the text of the file, is known, the block has the whole
        texts, and otherwise only the changed places."""
        path, is_new = self.root / details.path, details.diff.startswith("--- /dev/null")
        after = None if before is None else apply_diff(before, details.diff)
        if before is None or after is None or len(before) > MAX_TEXT_CHARACTERS:
            before = None if is_new else read_side(details.diff, "-")
            after = read_side(details.diff, "+")
        return DiffContent(path=str(path), old_text=before, new_text=after)

    def _list_locations(self, chat: str, content: ToolCallContent) -> tuple[CallLocation, ...] | None:
        """Return the files that a call works on; None if they are not known."""
        arguments = _get_arguments(content)
        details = content.details
        named = [self.root / details.path] if isinstance(details, FileChangeDetails | RunCellsDetails) else []
        if content.name in _KINDS:
            start = self.find_start(chat)
            named += [start / path for name in _PATHS if isinstance(path := arguments.get(name), str) and path]
        line = arguments.get("line_offset")
        paths = dict.fromkeys(path for path in map(str, named) if "\0" not in path)
        # `line_offset` counts from 0, and the protocol counts from 1.
        first_line = line + 1 if isinstance(line, int) and line >= 0 and content.name == "read_file" else None
        return tuple(CallLocation(path=path, line=first_line) for path in paths) or None

    def _describe_result(self, state: _CallState, content: ToolCalledContent) -> Iterator[SessionUpdate]:
        """Yield the updates for a call that has run."""
        state.status = CallStatus.FAILED if content.error else CallStatus.COMPLETED
        texts = [output.text for output in content.outputs if output.text]
        if not state.change and isinstance(content.details, FileChangeDetails):
            state.change = tuple(self._describe_change(content, None))
        state.content = (*state.change, *(_make_text(text) for text in texts))
        yield CallChange(
            tool_call_id=state.id,
            title=None if content.summary in (None, state.title) else as_exact_text(content.summary),
            status=state.status,
            content=state.content,
            raw_output=_find_raw_output(content),
        )
        if isinstance(content.details, TaskDetails):
            yield make_plan(content.details)

    def _describe_rejection(self, state: _CallState, content: ToolCallRejectedContent) -> CallChange:
        """Make the update for a call that did not run."""
        state.status = CallStatus.FAILED
        why = describe_cause(Decision.DENY, content.cause) if content.cause else ""
        text = _REJECTION_TEXTS[content.reason]
        reason = f"{text} {why}." if why else text
        state.content = (*state.change, _make_text_block(reason))
        return CallChange(tool_call_id=state.id, status=state.status, content=state.content)


def get_kind(content: ToolCallContent) -> CallKind:
    """Return what a call does, in the words of the protocol."""
    known = _KINDS.get(content.name)
    if known is not None:
        return known
    match content.details:
        case FileChangeDetails():
            return CallKind.EDIT
        case ShellCommandDetails() | RunCellsDetails():
            return CallKind.EXECUTE
        case _:
            return CallKind.OTHER


def make_plan(details: TaskDetails) -> PlanUpdate:
    """Make the update with the whole plan."""
    statuses: Final = {
        TaskStatus.PENDING: "pending",
        TaskStatus.IN_PROGRESS: "in_progress",
        TaskStatus.DONE: "completed",
    }
    entries = ({"content": task.subject, "status": statuses[task.status]} for task in details.tasks)
    return PlanUpdate(entries=tuple(PlanEntry.model_validate(entry) for entry in entries))


def _get_arguments(content: ToolCallContent) -> dict[str, Any]:
    """Return the arguments of a call; {} while the model still writes them."""
    arguments: dict[str, Any] = getattr(content, "arguments", None) or {}
    return arguments


def _make_title(content: ToolCallContent) -> str:
    """Return the title of a call. For a call that waits for approval, it begins with the warning about the call. All of
    its characters are visible, because the user reads it to decide about the call."""
    title = content.summary or content.name
    if isinstance(content, ToolCallRunContent) and content.manual_approval:
        title = add_warning(title, content.cause)
    return as_exact_text(title)


def _describe_question(content: ToolCallRunContent) -> Iterator[CallContent]:
    """Yield what the user reads besides the change, before they decide about a call: the arguments that are not shown
    yet, and why the call needs approval."""
    match content.details:
        case TaskDetails() | FileChangeDetails(diff=""):
            shown = None  # these details are not shown, so the user must see all arguments
        case details:
            shown = details
    # The second part has the arguments that the details do not show.
    if others := split_arguments(content.arguments, shown)[1]:
        yield _make_exact_text(json.dumps(others, ensure_ascii=False, indent=1), "json")
    if cause := describe_cause(Decision.ASK, content.cause):
        yield _make_text_block(as_exact_text(cause))


def _make_exact_text(text: str, language: str) -> BlockContent:
    """Return a text as a code block in which all characters are visible."""
    return _make_text(as_exact_text(text), language)


def _make_text(text: str, language: str = "") -> BlockContent:
    """Return a text as a code block, so that a client which draws Markdown shows it word for word. All line ends become
    `\\n`, because some clients know no others."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _make_text_block(as_code_block(lines.removesuffix("\n"), language).lstrip("\n"))


def _make_text_block(text: str) -> BlockContent:
    """Return a text as content that a client may draw as Markdown."""
    return BlockContent(content=TextBlock(text=text))


def _find_raw_output(content: ToolCalledContent) -> Any:
    """Return the structured results of a call; None if it has none."""
    if not isinstance(content.details, JsonOutputsDetails):
        return None
    results: list[Any] = []
    for text in content.details.jsons:
        try:
            results.append(json.loads(text))
        except ValueError:
            results.append(text)
    return results[0] if len(results) == 1 else results
