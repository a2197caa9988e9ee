"""One answer as it grows, and how it looks as Markdown and as text. Pure: no display, no clock."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.kernel import details
from jupyter_eca.kernel.details import cut
from jupyter_eca.kernel.markdown import block, code, inert, prose
from jupyter_eca.protocol.content import (
    FlagContent,
    ImageContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    RejectReason,
    Role,
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
class Words:
    """`role` is assistant or system (a remark of the server's)."""

    role: Role
    text: str = ""


@dataclass
class Reasoning:
    id: str
    text: str = ""
    took_ms: int | None = None


@dataclass
class Call:
    """A tool call as its contents told of it; the last one is its state."""

    id: str
    name: str
    last: ToolCallContent
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    details: ToolCallDetails | None = None
    progress: ChatToolCallProgressParams | None = None

    @property
    def waits(self) -> bool:
        return isinstance(self.last, ToolCallRunContent) and self.last.manual_approval

    @property
    def runs(self) -> bool:
        return isinstance(self.last, ToolCallRunningContent)

    @property
    def ended(self) -> bool:
        return isinstance(self.last, ToolCalledContent | ToolCallRejectedContent)

    @property
    def state(self) -> str:
        match self.last:
            case ToolCallPrepareContent():
                return "… preparing"
            case ToolCallRunContent():
                return "? waits for your approval" if self.waits else "… starting"
            case ToolCallRunningContent():
                return "▸ running"
            case ToolCalledContent(error=error, total_time_ms=took):
                return f"{'✗ failed' if error else '✓ done'} in {took / 1000:.1f} s"
            case ToolCallRejectedContent(reason=reason):
                return _WHY_NOT[reason]
            case _:
                return ""

    @property
    def progressed(self) -> str:
        """How far it is, in one line; nothing once it has ended."""
        told = None if self.ended else self.progress
        if told is None:
            return ""
        far = "" if told.progress is None else f"{told.progress:g}"
        far = f"{far} of {told.total:g}" if far and told.total is not None else far
        lines = [line for line in told.text.splitlines() if line.strip()]
        return " · ".join(part for part in (far, lines[-1].strip()[:_LINE] if lines else "") if part)

    @property
    def output(self) -> str:
        return "\n".join(o.text for o in self.last.outputs) if isinstance(self.last, ToolCalledContent) else ""


@dataclass
class Picture:
    """Of a tool. The display shows it beside the text, in an output of its own."""

    image: ImageContent

    @property
    def words(self) -> str:
        return f"[{self.image.media_type}, {len(self.image.base64) * 3 // 4 / 1000:.1f} kB]"


@dataclass
class Flag:
    text: str


# Characters of a line that is told while a call runs.
_LINE = 120

_WHY_NOT = {
    RejectReason.USER: "⊘ rejected, not run",
    RejectReason.CONFIG: "⊘ forbidden by your rules, not run",
    RejectReason.STOP: "⊘ stopped, not run",
    RejectReason.NOBODY: "⊘ not run: it needs approval, and nobody is there to give it",
}


class Transcript:
    """Feed it what is received; ask it how the answer looks now."""

    def __init__(self, command: str = "") -> None:
        """`command` is the name of the `/` command that is carried out: then the server's words are the answer."""
        self.parts: list[Part] = []
        self._command = command
        self.usage: UsageContent | None = None
        self.outcome: Outcome | None = None

    def add(self, received: ChatContentReceivedParams) -> None:
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
            case UsageContent() as usage:
                self.usage = usage
            case _:
                pass

    def progress(self, told: ChatToolCallProgressParams) -> None:
        for call in self.calls:
            if call.id == told.id:
                call.progress = told

    def _say(self, role: Role, text: str) -> None:
        last = self.parts[-1] if self.parts else None
        # A model's words come in pieces; each of the server's remarks is whole.
        if not (isinstance(last, Words) and last.role is role is Role.ASSISTANT):
            last = Words(role)
            self.parts.append(last)
        last.text += text

    def _reasonings(self, id: str) -> list[Reasoning]:
        return [part for part in self.parts if isinstance(part, Reasoning) and part.id == id]

    def _call(self, content: ToolCallContent) -> None:
        call = next((c for c in self.calls if c.id == content.id), None)
        if call is None:
            call = Call(content.id, content.name, content)
            self.parts.append(call)
        call.last = content
        call.arguments = getattr(content, "arguments", call.arguments)
        call.details = content.details or call.details

    @property
    def calls(self) -> list[Call]:
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def waiting(self) -> list[Call]:
        return [call for call in self.calls if call.waits]

    @property
    def text(self) -> str:
        """What the assistant said, without its reasoning, its calls and the server's remarks; or a command's answer."""
        words = [part for part in self.parts if isinstance(part, Words)]
        said = [part.text.strip() for part in words if part.role is Role.ASSISTANT]
        return "\n\n".join(said or [part.text.strip() for part in words if self._command])

    @property
    def remark(self) -> str:
        """The last thing the server said: why a turn failed."""
        said = [part.text for part in self.parts if isinstance(part, Words) and part.role is Role.SYSTEM]
        return said[-1] if said else ""

    @property
    def pictures(self) -> list[ImageContent]:
        return [part.image for part in self.parts if isinstance(part, Picture)]

    @property
    def shown(self) -> list[Part]:
        """Without the last remark of a turn that was stopped: the cell ends with the same word, as its error."""
        return self.parts[:-1] if self.outcome is Outcome.STOPPED else self.parts

    def markdown(self, *, final: bool = False) -> str:
        """How far calls are is for who looks on: it is not in the `final` one, which is kept."""
        parts = [_markdown(part, self._command, final=final) for part in self.shown]
        if plan := self.plan:
            parts.append(details.checklist(plan))
        if self.outcome is None:
            # A question and running text speak for themselves.
            quiet = self.waiting or (self.parts and isinstance(self.parts[-1], Words))
            parts.append("" if quiet else "…")
        return "\n\n".join(part.strip("\n") for part in parts if part.strip())

    def plain(self) -> str:
        parts = [plain(part) for part in self.shown]
        if plan := self.plan:
            parts.append(details.plain_checklist(plan))
        return "\n\n".join(text for part in parts if (text := part.strip()))

    @property
    def plan(self) -> TaskDetails | None:
        """As it stands after the last call that changed it: one list, at the end, however often it was told."""
        return next((call.details for call in reversed(self.calls) if isinstance(call.details, TaskDetails)), None)


Part = Words | Reasoning | Call | Picture | Flag


def _markdown(part: Part, command: str, *, final: bool) -> str:
    match part:
        case Words(role=Role.ASSISTANT, text=text):
            return inert(text)
        case Words(text=text) if command:
            return details.folded(text, f"/{command}")
        case Words(text=text):
            # Without blocks: those of a quote stand between lines that are not blank, where `inert` makes no promise.
            return "\n".join(f"> {line}" for line in prose(text).strip().splitlines())
        case Reasoning(text=text, took_ms=took):
            head = "Thinking" if took is None else f"Thought for {took / 1000:.1f} s" if took > 100 else "Thought"
            return f"<details><summary>{head}</summary>\n\n{inert(text)}\n\n</details>" if text.strip() else ""
        case Call():
            return _call_markdown(part, "" if final else part.progressed)
        case Picture():
            return html.escape(part.words)
        case Flag(text=text):
            return f"⚑ {prose(' '.join(text.split()))}"


def _call_markdown(call: Call, progressed: str) -> str:
    head = f"{code(call.name)}{details.headline(call.details)} {html.escape(call.state)}"
    head += f" · {code(progressed)}" if progressed else ""
    body = details.about(call.arguments, call.details)
    if call.output and not isinstance(call.details, TaskDetails):
        body += block(cut(call.output))
    body += details.results(call.details)
    if call.waits:
        return f"{head}{body}"
    return f"<details><summary>{head}</summary>{body}\n\n</details>" if body else head


def plain(part: Part) -> str:
    match part:
        case Words(text=text):
            return text
        case Reasoning():
            return ""
        case Call():
            return f"[{part.name}] {part.state}"
        case Picture():
            return part.words
        case Flag(text=text):
            return f"⚑ {text}"
