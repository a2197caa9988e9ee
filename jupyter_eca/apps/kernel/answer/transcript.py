"""Owns the transcript of one answer in a cell. It collects the contents that are received, and renders them as Markdown
and as text, also while the answer is not complete. Pure.

A content is what the server sends in one message `chat/contentReceived`: a piece of text, a step of a tool call, a
picture, and so on. Contents become the parts of the transcript. It must not know a display or a clock: `turn` adds the
contents, and `screen` shows the text.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.answer import tool_details
from jupyter_eca.apps.kernel.answer.inert_markdown import (
    as_inert_markdown,
    as_inert_prose,
    as_inline_code,
)
from jupyter_eca.apps.kernel.answer.tool_details import shorten
from jupyter_eca.engine.approval import reason as approval_reason
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.text.code_block import as_code_block
from jupyter_eca.engine.text.exact_text import as_exact_text, drop_control_characters
from jupyter_eca.protocol.content import (
    FlagContent,
    ImageContent,
    ProgressContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    RejectReason,
    Role,
    SubagentDetails,
    TaskDetails,
    TextContent,
    ToolCallContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
    UrlContent,
    UsageContent,
)
from jupyter_eca.protocol.event import Outcome

if TYPE_CHECKING:
    from collections.abc import Set

    from jupyter_eca.protocol.chat import ChatContentReceivedParams, ChatToolCallProgressParams
    from jupyter_eca.protocol.content import ToolCallDetails, TurnFailure
    from jupyter_eca.protocol.event import Person


@dataclass
class AnswerText:
    """A text of the answer. Its role is `assistant`, or `system` for a remark of the server."""

    role: Role
    """Who has written the text."""
    text: str = ""
    """The text so far."""


@dataclass
class Reasoning:
    """The model's thinking before a part of its answer."""

    id: str
    """The id by which the server sends more of it."""
    text: str = ""
    """The text so far."""
    duration_ms: int | None = None
    """How long it took, in milliseconds; None until it has ended."""


@dataclass
class TranscriptCall:
    """A tool call of the answer."""

    id: str
    """The id of the call, which is unique only in its chat."""
    name: str
    """The name of the tool."""
    last: ToolCallContent
    """The last content about the call. It says in which state the call is."""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    """The arguments by name; empty as long as the model writes them."""
    details: ToolCallDetails | None = None
    """What the call does, for readers: for example the change of a file."""
    progress: ChatToolCallProgressParams | None = None
    """The last report of its progress; None if the call has sent none."""
    cause: str = ""
    """The rule or default by which the call runs, needs an approval or is forbidden, in words."""
    is_unasked: bool = False
    """Whether an outside agent runs the call without asking. The complete answer also mentions this."""
    remembers: tuple[str, ...] = ()
    """What an approval for the session would remember, in words."""
    by: str = ""
    """The name of who has approved or rejected the call; empty if nobody is named."""
    chat: str = ""
    """The chat of the subagent that makes the call; empty if the chat's own agent makes it."""
    subagent: CellTranscript | None = None
    """The transcript of the subagent that the call has started; None if it has started none."""

    @property
    def key(self) -> str:
        """A string that identifies the call. The id is not enough, because calls of different chats may have the same
        id."""
        return f"{self.chat}-{self.id}" if self.chat else self.id

    @property
    def is_waiting(self) -> bool:
        """Whether the call waits for an approval."""
        return isinstance(self.last, ToolCallRunContent) and self.last.manual_approval

    @property
    def is_running(self) -> bool:
        """Whether the call runs now."""
        return isinstance(self.last, ToolCallRunningContent)

    @property
    def is_over(self) -> bool:
        """Whether the call has ended or was rejected."""
        return isinstance(self.last, ToolCalledContent | ToolCallRejectedContent)

    @property
    def state(self) -> str:
        """The state of the call in words. They begin with a sign, which is "…" before the call runs."""
        match self.last:
            case ToolCallPrepareContent():
                return "… preparing"
            case ToolCallRunContent():
                if self.is_waiting:
                    return "… waits for your approval"
                return "… allowed, waits for the call before it" if self.last.waits_for else "… starting"
            case ToolCallRunningContent():
                return "▸ running"
            case ToolCalledContent(error=error, total_time_ms=took):
                return f"{'✗ failed' if error else '✓ done'} in {took / 1000:.1f} s"
            case ToolCallRejectedContent(reason=reason):
                return _REJECTION_TEXTS[reason]
            case _:
                return ""

    @property
    def decision(self) -> str:
        """The decision of the person in `by`, in words. An approved call may not have run, for other reasons."""
        is_rejected = isinstance(self.last, ToolCallRejectedContent) and self.last.reason is RejectReason.USER
        return "rejected by" if is_rejected else "approved by"

    @property
    def progress_line(self) -> str:
        """The progress in one line; empty when the call has reported none, or has ended."""
        progress = None if self.is_over else self.progress
        if progress is None:
            return ""
        # For example "3 of 10 · downloading": the count, and the last line of the text.
        count = "" if progress.progress is None else f"{progress.progress:g}"
        count = f"{count} of {progress.total:g}" if count and progress.total is not None else count
        lines = [line for line in progress.text.splitlines() if line.strip()]
        return " · ".join(part for part in (count, lines[-1].strip()[:_MAX_LINE_CHARS] if lines else "") if part)

    @property
    def output(self) -> str:
        """The output as the model reads it; empty until the call has ended."""
        return (
            "\n".join(output.text for output in self.last.outputs) if isinstance(self.last, ToolCalledContent) else ""
        )


