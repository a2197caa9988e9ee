"""Owns the format in which a turn is recorded in a lock file, so that it can be replayed later without a model.

A lock file lies beside a notebook and stores the answers to its prompts. So a colleague, or a test, can run the
notebook again and gets the same answers. A *turn* is a prompt with everything up to the end of its answer. It consists
of *replies*: what the model sends for one request, which is text, reasoning and tool calls.

This module must not decide when a turn is recorded or replayed: its neighbour `host/turn/locked_answers` does. The file
itself belongs to `workspace/notebooks/lockfile`.

A recording is made from the events of a turn. To replay it, its replies are given to the engine as deltas: the pieces
in which a model's reply arrives. So everything that shows, stores or continues a chat works with a replayed turn too.

Texts are stored as lists of lines, so that a reviewer can read the code that a call ran, and git can show what has
changed. Signatures of reasoning are left out, because a vendor accepts them only for some minutes. Replayed reasoning
has no signature, and reasoning without a signature is never sent back to the vendor.
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

# The length of each piece of a replayed text. A long text grows on the screen as if a model wrote it.
_PIECE_CHARS: Final = 200


def _split_lines(text: str) -> list[str]:
    """Return the lines of a text, each with its line end."""
    return text.splitlines(keepends=True)


def _join_lines(value: object) -> object:
    """Return a list of lines as one text. Any other value stays as it is."""
    return "".join(cast("list[str]", value)) if isinstance(value, list) else value


def _split_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with each text of several lines as `{"$lines": [...]}`."""
    return {
        name: {"$lines": _split_lines(value)} if isinstance(value, str) and "\n" in value else value
        for name, value in arguments.items()
    }


def _join_arguments(value: object) -> object:
    """Return the arguments with their lines joined to texts: the reverse of `_split_arguments`."""
    if not isinstance(value, dict):
        return value
    return {name: _join_argument(item) for name, item in cast("dict[str, Any]", value).items()}


def _join_argument(value: object) -> object:
    """Return the value of one argument. If it is `{"$lines": [...]}`, its lines are joined to a text."""
    if isinstance(value, dict) and value.keys() == {"$lines"}:
        return _join_lines(cast("dict[str, Any]", value)["$lines"])
    return cast("object", value)


# A text that is stored as a list of lines, and arguments whose longer texts are.
Lines = Annotated[str, PlainSerializer(_split_lines), BeforeValidator(_join_lines)]
Arguments = Annotated[dict[str, Any], PlainSerializer(_split_arguments), BeforeValidator(_join_arguments)]


