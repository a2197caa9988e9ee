"""One answer as it grows, and how it looks as Markdown and as text. Pure: no display, no clock."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.kernel.markdown import block, code, inert, prose
from jupyter_eca.protocol.content import (
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    RejectReason,
    Role,
    TextContent,
    ToolCallContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
    UsageContent,
)
from jupyter_eca.protocol.event import Outcome

if TYPE_CHECKING:
    from jupyter_eca.protocol.chat import ChatContentReceivedParams

# What a reader is shown of a tool's result; all of it is in the chat.
SHOWN_CHARS = 2_000


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

    @property
    def waits(self) -> bool:
        return isinstance(self.last, ToolCallRunContent) and self.last.manual_approval

    @property
    def runs(self) -> bool:
        return isinstance(self.last, ToolCallRunningContent)

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
    def output(self) -> str:
        return "\n".join(o.text for o in self.last.outputs) if isinstance(self.last, ToolCalledContent) else ""


_WHY_NOT = {
    RejectReason.USER: "⊘ rejected, not run",
    RejectReason.CONFIG: "⊘ forbidden by your rules, not run",
    RejectReason.STOP: "⊘ stopped, not run",
    RejectReason.NOBODY: "⊘ not run: it needs approval, and nobody is there to give it",
}


class Transcript:
    """Feed it what is received; ask it how the answer looks now."""

    def __init__(self) -> None:
        self.parts: list[Words | Reasoning | Call] = []
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
            case UsageContent() as usage:
                self.usage = usage
            case _:
                pass

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

    @property
    def calls(self) -> list[Call]:
        return [part for part in self.parts if isinstance(part, Call)]

    @property
    def waiting(self) -> list[Call]:
        return [call for call in self.calls if call.waits]

    @property
    def text(self) -> str:
        """What the assistant said, without its reasoning, its calls and the server's remarks."""
        return "\n\n".join(
            part.text.strip() for part in self.parts if isinstance(part, Words) and part.role is Role.ASSISTANT
        )

    @property
    def remark(self) -> str:
        """The last thing the server said: why a turn failed."""
        said = [part.text for part in self.parts if isinstance(part, Words) and part.role is Role.SYSTEM]
        return said[-1] if said else ""

    @property
    def shown(self) -> list[Words | Reasoning | Call]:
        """Without the last remark of a turn that was stopped: the cell ends with the same word, as its error."""
        return self.parts[:-1] if self.outcome is Outcome.STOPPED else self.parts

    def markdown(self) -> str:
        parts = [_markdown(part) for part in self.shown]
        if self.outcome is None:
            # A question and running text speak for themselves.
            quiet = self.waiting or (self.parts and isinstance(self.parts[-1], Words))
            parts.append("" if quiet else "…")
        return "\n\n".join(part.strip("\n") for part in parts if part.strip())

    def plain(self) -> str:
        return "\n\n".join(text for part in self.shown if (text := plain(part).strip()))


def _markdown(part: Words | Reasoning | Call) -> str:
    match part:
        case Words(role=Role.ASSISTANT, text=text):
            return inert(text)
        case Words(text=text):
            # Without blocks: those of a quote stand between lines that are not blank, where `inert` makes no promise.
            return "\n".join(f"> {line}" for line in prose(text).strip().splitlines())
        case Reasoning(text=text, took_ms=took):
            head = "Thinking" if took is None else f"Thought for {took / 1000:.1f} s" if took > 100 else "Thought"
            return f"<details><summary>{head}</summary>\n\n{inert(text)}\n\n</details>" if text.strip() else ""
        case Call():
            return _call_markdown(part)


def _call_markdown(call: Call) -> str:
    head = f"{code(call.name)} {html.escape(call.state)}"
    body = _arguments(call)
    if call.output:
        body += block(_cut(call.output))
    if call.waits:
        return f"{head}{body}"
    return f"<details><summary>{head}</summary>{body}\n\n</details>" if body else head


def _arguments(call: Call) -> str:
    """Code is shown as code; other arguments as JSON."""
    source = call.arguments.get("code")
    others = {name: value for name, value in call.arguments.items() if name != "code"}
    shown = block(_cut(source), "python") if isinstance(source, str) else ""
    return shown + (block(_cut(json.dumps(others, ensure_ascii=False, indent=1)), "json") if others else "")


def plain(part: Words | Reasoning | Call) -> str:
    match part:
        case Words(text=text):
            return text
        case Reasoning():
            return ""
        case Call():
            return f"[{part.name}] {part.state}"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}\n… {len(text) - SHOWN_CHARS} characters more"
