"""A turn as it is recorded in a lock file, so that it can be made again without a model.

It is made of the turn's events, and goes back through the engine as a model's deltas would: nothing that shows, stores
or continues a chat can tell a replayed turn from another. Texts are lists of lines in the file, so that a reviewer can
read the code that a call ran, and git can show what has changed. Signatures of reasonings are left out: they are a
vendor's proof for the next minutes, and a reasoning without one is never sent back. When a turn is recorded or replayed
is decided in `host/turn/locked_answers`; the file is `workspace/notebooks/lockfile`'s.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from pydantic import BeforeValidator, Field, PlainSerializer, SerializerFunctionWrapHandler, model_serializer

from jupyter_eca.engine.model.delta import (
    Delta,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.content import (
    ImageContent,
    Limit,
    Origin,
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    RejectReason,
    Role,
    TextContent,
    ToolCallContent,
    ToolCallDetails,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunningContent,
    UrlContent,
    UsageContent,
)
from jupyter_eca.protocol.event import FetchedRuleAside, RejectionAside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.protocol.event import Event

# Of a text that is replayed, so that a long one too is shown as it grows.
_PIECE: Final = 200


def _split_lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _join_lines(value: object) -> object:
    return "".join(cast("list[str]", value)) if isinstance(value, list) else value


def _unfold(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"$lines": _split_lines(value)} if isinstance(value, str) and "\n" in value else value
        for name, value in arguments.items()
    }


def _fold(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {name: _fold_value(item) for name, item in cast("dict[str, Any]", value).items()}


def _fold_value(value: object) -> object:
    if isinstance(value, dict) and value.keys() == {"$lines"}:
        return _join_lines(cast("dict[str, Any]", value)["$lines"])
    return cast("object", value)


Lines = Annotated[str, PlainSerializer(_split_lines), BeforeValidator(_join_lines)]
Arguments = Annotated[dict[str, Any], PlainSerializer(_unfold), BeforeValidator(_fold)]


class Brief(Model):
    """A model that is written without the fields that have their default."""

    @model_serializer(mode="wrap")
    def _brief(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields.items()
        unsaid = [
            (name, field.alias)
            for name, field in fields
            if name != "type" and getattr(self, name) == field.get_default(call_default_factory=True)
        ]
        return {name: value for name, value in write(self).items() if all(name not in names for names in unsaid)}


class RecordedText(Brief):
    """Text of the model."""

    type: Literal["text"] = "text"
    text: Lines


class RecordedReasoning(Brief):
    """A reasoning of the model."""

    type: Literal["reasoning"] = "reasoning"
    text: Lines = ""
    took_ms: int = 0


class RecordedRemark(Brief):
    """A remark of the provider, for the reader."""

    type: Literal["remark"] = "remark"
    text: Lines


class RecordedCall(Brief):
    """A tool call. `server` and `origin` are kept for tools that are not there when the turn is made again."""

    tool: str
    server: str = "eca"
    origin: Origin = Origin.NATIVE
    arguments: Arguments = Field(default_factory=dict[str, Any])
    details: ToolCallDetails | None = None


class RecordedResult(RecordedCall):
    """A call that ran, with its result."""

    type: Literal["ran"] = "ran"
    output: Lines = ""
    error: bool = False
    took_ms: int = 0
    images: tuple[ImageContent, ...] = ()
    links: tuple[UrlContent, ...] = ()
    rule: str = ""
    """The id of the user's rule whose text the output is."""

    @property
    def fetched_rule(self) -> str:
        """`rule`, or what it would be. Version 0.1.0 did not record it: there, only such an output begins so."""
        if self.rule or self.error or self.tool != "fetch_rule" or not self.output.startswith("Rule "):
            return self.rule
        return str(self.arguments.get("id"))


class RecordedRejection(RecordedCall):
    """A call that did not run."""

    type: Literal["refused"] = "refused"
    reason: RejectReason
    words: Lines = ""
    """What the user, a rule or a hook said about it."""


Part = Annotated[
    RecordedText | RecordedReasoning | RecordedRemark | RecordedResult | RecordedRejection, Field(discriminator="type")
]


class RecordedUsage(Brief):
    """The tokens that a reply used when it was made."""

    input: int
    output: int
    limit: Limit | None = None


class RecordedReply(Brief):
    """What the model said to one request."""

    parts: tuple[Part, ...] = ()
    usage: RecordedUsage | None = None

    @property
    def calls(self) -> list[RecordedResult | RecordedRejection]:
        return [part for part in self.parts if isinstance(part, RecordedResult | RecordedRejection)]


# -- from events


