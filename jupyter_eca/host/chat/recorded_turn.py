"""A turn as it is recorded in a lock file, and as it is replayed from one.

Knows what such a turn is made of, nothing of hosts and chats. What decides about both is `host.turn.locked_answers`.
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

# What differs from run to run, and says nothing: addresses of objects, the lines of progress bars.
_NOISE: Final = re.compile(r"0x[0-9a-fA-F]+|^.*(?:it/s|s/it)\].*$|\s+$", re.MULTILINE)


@dataclass
class ReplayedTurn:
    """A recorded turn on its way through the engine, by the ids that its calls have now. `clock` is the time it makes
    believe: the same durations are shown, and all of it is past."""

    turn: LockedTurn
    calls: dict[str, RecordedResult | RecordedRejection]
    clock: int
    broken: str = ""
    differs: bool = False
    ran: set[str] = field(default_factory=set[str])

    def ids(self, reply: int) -> list[str]:
        return [id for id in self.calls if id.startswith(f"{_prefix(id)}-{reply}-")]

    def took(self, id: str) -> int:
        call = self.calls[id]
        return call.took_ms if isinstance(call, RecordedResult) else 0

    def result(self, id: str) -> ToolResult:
        """As it was recorded."""
        call = self.calls[id]
        if not isinstance(call, RecordedResult):
            return ToolResult("")
        images = tuple(ImagePart(image.media_type, image.base64) for image in call.images)
        return ToolResult(call.output, call.error, call.details, images, call.links, rule=call.fetched_rule)

    def end_call(self, id: str, fresh: ToolResult, started: int) -> tuple[int, ToolResult]:
        """When a call that began then has ended, and with what: with what was recorded, unless it fails now."""
        self.ran.add(id)
        was = self.result(id)
        at = started + self.took(id)
        self.clock = max(self.clock, at)
        if fresh.interrupted or (fresh.error and not was.error):
            last = next(reversed(fresh.text.strip().splitlines()), "nothing")
            self.broken = self.broken or FAILS.format(last)
            return at, fresh
        self.differs = self.differs or _without_noise(fresh.text) != _without_noise(was.text)
        return at, was

    def check(self, reply: int) -> None:
        """That all calls of a reply ended as they did."""
        if not self.broken and any(
            isinstance(self.calls[id], RecordedResult) and id not in self.ran for id in self.ids(reply)
        ):
            self.broken = NOT_RUN


@dataclass
class RecordedTurn:
    """A turn that is recorded, or replayed. `taken` are its events since the model was first asked."""

    files: LockFiles
    asked: LockedPrompt
    cell: str
    place: str
    why: str
    instead: str = ""
    replay: ReplayedTurn | None = None
    taken: list[Event] = field(default_factory=list["Event"])

    @property
    def note(self) -> str:
        return "" if self.replay or self.why == UNREAD else f"{ASKING_AGAIN}{self.why}."

    def explain_failure(self, error: str) -> str:
        return UNANSWERED.format(file=self.files.display_path, why=self.why, error=error)


def _prefix(id: str) -> str:
    return id.rsplit("-", 2)[0]


def _without_noise(text: str) -> str:
    return _NOISE.sub("", text)