@dataclass
class Picture:
    """A picture of a tool. A page shows the picture itself in an output of its own, after the text."""

    image: ImageContent
    """The picture, as the server has sent it."""
    code: str | None
    """The code that drew the picture; None if the picture comes from a tool without code."""

    @property
    def description(self) -> str:
        """The text in place of the picture: its type and size."""
        return f"[{self.image.media_type}, {len(self.image.base64) * 3 // 4 / 1000:.1f} kB]"


@dataclass
class Flag:
    """A named mark that the user has set in the chat, to return to it later."""

    text: str
    """The name."""


# The most characters of a line of output that are shown while a call runs.
_MAX_LINE_CHARS = 120

# The most calls of a subagent that are listed.
_MAX_STEPS = 30

# The text below a plan of plan mode.
_PLAN_ADVICE = "Nothing was changed yet. `%eca go` carries out the plan. Or say what should be different."

# The states of calls that did not run, by the reason.
_REJECTION_TEXTS = {
    RejectReason.USER: "⊘ rejected, not run",
    RejectReason.CONFIG: "⊘ forbidden by your rules, not run",
    RejectReason.STOP: "⊘ stopped, not run",
    RejectReason.NOBODY: "⊘ not run: it needs approval, and nobody is there to give it",
    RejectReason.HOOK: "⊘ forbidden by a hook, not run",
    RejectReason.ORDER: "⊘ not run: an earlier call failed or was rejected",
    RejectReason.PLAN: "⊘ proposed, not run: plan mode changes nothing",
}


