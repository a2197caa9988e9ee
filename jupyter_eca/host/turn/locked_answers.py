"""Owns locked answers: the answer to a question is recorded, and replayed while nothing that it depends on has changed.

So a notebook gives the same result each time it runs, costs nothing, and runs without a key: in CI, at a colleague's
desk, in a year.

An example. The notebook `sales.ipynb` has the cell `%%eca --lock Load sales.csv and count the rows without a price`.

1. The author runs the cell in JupyterLab. Nothing is recorded yet, so the model is asked. It calls the tool `run_code`
   and then writes "12 rows have no price." When the turn ends, it is recorded in the file `sales.eca.lock` beside the
   notebook:

       {"key": "3f1c…",
        "prompt": ["Load sales.csv and count the rows without a price"],
        "answeredBy": "anthropic/…",
        "replies": [
          {"parts": [{"type": "ran", "tool": "run_code",
                      "arguments": {"code": {"$lines": ["import pandas as pd\\n", "sales = pd.read_csv(…)"]}},
                      "output": ["12"]}]},
          {"parts": [{"type": "text", "text": ["12 rows have no price."]}]}]}

2. A colleague who has no key runs the notebook. The key of the question, which is a digest, is found in the lock file.
   So no model is asked: the recorded code runs again in the colleague's kernel, which defines `sales` for the next
   cells, and the recorded text is shown. If the code fails there, the turn ends with an error. If its output differs
   from the recorded one, the answer says so.
3. The author changes the question to "... without a price or a date". No recorded turn has its key. So the model is
   asked again, and the new answer replaces the old one in the lock file.
4. The author changes the question again and forgets to run the cell. Nobody watches the run in CI, so it fails there:
   a reviewed answer must not be replaced by one of whatever model CI has. `--relock` asks the model even there, and a
   lock file that did not exist before is also filled there.

What an answer depends on, and so what the key covers:

- the prompt, and how often the same prompt came before in this chat;
- the content of the contexts that the prompt names, such as `@sales.csv`;
- the model, the agent and the variant, if the notebook names them;
- the locked answer before this one in the same chat.

An answer does not depend on the default model, so that a notebook can be replayed where no model is set up. It does
not depend on questions that are not locked, or on files that the prompt does not name.

What a replay does again: it calls the tools whose effect exists in memory only (`Tool.runs_on_replay`). That is
`run_code`, because the next cells need what it defines. All other calls only return their recorded result: files are
not written again, and commands and MCP servers are not called again.

Why a replay is no more dangerous than running the cells of the notebook:

- A lock file is read only where a cell says `--lock`, or where the notebook or its user has turned locking on.
- The code in it can be read line by line, like a module that a cell imports, and it runs in the kernel with the rights
  of a cell.
- Rules that deny the code still deny it.
- Where a user can be asked, the user is asked before the code runs. The question is left out if the rules allow the
  code, or if this user has recorded this answer or approved its replay before. A mark in the data folder remembers
  that, like Jupyter's trust in notebooks.
- Where nobody can be asked, as in nbclient, the user consents by running the notebook, to this code as to each cell.

`workspace/notebooks/lockfile.py` owns the format and the place of the file, `engine/chat/recording.py` owns the
recorded turn, and `host/chat/turn_locking.py` its replay.
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
from jupyter_eca.host.chat.turn_locking import (
    CHANGED_SINCE,
    NO_ANSWER_UNATTENDED,
    NOT_LOCKED_STEERED,
    NOT_LOCKED_UNSAFE,
    NOT_RECORDED,
    RELOCK_REQUESTED,
    Replay,
    TurnLocking,
)
from jupyter_eca.host.tools.path_resolution import find_call_targets
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks.lockfile import LockedPrompt, LockedTurn, LockFiles, compute_digest
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from jupyter_eca.engine.inputs import Setup
    from jupyter_eca.host.chat.live_chat import LiveChat, Prompt
    from jupyter_eca.host.services import Services
    from jupyter_eca.plugins.contexts.base import Material
    from jupyter_eca.protocol.chat import AnswerLock

# An answer that contains a secret is not recorded. A value with fewer characters than this is not taken for a secret,
# because it could be an ordinary word.
_SECRET_CHARS: Final = 8
# The environment variables whose values are taken for secrets.
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)


class LockState:
    """What the locked turns of one host share: the answers that its user trusts, and those that were replayed."""

    def __init__(self, folder: Path) -> None:
        # Has an empty file for each answer that the user trusts. Its name is the chain digest of the answer.
        self._folder = folder
        self.file_lock = asyncio.Lock()
        """Held while a lock file is read or written."""
        self.used_keys: set[str] = set()
        """The keys of the recorded turns that have answered a question since the host started."""
        self.new_files: set[Path] = set()
        """The lock files that did not exist when this host started."""

    def trusts(self, digest: str) -> bool:
        """Return whether the user has recorded or approved the answer with this chain digest: the digest of an answer
        and of all locked answers before it in its chat."""
        return (self._folder / digest).exists()

    def trust(self, digest: str) -> None:
        """Remember that the user trusts an answer. If the mark cannot be written, the user is asked again."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / digest).touch()


