"""Owns the inputs of `step`: everything that can happen to a chat, one class for each kind of thing.

An input is plain data, which the host fills in. It must not know what follows from it: `step` decides that.
Its neighbour `effects` has the opposite direction: what the engine tells the host to do.

Each input has the field `at`: the time when it happened, in milliseconds since the epoch. A field that is "a fresh id"
gets an id that the host has just generated, because the engine generates none. What the user sees of a chat is not
always what the model reads. So some inputs have one text for the user and another one for the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.content import RejectReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.policy import CallAdjustment, Policy, Verdict
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart, ToolSpec
    from jupyter_eca.engine.model.retry import Failure
    from jupyter_eca.protocol.changes import ReviewTime
    from jupyter_eca.protocol.content import (
        Content,
        FileChangeDetails,
        FlagContent,
        MetadataContent,
        RatingContent,
        TextContent,
        ToolCallDetails,
        UrlContent,
    )
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.protocol.event import Person


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings of one turn: its model, tools, rules and limits."""

    model: str
    """The full name `provider/model`; empty when no model could be found."""
    system: str = ""
    """The system prompt."""
    tools: tuple[ToolSpec, ...] = ()
    """The tools that the model may call."""
    policy: Policy | None = None
    """The rules that decide which calls run; None for the default rules."""
    variant: str = ""
    """The name of a variant of the model, such as a reasoning effort; empty for no variant."""
    trust: bool = False
    """Whether calls that need approval run without it."""
    max_steps: int = 0
    """How many times the model may be called in the turn; 0 for no limit."""
    agent: str = ""
    """The name of the agent."""
    compact_at: int = 0
    """A summary is made when the context window is at least this full, in percent; 0 for never."""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict[str, "Verdict"])
    """When a turn is replayed from a lock file (stored answers beside a notebook): whether each of its recorded calls
    runs, by the ids of the calls."""
    plan_mode: bool = False
    """Whether the agent is in plan mode: it only reads, and its calls that would change something do not run."""
    ends_in_plan: bool = False
    """Whether the agent's answer is a plan that the user can accept."""
    outside: bool = False
    """Whether the agent is an outside agent: another program that answers and calls tools by itself."""
    title: str = ""
    """The name of the outside agent for the user; empty for an agent of ours."""
    title_model: str = ""
    """The full name of the model that makes a title for the chat after its first answer; empty for none."""
    title_prompt: str = ""
    """The user's own prompt for the title; empty for ours."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """The user sends a prompt or a command. A turn begins."""

    at: int
    turn: str
    """A fresh id for the turn."""
    message: str
    """The prompt, as it is shown in the chat."""
    content_id: str
    """A fresh id for the message."""
    setup: Setup
    """The settings of the turn."""
    local: bool = False
    """Whether the message is a command of ours, which the model never reads."""
    contexts: tuple[ChatContext, ...] = ()
    """The contexts that the message names."""
    by: Person | None = None
    """Who has sent the prompt, if that is known."""
    model_text: str = ""
    """For a turn that begins by itself: the text for the model. The `message` is then for the user alone, and is not
    shown as words of the user. Empty for a prompt that a user has sent."""


@dataclass(frozen=True, slots=True)
class CallRequested:
    """A program of the user, not a model, calls a tool. The turn that begins consists of this one call."""

    at: int
    turn: str
    """A fresh id for the turn."""
    message: str
    """A sentence that tells the user who calls the tool."""
    content_id: str
    """A fresh id for the message."""
    setup: Setup
    """The settings of the turn."""
    call: str
    """A fresh id for the call."""
    tool: ToolSpec
    """The tool that is called. It is one of `setup.tools`."""
    arguments_text: str
    """The arguments as JSON."""
    details: ToolCallDetails | None = None
    """A preview of what the call would do, for the user who approves it."""
    adjustment: CallAdjustment | None = None
    """How hooks have changed the call; None for no change."""
    targets: CallTargets | None = None
    """The files that the call names, as they were found on the disk."""
    hook_contents: tuple[Content, ...] = ()
    """What hooks show to the user about the call."""
    unseen_path: str = ""
    """See `ModelFinished.unseen_path`."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The effect `Gather` has ended: the contexts that the prompt mentions have been read."""

    at: int
    context: str = ""
    """The text of the contexts. The model reads it; the user does not see it."""
    images: tuple[ImagePart, ...] = ()
    """Pictures for the model."""
    not_replayed: str = ""
    """Why the answer that is recorded for this prompt in a lock file is not replayed. "" if there is no such answer, or
    if it is replayed."""
    setup: Setup | None = None
    """New settings for the turn, when it is replayed from a lock file or hooks have changed its settings; else None."""
    reworded: str | None = None
    """The text that a hook puts in place of the prompt; None to keep the prompt."""
    documents: tuple[DocumentPart, ...] = ()
    """PDF documents for the model."""
    files_note: str = ""
    """A line of progress that names the files that are sent because the message names them, "" for none."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """A command of ours has ended, or the turn was refused before the model was called."""

    at: int
    text: str
    """The result of the command, or the reason for the refusal."""
    failed: bool = False
    """Whether the command failed or the turn was refused."""
    withdrawn: bool = False
    """Whether the prompt must never be sent to a model, not even with later prompts."""
    kind: FailureKind | None = None
    """Why it failed, when an error ended it; None for a result or a refusal."""


@dataclass(frozen=True, slots=True)
class CompactionRequested:
    """A command of ours requests a summary of the conversation."""

    at: int
    focus: str = ""
    """What the summary must contain above all, in the user's words."""


