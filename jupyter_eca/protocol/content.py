"""Owns the contents of a chat: texts, tool calls, usage and everything else that `chat/contentReceived` can carry.

A content is one fact about a chat that clients show. The type `Content` at the end of this module is the union of them.
It must not know how a content is made. `chat` is its neighbour: it has the messages that carry a content.

The shapes are those of ECA, the protocol that our clients speak (section "Chat Content Received" of its document). A
field that only newer revisions know is optional. A field marked "Not in ECA" is our addition: only clients with the
capability `envelope` use it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import ChatContext
from jupyter_eca.protocol.notebook import CellChange, DeleteCell, EditCell, InsertCell, PutCell, format_cell


class Role(StrEnum):
    """Who a content comes from."""

    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """Who offers a tool. `native`: we do. `mcp`: an MCP server. `server`: the vendor of the model. `unknown`: a client
    does, or there is no tool of this name."""

    NATIVE = "native"
    MCP = "mcp"
    SERVER = "server"
    UNKNOWN = "unknown"


class TurnFailure(Model):
    """Why a turn failed, for programs. It is the field `failure` of the text that says the same to the user."""

    kind: FailureKind
    model: str = ""
    """The full name of the model that was asked; empty when the turn failed before a model was asked."""


class TextContent(Model):
    """A piece of text. Clients append the pieces of one answer."""

    type: Literal["text"] = "text"
    text: str
    content_id: str | None = None
    """The id of a user's message, by which it can be flagged, rolled back or forked from."""
    failure: TurnFailure | None = None
    """Not in ECA: this text says why the turn failed."""
    contexts: tuple[ChatContext, ...] | None = None
    """Not in ECA: the contexts that a user's message names, so that clients can show its mentions. Absent when it names
    none."""
    question: bool | None = None
    """Not in ECA: this text of the system is a question to the user, with the answer. A search finds it, like what the
    user and the assistant write."""


class ProgressContent(Model):
    """Whether a turn is running. Clients show a chat as busy from `running` until `finished`; each turn ends with
    exactly one `finished`."""

    type: Literal["progress"] = "progress"
    state: Literal["running", "finished"]
    text: str = ""
    """What the turn is doing, for the user."""
    plan: bool | None = None
    """Not in ECA: the turn ended with a plan, which `/go` carries out."""
    not_replayed: bool | None = None
    """Not in ECA: the text says why the answer that a lock file has for this prompt is not replayed."""


class ReasonStartedContent(Model):
    """The model begins to reason."""

    type: Literal["reasonStarted"] = "reasonStarted"
    id: str
    """The id of the reasoning, which its text and its end repeat."""


class ReasonTextContent(Model):
    """A piece of the model's reasoning. Clients append the pieces with the same id."""

    type: Literal["reasonText"] = "reasonText"
    id: str
    text: str


class ReasonFinishedContent(Model):
    """The model has stopped reasoning."""

    type: Literal["reasonFinished"] = "reasonFinished"
    id: str
    total_time_ms: int = 0


class Limit(Model):
    """The limits of a model in tokens."""

    context: int
    """The size of the context window."""
    output: int
    """The longest answer."""


class ContextCategory(Model):
    """One kind of content in the context window, for example the tools."""

    name: str
    tokens: int
    color: str = ""
    """The color in which a client draws it."""
    emoji: str = ""


class ContextBreakdown(Model):
    """What the context window is filled with."""

    categories: tuple[ContextCategory, ...]
    used_tokens: int
    free_tokens: int | None = None
    """Absent when the size of the window is not known."""
    context_limit: int | None = None
    """The size of the window in tokens."""


class UsageContent(Model):
    """The tokens and the costs of the last request and of the chat. Costs are US dollars, as decimal strings."""

    type: Literal["usage"] = "usage"
    session_tokens: int
    """The tokens that are in the context window now."""
    message_input_tokens: int
    """The tokens sent with the last request."""
    message_output_tokens: int
    """The tokens of its answer."""
    message_cached_tokens: int | None = None
    """Not in ECA: how many of the input tokens came from the vendor's cache."""
    last_message_cost: str | None = None
    """The cost of the last request. The older revision calls it `message_cost`."""
    message_cost: str | None = None
    """The same cost under its older name."""
    session_cost: str | None = None
    """The cost of the chat."""
    limit: Limit | None = None
    auto_compact_percentage: int | None = None
    """The percentage of the window at which the conversation is summarized."""
    context_breakdown: ContextBreakdown | None = None
    replayed: bool | None = None
    """Not in ECA: the answer came from a lock file, and no model was asked."""
    agent: str | None = None
    """Not in ECA: the outside agent that reported this usage; absent when we have counted it. The costs of outside
    agents are in no budget."""


