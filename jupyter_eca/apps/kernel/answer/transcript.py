"""One answer while it grows, as Markdown and as text. Pure: it knows no display and no clock. `turn` feeds it,
`screen` shows it.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.answer import tool_details as details
from jupyter_eca.apps.kernel.answer.exact_text import as_exact_text, drop_control_characters
from jupyter_eca.apps.kernel.answer.inert_markdown import block, code, inert, prose
from jupyter_eca.apps.kernel.answer.tool_details import shorten
from jupyter_eca.engine.approval import reason as why
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.model.texts import ASKING_AGAIN
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
    from jupyter_eca.protocol.chat import ChatContentReceivedParams, ChatToolCallProgressParams
    from jupyter_eca.protocol.content import ToolCallDetails


@dataclass
class SpokenText:
    """A text of the answer. Its `role` is assistant, or system for a remark of the server."""

    role: Role
    text: str = ""


@dataclass
class Reasoning:
    id: str
    text: str = ""
    took_ms: int | None = None


@dataclass
class TranscriptCall:
    """A tool call, as its contents described it; the last one is its state. `chat` is that of the subagent that makes
    the call. `inside` is what the subagent did that the call spawned. `why` says what decided that it may run.
    `remembers` is what an approval for the session would remember, in words."""

    id: str
    name: str
    last: ToolCallContent
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    details: ToolCallDetails | None = None
    progress: ChatToolCallProgressParams | None = None
    why: str = ""
    remembers: tuple[str, ...] = ()
    chat: str = ""
    inside: CellTranscript | None = None

    @property
    def key(self) -> str:
        """Return what identifies the call: calls of different chats may have the same id."""
        return f"{self.chat}-{self.id}" if self.chat else self.id

    @property
    def waits(self) -> bool:
        return isinstance(self.last, ToolCallRunContent) and self.last.manual_approval

    @property
    def runs(self) -> bool:
        return isinstance(self.last, ToolCallRunningContent)

    @property
    def is_over(self) -> bool:
        return isinstance(self.last, ToolCalledContent | ToolCallRejectedContent)

    @property
    def state(self) -> str:
        match self.last:
            case ToolCallPrepareContent():
                return "… preparing"
            case ToolCallRunContent():
                if self.waits:
                    return "? waits for your approval"
                return "… allowed, waits for the call before it" if self.last.waits_for else "… starting"
            case ToolCallRunningContent():
                return "▸ running"
            case ToolCalledContent(error=error, total_time_ms=took):
                return f"{'✗ failed' if error else '✓ done'} in {took / 1000:.1f} s"
            case ToolCallRejectedContent(reason=reason):
                return _WHY_NOT[reason]
            case _:
                return ""

    @property
    def progress_line(self) -> str:
        """The progress in one line; empty once the call has ended."""
        progress = None if self.is_over else self.progress
        if progress is None:
            return ""
        far = "" if progress.progress is None else f"{progress.progress:g}"
        far = f"{far} of {progress.total:g}" if far and progress.total is not None else far
        lines = [line for line in progress.text.splitlines() if line.strip()]
        return " · ".join(part for part in (far, lines[-1].strip()[:_LINE] if lines else "") if part)

    @property
    def output(self) -> str:
        return "\n".join(o.text for o in self.last.outputs) if isinstance(self.last, ToolCalledContent) else ""


@dataclass
class Picture:
    """A picture of a tool. The display shows it beside the text, in an output of its own."""

    image: ImageContent

    @property
    def words(self) -> str:
        return f"[{self.image.media_type}, {len(self.image.base64) * 3 // 4 / 1000:.1f} kB]"


@dataclass
class Flag:
    text: str


# The longest line, in characters, that is shown while a call runs.
_LINE = 120

# At most this many calls of a subagent are listed.
_STEPS = 30

_GO = "Nothing was changed yet. `%eca go` carries out the plan. Or say what should be different."

_WHY_NOT = {
    RejectReason.USER: "⊘ rejected, not run",
    RejectReason.CONFIG: "⊘ forbidden by your rules, not run",
    RejectReason.STOP: "⊘ stopped, not run",
    RejectReason.NOBODY: "⊘ not run: it needs approval, and nobody is there to give it",
    RejectReason.HOOK: "⊘ forbidden by a hook, not run",
    RejectReason.ORDER: "⊘ not run: a call before it failed or was rejected",
}


class CellTranscript:
    """One answer. Feed it with what is received, and ask it how the answer looks now."""

    def __init__(self, command: str = "", chat: str = "") -> None:
        """Begin an answer. `command` is the name of the `/` command that is carried out: then the server's texts are
        the answer. `chat` is the chat of a subagent."""
        self._chat = chat
        self.parts: list[Part] = []
        self._command = command
        self.usage: UsageContent | None = None
        self.outcome: Outcome | None = None
        self.note = ""
        """What the reader is told while the answer lasts: it is no part of it."""
        self.kept: dict[str, Any] = {}
        """What a saved notebook keeps beside the text, for programs."""
        self.planned = False
        """Whether the answer is a plan, which `%eca go` carries out."""

    def add(self, received: ChatContentReceivedParams) -> None:
        if received.parent_chat_id is not None and not self._chat:
            self._within(received)
            return
        self.outcome = received.outcome or self.outcome
        match received.content:
            case TextContent(text=text) if received.role is not Role.USER:
                self._say(received.role, text)
            case ReasonStartedContent(id=id):
                self.parts.append(Reasoning(id))
            case ReasonTextContent(id=id, text=text):
                for part in self._reasonings(id):
                    part.text += text
            case ReasonFinishedContent(id=id, total_time_ms=took):
                for part in self._reasonings(id):
                    part.took_ms = took
            case ToolCallContent() as content:
                self._call(content)
            case ImageContent() as image if received.role is not Role.USER:
                self.parts.append(Picture(image))
            case UrlContent(title=title, url=url):
                self._say(Role.SYSTEM, f"{title}: {url}")
            case FlagContent(text=text):
                self.parts.append(Flag(text))
            case ProgressContent() as progress:
                self.note = progress.text if progress.text.startswith(ASKING_AGAIN) else self.note
                self.planned = self.planned or progress.plan is True
            case UsageContent() as usage:
                self.usage = usage
            case _:
                pass

    def _within(self, received: ChatContentReceivedParams) -> None:
        """Add a content of a subagent to the call that spawned it. That call has named the subagent's chat before."""
        chat = str(received.chat_id)
        for call in self.calls:
            if isinstance(call.details, SubagentDetails) and call.details.subagent_chat_id == chat:
                call.inside = call.inside or CellTranscript(chat=chat)
                call.inside.add(received)

    def progress(self, params: ChatToolCallProgressParams) -> None:
        for call in self.calls:
            if call.id == params.id:
                call.progress = params

    def _say(self, role: Role, text: str) -> None:
        last = self.parts[-1] if self.parts else None
        # A model's words come in pieces; each of the server's remarks is whole.
        if not (isinstance(last, SpokenText) and last.role is role is Role.ASSISTANT):
            last = SpokenText(role)
            self.parts.append(last)
        last.text += text

    def _reasonings(self, id: str) -> list[Reasoning]:
        return [part for part in self.parts if isinstance(part, Reasoning) and part.id == id]

    def _call(self, content: ToolCallContent) -> None:
        call = next((c for c in self.calls if c.id == content.id), None)
        if call is None:
            call = TranscriptCall(content.id, content.name, content, chat=self._chat)
            self.parts.append(call)
        call.last = content
        call.arguments = getattr(content, "arguments", call.arguments)
        call.details = content.details or call.details
        call.why = _why(content) or call.why
        if isinstance(content, ToolCallRunContent):
            call.remembers = content.remembers or ()

    @property
    def calls(self) -> list[TranscriptCall]:
        return [part for part in self.parts if isinstance(part, TranscriptCall)]

    @property
    def undecided_calls(self) -> list[TranscriptCall]:
        """The calls that wait for a decision, those of subagents included."""
        waiting = [[call] if call.waits else call.inside.undecided_calls if call.inside else [] for call in self.calls]
        return [call for calls in waiting for call in calls]

    @property
    def text(self) -> str:
        """What the assistant said, without reasoning, calls and remarks of the server; or the answer of a command."""
        words = [part for part in self.parts if isinstance(part, SpokenText)]
        texts = [part.text.strip() for part in words if part.role is Role.ASSISTANT]
        return "\n\n".join(texts or [part.text.strip() for part in words if self._command])

    @property
    def remark(self) -> str:
        """The last remark of the server: why a turn failed."""
        remarks = [part.text for part in self.parts if isinstance(part, SpokenText) and part.role is Role.SYSTEM]
        return remarks[-1] if remarks else ""

    @property
    def pictures(self) -> list[ImageContent]:
        return [part.image for part in self.parts if isinstance(part, Picture)]

    @property
    def visible_parts(self) -> list[Part]:
        """The parts without the last remark of a turn that was stopped: the cell ends with the same word, as its
        error."""
        return self.parts[:-1] if self.outcome is Outcome.STOPPED else self.parts

    def as_markdown(self, *, final: bool = False) -> str:
        """Render the answer. The progress of calls and the reasons why they run are for people who watch. They are not
        in the `final` text, which is kept, and which is the same when a locked answer is replayed under other rules."""
        parts = [_as_markdown(part, self._command, final=final) for part in self.visible_parts]
        if plan := self.plan:
            parts.append(details.checklist(plan))
        if self.outcome is None:
            if self.note:
                parts.insert(0, f"> {prose(self.note)}")
            # A question and its answer need no heading, and neither does running text.
            quiet = self.undecided_calls or (self.parts and isinstance(self.parts[-1], SpokenText))
            parts.append("" if quiet else "…")
        if self.goes:
            parts.append(f"> {_GO}")
        return "\n\n".join(part.strip("\n") for part in parts if part.strip())

    def plain(self) -> str:
        parts = [plain(part) for part in self.visible_parts]
        if plan := self.plan:
            parts.append(details.plain_checklist(plan))
        if self.goes:
            parts.append(_GO)
        return "\n\n".join(text for part in parts if (text := part.strip()))

    @property
    def goes(self) -> bool:
        """Whether the reader is shown how the plan is carried out; not after a command of ours."""
        return self.planned and self.outcome is Outcome.COMPLETED and not self._command

    @property
    def plan(self) -> TaskDetails | None:
        """The plan after the last call that changed it: one list at the end, however often it changed."""
        return next((call.details for call in reversed(self.calls) if isinstance(call.details, TaskDetails)), None)