class CellTranscript:
    """The transcript of one answer, or of a subagent within an answer."""

    def __init__(self, command: str = "", chat: str = "") -> None:
        """`command` is the name of the `/` command in the prompt; empty if it is not a command. The answer of a command
        is a text of the server. `chat` is the chat of a subagent; empty for an answer."""
        self._chat = chat
        self.parts: list[Part] = []
        """The parts of the answer, in the order in which they have begun."""
        self._command = command
        self.usage: UsageContent | None = None
        """The tokens and the cost of the turn; None until they are reported."""
        self.outcome: Outcome | None = None
        """How the turn ended; None while it runs."""
        self.why_not_replayed = ""
        """Why the recorded answer to a locked question was not replayed; empty if there is no reason to tell. It is
        shown until the answer has ended, and is not a part of the answer."""
        self.metadata: dict[str, Any] = {}
        """The metadata of the output, for programs that read the saved notebook."""
        self.failure: TurnFailure | None = None
        """Why the turn failed; None if it did not fail."""
        self.is_plan = False
        """Whether the answer is a plan of plan mode, which `%eca go` carries out."""
        self.names_people = True
        """Whether the text names the people who have approved or rejected calls. If the user wants the answer to be
        recorded, it names nobody, because the text must be the same whenever the answer is replayed."""
        self.shown_code: Set[str] = frozenset()
        """The code whose pictures the page shows already, because the code ran in the kernel of this cell."""
        self._last_ended_call: TranscriptCall | None = None  # the last call that has ended

    def add(self, received: ChatContentReceivedParams) -> None:
        """Add one content. A content of a subagent is added to the transcript of the subagent."""
        if received.parent_chat_id is not None and not self._chat:
            self._add_to_subagent(received)
            return
        self.outcome = received.outcome or self.outcome
        match received.content:
            case TextContent(text=text, failure=failure) if received.role is not Role.USER:
                self.failure = failure or self.failure
                self._add_text(received.role, text)
            case ReasonStartedContent(id=id):
                self.parts.append(Reasoning(id))
            case ReasonTextContent(id=id, text=text):
                for part in self._find_reasoning(id):
                    part.text += text
            case ReasonFinishedContent(id=id, total_time_ms=took):
                for part in self._find_reasoning(id):
                    part.duration_ms = took
            case ToolCallContent() as content:
                self._update_call(content, received.by)
            case ImageContent() as image if received.role is not Role.USER:
                # The pictures of a call are received after its end, before another call ends.
                code = self._last_ended_call.arguments.get("code") if self._last_ended_call else None
                self.parts.append(Picture(image, code if isinstance(code, str) else None))
            case UrlContent(title=title, url=url):
                self._add_text(Role.SYSTEM, f"{title}: {url}")
            case FlagContent(text=text):
                self.parts.append(Flag(text))
            case ProgressContent() as progress:
                self.why_not_replayed = progress.text if progress.not_replayed else self.why_not_replayed
                self.is_plan = self.is_plan or progress.plan is True
            case UsageContent() as usage:
                self.usage = usage
            case _:
                pass

    def _add_to_subagent(self, received: ChatContentReceivedParams) -> None:
        """Add a content of a subagent to the call that has started the subagent. The details of that call name the chat
        of the subagent."""
        chat = str(received.chat_id)
        for call in self.calls:
            if isinstance(call.details, SubagentDetails) and call.details.subagent_chat_id == chat:
                call.subagent = call.subagent or CellTranscript(chat=chat)
                call.subagent.names_people = self.names_people
                call.subagent.add(received)

    def set_progress(self, params: ChatToolCallProgressParams) -> None:
        """Set the progress of a running tool call."""
        for call in self.calls:
            if call.id == params.id:
                call.progress = params

    def _add_text(self, role: Role, text: str) -> None:
        """Add a text as a new part, or append it to the last part if that is also a text of the model."""
        last = self.parts[-1] if self.parts else None
        # A model's text comes in pieces, which are joined. Each remark of the server is complete.
        if not (isinstance(last, AnswerText) and last.role is role is Role.ASSISTANT):
            last = AnswerText(role)
            self.parts.append(last)
        last.text += text

    def _find_reasoning(self, id: str) -> list[Reasoning]:
        """Return the reasoning with this id in a list, or [] if there is none."""
        return [part for part in self.parts if isinstance(part, Reasoning) and part.id == id]

    def _update_call(self, content: ToolCallContent, by: Person | None) -> None:
        """Update the call that a content is about, or add it if it is new. `by` is the person who has
        decided about the call; None if that is not said."""
        call = next((known for known in self.calls if known.id == content.id), None)
        if call is None:
            call = TranscriptCall(content.id, content.name, content, chat=self._chat)
            self.parts.append(call)
        call.last = content
        self._last_ended_call = call if call.is_over else self._last_ended_call
        call.arguments = getattr(content, "arguments", call.arguments)
        call.details = content.details or call.details
        call.cause = _describe_cause(content) or call.cause
        call.by = by.name if by is not None and self.names_people else call.by
        if isinstance(content, ToolCallRunContent):
            call.is_unasked = content.cause is not None and content.cause.kind == "unasked"
            call.remembers = content.remembers or ()

    @property
    def calls(self) -> list[TranscriptCall]:
        """The tool calls of the answer, without those of subagents."""
        return [part for part in self.parts if isinstance(part, TranscriptCall)]

    @property
    def undecided_calls(self) -> list[TranscriptCall]:
        """The calls that wait for a decision, with those of subagents."""
        waiting: list[TranscriptCall] = []
        for call in self.calls:
            if call.is_waiting:
                waiting.append(call)
            elif call.subagent:
                waiting += call.subagent.undecided_calls
        return waiting

    @property
    def text(self) -> str:
        """The texts of the assistant, without reasoning, calls and remarks of the server. For a command, the texts of
        the server."""
        all_texts = [part for part in self.parts if isinstance(part, AnswerText)]
        texts = [part.text.strip() for part in all_texts if part.role is Role.ASSISTANT]
        return "\n\n".join(texts or [part.text.strip() for part in all_texts if self._command])

    @property
    def remark(self) -> str:
        """The last remark of the server. If the turn failed, it says why."""
        remarks = [part.text for part in self.parts if isinstance(part, AnswerText) and part.role is Role.SYSTEM]
        return remarks[-1] if remarks else ""

    @property
    def pictures(self) -> list[ImageContent]:
        """The pictures, without those that the page shows already. A picture of a subagent's code may come twice: from
        the code, and in the subagent's result, where no code belongs to it. So pictures are compared by their data."""
        transcripts = (self, *(call.subagent for call in self.calls if call.subagent is not None))
        found = [part for transcript in transcripts for part in transcript.parts if isinstance(part, Picture)]
        on_page = {part.image.base64 for part in found if part.code in self.shown_code}
        return [part.image for part in self.parts if isinstance(part, Picture) and part.image.base64 not in on_page]

    @property
    def visible_parts(self) -> list[Part]:
        """The parts that are shown. The last remark of a turn that was stopped is left out, because the cell shows the
        same as its error."""
        return self.parts[:-1] if self.outcome is Outcome.STOPPED else self.parts

    def as_markdown(self, *, final: bool = False) -> str:
        """Return the answer as Markdown.

        `final`: return the text that is saved in the notebook. It leaves out the progress of calls and the reasons why
        they run, which are only for people who watch. So the text is the same when a recorded answer is replayed under
        other approval rules.
        """
        parts = [_as_markdown(part, self._command, final=final) for part in self.visible_parts]
        if task_list := self.task_list:
            parts.append(tool_details.format_checklist(task_list))
        if self.outcome is None:
            if self.why_not_replayed:
                parts.insert(0, f"> {as_inert_prose(self.why_not_replayed)}")
            # The sign "…" shows that more will come. It is not needed while a call waits, or while text arrives.
            shows_activity = self.undecided_calls or (self.parts and isinstance(self.parts[-1], AnswerText))
            parts.append("" if shows_activity else "…")
        if self.shows_plan_advice:
            parts.append(f"> {_PLAN_ADVICE}")
        return "\n\n".join(part.strip("\n") for part in parts if part.strip())

    def as_text(self) -> str:
        """Return the answer as text for a terminal."""
        parts = [part_as_text(part) for part in self.visible_parts]
        if task_list := self.task_list:
            parts.append(tool_details.format_plain_checklist(task_list))
        if self.shows_plan_advice:
            parts.append(_PLAN_ADVICE)
        return "\n\n".join(text for part in parts if (text := part.strip()))

    @property
    def shows_plan_advice(self) -> bool:
        """Whether the answer ends with advice on how to carry out the plan of plan mode. The answer of a `/` command
        does not."""
        return self.is_plan and self.outcome is Outcome.COMPLETED and not self._command

    @property
    def task_list(self) -> TaskDetails | None:
        """The tasks of the model, as they are after the last call that changed them; None if there are none. They are
        shown once, at the end."""
        return next((call.details for call in reversed(self.calls) if isinstance(call.details, TaskDetails)), None)