class LockedAnswers:
    """Begins, replays and records the locked turns of one host."""

    def __init__(self, services: Services, locks: LockState) -> None:
        self._services = services
        self._locks = locks

    async def begin(
        self,
        chat: LiveChat,
        prompt: Prompt,
        lock: AnswerLock,
        model_message: str,
        materials: Sequence[Material],
        at: int,
    ) -> TurnLocking:
        """Return the object with which the turn of a prompt with a lock is replayed or recorded.

        `lock` says which notebook and cell asked, and whether the cell said `--relock` (`lock.renew`). `model_message`
        is the message that the model gets instead of the prompt, as for a command, "" for none. `materials` are the
        contexts that were read. `at` is the time of the prompt in milliseconds since the epoch.

        Raises: ToolError when the lock file cannot be used, or when it has no answer and nobody watches.
        """
        files = await run_read(LockFiles.locate, self._services.workspace.files, lock)
        # The name of the answer among the locked answers of the chat: the id of its cell, or else its number.
        place = lock.cell or f"#{len(chat.locked_chain)}"
        question = LockedPrompt(
            prompt=model_message or prompt.message,
            occurrence=lock.occurrence,
            model=prompt.choice.model,
            agent=prompt.choice.agent,
            variant=prompt.choice.variant or "",
            contexts=self._digest_contexts(materials),
            previous=_find_previous_digest(chat, place),
        )
        async with self._locks.file_lock:
            turns = await run_read(files.read)
        recorded = next((turn for turn in turns if turn.matches(question)), None)
        # Without a recorded answer, the nearest one says what has changed, and may be replaced by the new answer.
        nearest = recorded or _find_nearest(turns, question, lock.cell, self._locks.used_keys)
        # Whether the nearest turn answers the same question, so that the new answer takes its place in the lock file.
        asks_same = nearest is not None and (nearest.prompt, nearest.occurrence) == (
            question.prompt,
            question.occurrence,
        )
        replaced_key = nearest.key if nearest and asks_same else ""
        if recorded is not None and not lock.renew:
            locking = TurnLocking(files, question, lock.cell, place, "", replaced_key)
            locking.replay = _begin_replay(chat, recorded, at)
            chat.locked_chain[place] = recorded.chain_digest
            self._locks.used_keys.add(recorded.key)
            return locking
        if files.is_new:
            self._locks.new_files.add(files.path)
        reason = (
            RELOCK_REQUESTED
            if recorded
            else CHANGED_SINCE.format(", ".join(nearest.describe_changes(question)))
            if nearest
            else NOT_RECORDED
        )
        # A run in CI must not replace a reviewed answer by that of whatever model it has.
        watched = self._services.subscribers.has_approver(chat.state.id)
        if not (watched or lock.renew or files.path in self._locks.new_files):
            raise ToolError(NO_ANSWER_UNATTENDED.format(file=files.display_path, why=reason))
        return TurnLocking(files, question, lock.cell, place, reason, replaced_key)

    def _digest_contexts(self, materials: Sequence[Material]) -> dict[str, str]:
        """Return a digest of each context by its name, "" for one that cannot be read. Paths of the workspace are left
        out, so that the digests are the same on another machine."""
        digests: dict[str, str] = {}
        for material in materials:
            text = material.text
            for root in self._services.workspace.files.roots:
                text = text.replace(str(root), ".")
            pictures = "".join(image.base64 for image in material.images)
            digests[material.label] = compute_digest(text + pictures) if material.readable else ""
        return digests

    async def prepare_replay(self, chat: LiveChat, replay: Replay) -> Setup:
        """Return the setup of a replay: the recorded model and tools, and a verdict for each recorded call."""
        is_answer_trusted = await asyncio.to_thread(self._locks.trusts, replay.turn.chain_digest)
        skip_question = is_answer_trusted or not self._services.subscribers.has_approver(chat.state.id)
        verdicts = {
            id: await self._decide_call(chat, call, skip_question=skip_question) for id, call in replay.calls.items()
        }
        tools = {call.tool: self._get_spec(call) for call in replay.calls.values()}
        setup = chat.state.setup
        model = replay.turn.answered_by or setup.model
        # Neither the limit of steps nor the automatic summary applies (0): no model is called.
        return replace(setup, model=model, tools=tuple(tools.values()), max_steps=0, compact_at=0, verdicts=verdicts)

    def _get_spec(self, call: RecordedResult | RecordedRejection) -> ToolSpec:
        """Return the tool of a recorded call, as it was recorded if there is no such tool here."""
        tool = self._services.toolbox.get(call.tool)
        return (
            replace(tool.spec, read_only_hint=tool.only_reads)
            if tool
            else ToolSpec(call.tool, "", {}, call.server, call.origin)
        )

    async def _decide_call(
        self, chat: LiveChat, call: RecordedResult | RecordedRejection, *, skip_question: bool
    ) -> Verdict:
        """Decide a recorded call. Only a call that runs again is decided by the rules. With `skip_question` the user is
        not asked about it, unless the call needs an approval each time that it runs."""
        if isinstance(call, RecordedRejection):
            return Verdict(Decision.DENY, call.reason, call.words)
        tool = self._services.toolbox.get(call.tool)
        if tool is None or not tool.runs_on_replay or tool.only_reads:
            return Verdict(Decision.ALLOW)  # it only returns its recorded result, or changes nothing
        state = chat.state
        policy = state.setup.policy or Policy()
        files = self._services.workspace.files.with_folder(chat.choice.folder)
        targets = await find_call_targets(files, self._services.config, tool.spec, call.arguments, chat.asked_notebook)
        verdict = decide(policy, tool.spec, call.arguments, state.approved_scopes, trust=state.trust, targets=targets)
        skips = skip_question and verdict.decision is Decision.ASK and not verdict.needs_approval_each_time
        return Verdict(Decision.ALLOW) if skips else verdict

    async def save(self, chat: LiveChat) -> str:
        """Record the turn if the reply of the model that ends now is its last one. In a replay, remember that the user
        trusts the answer instead. Return why the turn was not recorded, for the user, or "".

        Called at the end of each reply. The turn waits for this, because nbclient ends the kernel with its last cell.
        """
        locking = chat.locking
        # The turn goes on if the reply calls tools, if the vendor has interrupted it, or if it is a summary.
        if locking is None or chat.state.calls or chat.state.resumes_reply or chat.state.summary_under_way is not None:
            return ""
        if (replay := locking.replay) is not None:
            if self._services.subscribers.has_approver(chat.state.id):
                await asyncio.to_thread(self._locks.trust, replay.turn.chain_digest)
            return ""
        # If the user has written more while the model answered, nothing is recorded: the key does not cover that.
        if any(event.role is Role.USER and isinstance(event.content, TextContent) for event in locking.events):
            return NOT_LOCKED_STEERED
        try:
            turn = LockedTurn(
                **dict(locking.prompt),
                cell=locking.cell,
                answered_by=chat.state.setup.model,
                replies=record_replies(locking.events),
            )
            if name := self._find_secret(turn.model_dump_json()):
                return NOT_LOCKED_UNSAFE.format(name)
            async with self._locks.file_lock:
                await run_to_end(asyncio.to_thread(locking.files.write_turn, turn, locking.replaced_key))
        except (ToolError, ValueError) as error:
            return f"Not locked: {error}"
        await asyncio.to_thread(self._locks.trust, turn.chain_digest)
        chat.locked_chain[locking.place] = turn.chain_digest
        self._locks.used_keys.add(turn.key)
        return ""

    def _find_secret(self, text: str) -> str:
        """Return the name of a secret that is in a text, "" for none."""
        secrets = [
            *iter_secrets("", self._services.config),
            *((name, os.environ[name]) for name in os.environ if _SECRET_NAME.search(name)),
        ]
        for name, entry in self._services.catalog.entries().items():
            secrets += iter_secrets(f"providers.{name}", entry.settings)
        return next((name for name, value in secrets if len(value) >= _SECRET_CHARS and value in text), "")