class ShownCell(Model):
    """A cell that a tool call runs, as it is shown before the approval."""

    number: int
    """Its place in the notebook, from 1."""
    id: str
    source: str


class ChangePart(Model):
    """A part of an edit of a cell: some lines in a row, which the user can approve without the others."""

    start: int
    """The offset in the source before the edit at which the part begins, in code points."""
    end: int
    """The offset in the same source at which the part ends. The character at this offset is not in the part."""
    text: str
    """The new text in place of the part."""
    cell_id: str | None = None
    """The cell that is edited. Absent in chats of earlier versions, which have only parts of the edit of one cell."""


class MovePart(Model):
    """A part of a change of cells: the move of one cell. The user can approve it without the edits of this cell."""

    kind: Literal["move"]
    cell_id: str


class FileChangeDetails(Model):
    """The change to a file or a notebook that a tool call makes."""

    type: Literal["fileChange"] = "fileChange"
    path: str
    diff: str
    """The change as a unified diff. For a notebook, it is the diff of its cells as text."""
    lines_added: int
    lines_removed: int
    cells: tuple[CellChange, ...] | None = None
    """For a notebook, the changes that the diff shows. Exactly these changes are made after the approval."""
    loads: str | None = None
    """Not in ECA: what a page loads from elsewhere as soon as it shows the changed Markdown cells, in words. Absent
    when they load nothing."""
    parts: tuple[ChangePart | MovePart, ...] | None = None
    """Not in ECA: the parts of the edits of cells, in order, and the moves of cells. Each of them can be approved or
    left out. The parts of a cell that is edited several times are those of all its edits together. A change to which no
    part belongs, such as an insertion, is made in any case. Absent when nothing can be left out."""
    left_out: tuple[int, ...] | None = None
    """Not in ECA: the indexes of the parts that the user left out. The other fields say what is left of the change."""
    runs: tuple[ShownCell, ...] | None = None
    """Not in ECA: the cells that the call runs after the change, in order, with their new sources. Absent when it runs
    none."""

    def describe_cells(self) -> str:
        """Say in one line what happens to how many cells: `Change 2 cells of a.ipynb, add 1, run 2`."""
        kinds = self._classify_cells()
        counts = {verb: sum(kind == verb for kind in kinds.values()) for verb in ("change", "add", "delete", "move")}
        # The first kind is written in words (`Change 2 cells of a.ipynb`), and each other kind is short (`add 1`).
        (first, count), *others = [(verb, count) for verb, count in counts.items() if count] or [("change", 0)]
        noun = "cell" if count == 1 else "cells"
        text = f"{first.capitalize()} {count} {noun} {'to' if first == 'add' else 'of'} {self.path}"
        runs = len(self.runs or ())
        if runs == len(kinds) == 1:
            return f"{text} and run it"
        return ", ".join((text, *(f"{verb} {count}" for verb, count in (*others, ("run", runs)) if count)))

    def _classify_cells(self) -> dict[str, str]:
        """Return what happens to each cell, by its id. A cell that is added and then deleted is not in it."""
        kinds: dict[str, str] = {}
        for change in self.cells or ():
            id = _get_cell_id(change)
            match change:
                case InsertCell():
                    kinds[id] = "add"
                case DeleteCell() if kinds.get(id) == "add":
                    del kinds[id]
                case DeleteCell():
                    kinds[id] = "delete"
                case EditCell() | PutCell() if kinds.get(id) != "add":
                    kinds[id] = "change"
                case _:
                    kinds.setdefault(id, "move")
        return kinds


def _get_cell_id(change: CellChange) -> str:
    """Return the id of the cell that a change is about."""
    return change.cell.id if isinstance(change, InsertCell | PutCell) else change.cell_id


class JsonOutputsDetails(Model):
    """The structured results of a tool call."""

    type: Literal["jsonOutputs"] = "jsonOutputs"
    jsons: tuple[str, ...]
    """Each result as JSON text."""


class ShellCommandPart(Model):
    """One command of a command line."""

    command: str
    """The program."""
    args: tuple[str, ...] = ()
    approval_key: str | None = None
    """The text that is remembered when the user approves the command for the session; absent when this command may not
    be remembered."""
    remembered: bool = False
    """Whether this text is remembered already, so that the command needs no approval."""


class SandboxState(StrEnum):
    """Whether a command runs in the sandbox."""

    INSIDE = "inside"
    TRUSTED = "trusted"
    """The command runs inside, and needs approval only if a rule says so."""
    OUTSIDE = "outside"
    """The model wants to run the command outside, with all rights of the user."""
    MISSING = "missing"
    """The user wants a sandbox, and this machine has none. The command runs outside."""


