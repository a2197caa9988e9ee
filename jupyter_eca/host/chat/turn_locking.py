"""Owns the state of a turn that is recorded into a lock file, or replayed from one. A lock file lies beside a notebook
and has the answers to its questions, so that the notebook runs again without a model.

It must not know hosts or chats: `host.turn.locked_answers` decides whether a turn is recorded or replayed, and has an
example. `engine.chat.recording` has the recorded replies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.chat.recording import RecordedRejection, RecordedResult
from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.engine.model.texts import ASKING_AGAIN
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.workspace.notebooks.lockfile import LockedPrompt, LockedTurn, LockFiles

NO_ANSWER: Final = "{file} has no answer to this question ({why}), and no model gave one: {error}"
NO_ANSWER_UNATTENDED: Final = (
    "{file} has no answer to this question ({why}), and no model is asked in a run that nobody watches. Run the cell "
    "in JupyterLab, or once with `--relock`, and keep the file with the notebook."
)
NOT_RECORDED: Final = "nothing like it was locked"
RELOCK_REQUESTED: Final = "`--relock` is set"
CHANGED_SINCE: Final = "changed since it was locked: {}"
NOT_LOCKED_STEERED: Final = "Not locked: more text was sent to this turn while it ran."
NOT_LOCKED_UNSAFE: Final = "Not locked: the answer holds a secret ({})."
CODE_FAILS: Final = "The code of this locked answer fails here. `--relock` asks again. The last line of its output: {}"
CODE_NOT_RUN: Final = "The code of this locked answer was not run, and what follows may need it."
CODE_DIFFERS: Final = "Its code has another output here than when this answer was locked; `--relock` asks again."

# The parts of an output that differ from run to run without a meaning: addresses of objects, lines of progress bars.
_NOISE: Final = re.compile(r"0x[0-9a-fA-F]+|^.*(?:it/s|s/it)\].*$|\s+$", re.MULTILINE)


@dataclass
class Replay:
    """A turn of the lock file that goes through the engine again."""

    turn: LockedTurn
    """The turn in the lock file."""
    calls: dict[str, RecordedResult | RecordedRejection]
    """Its tool calls, by the ids that they have in this replay: `again-TURN-0-2` is the third call of the first
    reply."""
    clock: int
    """The time of the replay in milliseconds since the epoch. It starts in the past and advances by the recorded
    durations, so that these are shown again."""
    failure: str = ""
    """Why the replay cannot continue, for the user. Empty while it can."""
    differs: bool = False
    """Whether a call had another output than the recorded one, and the user was not told yet."""
    ended_calls: set[str] = field(default_factory=set[str])
    """The ids of the calls that have ended."""

    def list_call_ids(self, reply: int) -> list[str]:
        """Return the ids of the calls of a reply. `reply` is its index in the turn."""
        return [id for id in self.calls if id.startswith(f"{_get_prefix(id)}-{reply}-")]

    def get_duration(self, id: str) -> int:
        """Return how long a call took when it was recorded, in milliseconds. 0 for a rejected one."""
        call = self.calls[id]
        return call.took_ms if isinstance(call, RecordedResult) else 0

    def get_result(self, id: str) -> ToolResult:
        """Return the recorded result of a call. It is empty for a rejected one."""
        call = self.calls[id]
        if not isinstance(call, RecordedResult):
            return ToolResult("")
        images = tuple(ImagePart(image.media_type, image.base64) for image in call.images)
        return ToolResult(call.output, call.error, call.details, images, call.links, fetched_rule=call.fetched_rule)

    def end_call(self, id: str, new_result: ToolResult, started: int) -> tuple[int, ToolResult]:
        """Note the end of a call in the replay, which started at the time `started` (milliseconds since the epoch).
        `new_result` is its result in the replay.

        Return the time and the result to show. Both are the recorded ones, unless the call fails now and did not fail
        when it was recorded: then the result is `new_result`.
        """
        self.ended_calls.add(id)
        recorded = self.get_result(id)
        at = started + self.get_duration(id)
        self.clock = max(self.clock, at)
        if new_result.interrupted or (new_result.error and not recorded.error):
            last_line = next(reversed(new_result.text.strip().splitlines()), "nothing")
            self.failure = self.failure or CODE_FAILS.format(last_line)
            return at, new_result
        self.differs = self.differs or _remove_noise(new_result.text) != _remove_noise(recorded.text)
        return at, recorded

    def fail_if_call_missing(self, reply: int) -> None:
        """Set `failure` if a recorded call of this reply has not run now, for example because it was denied."""
        if not self.failure and any(
            isinstance(self.calls[id], RecordedResult) and id not in self.ended_calls
            for id in self.list_call_ids(reply)
        ):
            self.failure = CODE_NOT_RUN


@dataclass
class TurnLocking:
    """How a turn under way is locked: it is recorded into a lock file, or replayed from one."""

    files: LockFiles
    """The lock file of the notebook, and the others in its folder."""
    prompt: LockedPrompt
    """The question, with everything that its answer depends on."""
    cell: str
    """The id of the cell that asked, "" if it is not known."""
    place: str
    """The place of the answer in the chat: the id of the cell, or `#` and the number of locked answers before it."""
    reason: str
    """Why the model is asked: the end of a sentence for the user. Empty in a replay."""
    replaced_key: str = ""
    """The key of the turn in the lock file that this one replaces, "" for none."""
    replay: Replay | None = None
    """The replay. None for a turn that is recorded."""
    events: list[Event] = field(default_factory=list["Event"])
    """The events of the turn since the model was first called."""

    @property
    def reason_line(self) -> str:
        """The line that tells the user why the model is asked again. Empty if nothing was recorded for the question."""
        return "" if self.replay or self.reason == NOT_RECORDED else f"{ASKING_AGAIN}{self.reason}."

    def explain_failure(self, error: str) -> str:
        """Return the error for a question that has neither a recorded answer nor one of a model."""
        return NO_ANSWER.format(file=self.files.display_path, why=self.reason, error=error)


def _get_prefix(id: str) -> str:
    """Return the id of a call without the numbers of its reply and its call: `"again-TURN-0-2" -> "again-TURN"`."""
    return id.rsplit("-", 2)[0]


def _remove_noise(text: str) -> str:
    """Return an output without the parts that differ from run to run without a meaning."""
    return _NOISE.sub("", text)