def _find_nearest(
    turns: Sequence[LockedTurn], question: LockedPrompt, cell: str, used_keys: set[str]
) -> LockedTurn | None:
    """Return the turn that was recorded for this question before something changed, None if there is none.

    It is the turn of the same cell. Otherwise it is the turn with the same prompt. Otherwise it is the one that differs
    only in its prompt, if exactly one such turn answers no other cell. `cell` is the id of the cell that asks, and
    `used_keys` are the keys of the turns that have answered a question since the host started.
    """
    if cell and (recorded := [turn for turn in turns if turn.cell == cell]):
        return recorded[0]
    if recorded := [turn for turn in turns if (turn.prompt, turn.occurrence) == (question.prompt, question.occurrence)]:
        return recorded[0]
    unused = [turn for turn in turns if turn.key not in used_keys and not (cell and turn.cell)]
    reworded = [turn for turn in unused if turn.describe_changes(question) == ["the prompt"]]
    return reworded[0] if len(reworded) == 1 else None


def _find_previous_digest(chat: LiveChat, place: str) -> str:
    """Return the chain digest of the locked answer before the one at `place`, "" for none. A place is the name of a
    locked answer in its chat: the id of its cell, or else its number. So a cell that runs again keeps its place."""
    places = list(chat.locked_chain)
    places_before = places[: places.index(place)] if place in chat.locked_chain else places
    return chat.locked_chain[places_before[-1]] if places_before else ""


def _begin_replay(chat: LiveChat, turn: LockedTurn, at: int) -> Replay:
    """Begin a replay, and give its calls new ids: `again-TURN-0-2` is the third call of the first reply. Its clock
    starts in the past, so that it ends at the time `at`."""
    calls = {
        f"again-{chat.state.turn}-{reply_index}-{call_index}": call
        for reply_index, reply in enumerate(turn.replies)
        for call_index, call in enumerate(reply.calls)
    }
    return Replay(turn, calls, at - sum(_list_durations(turn)))


def _list_durations(turn: LockedTurn) -> Iterator[int]:
    """Yield two times in milliseconds for each recorded reply: that of its reasoning, and that of its calls. A replay
    shows these times again, so its clock starts in the past by their sum."""
    for reply in turn.replies:
        yield sum(part.took_ms for part in reply.parts if isinstance(part, RecordedReasoning))
        yield sum(call.took_ms for call in reply.calls if isinstance(call, RecordedResult))
