"""Reads and writes lock files (`NAME.eca.lock`). A lock file lies beside a notebook, and stores the answers to its
prompts. When the notebook runs again with `%eca --lock`, the recorded answers are replayed, and no prompt is sent to a
model.

The module owns the format and the paths of lock files, and writes each file as a whole or not at all. It must not
decide what is recorded, or whether a recorded answer is replayed: `host/turn/locked_answers.py` does.

A lock file is JSON that people can compare in version control. So its models leave out fields with default values
(`ModelWithoutDefaults`), and a long text is stored as a list of lines (`Lines`). The key of an answer is a digest of
everything that the answer depends on.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic import Field, ValidationError, model_validator

from jupyter_eca.config.disk.regular_file import read_resolved
from jupyter_eca.engine.chat.recording import Lines, ModelWithoutDefaults, RecordedReply
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.base import Model
from jupyter_eca.workspace.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.chat import AnswerLock
    from jupyter_eca.workspace.ports import Files

# The end of the name of a lock file.
SUFFIX: Final = ".eca.lock"

# The name of the lock file where the name of the notebook is not known. nbclient, for example, does not tell it.
NAMELESS: Final = f"notebook{SUFFIX}"

# The explanation at the top of each lock file, for people.
_ABOUT: Final = (
    "Answers of the assistant, replayed by `%eca --lock`. Code under `run_code` is run again in the notebook's kernel."
)


class LockedPrompt(ModelWithoutDefaults):
    """Everything that an answer depends on. If one of these values changes, the recorded answer is no longer valid."""

    prompt: Lines
    """The prompt as the user wrote it."""
    occurrence: int = 0
    """How often the same prompt was sent before in this chat."""
    model: str = ""
    """The model that the notebook names; empty when it names none."""
    agent: str = ""
    """The agent that the notebook names; empty when it names none."""
    variant: str = ""
    """The variant of the model that the notebook names; empty when it names none."""
    contexts: dict[str, str] = Field(default_factory=dict[str, str])
    """The digest of the content of each context of the prompt, by name; "" for a context that could not be read."""
    previous: str = ""
    """The digest of the recorded answer before this one in the same chat. That digest depends on all earlier answers
    too."""

    @property
    def key(self) -> str:
        """The digest of everything that the answer depends on."""
        return compute_digest(
            json.dumps(self.model_dump(mode="json", include=set(LockedPrompt.model_fields)), sort_keys=True)
        )

    def matches(self, current_prompt: LockedPrompt) -> bool:
        """Return whether the answer to this recorded prompt may be replayed for `current_prompt`."""
        contexts = _fill_unread(self.contexts, current_prompt.contexts)
        return self.key == current_prompt.model_copy(update={"contexts": contexts}).key

    def describe_changes(self, current_prompt: LockedPrompt) -> list[str]:
        """Return the differences between this recorded prompt and `current_prompt`, in words for the user."""
        contexts = _fill_unread(self.contexts, current_prompt.contexts)
        names = sorted(name for name in {*self.contexts, *contexts} if self.contexts.get(name) != contexts.get(name))
        named = [
            field for field in ("model", "agent", "variant") if getattr(self, field) != getattr(current_prompt, field)
        ]
        changed = ["the prompt"] if self.prompt != current_prompt.prompt else []
        changed += [f"the {field} (it was {getattr(self, field) or 'not named'})" for field in named]
        changed += [f"what is in {name}" for name in names]
        if self.previous != current_prompt.previous:
            changed.append("an answer before it in this chat")
        return changed


class LockedTurn(LockedPrompt):
    """A recorded turn: the prompt, and the replies of the model."""

    cell: str = ""
    """The id of the cell with the prompt; empty when it is unknown."""
    answered_by: str = ""
    """The model that gave the answer."""
    replies: tuple[RecordedReply, ...]
    """The replies in order. Each calls tools, except the last."""

    @model_validator(mode="after")
    def _check_replies(self) -> Self:
        """Check that each reply calls tools, except the last one."""
        if not self.replies or self.replies[-1].calls or not all(reply.calls for reply in self.replies[:-1]):
            raise ValueError("the last reply must have no calls, and all others must have some")
        return self

    @property
    def chain_digest(self) -> str:
        """The digest that the next prompt of the same chat depends on."""
        return compute_digest(self.key + json.dumps([reply.as_json_object() for reply in self.replies], sort_keys=True))


# Bytes. A lock file contains whole answers, but no notebook has enough of them to reach this limit.
MAX_LOCK_BYTES: Final = 50_000_000


class _LockDocument(Model):
    """The content of a lock file."""

    version: int = Field(default=1, le=1)
    """The version of the format. A file of a later version is refused."""
    about: str = _ABOUT
    """An explanation for people who read the file."""
    turns: tuple[LockedTurn, ...] = ()
    """The recorded turns, in the order in which they were first recorded."""


def compute_digest(text: str) -> str:
    """Return the SHA-256 digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _fill_unread(recorded: dict[str, str], current_digests: dict[str, str]) -> dict[str, str]:
    """Return `current_digests`, the digests of contexts by name. A context that cannot be read now (its digest is "")
    gets the digest in `recorded`: a web page, for example, must not count as changed only because there is no
    network."""
    return {name: digest or recorded.get(name, "") for name, digest in current_digests.items()}