# A part of an answer.
Part = AnswerText | Reasoning | TranscriptCall | Picture | Flag


def _as_markdown(part: Part, command: str, *, final: bool) -> str:
    """Return a part of the answer as Markdown. See `CellTranscript.as_markdown`."""
    match part:
        case AnswerText(role=Role.ASSISTANT, text=text):
            return as_inert_markdown(text)
        case AnswerText(text=text) if command:
            return tool_details.as_folded_markdown(text, f"/{command}")
        case AnswerText(text=text):
            # The remark is shown as a quote, and must not have blocks of code. A block of code is inert (shown as text,
            # and never as HTML that loads or does something) only with blank lines around it, and a quote has none.
            return "\n".join(f"> {line}" for line in as_inert_prose(text).strip().splitlines())
        case Reasoning(text=text, duration_ms=took):
            # A time of less than a tenth of a second is not shown.
            head = "Thinking" if took is None else f"Thought for {took / 1000:.1f} s" if took > 100 else "Thought"
            return (
                f"<details><summary>{head}</summary>\n\n{as_inert_markdown(text)}\n\n</details>" if text.strip() else ""
            )
        case TranscriptCall():
            return _call_as_markdown(part, "" if final else part.progress_line, "" if final else part.cause)
        case Picture():
            return html.escape(part.description)
        case Flag(text=text):
            return f"⚑ {as_inert_prose(' '.join(text.split()))}"


