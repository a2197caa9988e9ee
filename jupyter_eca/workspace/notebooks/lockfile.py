"""Lock files: the answers of a notebook's questions, beside the notebook, so that they need not be asked again.

Their format, where they are, and how they are written: whole or not at all. What a turn is recorded for, and whether it
may be replayed, is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic import Field, ValidationError, model_validator

from jupyter_eca.engine.chat.recording import Brief, Lines, Reply
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.base import Model
from jupyter_eca.workspace.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.chat import ChatLock
    from jupyter_eca.workspace.ports import Files

SUFFIX: Final = ".eca.lock"

# Where the notebook has no name, as under nbclient.
NAMELESS: Final = f"notebook{SUFFIX}"

_ABOUT: Final = (
    "Answers of the assistant, replayed by `%eca --lock`. Code under `run_code` is run again in the notebook's kernel."
)


class Asked(Brief):
    """What an answer depends on. `model`, `agent` and `variant` are those that the notebook names; `contexts` are the
    digests of what the prompt points at, "" for what could not be read; `previous` is the locked answer before it in
    the same chat, which stands for all before that one."""

    prompt: Lines
    occurrence: int = 0
    model: str = ""
    agent: str = ""
    variant: str = ""
    contexts: dict[str, str] = Field(default_factory=dict[str, str])
    previous: str = ""

    @property
    def key(self) -> str:
        return digest(json.dumps(self.model_dump(mode="json", include=set(Asked.model_fields)), sort_keys=True))

    def answers(self, now: Asked) -> bool:
        """Whether what was recorded for this is what is asked now."""
        return self.key == now.model_copy(update={"contexts": _fill_unread(self.contexts, now.contexts)}).key

    def changes(self, now: Asked) -> list[str]:
        """What is another now, in words for the reader."""
        contexts = _fill_unread(self.contexts, now.contexts)
        names = sorted(name for name in {*self.contexts, *contexts} if self.contexts.get(name) != contexts.get(name))
        named = [one for one in ("model", "agent", "variant") if getattr(self, one) != getattr(now, one)]
        changed = ["the prompt"] if self.prompt != now.prompt else []
        changed += [f"the {one} (it was {getattr(self, one) or 'not named'})" for one in named]
        changed += [f"what is in {name}" for name in names]
        if self.previous != now.previous:
            changed.append("an answer before it in this chat")
        return changed


class LockedTurn(Asked):
    """`cell` is the notebook's id of the cell, where it was known; `answered_by` the model that was asked."""

    cell: str = ""
    answered_by: str = ""
    replies: tuple[Reply, ...]

    @model_validator(mode="after")
    def _check_replies(self) -> Self:
        if not self.replies or self.replies[-1].calls or not all(reply.calls for reply in self.replies[:-1]):
            raise ValueError("the last reply, and no other, is the one without calls")
        return self

    @property
    def link(self) -> str:
        """What the next question in the same chat is about to depend on."""
        return digest(self.key + json.dumps([reply.wire() for reply in self.replies], sort_keys=True))


class _LockDocument(Model):
    version: int = Field(default=1, le=1)
    about: str = _ABOUT
    turns: tuple[LockedTurn, ...] = ()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _fill_unread(recorded: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """What cannot be read here, such as a web page without a network, cannot be told to have changed."""
    return {name: seen or recorded.get(name, "") for name, seen in now.items()}


@dataclass(frozen=True, slots=True)
class LockFiles:
    """The one that is written, and those that are read: all of the folder, for a notebook may not know its name. `new`:
    none is there yet that could be the notebook's."""

    files: Files
    own: Path
    other_paths: tuple[Path, ...]
    new: bool

    @classmethod
    def of(cls, files: Files, lock: ChatLock) -> Self:
        """Raises: ToolError for a place outside of the workspace, and for a name that is none of a lock file."""
        folder = Path(lock.folder)
        if lock.file:
            if not lock.file.endswith(SUFFIX):
                raise ToolError(f"{lock.file} cannot be a lock file: its name must end in {SUFFIX}.")
            own = files.resolve(str(folder / lock.file))
            return cls(files, own, (), not own.exists())
        if lock.notebook.endswith(".ipynb"):
            with suppress(ToolError):
                own = files.resolve(str((folder / lock.notebook).with_suffix(SUFFIX)))
                others = tuple(path for path in _find_lock_files(files, own.parent) if path != own)
                return cls(files, own, others, not own.exists())
        found = _find_lock_files(files, files.resolve(str(folder)))
        own = found[0] if len(found) == 1 else files.resolve(str(folder / NAMELESS))
        return cls(files, own, tuple(path for path in found if path != own), not found)

    @property
    def shown(self) -> str:
        return self.files.shown(self.own)

    def read(self) -> list[LockedTurn]:
        """Of all of them, its own first. Raises: ToolError, naming the file."""
        turns = list(self._read(self.own))
        for path in self.other_paths:
            # Of a notebook that has a file of its own, the others are of no concern.
            with suppress(ToolError) if turns else nullcontext():
                turns += self._read(path)
        return turns

    def put(self, turn: LockedTurn, replaced_key: str) -> None:
        """Record a turn, in the place of that with the key `instead`, of the same cell, or of the same key.

        Raises: ToolError.
        """
        turns = list(self._read(self.own))
        places = [at for at, one in enumerate(turns) if _is_same_turn(one, turn) or one.key == replaced_key]
        place = places[0] if places else len(turns)
        after = [one for at, one in enumerate(turns) if at > place and at not in places]
        turns[place:] = [turn, *after]
        data: dict[str, Any] = {"version": 1, "about": _ABOUT, "turns": [_to_json(one) for one in turns]}
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        try:
            atomic_write.put(self.own, text.encode())
        except OSError as error:
            raise ToolError(f"{self.shown} cannot be written: {error.strerror or error}.") from error

    def _read(self, path: Path) -> Iterable[LockedTurn]:
        try:
            return _LockDocument.model_validate_json(path.read_bytes()).turns
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ToolError(f"{self.files.shown(path)} cannot be read: {error.strerror or error}.") from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the file"
            raise ToolError(
                f"{self.files.shown(path)} is no lock file of ours: {place}: {first['msg']}.",
                "Mend it, take it back from version control, or delete it to ask anew.",
            ) from error


def _find_lock_files(files: Files, folder: Path) -> list[Path]:
    """Those that lie in the workspace: a link may lead out of it."""
    found: list[Path] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with suppress(ToolError):
            found.append(files.resolve(str(path)))
    return found


def _is_same_turn(one: LockedTurn, turn: LockedTurn) -> bool:
    return one.key == turn.key or (turn.cell != "" and one.cell == turn.cell)


def _to_json(turn: LockedTurn) -> dict[str, Any]:
    """The key is for the reader: it is computed anew."""
    return {"key": turn.key, **turn.wire()}