class ShellCommandDetails(Model):
    """The command line that a tool call runs."""

    type: Literal["shellCommand"] = "shellCommand"
    commands: tuple[ShellCommandPart, ...]
    background: bool = False
    """Whether it runs as a background job."""
    line: str | None = None
    """Not in ECA: the whole command line, word for word."""
    parsed: tuple[str, ...] | None = None
    """Not in ECA: each command of the line with its redirections, as the approval rules read them. Absent when the line
    cannot be parsed."""
    sandbox: SandboxState | None = None
    """Not in ECA: whether it runs in the sandbox. Absent when the user wants none."""


class TaskStatus(StrEnum):
    """Whether a task is done."""

    PENDING = "pending"
    IN_PROGRESS = "in-progress"
    DONE = "done"


class Task(Model):
    """One item of the chat's task list."""

    id: str
    subject: str
    status: TaskStatus = TaskStatus.PENDING


class TaskSummary(Model):
    """How many tasks have each status."""

    done: int
    in_progress: int
    pending: int
    total: int


class TaskDetails(Model):
    """The chat's task list after the call."""

    type: Literal["task"] = "task"
    tasks: tuple[Task, ...]
    in_progress_task_ids: tuple[str, ...] = ()
    summary: TaskSummary
    active_summary: str | None = None
    """What the tasks in progress are about, for the user."""


class SubagentDetails(Model):
    """The subagent that a tool call has spawned."""

    type: Literal["subagent"] = "subagent"
    agent_name: str
    step: int
    """How many requests the subagent has sent to its model."""
    subagent_chat_id: str | None = None
    model: str | None = None
    variant: str | None = None
    max_steps: int | None = None
    """The limit for `step`; absent when there is none."""


class RunCellsDetails(Model):
    """Not in ECA: the cells that a tool call runs. Exactly these sources run after the approval."""

    type: Literal["runCells"] = "runCells"
    path: str
    """The notebook."""
    cells: tuple[ShownCell, ...]
    """In the order in which they run."""

    def as_text(self) -> str:
        """Return the sources as a script in the percent format."""
        return "".join(format_cell(f"cell {cell.number}", cell.source) for cell in self.cells).removesuffix("\n")


ToolCallDetails = Annotated[
    FileChangeDetails | JsonOutputsDetails | ShellCommandDetails | TaskDetails | SubagentDetails | RunCellsDetails,
    Field(discriminator="type"),
]


class Cause(Model):
    """What decided whether a tool call may run."""

    kind: Literal[
        "rule",
        "remembered",
        "trust",
        "default",
        "always",
        "protected",
        "loads",
        "unparsed",
        "changed",
        "review",
        "unseen",
        "repository",
        "sandbox",
        "unasked",
    ]
    """`rule`: a rule of `deny`, `ask` or `allow` selects the call. `remembered`: the user approved it for the session.
    `trust`: trust allows it. `default`: no rule selects it. `always`: a rule of `alwaysAsk` selects it. `protected`:
    the call changes what may run without asking. `loads`: it changes a Markdown cell that loads something as soon as it
    is shown. `unparsed`: its command line cannot be parsed, and a rule limits some commands. `changed`: the tool has
    changed since the user approved it for the session. `review`: the setting `review` lets the change be made without
    approval. `unseen`: the call may run what was changed without approval and is not reviewed yet. `repository`:
    the command calls git, and the configuration of the repository makes git run a program. `sandbox`: the command runs
    in the sandbox, where it can do no harm. `unasked`: an outside agent runs the call without asking."""
    rule: str | None = None
    """The selector of the deciding rule in `toolCall.approval`. For `trust`, the rule that would have asked. For
    `review`, the value of the setting."""
    path: str | None = None
    """For `protected`, what the call may change. For `unseen`, what was changed. For `repository`, the setting of git
    that names the program."""
    loads: str | None = None
    """For `loads`, what is loaded and from where, in words."""
    agent: str | None = None
    """The agent whose own rule or default decided; absent when the rule holds for all agents. For `unasked`, the
    outside agent."""
    notebook: str | None = None
    """The notebook whose own rule decided, as its path in Jupyter; absent for a rule of the configuration."""


class ToolCallContent(Model):
    """The fields that all contents about one tool call share. They have the same `id`."""

    id: str
    """The id of the call."""
    name: str
    """The name of the tool."""
    server: str
    """The name of the tool server."""
    origin: Origin = Origin.NATIVE
    summary: str | None = None
    """What the call does, for the user."""
    details: ToolCallDetails | None = None


class ToolCallPrepareContent(ToolCallContent):
    """The model is writing the arguments of a call. Sent many times per id."""

    type: Literal["toolCallPrepare"] = "toolCallPrepare"
    arguments_text: str
    """A piece of the arguments as JSON text. Clients append the pieces."""
    manual_approval: bool = False
    """Whether the user will have to approve the call."""


