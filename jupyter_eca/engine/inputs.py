"""Everything that can happen to a chat, one class for each. `at` is the time it happened, in ms since the epoch.

They are plain data that the shell fills in: the time, fresh ids, what was read. They must not know what comes of them:
`step` decides that. What the shell is told to do in turn is in `effects`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_eca.protocol.content import RejectReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
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
    """What one turn is run with."""

    model: str
    """The full name `provider/model`; empty when none could be found."""
    system: str = ""
    """The system prompt."""
    tools: tuple[ToolSpec, ...] = ()
    """The tools that the model is offered."""
    policy: Policy | None = None
    """The rules that decide which calls run; None for the default ones."""
    variant: str = ""
    """One of the model's variants, such as a reasoning effort."""
    trust: bool = False
    """Whether calls run unasked that would have to be approved."""
    max_steps: int = 0
    """How many times the model may be called in the turn; 0 is no limit."""
    agent: str = ""
    """The name of the agent."""
    compact_at: int = 0
    """The share of the context window, in percent, from which on a summary is made; 0 is never."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict[str, "Verdict"])
    """For calls that are made again from a lock file: whether they run, by their ids."""
    plans: bool = False
    """Whether the answer is a plan, which can be carried out afterwards."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """The user asks something."""

    at: int
    turn: str
    """A fresh id."""
    message: str
    """What the reader is shown as the user's words."""
    content_id: str
    """A fresh id."""
    setup: Setup
    local: bool = False
    """Whether it is a command of ours, of which the model does not read."""


@dataclass(frozen=True, slots=True)
class CallRequested:
    """A program of the user's own, not a model, calls one of the setup's tools. The turn is that one call."""

    at: int
    turn: str
    """A fresh id."""
    message: str
    """Who calls, in words for the reader."""
    content_id: str
    """A fresh id."""
    setup: Setup
    call: str
    """A fresh id for the call."""
    tool: ToolSpec
    arguments_text: str
    """The arguments as JSON."""
    details: ToolCallDetails | None = None
    """What the call would do."""
    adjusted: Adjusted | None = None
    """What hooks make of it."""
    targets: CallTargets | None = None
    """What it names, as it was found on the disk."""
    hook_contents: tuple[Content, ...] = ()
    """What hooks have shown."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the user pointed at has been read."""

    at: int
    context: str = ""
    """Text for the model alone."""
    images: tuple[ImagePart, ...] = ()
    """Pictures for the model."""
    note: str = ""
    """A line for the reader while the turn lasts."""
    setup: Setup | None = None
    """What the turn is run with in place of its own: it is made again from a lock file, or hooks have added to it."""
    reworded: str | None = None
    """What stands in the place of the prompt."""
    documents: tuple[DocumentPart, ...] = ()
    """PDF documents for the model."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """A command of ours has been carried out, or the turn was refused."""

    at: int
    text: str
    """What came of it."""
    failed: bool = False
    """Whether it was not carried out."""
    withdrawn: bool = False
    """Whether no model is ever to read the prompt."""


@dataclass(frozen=True, slots=True)
class CompactionRequested:
    """A command of ours asks for a summary of the conversation."""

    at: int
    focus: str = ""
    """What the summary must keep above all."""


@dataclass(frozen=True, slots=True)
class Steered:
    """The user has words for the model's next step."""

    at: int
    message: str
    """The words; empty takes back all that the model has not read yet."""
    content_id: str
    """A fresh id."""


@dataclass(frozen=True, slots=True)
class CallProgressed:
    """A running call has come further, and its details show it: a subagent has taken a step."""

    at: int
    call: str
    """The id of the call."""
    details: ToolCallDetails
    """What the call shows now."""


@dataclass(frozen=True, slots=True)
class CostAdded:
    """An answer elsewhere is paid for by this chat: a subagent's."""

    at: int
    tokens_in: int
    """What the model read."""
    tokens_out: int
    """What the model wrote."""
    cost: float | None
    """US dollars; None is an unknown price."""