class _Draft:
    """A reply in the making."""

    def __init__(self) -> None:
        self.parts: dict[str, Part | None] = {}
        self.usage: RecordedUsage | None = None
        self.ended = ""
        """The last call that has ended: what the model says next is another reply."""
        self.running: set[str] = set()
        """Calls that run: what is used meanwhile is a subagent's, and no part of the reply."""

    def add(self, part: Part) -> None:
        self.parts[f"#{len(self.parts)}"] = part

    def say(self, text: str) -> None:
        last = next(reversed(self.parts), "")
        before = self.parts.get(last)
        if isinstance(before, RecordedText):
            self.parts[last] = RecordedText(text=before.text + text)
        else:
            self.add(RecordedText(text=text))

    def think(self, id: str, text: str = "", took_ms: int = 0) -> None:
        before = self.parts.get(id)
        earlier = before.text if isinstance(before, RecordedReasoning) else ""
        self.parts[id] = RecordedReasoning(text=earlier + text, took_ms=took_ms)

    def show(self, content: ImageContent | UrlContent) -> None:
        """Add a picture or a link to the call that has just ended."""
        call = self.parts.get(self.ended)
        if isinstance(call, RecordedResult) and isinstance(content, ImageContent):
            self.parts[self.ended] = call.model_copy(update={"images": (*call.images, content)})
        elif isinstance(call, RecordedResult):
            self.parts[self.ended] = call.model_copy(update={"links": (*call.links, content)})

    @property
    def reply(self) -> RecordedReply:
        return RecordedReply(parts=tuple(part for part in self.parts.values() if part is not None), usage=self.usage)


def record_replies(events: Iterable[Event]) -> tuple[RecordedReply, ...]:
    """Return the replies of a turn, from its events since the model was first asked. The last reply is the one without
    calls.
    """
    drafts = [_Draft()]
    for event in events:
        if drafts[-1].running and isinstance(event.content, UsageContent):
            continue
        if drafts[-1].ended and _is_from_model(event):
            drafts.append(_Draft())
        _take(drafts[-1], event)
    if drafts[-1].ended:
        drafts.append(_Draft())
    return tuple(draft.reply for draft in drafts)


def _is_from_model(event: Event) -> bool:
    """Return whether it is something that the model or its provider said."""
    words = isinstance(event.content, TextContent) and event.role is not Role.USER
    return words or isinstance(event.content, ReasonStartedContent | ToolCallPrepareContent | UsageContent)


def _take(draft: _Draft, event: Event) -> None:
    match event.content:
        case TextContent(text=text) if event.role is Role.ASSISTANT:
            draft.say(text)
        case TextContent(text=text) if event.role is Role.SYSTEM:
            draft.add(RecordedRemark(text=text))
        case ReasonStartedContent(id=id):
            draft.think(id)
        case ReasonTextContent(id=id, text=text):
            draft.think(id, text)
        case ReasonFinishedContent(id=id, total_time_ms=took):
            draft.think(id, took_ms=took)
        case UsageContent(message_input_tokens=asked, message_output_tokens=answered, limit=limit):
            draft.usage = RecordedUsage(input=asked, output=answered, limit=limit)
        case ToolCalledContent() as called:
            output = "\n".join(text_output.text for text_output in called.outputs)
            took = called.total_time_ms
            draft.ended = called.id
            draft.running.discard(called.id)
            rule = event.aside.id if isinstance(event.aside, FetchedRuleAside) else ""
            draft.parts[called.id] = RecordedResult(
                **_copy_call(called), output=output, error=called.error, took_ms=took, rule=rule
            )
        case ToolCallRejectedContent() as rejected:
            words = event.aside.words if isinstance(event.aside, RejectionAside) else ""
            draft.ended = rejected.id
            draft.parts[rejected.id] = RecordedRejection(**_copy_call(rejected), reason=rejected.reason, words=words)
        case ToolCallContent(id=id) as call:
            if isinstance(call, ToolCallRunningContent):
                draft.running.add(id)
            draft.parts.setdefault(id, None)
        case ImageContent() | UrlContent() as shown:
            draft.show(shown)
        case _:
            pass


def _copy_call(call: ToolCalledContent | ToolCallRejectedContent) -> dict[str, Any]:
    return {
        "tool": call.name,
        "server": call.server,
        "origin": call.origin,
        "arguments": call.arguments,
        "details": call.details,
    }


# -- and back


def replay_deltas(reply: RecordedReply, ids: Sequence[str]) -> Iterator[tuple[int, Delta]]:
    """Yield what a model would say, each with the milliseconds that it took. `ids` are for the calls, in order."""
    fresh = iter(enumerate(ids))
    for part in reply.parts:
        match part:
            case RecordedText(text=text):
                yield from ((0, TextDelta(text[at : at + _PIECE])) for at in range(0, len(text), _PIECE))
            case RecordedReasoning(text=text, took_ms=took):
                yield 0, ReasoningDelta(text)
                yield took, ReasoningEnd()
            case RecordedRemark(text=text):
                yield 0, Remark(text)
            case RecordedResult() | RecordedRejection() as call:
                index, id = next(fresh)
                yield 0, ToolCallDelta(index, id, call.tool, json.dumps(call.arguments))
    if (spent := reply.usage) is not None:
        limit = spent.limit or Limit(context=0, output=0)
        yield (
            0,
            UsageDelta(
                spent.input,
                spent.output,
                cost=0.0,
                context_limit=limit.context,
                output_limit=limit.output,
                replayed=True,
            ),
        )
