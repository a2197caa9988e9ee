"""Everything that can happen to a chat. `at` is the time it happened, in milliseconds since the epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_eca.protocol.content import RejectReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.approval.policy import Adjusted, Policy, Verdict
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart, ToolSpec
    from jupyter_eca.engine.model.retry import Failure
    from jupyter_eca.protocol.content import (
        Content,
        FlagContent,
        MetadataContent,
        TextContent,
        ToolCallDetails,
        UrlContent,
    )


@dataclass(frozen=True, slots=True)
class Setup:
    """What one turn is run with. An empty `model` means that none could be found; `max_steps` of 0 is no limit.
    `compact_at` is the share of the window, in percent, from which on a summary is made; 0 for never. `verdicts` are
    about calls that are made again, by their ids. What is answered when it `plans` can be carried out then."""

    model: str
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    policy: Policy | None = None
    variant: str = ""
    trust: bool = False
    max_steps: int = 0
    agent: str = ""
    compact_at: int = 0
    verdicts: Mapping[str, Verdict] = field(default_factory=dict[str, "Verdict"])
    plans: bool = False


@dataclass(frozen=True, slots=True)
class Prompted:
    """`turn` and `content_id` are fresh ids. A `local` message is a command of ours: the model is never told of it."""

    at: int
    turn: str
    message: str
    content_id: str
    setup: Setup
    local: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A program of the user's own, not a model, calls one of the setup's tools: the turn is that call. `message` says
    who does; `turn`, `content_id` and `call` are fresh ids; `details` tell what the call would do,
    `adjusted` what hooks make of it, and `said` what these have shown."""

    at: int
    turn: str
    message: str
    content_id: str
    setup: Setup
    call: str
    tool: ToolSpec
    arguments_text: str
    details: ToolCallDetails | None = None
    adjusted: Adjusted | None = None
    said: tuple[Content, ...] = ()


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the user pointed at has been read: `context` is text for the model alone, `note` for the reader while the
    turn lasts. With `setup` the turn is not run as it was begun: it is one of the past, made again, or hooks have added
    to it. `reworded` stands in for the prompt."""

    at: int
    context: str = ""
    images: tuple[ImagePart, ...] = ()
    note: str = ""
    setup: Setup | None = None
    reworded: str | None = None
    documents: tuple[DocumentPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """A command of ours has been carried out; `text` says what came of it, `failed` that it was not. `unsaid`: no model
    is ever to hear of the prompt."""

    at: int
    text: str
    failed: bool = False
    unsaid: bool = False


@dataclass(frozen=True, slots=True)
class Compacted:
    """A command of ours asks for a summary of the conversation; `focus` is what it must keep above all."""

    at: int
    focus: str = ""


@dataclass(frozen=True, slots=True)
class Steered:
    """Words for the model before its next step; none take back those that were not told yet. `content_id` is fresh."""

    at: int
    message: str
    content_id: str


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a running call has come that shows it in its details: a subagent has taken a step."""

    at: int
    call: str
    details: ToolCallDetails


@dataclass(frozen=True, slots=True)
class Spent:
    """What an answer for the chat cost elsewhere: a subagent's. A `cost` of None is an unknown price."""

    at: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Trusted:
    """From the next call on, what would have to ask runs unasked, or asks again."""

    at: int
    trust: bool


@dataclass(frozen=True, slots=True)
class Ruled:
    """Other rules: they hold at once, for calls that wait too."""

    at: int
    policy: Policy


@dataclass(frozen=True, slots=True)
class Marked:
    """A fact about the chat beside its turns: a flag, another title, a line for the reader."""

    at: int
    content: FlagContent | MetadataContent | TextContent


@dataclass(frozen=True, slots=True)
class Noted:
    """Something happened that no turn waited for, a job has ended or the user took back changes: everybody is shown
    `text`, and the model is told `words` before its next step, or with the next prompt; it is never asked for this
    alone."""

    at: int
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class Hooked:
    """A hook has begun, has ended or tells the user something. It is part of the turn under way."""

    at: int
    content: Content


@dataclass(frozen=True, slots=True)
class Streamed:
    """`request` is the number of the model call that said it: what a cancelled call still says is ignored."""

    at: int
    request: int
    delta: Delta


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """The stream ended as it should. By the ids of the calls: `details` tell what each would do, `adjusted` what hooks
    make of it."""

    at: int
    request: int
    details: Mapping[str, ToolCallDetails] = field(default_factory=dict[str, "ToolCallDetails"])
    adjusted: Mapping[str, Adjusted] = field(default_factory=dict[str, "Adjusted"])


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """`message` is complete: what happened and what to do. `images`: the model's server refused one of those it was
    sent, and would refuse it every time. `overflow`: the request is too long for the model. With a `failure` the same
    request may be repeated. `final`: no other would be sent in this turn either."""

    at: int
    request: int
    message: str
    images: bool = False
    overflow: bool = False
    failure: Failure | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Waited:
    """As long as was asked for after the model call of this number had failed."""

    at: int
    request: int


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """`tools` are those there are now, when they are others than the turn began with: a call may make some. `stops`:
    the turn ends with it. Of a text that was too long, `whole` is how many characters were kept elsewhere."""

    at: int
    call: str
    text: str
    error: bool = False
    details: ToolCallDetails | None = None
    images: tuple[ImagePart, ...] = ()
    tools: tuple[ToolSpec, ...] | None = None
    links: tuple[UrlContent, ...] = ()
    whole: int | None = None
    stops: bool = False
    documents: tuple[DocumentPart, ...] = ()
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Approved:
    """`remember`: calls of this tool in this chat run unasked from now on."""

    at: int
    call: str
    remember: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    at: int
    call: str
    reason: RejectReason = RejectReason.USER
    words: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    at: int


Input = (
    Prompted
    | Asked
    | Gathered
    | Answered
    | Compacted
    | Steered
    | Trusted
    | Ruled
    | Reached
    | Spent
    | Marked
    | Noted
    | Hooked
    | Streamed
    | ModelFinished
    | ModelFailed
    | Waited
    | ToolFinished
    | Approved
    | Rejected
    | Stopped
)