@dataclass(frozen=True, slots=True)
class Steered:
    """The user sends a message during a turn. The model reads it before its next step (ECA: `chat/promptSteer`)."""

    at: int
    message: str
    """The message. An empty one takes back all such messages that the model has not read yet."""
    content_id: str
    """A fresh id for the message."""
    contexts: tuple[ChatContext, ...] = ()
    """The contexts that the message names."""
    context: str = ""
    """The text of the contexts. The model reads it; the user does not see it."""
    images: tuple[ImagePart, ...] = ()
    """Pictures for the model."""
    documents: tuple[DocumentPart, ...] = ()
    """PDF documents for the model."""
    by: Person | None = None
    """Who has sent the message, if that is known."""


@dataclass(frozen=True, slots=True)
class CallProgressed:
    """A running call has made progress: for example, its subagent has taken a step."""

    at: int
    call: str
    """The id of the call."""
    details: ToolCallDetails
    """The new details of the call, which replace the old ones."""


@dataclass(frozen=True, slots=True)
class CostAdded:
    """A reply that is not in the conversation was paid for by this chat: a subagent's, or the title of the chat."""

    at: int
    tokens_in: int
    """The number of tokens that the model read."""
    tokens_out: int
    """The number of tokens that the model wrote."""
    cost: float | None
    """The cost in US dollars; None when the price is unknown."""


@dataclass(frozen=True, slots=True)
class TrustChanged:
    """The user switches trust on or off. Switched on, it takes effect with the next call. Switched off, it takes effect
    at once: a call that it has allowed, and that waits for an earlier one, needs approval."""

    at: int
    trust: bool
    """Whether calls that need approval run without it."""


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """The approval rules have changed. They take effect at once, also for calls that wait for approval. A call that
    they deny does not run, also when it was approved and waits for an earlier one. A call that waits for an earlier
    one, and that only a withdrawn rule has allowed, needs approval."""

    at: int
    policy: Policy
    """The new rules."""


@dataclass(frozen=True, slots=True)
class FactAdded:
    """Something that belongs to no turn must be shown in the chat."""

    at: int
    content: FlagContent | RatingContent | MetadataContent | TextContent
    """A flag, the rating of an answer, a new title, or a line for the user."""


@dataclass(frozen=True, slots=True)
class NoteAdded:
    """Something happened outside of the turns: a background job has ended, or the user took back changes. The model is
    never called for this alone; it reads the note with its next request."""

    at: int
    text: str
    """The text for the readers of the chat."""
    model_text: str
    """The text for the model."""


@dataclass(frozen=True, slots=True)
class HookReported:
    """A hook has begun, has ended or has a message for the user. The report belongs to the turn under way, if there is
    one."""

    at: int
    content: Content
    """What the user sees of the hook."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """A piece of the model's reply has arrived."""

    at: int
    request: int
    """The number of the model call. Pieces of a cancelled call are ignored."""
    delta: Delta
    """The piece."""


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """The model's reply is complete. The four mappings are about its tool calls; their keys are the ids of the
    calls."""

    at: int
    request: int
    """The number of the model call."""
    details: Mapping[str, ToolCallDetails] = field(default_factory=dict[str, "ToolCallDetails"])
    """A preview of what each call would do, for the user who approves it."""
    adjustments: Mapping[str, CallAdjustment] = field(default_factory=dict[str, "CallAdjustment"])
    """How hooks have changed each call."""
    targets: Mapping[str, CallTargets] = field(default_factory=dict[str, "CallTargets"])
    """The files that each call names, as they were found on the disk."""
    reviews: Mapping[str, ReviewTime] = field(default_factory=dict[str, "ReviewTime"])
    """When the user reviews what each call changes. A call that is not in this mapping is reviewed before it runs."""
    unseen_path: str = ""
    """A path that was changed without approval, in any chat, and that nobody has reviewed; empty when there is none.
    As long as there is one, a call that may run the changed code needs approval."""