def _call_as_markdown(call: TranscriptCall, progress: str, cause: str) -> str:
    """Return a call as Markdown: a line with its name and state, under which its details are folded. `progress` and
    `cause` are added if they are not empty."""
    headline = tool_details.format_headline(call.details)
    head = f"{as_inline_code(as_exact_text(call.name))}{headline} {html.escape(call.state)}"
    head += " · not asked" if call.is_unasked else ""
    head += f" · {call.decision} {as_inline_code(as_exact_text(call.by))}" if call.by else ""
    head += f" · {as_inline_code(progress)}" if progress else ""
    body = tool_details.describe_call(call.arguments, call.details) + (f"\n\n{as_inert_prose(cause)}" if cause else "")
    if call.output and not isinstance(call.details, TaskDetails):
        body += as_code_block(shorten(call.output))
    body += tool_details.describe_results(call.details, call.output)
    if call.subagent is not None:
        body = _list_steps(call.subagent) + body
    head_and_body = f"<details><summary>{head}</summary>{body}\n\n</details>" if body else head
    # A subagent's call that waits for a decision is shown below the call that started the subagent, and not folded: the
    # user should see everything before they decide.
    undecided = call.subagent.undecided_calls if call.subagent else []
    return "\n\n".join(
        [head_and_body, *(_call_as_markdown(inner, inner.progress_line, inner.cause) for inner in undecided)]
    )


def _list_steps(subagent: CellTranscript) -> str:
    """Return a list of the last calls of a subagent. Its text is not listed, because that is the result of its call."""
    calls = subagent.calls
    lines = [f"- {as_inline_code(as_exact_text(call.name))} {html.escape(call.state)}" for call in calls[-_MAX_STEPS:]]
    earlier = [f"- … and {len(calls) - _MAX_STEPS} before"] if len(calls) > _MAX_STEPS else []
    return "\n\n" + "\n".join(earlier + lines) if lines else ""


def _describe_cause(content: ToolCallContent) -> str:
    """Explain in words why a call runs, needs an approval or is forbidden; empty if the content has no cause."""
    match content:
        case ToolCallRunContent(cause=cause, manual_approval=asks):
            return approval_reason.describe_cause(Decision.ASK if asks else Decision.ALLOW, cause)
        case ToolCallRejectedContent(cause=cause):
            return approval_reason.describe_cause(Decision.DENY, cause)
        case _:
            return ""


def part_as_text(part: Part) -> str:
    """Return a part of the answer as text for a terminal. Reasoning is left out."""
    match part:
        case AnswerText(text=text):
            return drop_control_characters(text)
        case Reasoning():
            return ""
        case TranscriptCall():
            decision = f" · {part.decision} {drop_control_characters(part.by)}" if part.by else ""
            return f"[{drop_control_characters(part.name)}] {part.state}{decision}"
        case Picture():
            return drop_control_characters(part.description)
        case Flag(text=text):
            return f"⚑ {drop_control_characters(text)}"