class ToolCallRunContent(ToolCallContent):
    """The arguments of a call are complete. Sent once per id, and once more without `manual_approval` when the user
    approves a call that must still wait for a call before it."""

    type: Literal["toolCallRun"] = "toolCallRun"
    arguments: dict[str, Any]
    manual_approval: bool
    """Whether the call waits for `chat/toolCallApprove` or `chat/toolCallReject`."""
    cause: Cause | None = None
    """Not in ECA: why the call waits for an approval, or why it does not."""
    remembers: tuple[str, ...] | None = None
    """Not in ECA: what an approval for the session would remember, in words. Absent when it would remember nothing."""
    waits_for: str | None = None
    """Not in ECA: the id of the call before it that must end before this one can run."""


class ToolCallRunningContent(ToolCallContent):
    """A call has started to run."""

    type: Literal["toolCallRunning"] = "toolCallRunning"
    arguments: dict[str, Any]


class TextOutput(Model):
    """One part of a tool's output."""

    type: Literal["text"] = "text"
    text: str


class ToolCalledContent(ToolCallContent):
    """A call has run. The last content of a call is this one or `toolCallRejected`."""

    type: Literal["toolCalled"] = "toolCalled"
    arguments: dict[str, Any]
    error: bool
    """Whether the call failed."""
    outputs: tuple[TextOutput, ...]
    total_time_ms: int = 0
    whole: int | None = None
    """Not in ECA: the length of the whole output in characters, when `outputs` has only its head and tail. The method
    `chat/toolOutput` returns the whole output."""


class RejectReason(StrEnum):
    """Why a call did not run."""

    USER = "user-choice"
    CONFIG = "user-config"
    STOP = "user-stop"
    NOBODY = "nobody-to-ask"
    HOOK = "hook-rejected"
    ORDER = "earlier-call-failed"
    """A call before it in the same answer, which would have changed something, failed or was rejected."""
    PLAN = "plan-mode"
    """The agent only plans. If the call has details of a change, clients show them to the user as a proposal."""


class ToolCallRejectedContent(ToolCallContent):
    """A call did not run. The last content of a call is this one or `toolCalled`."""

    type: Literal["toolCallRejected"] = "toolCallRejected"
    arguments: dict[str, Any]
    reason: RejectReason
    cause: Cause | None = None
    """Not in ECA: which rule forbade the call."""


MAX_TITLE: Final = 500
"""The longest title in characters that a client may give a chat. It is sent to all clients with each list of chats."""


class MetadataContent(Model):
    """The title of the chat has changed."""

    type: Literal["metadata"] = "metadata"
    title: str


class UrlContent(Model):
    """A link to a web page, for example a source of the answer."""

    type: Literal["url"] = "url"
    title: str
    url: str


class ImageContent(Model):
    """An image from the user (role `user`) or from a tool."""

    type: Literal["image"] = "image"
    media_type: str
    base64: str
    """The data of the image, without a prefix."""


class FlagContent(Model):
    """A mark that the user has set at a message."""

    type: Literal["flag"] = "flag"
    text: str
    content_id: str
    """The id of the message."""


class AnswerRating(StrEnum):
    """What the user thinks of an answer."""

    GOOD = "good"
    BAD = "bad"


class RatingContent(Model):
    """Not in ECA: the user has rated an answer. It replaces an earlier rating of the same answer."""

    type: Literal["rating"] = "rating"
    content_id: str
    """The id of the user's message before the answer."""
    rating: AnswerRating | None = None
    """The rating; absent when the user has removed it."""


class HookActionStartedContent(Model):
    """An action of a hook has started."""

    type: Literal["hookActionStarted"] = "hookActionStarted"
    id: str
    """The id of this run of the action. The content about its end has the same id."""
    name: str
    """The name of the hook."""
    action_type: Literal["shell"] = "shell"


class HookActionFinishedContent(Model):
    """An action of a hook has ended."""

    type: Literal["hookActionFinished"] = "hookActionFinished"
    id: str
    name: str
    """The name of the hook."""
    action_type: Literal["shell"] = "shell"
    status: int
    """The exit status."""
    output: str | None = None
    """What the action wrote to its standard output."""
    error: str | None = None
    """What the action wrote to its standard error."""
    tool_call_id: str | None = None
    """The tool call that the hook ran for."""


Content = Annotated[
    TextContent
    | UrlContent
    | ProgressContent
    | UsageContent
    | ReasonStartedContent
    | ReasonTextContent
    | ReasonFinishedContent
    | ToolCallPrepareContent
    | ToolCallRunContent
    | ToolCallRunningContent
    | ToolCalledContent
    | ToolCallRejectedContent
    | MetadataContent
    | ImageContent
    | FlagContent
    | RatingContent
    | HookActionStartedContent
    | HookActionFinishedContent,
    Field(discriminator="type"),
]
