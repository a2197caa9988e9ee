"""Locked answers: a question of a cell is answered from a lock file while what it depends on is the same, else asked
and recorded. `workspace.notebooks.lockfile` owns the format and the place of the file, `engine.chat.recording` the
recorded turn, `host.chat.recorded_turn` its replay.

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
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.config import iter_secrets
from jupyter_eca.engine.approval.policy import Decision, Policy, Verdict, decide
from jupyter_eca.engine.chat.recording import RecordedReasoning, RecordedRejection, RecordedResult, record_replies
from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.errors import ToolError
from jupyter_eca.host.chat.recorded_turn import (
    CHANGED,
    HELD,
    RENEWED,
    STEERED,
    UNASKED,
    UNREAD,
    RecordedTurn,
    ReplayedTurn,
)
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.workspace.notebooks.lockfile import LockedPrompt, LockedTurn, LockFiles, compute_digest
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from jupyter_eca.engine.inputs import Setup
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.services import Services
    from jupyter_eca.plugins.contexts.base import Material

# Shorter ones are words that stand in any text.
_SECRET_CHARS: Final = 8
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)


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


class LockedAnswers:
    """Begins, replays and records the turns of one host that are for a lock file."""

    def __init__(self, services: Services, locks: Locks) -> None:
        self._services = services
        self._locks = locks

    async def begin(self, chat: LiveChat, meant: str, found: Sequence[Material], at: int) -> RecordedTurn | None:
        """What comes of a question, once what it points at is read. `meant` is what a command makes of it.

        Raises: ToolError when the lock file cannot be used, or has no answer and nobody watches.
        """
        prompt = chat.prompt
        if prompt is None or (lock := prompt.lock) is None:
            return None
        if not (self._services.config.notebook.lock if lock.on is None else lock.on):
            return None
        files = await asyncio.to_thread(LockFiles.locate, self._services.workspace.files, lock)
        place = lock.cell or f"#{len(chat.links)}"
        asked = LockedPrompt(
            prompt=meant or prompt.message,
            occurrence=lock.occurrence,
            model=prompt.choice.model,
            agent=prompt.choice.agent,
            variant=prompt.choice.variant or "",
            contexts=self._digests(found),
            previous=_previous(chat, place),
        )
        async with self._locks.writing:
            turns = await asyncio.to_thread(files.read)
        same = next((turn for turn in turns if turn.matches(asked)), None)
        near = same or _near(turns, asked, lock.cell, self._locks.used)
        replaced = near is not None and (near.prompt, near.occurrence) == (asked.prompt, asked.occurrence)
        instead = near.key if near and replaced else ""
        if same is not None and not lock.renew:
            locking = RecordedTurn(files, asked, lock.cell, place, "", instead)
            locking.replay = _replay(chat, same, at)
            chat.links[place] = same.chain_digest
            self._locks.used.add(same.key)
            return locking
        if files.is_new:
            self._locks.begun.add(files.path)
        why = RENEWED if same else CHANGED.format(", ".join(near.describe_changes(asked))) if near else UNREAD
        # A run in CI must not put the answer of whatever model it finds there in the place of the one that was
        # reviewed.
        watched = self._services.audiences.has_approver(chat.state.id)
        if not (watched or lock.renew or files.path in self._locks.begun):
            raise ToolError(UNASKED.format(file=files.display_path, why=why))
        return RecordedTurn(files, asked, lock.cell, place, why, instead)

    def _digests(self, found: Sequence[Material]) -> dict[str, str]:
        digests: dict[str, str] = {}
        for one in found:
            text = one.text
            for root in self._services.workspace.files.roots:
                text = text.replace(str(root), ".")
            pictures = "".join(image.base64 for image in one.images)
            digests[one.label] = compute_digest(text + pictures) if one.readable else ""
        return digests

    async def prepare_replay(self, chat: LiveChat, replay: ReplayedTurn) -> Setup:
        """What the turn is run with in place of its own."""
        trusted = await asyncio.to_thread(self._locks.trusts, replay.turn.chain_digest)
        unasked = trusted or not self._services.audiences.has_approver(chat.state.id)
        verdicts = {id: self._verdict(chat, call, unasked=unasked) for id, call in replay.calls.items()}
        tools = {call.tool: self._spec(call) for call in replay.calls.values()}
        was = chat.state.setup
        model = replay.turn.answered_by or was.model
        return replace(was, model=model, tools=tuple(tools.values()), max_steps=0, compact_at=0, verdicts=verdicts)

    def _spec(self, call: RecordedResult | RecordedRejection) -> ToolSpec:
        tool = self._services.toolbox.get(call.tool)
        return replace(tool.spec, reads=tool.reads) if tool else ToolSpec(call.tool, "", {}, call.server, call.origin)

    def _verdict(self, chat: LiveChat, call: RecordedResult | RecordedRejection, *, unasked: bool) -> Verdict:
        if isinstance(call, RecordedRejection):
            return Verdict(Decision.DENY, call.reason, call.words)
        tool = self._services.toolbox.get(call.tool)
        if tool is None or not tool.lives or tool.reads:
            return Verdict(Decision.ALLOW)
        state = chat.state
        policy = state.setup.policy or Policy()
        verdict = decide(policy, tool.spec, call.arguments, state.remembered, trust=state.trust)
        return Verdict(Decision.ALLOW) if unasked and verdict.decision is Decision.ASK else verdict

    async def keep(self, chat: LiveChat) -> str:
        """Record the answer that is about to end, while the reader still waits for it: nbclient ends the kernel with
        its last cell. Returns what the reader is to be told, "" when it is recorded."""
        locking = chat.locking
        if locking is None or chat.state.calls or chat.state.resumes_reply or chat.state.summary_under_way is not None:
            return ""
        if (replay := locking.replay) is not None:
            if self._services.audiences.has_approver(chat.state.id):
                await asyncio.to_thread(self._locks.trust, replay.turn.chain_digest)
            return ""
        if any(event.role is Role.USER and isinstance(event.content, TextContent) for event in locking.taken):
            return STEERED
        try:
            turn = LockedTurn(
                **dict(locking.asked),
                cell=locking.cell,
                answered_by=chat.state.setup.model,
                replies=record_replies(locking.taken),
            )
            if name := self._secret(turn.model_dump_json()):
                return HELD.format(name)
            async with self._locks.writing:
                await run_to_end(asyncio.to_thread(locking.files.write_turn, turn, locking.instead))
        except (ToolError, ValueError) as error:
            return f"Not locked: {error}"
        await asyncio.to_thread(self._locks.trust, turn.chain_digest)
        chat.links[locking.place] = turn.chain_digest
        self._locks.used.add(turn.key)
        return ""

    def _secret(self, text: str) -> str:
        """The name of one that stands in a text."""
        known = [
            *iter_secrets("", self._services.config),
            *((name, os.environ[name]) for name in os.environ if _SECRET_NAME.search(name)),
        ]
        for name, entry in self._services.catalog.entries().items():
            known += iter_secrets(f"providers.{name}", entry.settings)
        return next((name for name, value in known if len(value) >= _SECRET_CHARS and value in text), "")


def _near(turns: Sequence[LockedTurn], asked: LockedPrompt, cell: str, used: set[str]) -> LockedTurn | None:
    """What was recorded for this question before something changed: in this cell, else in the same words, else with
    other words only, where only one is such that answers no other cell."""
    if cell and (found := [turn for turn in turns if turn.cell == cell]):
        return found[0]
    if found := [turn for turn in turns if (turn.prompt, turn.occurrence) == (asked.prompt, asked.occurrence)]:
        return found[0]
    unused = [turn for turn in turns if turn.key not in used and not (cell and turn.cell)]
    found = [turn for turn in unused if turn.describe_changes(asked) == ["the prompt"]]
    return found[0] if len(found) == 1 else None


def _previous(chat: LiveChat, place: str) -> str:
    """A cell that is run again stands where it stood."""
    before = list(chat.links)
    before = before[: before.index(place)] if place in chat.links else before
    return chat.links[before[-1]] if before else ""


def _replay(chat: LiveChat, turn: LockedTurn, at: int) -> ReplayedTurn:
    prefix = f"again-{chat.state.turn}"
    calls = {
        f"{prefix}-{number}-{place}": call
        for number, reply in enumerate(turn.replies)
        for place, call in enumerate(reply.calls)
    }
    return ReplayedTurn(turn, calls, at - sum(_took(turn)))


def _took(turn: LockedTurn) -> Iterator[int]:
    for reply in turn.replies:
        yield sum(part.took_ms for part in reply.parts if isinstance(part, RecordedReasoning))
        yield sum(call.took_ms for call in reply.calls if isinstance(call, RecordedResult))