@dataclass(frozen=True, slots=True)
class TrustChanged:
    """The user trusts the chat from the next call on, or no longer does."""

    at: int
    trust: bool
    """Whether calls run unasked that would have to be approved."""


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """The rules have changed. They hold at once, for calls that wait too."""

    at: int
    policy: Policy
    """The new rules."""


@dataclass(frozen=True, slots=True)
class FactAdded:
    """A fact about the chat beside its turns."""

    at: int
    content: FlagContent | MetadataContent | TextContent
    """A flag, another title, or a line for the reader."""


@dataclass(frozen=True, slots=True)
class NoteAdded:
    """Something happened that no turn waited for: a job has ended, or the user took back changes. The model is never
    called for this alone."""

    at: int
    text: str
    """What everybody is shown."""
    model_text: str
    """What the model reads before its next step, or with the next prompt."""


@dataclass(frozen=True, slots=True)
class HookReported:
    """A hook has begun, has ended or tells the user something. It is part of the turn under way."""

    at: int
    content: Content
    """What is shown of it."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """The model said a piece of its reply."""

    at: int
    request: int
    """The number of the model call. What a cancelled call still says is ignored."""
    delta: Delta
    """The piece."""


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """The stream ended as it should."""

    at: int
    request: int
    """The number of the model call."""
    details: Mapping[str, ToolCallDetails] = field(default_factory=dict[str, "ToolCallDetails"])
    """What each call would do, by the ids of the calls."""
    adjusted: Mapping[str, Adjusted] = field(default_factory=dict[str, "Adjusted"])
    """What hooks make of each call, by the ids of the calls."""
    targets: Mapping[str, CallTargets] = field(default_factory=dict[str, "CallTargets"])
    """What each call names, as it was found on the disk, by the ids of the calls."""


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """The model call failed."""

    at: int
    request: int
    """The number of the model call."""
    message: str
    """What happened and what to do, in whole sentences."""
    images: bool = False
    """Whether the model's server refused an image or a document. It would refuse it every time."""
    overflow: bool = False
    """Whether the request is too long for the model."""
    failure: Failure | None = None
    """With one, the same request may be repeated."""
    final: bool = False
    """Whether no other request would be sent in this turn either."""


@dataclass(frozen=True, slots=True)
class WaitEnded:
    """The time has passed that `Wait` asked for."""

    at: int
    request: int
    """The number of the model call that had failed."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has ended."""

    at: int
    call: str
    """The id of the call."""
    text: str
    """What the model reads."""
    error: bool = False
    """Whether it failed."""
    details: ToolCallDetails | None = None
    """What it did, for the reader; None leaves what was announced."""
    images: tuple[ImagePart, ...] = ()
    """Pictures for the model and the reader."""
    tools: tuple[ToolSpec, ...] | None = None
    """The tools that are offered from now on, when the call has made or removed some."""
    links: tuple[UrlContent, ...] = ()
    """Links for the reader."""
    whole_length: int | None = None
    """How many characters were kept elsewhere of a text that was too long."""
    stops: bool = False
    """Whether the turn ends with it."""
    documents: tuple[DocumentPart, ...] = ()
    """PDF documents for the model."""
    rule: str = ""
    """The id of the user's rule whose text this is."""


@dataclass(frozen=True, slots=True)
class Approved:
    """Somebody approves a call."""

    at: int
    call: str
    """The id of the call."""
    remember: bool = False
    """Whether such calls (`approval_scope`) run unasked in this chat from now on."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """Somebody rejects a call, or nobody is there to approve it."""

    at: int
    call: str
    """The id of the call."""
    reason: RejectReason = RejectReason.USER
    """Why it does not run."""
    words: str = ""
    """What the user says about it, for the model."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The user stops the turn."""

    at: int


Input = (
    Prompted
    | CallRequested
    | Gathered
    | CommandEnded
    | CompactionRequested
    | Steered
    | TrustChanged
    | PolicyChanged
    | CallProgressed
    | CostAdded
    | FactAdded
    | NoteAdded
    | HookReported
    | Streamed
    | ModelFinished
    | ModelFailed
    | WaitEnded
    | ToolFinished
    | Approved
    | Rejected
    | Stopped
)