@dataclass(frozen=True, slots=True)
class CallBegun:
    """An outside agent has begun a tool call. Its reply is not complete yet."""

    at: int
    request: int
    """The number of the request that the agent answers."""
    call: str
    """A fresh id for the call."""
    tool: ToolSpec
    """The tool, as far as it is known."""
    details: ToolCallDetails | None = None
    """What the call would do, as far as it is known."""


@dataclass(frozen=True, slots=True)
class CallReady:
    """The arguments of an outside agent's call are complete, so that the call can be decided. The agent waits for the
    decision, unless it runs the call without asking."""

    at: int
    request: int
    """The number of the request that the agent answers."""
    call: str
    """The id of the call."""
    tool: ToolSpec
    """The tool."""
    arguments: dict[str, Any]
    """The arguments."""
    is_unasked: bool = False
    """Whether the agent runs the call without asking."""
    is_approved: bool = False
    """Whether the user has already approved this action, in the words in which the agent described it."""
    adjustment: CallAdjustment | None = None
    """How hooks have changed the call; None for no change."""
    details: ToolCallDetails | None = None
    """A preview of what the call would do, for the user who approves it."""
    targets: CallTargets | None = None
    """The files that the call names, as they were found on the disk."""
    failure: str = ""
    """Why the call cannot succeed; "" if it can. Such a call needs no approval."""
    unseen_path: str = ""
    """See `ModelFinished.unseen_path`."""


class RefusalReason(StrEnum):
    """Why a model's server refuses a request and would refuse it again."""

    CONTENT = "content"
    """The server refuses the conversation, including the results of tools in it."""
    SENDER = "sender"
    """The server refuses the sender: the key, the account or the name of the model."""


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """The model call failed."""

    at: int
    request: int
    """The number of the model call."""
    message: str
    """What happened and what the user can do, in whole sentences."""
    refuses_images: bool = False
    """Whether the model's server refused an image or a document, and would refuse it again."""
    is_too_long: bool = False
    """Whether the request is too long for the model."""
    refusal_reason: RefusalReason | None = None
    """Why the model's server refused the request; None when it failed for another reason."""
    failure: Failure | None = None
    """What is needed to plan a repetition of the request; None when it must not be repeated."""
    final: bool = False
    """Whether every other request of this turn would fail too, for example because the budget is used up."""
    kind: FailureKind = FailureKind.OTHER
    """The kind of the failure. A client uses it to offer what helps, such as another model or a sign-in."""


@dataclass(frozen=True, slots=True)
class WaitEnded:
    """The wait that the effect `Wait` began is over."""

    at: int
    request: int
    """The number of the model call that failed."""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has ended."""

    at: int
    call: str
    """The id of the call."""
    text: str
    """The result that the model reads."""
    error: bool = False
    """Whether the call failed."""
    details: ToolCallDetails | None = None
    """What the call did, for the user; None to keep the preview."""
    images: tuple[ImagePart, ...] = ()
    """Pictures for the model and the user."""
    tools: tuple[ToolSpec, ...] | None = None
    """All tools that the model may call from now on, when this call has added or removed tools; else None."""
    links: tuple[UrlContent, ...] = ()
    """Links for the user."""
    whole_length: int | None = None
    """When `text` was cut: the length in characters of the whole text, which is stored elsewhere. Else None."""
    stops_turn: bool = False
    """Whether the turn stops after this call, because a hook says so."""
    documents: tuple[DocumentPart, ...] = ()
    """PDF documents for the model."""
    fetched_rule: str = ""
    """The id of the instruction rule (a text of the user for some files) whose text `text` is, if the call has fetched
    one; else empty."""


@dataclass(frozen=True, slots=True)
class Approved:
    """A user approves a call."""

    at: int
    call: str
    """The id of the call."""
    remember: bool = False
    """Whether similar calls run without approval in this chat from now on. `approval_scope` defines "similar"."""
    narrowed: FileChangeDetails | None = None
    """What is left of the change, when the user has left out some of its parts; else None."""
    by: Person | None = None
    """Who has approved the call, if that is known."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A user rejects a call, or nobody can approve it."""

    at: int
    call: str
    """The id of the call."""
    reason: RejectReason = RejectReason.USER
    """Why the call does not run."""
    words: str = ""
    """What the user tells the model about the rejection."""
    by: Person | None = None
    """Who has rejected the call, if that is known."""


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
    | CallBegun
    | CallReady
    | ModelFinished
    | ModelFailed
    | WaitEnded
    | ToolFinished
    | Approved
    | Rejected
    | Stopped
)