class ModelWithoutDefaults(Model):
    """A model that is serialized without the fields that have their default value, except `type`."""

    @model_serializer(mode="wrap")
    def _serialize(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the fields that are stored. `write` is pydantic's own way to serialize the model."""
        fields = type(self).model_fields.items()
        left_out = [
            (name, field.alias)
            for name, field in fields
            if name != "type" and getattr(self, name) == field.get_default(call_default_factory=True)
        ]
        return {name: value for name, value in write(self).items() if all(name not in names for names in left_out)}


class RecordedText(ModelWithoutDefaults):
    """Text of the model."""

    type: Literal["text"] = "text"
    """The kind of the part."""
    text: Lines
    """The text."""


class RecordedReasoning(ModelWithoutDefaults):
    """Reasoning of the model."""

    type: Literal["reasoning"] = "reasoning"
    """The kind of the part."""
    text: Lines = ""
    """The text of the reasoning."""
    took_ms: int = 0
    """How many milliseconds it took."""


class RecordedRemark(ModelWithoutDefaults):
    """A remark of the provider for the user: for example, that the answer was cut off."""

    type: Literal["remark"] = "remark"
    """The kind of the part."""
    text: Lines
    """The text of the remark."""


class RecordedCall(ModelWithoutDefaults):
    """A tool call."""

    tool: str
    """The name of the tool."""
    server: str = "eca"
    """The server of the tool. It is recorded because the tool may not exist when the turn is replayed."""
    origin: Origin = Origin.NATIVE
    """The kind of the server, recorded for the same reason."""
    arguments: Arguments = Field(default_factory=dict[str, Any])
    """The arguments of the call."""
    details: ToolCallDetails | None = None
    """What the call would do or has done, for the user."""


class RecordedResult(RecordedCall):
    """A call that ran, with its result."""

    type: Literal["ran"] = "ran"
    """The kind of the part."""
    output: Lines = ""
    """The text that the model read."""
    error: bool = False
    """Whether the call failed."""
    took_ms: int = 0
    """How many milliseconds the call took."""
    images: tuple[ImageContent, ...] = ()
    """The pictures that the call returned."""
    links: tuple[UrlContent, ...] = ()
    """The links that the call showed to the user."""
    rule: str = ""
    """The id of the user's rule, when the output is the text of a rule; else empty."""

    @property
    def fetched_rule(self) -> str:
        """The id of the user's rule whose text the output is; empty when it is none.

        Version 0.1.0 did not record `rule`. In its files, such an output is recognized by how it begins.
        """
        if self.rule or self.error or self.tool != "fetch_rule" or not self.output.startswith("Rule "):
            return self.rule
        return str(self.arguments.get("id"))


class RecordedRejection(RecordedCall):
    """A call that did not run."""

    type: Literal["refused"] = "refused"
    """The kind of the part."""
    reason: RejectReason
    """Why the call did not run."""
    words: Lines = ""
    """What the user, a rule or a hook told the model about the rejection."""


# A part of a recorded reply. The field `type` says which model it is.
Part = Annotated[
    RecordedText | RecordedReasoning | RecordedRemark | RecordedResult | RecordedRejection, Field(discriminator="type")
]


class RecordedUsage(ModelWithoutDefaults):
    """The tokens that a reply used when it was recorded."""

    input: int
    """The tokens that the model read."""
    output: int
    """The tokens that the model wrote."""
    limit: Limit | None = None
    """The limits of the model; None when they were unknown."""


class RecordedReply(ModelWithoutDefaults):
    """The model's reply to one request."""

    parts: tuple[Part, ...] = ()
    """The parts of the reply, in order."""
    usage: RecordedUsage | None = None
    """The tokens that it used; None when they were unknown."""

    @property
    def calls(self) -> list[RecordedResult | RecordedRejection]:
        """The tool calls among the parts."""
        return [part for part in self.parts if isinstance(part, RecordedResult | RecordedRejection)]


# -- from events


class _ReplyDraft:
    """A reply that is being put together from events."""

    def __init__(self) -> None:
        self.parts: dict[str, Part | None] = {}
        """The parts by an id: that of the call or the reasoning, else a number. None for a call that has not ended."""
        self.usage: RecordedUsage | None = None
        """The tokens that the reply used."""
        self.ended = ""
        """The id of the last call that has ended; empty for none. The model's next text belongs to another reply."""
        self.running: set[str] = set()
        """The ids of running calls. Tokens that are used meanwhile belong to a subagent, not to the reply."""

    def add_part(self, part: Part) -> None:
        """Add a part that has no id of its own."""
        self.parts[f"#{len(self.parts)}"] = part

    def add_text(self, text: str) -> None:
        """Add a piece of text. It continues the last part if that is a text too."""
        last = next(reversed(self.parts), "")
        before = self.parts.get(last)
        if isinstance(before, RecordedText):
            self.parts[last] = RecordedText(text=before.text + text)
        else:
            self.add_part(RecordedText(text=text))

    def add_reasoning(self, id: str, text: str = "", took_ms: int = 0) -> None:
        """Add a piece to the reasoning of this id, or begin it."""
        before = self.parts.get(id)
        earlier = before.text if isinstance(before, RecordedReasoning) else ""
        self.parts[id] = RecordedReasoning(text=earlier + text, took_ms=took_ms)

    def add_attachment(self, content: ImageContent | UrlContent) -> None:
        """Add a picture or a link to the call that has just ended."""
        call = self.parts.get(self.ended)
        if isinstance(call, RecordedResult) and isinstance(content, ImageContent):
            self.parts[self.ended] = call.model_copy(update={"images": (*call.images, content)})
        elif isinstance(call, RecordedResult):
            self.parts[self.ended] = call.model_copy(update={"links": (*call.links, content)})

    @property
    def reply(self) -> RecordedReply:
        """The finished reply."""
        return RecordedReply(parts=tuple(part for part in self.parts.values() if part is not None), usage=self.usage)


def record_replies(events: Iterable[Event]) -> tuple[RecordedReply, ...]:
    """Return the replies of a turn, from its events since the first request to the model.

    The last reply is the one without tool calls.
    """
    drafts = [_ReplyDraft()]
    for event in events:
        if drafts[-1].running and isinstance(event.content, UsageContent):
            continue  # the tokens of a subagent, see `_ReplyDraft.running`
        if drafts[-1].ended and _is_from_model(event):
            drafts.append(_ReplyDraft())
        _add_event(drafts[-1], event)
    if drafts[-1].ended:
        drafts.append(_ReplyDraft())
    return tuple(draft.reply for draft in drafts)


def _is_from_model(event: Event) -> bool:
    """Return whether an event shows something that the model or its provider sent."""
    is_text = isinstance(event.content, TextContent) and event.role is not Role.USER
    return is_text or isinstance(event.content, ReasonStartedContent | ToolCallPrepareContent | UsageContent)


def _add_event(draft: _ReplyDraft, event: Event) -> None:
    """Add to the draft of a reply what an event shows of it."""
    match event.content:
        case TextContent(text=text) if event.role is Role.ASSISTANT:
            draft.add_text(text)
        case TextContent(text=text) if event.role is Role.SYSTEM:
            draft.add_part(RecordedRemark(text=text))
        case ReasonStartedContent(id=id):
            draft.add_reasoning(id)
        case ReasonTextContent(id=id, text=text):
            draft.add_reasoning(id, text)
        case ReasonFinishedContent(id=id, total_time_ms=took):
            draft.add_reasoning(id, took_ms=took)
        case UsageContent(message_input_tokens=tokens_in, message_output_tokens=tokens_out, limit=limit):
            draft.usage = RecordedUsage(input=tokens_in, output=tokens_out, limit=limit)
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
        case ImageContent() | UrlContent() as attachment:
            draft.add_attachment(attachment)
        case _:
            pass


def _copy_call(call: ToolCalledContent | ToolCallRejectedContent) -> dict[str, Any]:
    """Return the fields of a `RecordedCall`."""
    return {
        "tool": call.name,
        "server": call.server,
        "origin": call.origin,
        "arguments": call.arguments,
        "details": call.details,
    }


# -- to deltas


def replay_deltas(reply: RecordedReply, ids: Sequence[str]) -> Iterator[tuple[int, Delta]]:
    """Yield the deltas of a recorded reply, each with the milliseconds that it took.

    `ids` are the ids for the tool calls of the reply, in order.
    """
    numbered_ids = iter(enumerate(ids))
    for part in reply.parts:
        match part:
            case RecordedText(text=text):
                starts = range(0, len(text), _PIECE_CHARS)
                yield from ((0, TextDelta(text[start : start + _PIECE_CHARS])) for start in starts)
            case RecordedReasoning(text=text, took_ms=took):
                yield 0, ReasoningDelta(text)
                yield took, ReasoningEnd()
            case RecordedRemark(text=text):
                yield 0, Remark(text)
            case RecordedResult() | RecordedRejection() as call:
                index, id = next(numbered_ids)
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