@dataclass(frozen=True, slots=True)
class LockFiles:
    """The lock file of a notebook, and the other lock files in its folder."""

    files: Files
    """The folders of the workspace."""
    path: Path
    """The lock file that is written."""
    other_paths: tuple[Path, ...]
    """The other lock files in the folder. Their answers may be replayed too."""
    is_new: bool
    """Whether the file `path` does not exist yet. Where only the folder is known: whether it has no lock file."""

    @classmethod
    def locate(cls, files: Files, lock: AnswerLock) -> Self:
        """Find the lock files for the `lock` of a client's request. It names a lock file, or a notebook, or only a
        folder. Where only the folder is known, its only lock file is used, or else the file `NAMELESS`.

        Raises: ToolError for a lock file or a folder outside of the workspace, and for a lock file whose name does not
        end in `SUFFIX`.
        """
        folder = Path(lock.folder)
        if lock.file:
            if not lock.file.endswith(SUFFIX):
                raise ToolError(f"{lock.file} cannot be a lock file: its name must end in {SUFFIX}.")
            lock_file = files.resolve(str(folder / lock.file))
            return cls(files, lock_file, (), not lock_file.exists())
        if lock.notebook.endswith(".ipynb"):
            with suppress(ToolError):  # if the path is outside of the workspace, only the folder is used
                lock_file = files.resolve(str((folder / lock.notebook).with_suffix(SUFFIX)))
                others = tuple(path for path in _list_lock_files(files, lock_file.parent) if path != lock_file)
                return cls(files, lock_file, others, not lock_file.exists())
        lock_files = _list_lock_files(files, files.resolve(str(folder)))
        lock_file = lock_files[0] if len(lock_files) == 1 else files.resolve(str(folder / NAMELESS))
        return cls(files, lock_file, tuple(path for path in lock_files if path != lock_file), not lock_files)

    @property
    def display_path(self) -> str:
        """The path of the lock file as messages show it."""
        return self.files.shorten(self.path)

    def read(self) -> list[LockedTurn]:
        """Return the turns of all lock files, those of `path` first.

        Raises: ToolError that names the file which cannot be read.
        """
        turns = list(self._read(self.path))
        for path in self.other_paths:
            # If the notebook has a lock file with turns, errors in the other files do not matter.
            with suppress(ToolError) if turns else nullcontext():
                turns += self._read(path)
        return turns

    def write_turn(self, turn: LockedTurn, replaced_key: str) -> None:
        """Record a turn. It replaces the recorded turns that have the same key, the same cell, or the key
        `replaced_key`, which is that of an answer that is no longer valid ("" for none).

        Raises: ToolError when the file cannot be read or written.
        """
        turns = list(self._read(self.path))
        replaced_indexes = [
            index
            for index, recorded in enumerate(turns)
            if _is_same_turn(recorded, turn) or recorded.key == replaced_key
        ]
        first_index = replaced_indexes[0] if replaced_indexes else len(turns)
        after = [
            recorded for index, recorded in enumerate(turns) if index > first_index and index not in replaced_indexes
        ]
        turns[first_index:] = [turn, *after]
        data: dict[str, Any] = {"version": 1, "about": _ABOUT, "turns": [_to_json(recorded) for recorded in turns]}
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        try:
            atomic_write.write(self.path, text.encode())
        except OSError as error:
            raise ToolError(f"{self.display_path} cannot be written: {error.strerror or error}.") from error

    def _read(self, path: Path) -> Iterable[LockedTurn]:
        """Return the turns of one lock file; none when the file does not exist.

        Raises: ToolError.
        """
        try:
            return _LockDocument.model_validate_json(read_resolved(path, MAX_LOCK_BYTES)).turns
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ToolError(f"{self.files.shorten(path)} cannot be read: {error.strerror or error}.") from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            json_path = ".".join(map(str, first["loc"])) or "the file"
            raise ToolError(
                f"{self.files.shorten(path)} is no lock file of ours: {json_path}: {first['msg']}.",
                "Fix it, take it back from version control, or delete it to ask anew.",
            ) from error


def _list_lock_files(files: Files, folder: Path) -> list[Path]:
    """List the lock files of a folder, without symbolic links that lead out of the workspace."""
    lock_files: list[Path] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with suppress(ToolError):
            lock_files.append(files.resolve(str(path)))
    return lock_files


def _is_same_turn(recorded: LockedTurn, turn: LockedTurn) -> bool:
    """Return whether both turns have the same prompt with all that its answer depends on, or the same cell."""
    return recorded.key == turn.key or (turn.cell != "" and recorded.cell == turn.cell)


def _to_json(turn: LockedTurn) -> dict[str, Any]:
    """Return the turn as JSON. The key in it only helps people who read the file: programs calculate it again."""
    return {"key": turn.key, **turn.as_json_object()}
