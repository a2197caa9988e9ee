"""Locked answers: a question of a cell is answered from a lock file while what it depends on is the same, else asked
and recorded. Format and place of the file are `workspace.lockfile`'s, the turn as it is recorded `engine.recording`'s.

What an answer depends on: the prompt, what it points at (as it was read), the model, agent and variant that the
notebook names, and the locked answer before it in the same chat. What it does not: the default model, so that a
notebook is replayed where there is none; questions that are not locked; files that were not pointed at.

What is done again: calls of tools that `live` in memory alone, which is `run_code`, since the next cells need what it
defines. Files that the assistant wrote, commands that it ran and servers that it called are not touched again.

Why that is no wider a door than the notebook's own cells: a lock file is read only when a cell says `--lock`, or the
notebook or its user `lock on`; its code lies beside the notebook in lines one can read, as a module would that a cell
imports; and it runs in the kernel, with the rights that the cells have. It is narrower where it can be. Rules that deny
the code deny it still. Where somebody is there to ask, code runs unasked only if the rules allow it, or if this user
has had it recorded or approved it in this very answer (a mark in the data folder, as Jupyter's trust in notebooks).
Only where nobody is, as under nbclient, is running the notebook all the consent there is, for this as for each cell.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.config import held
from jupyter_eca.engine.approval.policy import Decision, Policy, Verdict, decide
from jupyter_eca.engine.chat.recording import Ran, Refused, Thought, replies
from jupyter_eca.engine.model.request import ImagePart, ToolSpec
from jupyter_eca.engine.model.texts import ASKING_AGAIN
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolResult
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.workspace.notebooks.lockfile import Asked, LockedTurn, LockFiles, digest
from jupyter_eca.workspace.shielded import whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from jupyter_eca.engine.inputs import Setup
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.contexts.base import Material
    from jupyter_eca.protocol.event import Event

UNANSWERED: Final = "{file} has no answer to this question ({why}), and no model gave one: {error}"
UNASKED: Final = (
    "{file} has no answer to this question ({why}), and where nobody watches it is only replayed. Run the cell in "
    "JupyterLab, or once with `--relock`, and keep the file with the notebook."
)
UNREAD: Final = "nothing like it was locked"
RENEWED: Final = "it is asked again on demand"
CHANGED: Final = "changed since it was locked: {}"
STEERED: Final = "Not locked: the question was added to from elsewhere while it was answered."
HELD: Final = "Not locked: the answer holds a secret ({})."
FAILS: Final = "The code of this locked answer fails here. `--relock` asks again. It said: {}"
NOT_RUN: Final = "The code of this locked answer was not run, and what follows may need it."
DIFFERS: Final = "Its code says something else here than when this answer was locked; `--relock` asks again."

# Shorter ones are words that stand in any text.
_SECRET_CHARS: Final = 8
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)

# What differs from run to run, and says nothing: addresses of objects, the lines of progress bars.
_NOISE: Final = re.compile(r"0x[0-9a-fA-F]+|^.*(?:it/s|s/it)\].*$|\s+$", re.MULTILINE)


@dataclass
class Replay:
    """A recorded turn on its way through the engine, by the ids that its calls have now. `clock` is the time it makes
    believe: the same durations are shown, and all of it is past."""

    turn: LockedTurn
    calls: dict[str, Ran | Refused]
    clock: int
    broken: str = ""
    differs: bool = False
    ran: set[str] = field(default_factory=set[str])

    def ids(self, reply: int) -> list[str]:
        return [id for id in self.calls if id.startswith(f"{_prefix(id)}-{reply}-")]

    def took(self, id: str) -> int:
        call = self.calls[id]
        return call.took_ms if isinstance(call, Ran) else 0

    def result(self, id: str) -> ToolResult:
        """As it was recorded."""
        call = self.calls[id]
        if not isinstance(call, Ran):
            return ToolResult("")
        images = tuple(ImagePart(image.media_type, image.base64) for image in call.images)
        return ToolResult(call.output, call.error, call.details, images, call.links, rule=call.fetched_rule)

    def ended(self, id: str, fresh: ToolResult, started: int) -> tuple[int, ToolResult]:
        """When a call that began then has ended, and with what: with what was recorded, unless it fails now."""
        self.ran.add(id)
        was = self.result(id)
        at = started + self.took(id)
        self.clock = max(self.clock, at)
        if fresh.interrupted or (fresh.error and not was.error):
            self.broken = FAILS.format(next(reversed(fresh.text.strip().splitlines()), "nothing"))
            return at, fresh
        self.differs = self.differs or _told(fresh.text) != _told(was.text)
        return at, was

    def check(self, reply: int) -> None:
        """That all calls of a reply ended as they did."""
        if not self.broken and any(isinstance(self.calls[id], Ran) and id not in self.ran for id in self.ids(reply)):
            self.broken = NOT_RUN


@dataclass
class Locking:
    """A turn that is recorded, or replayed. `taken` are its events since the model was first asked."""

    files: LockFiles
    asked: Asked
    cell: str
    place: str
    why: str
    instead: str = ""
    replay: Replay | None = None
    taken: list[Event] = field(default_factory=list["Event"])

    @property
    def note(self) -> str:
        return "" if self.replay or self.why == UNREAD else f"{ASKING_AGAIN}{self.why}."

    def unanswered(self, error: str) -> str:
        return UNANSWERED.format(file=self.files.shown, why=self.why, error=error)


class Locks:
    """Of one host: what its user has approved, and who writes now."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.writing = asyncio.Lock()
        self.used: set[str] = set()
        """The keys of those that have answered a question since the host began."""
        self.begun: set[Path] = set()
        """The files that there were not when they were first asked for."""

    def trusts(self, link: str) -> bool:
        return (self._folder / link).exists()

    def trust(self, link: str) -> None:
        """Where it cannot be marked, the user is asked again."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / link).touch()


async def begin(host: Host, chat: LiveChat, meant: str, found: Sequence[Material], at: int) -> Locking | None:
    """What comes of a question, once what it points at is read. `meant` is what a command makes of it.

    Raises: ToolError when the lock file cannot be used, or has no answer and nobody watches.
    """
    prompt = chat.prompt
    if prompt is None or (lock := prompt.lock) is None:
        return None
    if not (host.config.notebook.lock if lock.on is None else lock.on):
        return None
    files = await asyncio.to_thread(LockFiles.of, host.workspace.files, lock)
    place = lock.cell or f"#{len(chat.links)}"
    asked = Asked(
        prompt=meant or prompt.message,
        occurrence=lock.occurrence,
        model=prompt.choice.model,
        agent=prompt.choice.agent,
        variant=prompt.choice.variant or "",
        contexts=_digests(host, found),
        previous=_previous(chat, place),
    )
    async with host.locks.writing:
        turns = await asyncio.to_thread(files.read)
    same = next((turn for turn in turns if turn.answers(asked)), None)
    near = same or _near(turns, asked, lock.cell, host.locks.used)
    replaced = near is not None and (near.prompt, near.occurrence) == (asked.prompt, asked.occurrence)
    instead = near.key if near and replaced else ""
    if same is not None and not lock.renew:
        locking = Locking(files, asked, lock.cell, place, "", instead)
        locking.replay = _replay(chat, same, at)
        chat.links[place] = same.link
        host.locks.used.add(same.key)
        return locking
    if files.new:
        host.locks.begun.add(files.own)
    why = RENEWED if same else CHANGED.format(", ".join(near.changes(asked))) if near else UNREAD
    # A run in CI must not put the answer of whatever model it finds there in the place of the one that was reviewed.
    watched = host.audiences.attended(chat.state.id)
    if not (watched or lock.renew or files.own in host.locks.begun):
        raise ToolError(UNASKED.format(file=files.shown, why=why))
    return Locking(files, asked, lock.cell, place, why, instead)


def _near(turns: Sequence[LockedTurn], asked: Asked, cell: str, used: set[str]) -> LockedTurn | None:
    """What was recorded for this question before something changed: in this cell, else in the same words, else with
    other words only, where only one is such that answers no other cell."""
    if cell and (found := [turn for turn in turns if turn.cell == cell]):
        return found[0]
    if found := [turn for turn in turns if (turn.prompt, turn.occurrence) == (asked.prompt, asked.occurrence)]:
        return found[0]
    unused = [turn for turn in turns if turn.key not in used and not (cell and turn.cell)]
    found = [turn for turn in unused if turn.changes(asked) == ["the prompt"]]
    return found[0] if len(found) == 1 else None


def _previous(chat: LiveChat, place: str) -> str:
    """A cell that is run again stands where it stood."""
    before = list(chat.links)
    before = before[: before.index(place)] if place in chat.links else before
    return chat.links[before[-1]] if before else ""


def _digests(host: Host, found: Sequence[Material]) -> dict[str, str]:
    digests: dict[str, str] = {}
    for one in found:
        text = one.text
        for root in host.workspace.files.roots:
            text = text.replace(str(root), ".")
        pictures = "".join(image.base64 for image in one.images)
        digests[one.label] = digest(text + pictures) if one.readable else ""
    return digests


# -- replaying


def _prefix(id: str) -> str:
    return id.rsplit("-", 2)[0]


def _replay(chat: LiveChat, turn: LockedTurn, at: int) -> Replay:
    prefix = f"again-{chat.state.turn}"
    calls = {
        f"{prefix}-{number}-{place}": call
        for number, reply in enumerate(turn.replies)
        for place, call in enumerate(reply.calls)
    }
    return Replay(turn, calls, at - sum(_took(turn)))


def _took(turn: LockedTurn) -> Iterator[int]:
    for reply in turn.replies:
        yield sum(part.took_ms for part in reply.parts if isinstance(part, Thought))
        yield max((call.took_ms for call in reply.calls if isinstance(call, Ran)), default=0)


async def setup(host: Host, chat: LiveChat, replay: Replay) -> Setup:
    """What the turn is run with in place of its own."""
    trusted = await asyncio.to_thread(host.locks.trusts, replay.turn.link)
    unasked = trusted or not host.audiences.attended(chat.state.id)
    verdicts = {id: _verdict(host, chat, call, unasked=unasked) for id, call in replay.calls.items()}
    tools = {call.tool: _spec(host, call) for call in replay.calls.values()}
    was = chat.state.setup
    model = replay.turn.answered_by or was.model
    return replace(was, model=model, tools=tuple(tools.values()), max_steps=0, compact_at=0, verdicts=verdicts)


def _spec(host: Host, call: Ran | Refused) -> ToolSpec:
    tool = host.toolbox.get(call.tool)
    return tool.spec if tool else ToolSpec(call.tool, "", {}, call.server, call.origin)


def _verdict(host: Host, chat: LiveChat, call: Ran | Refused, *, unasked: bool) -> Verdict:
    if isinstance(call, Refused):
        return Verdict(Decision.DENY, call.reason, call.words)
    tool = host.toolbox.get(call.tool)
    if tool is None or not tool.lives or tool.reads:
        return Verdict(Decision.ALLOW)
    state = chat.state
    policy = state.setup.policy or Policy()
    verdict = decide(policy, tool.spec, call.arguments, state.remembered, trust=state.trust)
    return Verdict(Decision.ALLOW) if unasked and verdict.decision is Decision.ASK else verdict


def _told(text: str) -> str:
    return _NOISE.sub("", text)


# -- recording


async def keep(host: Host, chat: LiveChat) -> str:
    """Record the answer that is about to end, while the reader still waits for it: nbclient ends the kernel with its
    last cell. Gives what the reader is to be told, "" when it is recorded."""
    locking = chat.locking
    if locking is None or chat.state.calls or chat.state.goes_on or chat.state.summing is not None:
        return ""
    if (replay := locking.replay) is not None:
        if host.audiences.attended(chat.state.id):
            await asyncio.to_thread(host.locks.trust, replay.turn.link)
        return ""
    if any(event.role is Role.USER and isinstance(event.content, TextContent) for event in locking.taken):
        return STEERED
    try:
        turn = LockedTurn(
            **dict(locking.asked),
            cell=locking.cell,
            answered_by=chat.state.setup.model,
            replies=replies(locking.taken),
        )
        if name := _secret(host, turn.model_dump_json()):
            return HELD.format(name)
        async with host.locks.writing:
            await whole(asyncio.to_thread(locking.files.put, turn, locking.instead))
    except (ToolError, ValueError) as error:
        return f"Not locked: {error}"
    await asyncio.to_thread(host.locks.trust, turn.link)
    chat.links[locking.place] = turn.link
    host.locks.used.add(turn.key)
    return ""


def _secret(host: Host, text: str) -> str:
    """The name of one that stands in a text."""
    known = [*held("", host.config), *((name, os.environ[name]) for name in os.environ if _SECRET_NAME.search(name))]
    for name, entry in host.catalog.entries().items():
        known += held(f"providers.{name}", entry.settings)
    return next((name for name, value in known if len(value) >= _SECRET_CHARS and value in text), "")