Part = SpokenText | Reasoning | TranscriptCall | Picture | Flag


def _as_markdown(part: Part, command: str, *, final: bool) -> str:
    match part:
        case SpokenText(role=Role.ASSISTANT, text=text):
            return inert(text)
        case SpokenText(text=text) if command:
            return details.fold(text, f"/{command}")
        case SpokenText(text=text):
            # Write it without blocks of code: in a quote they would stand between lines that are not blank, and then
            # `inert` promises nothing.
            return "\n".join(f"> {line}" for line in prose(text).strip().splitlines())
        case Reasoning(text=text, took_ms=took):
            head = "Thinking" if took is None else f"Thought for {took / 1000:.1f} s" if took > 100 else "Thought"
            return f"<details><summary>{head}</summary>\n\n{inert(text)}\n\n</details>" if text.strip() else ""
        case TranscriptCall():
            return _call_markdown(part, "" if final else part.progress_line, "" if final else part.why)
        case Picture():
            return html.escape(part.words)
        case Flag(text=text):
            return f"⚑ {prose(' '.join(text.split()))}"


def _call_markdown(call: TranscriptCall, progressed: str, why: str) -> str:
    head = f"{code(as_exact_text(call.name))}{details.headline(call.details)} {html.escape(call.state)}"
    head += f" · {code(progressed)}" if progressed else ""
    body = details.about(call.arguments, call.details) + (f"\n\n{prose(why)}" if why else "")
    if call.output and not isinstance(call.details, TaskDetails):
        body += block(shorten(call.output))
    body += details.results(call.details, call.output)
    if call.inside is not None:
        body = _steps(call.inside) + body
    head_and_body = f"<details><summary>{head}</summary>{body}\n\n</details>" if body else head
    # The call that waits for a decision is not hidden inside the call that led to it. It is also in the folded part:
    # the user should see everything before deciding.
    asking = call.inside.undecided_calls if call.inside else []
    return "\n\n".join([head_and_body, *(_call_markdown(inner, inner.progress_line, inner.why) for inner in asking)])


def _steps(inside: CellTranscript) -> str:
    """Return the last calls of a subagent. Its final text is the result of its call."""
    calls = inside.calls
    lines = [f"- {code(as_exact_text(call.name))} {html.escape(call.state)}" for call in calls[-_STEPS:]]
    earlier = [f"- … and {len(calls) - _STEPS} before"] if len(calls) > _STEPS else []
    return "\n\n" + "\n".join(earlier + lines) if lines else ""


def _why(content: ToolCallContent) -> str:
    match content:
        case ToolCallRunContent(cause=cause, manual_approval=asks):
            return why.describe_cause(Decision.ASK if asks else Decision.ALLOW, cause)
        case ToolCallRejectedContent(cause=cause):
            return why.describe_cause(Decision.DENY, cause)
        case _:
            return ""


def plain(part: Part) -> str:
    match part:
        case SpokenText(text=text):
            return drop_control_characters(text)
        case Reasoning():
            return ""
        case TranscriptCall():
            return f"[{drop_control_characters(part.name)}] {part.state}"
        case Picture():
            return drop_control_characters(part.words)
        case Flag(text=text):
            return f"⚑ {drop_control_characters(text)}"
