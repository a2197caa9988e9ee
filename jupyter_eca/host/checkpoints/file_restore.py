"""Finds the changes to files that stand, and restores files as they were before the turns that made the changes.

A checkpoint has the content of a file before a turn changed it, and the digest of the content after the turn. A change
*stands* if it was not reverted, or if the user has undone its revert. A file is only restored if nobody else has
changed it after the turn, so no later work is lost.

It must not read the database: `checkpoints` does. `cell_restore` does the same for cells of notebooks.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from jupyter_eca.config.disk.regular_file import open_resolved, read_resolved
from jupyter_eca.engine.changes.revert import ChangeDecision
from jupyter_eca.engine.changes.review import CHANGED, GONE, LATER
from jupyter_eca.errors import ToolError
from jupyter_eca.host.store import UNKEPT, Checkpoint
from jupyter_eca.workspace.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from jupyter_eca.workspace.ports import Files

    CheckpointsByPath = Mapping[str, Sequence[Checkpoint]]
    """The checkpoints of each file by its path, in the order in which they were made."""


@dataclass(frozen=True, slots=True)
class RestoredFiles:
    """The result of a restore."""

    done: tuple[str, ...]
    """The paths of the restored files."""
    removed: frozenset[str]
    """Those of these paths at which there was no file before the changes, so that their files were removed."""
    skipped: Mapping[str, str]
    """Why the other files were not restored, by path."""


def find_standing_checkpoints(checkpoints: Sequence[Checkpoint], digest: str) -> list[Checkpoint]:
    """Return those checkpoints of a file whose changes stand. `digest` is the digest of the file as it is now."""
    standing: list[Checkpoint] = []
    # From the newest change back to the oldest: `digest` becomes the digest before each change that stands.
    for checkpoint in reversed(checkpoints):
        before = digest_content(checkpoint.before)
        is_revert_undone = checkpoint.after == digest and digest != before
        if checkpoint.decided is not ChangeDecision.REVERTED or is_revert_undone:
            standing.insert(0, checkpoint)
            digest = before
    return standing


@dataclass(frozen=True, slots=True)
class StandingFileChanges:
    """Those changes of some turns to one file that stand."""

    checkpoints: Sequence[Checkpoint]
    """The checkpoints of these changes."""
    before: bytes | None
    """The content of the file before these changes; None if there was no file."""
    after: bytes | None
    """The content of the file after these changes; None if there was no file."""
    obstacle: str
    """Why the changes cannot be reverted; "" if they can."""

    @property
    def kind(self) -> Literal["created", "edited", "deleted"]:
        """What the changes did to the file."""
        if self.before is None and self.checkpoints[0].after != UNKEPT:
            return "created"
        return "deleted" if self.after is None else "edited"


def find_standing_changes(
    checkpoints: Sequence[Checkpoint], turns: Collection[str], files: Files
) -> StandingFileChanges | None:
    """Return those changes of these turns to a file that stand; None if no change stands.

    `checkpoints` are all checkpoints of the file. For a folder None is returned: to make a folder does not count as a
    change.
    """
    path = Path(checkpoints[0].path)
    rows_of_turns = [row for row in checkpoints if row.turn in turns and row.decided is not ChangeDecision.KEPT]
    if not rows_of_turns or path.is_dir():
        return None
    try:
        content = read_content(path)
    except OSError:
        return StandingFileChanges(rows_of_turns, rows_of_turns[0].before, None, "it could not be read")
    standing = find_standing_checkpoints(checkpoints[checkpoints.index(rows_of_turns[0]) :], digest_content(content))
    rows = [row for row in standing if row in rows_of_turns]
    later = [row for row in standing if row not in rows_of_turns]
    if not rows or (not later and not _has_effect(rows, content)):
        return None
    after = later[0].before if later else content
    return StandingFileChanges(
        rows, rows[0].before, after, LATER if later else find_obstacle(str(path), rows, files) or ""
    )


def _has_effect(rows: Sequence[Checkpoint], content: bytes | None) -> bool:
    """Return whether the changes of the checkpoints `rows` still have an effect on their file. They have none if
    somebody else has removed the file or restored its old content. `content` is its content now; None if there is no
    file."""
    if content is None:
        # `absent` is the digest of no file: the turn itself has removed the file.
        return rows[-1].after == "absent" and rows[0].before is not None
    return rows[0].after == UNKEPT or content != rows[0].before


def choose_files(
    checkpoints: CheckpointsByPath, turns_by_path: Mapping[str, Collection[str]], files: Files
) -> tuple[CheckpointsByPath, CheckpointsByPath, dict[str, str]]:
    """Choose which of the changes that the user wants to revert can be reverted. `turns_by_path` are the files, and for
    each file the turns whose changes the user wants to revert.

    Return the checkpoints of the changes that can be reverted, the checkpoints of the other changes of these turns, and
    for each file that is left alone the reason.
    """
    found = {path: find_standing_changes(checkpoints[path], turns, files) for path, turns in turns_by_path.items()}
    chosen = {path: change.checkpoints for path, change in found.items() if change is not None and not change.obstacle}
    skipped = {path: change.obstacle if change else GONE for path, change in found.items() if path not in chosen}
    turns = {turn for turns_of_path in turns_by_path.values() for turn in turns_of_path}
    others = {path: rows for path, rows in find_changes_of_turns(checkpoints, turns).items() if path not in chosen}
    return chosen, others, skipped


def find_changes_of_turns(checkpoints: CheckpointsByPath, turns: Collection[str]) -> CheckpointsByPath:
    """Return the checkpoints of those changes that stand and that these turns made. The turns must be the last ones of
    the chat: otherwise a change of a later turn would be taken for that of somebody else."""
    rows_of_turns = {path: [row for row in rows if row.turn in turns] for path, rows in checkpoints.items()}
    standing = {
        path: find_standing_checkpoints(rows, digest_file(path)) for path, rows in rows_of_turns.items() if rows
    }
    return {path: rows for path, rows in standing.items() if rows}


def restore_files(
    checkpoints: CheckpointsByPath, files: Files, others: CheckpointsByPath | None = None
) -> RestoredFiles:
    """Restore each file as it was before the first of its `checkpoints`. `others` are the checkpoints of those changes
    of the same turns that are not reverted."""
    done: list[str] = []
    # The files and folders that the turns have made.
    new_paths = [Path(path) for path, rows in {**(others or {}), **checkpoints}.items() if rows[0].before is None]
    skipped = {path: why for path, rows in checkpoints.items() if (why := find_obstacle(path, rows, files))}
    # A turn may have moved a file that cannot be restored at its old path. Then the new path has the only copy of it,
    # which must not be removed. If the content of the old file was not stored, any new file may be that copy.
    not_restored = {path: rows for path, rows in (others or {}).items() if not Path(path).exists()}
    not_restored |= {path: checkpoints[path] for path in skipped}
    # Whether the old content of any of these files was not stored.
    has_unkept = any(rows[0].after == UNKEPT for rows in {**not_restored, **checkpoints}.values())
    lost_digests = {digest_content(rows[0].before) for rows in not_restored.values()} - {"absent"}
    for path, rows in checkpoints.items():
        if path in skipped or Path(path).is_dir():
            continue
        if rows[0].before is None and (has_unkept or compute_digest(Path(path)) in lost_digests):
            skipped[path] = "it may be the only copy of what was moved there"
            continue
        try:
            if _restore_file(Path(path), rows[0].before, new_paths):
                done.append(path)
        except OSError as error:
            skipped[path] = error.strerror or "it could not be written"
    return RestoredFiles(tuple(done), frozenset(path for path in done if checkpoints[path][0].before is None), skipped)


def display_path(path: str, files: Files) -> str:
    """Return a path as messages show it."""
    try:
        return files.shorten(files.resolve(path))
    except ToolError:
        return path


def find_obstacle(path: str, checkpoints: Sequence[Checkpoint], files: Files) -> str | None:
    """Return why a file cannot be restored; None if it can. `checkpoints` are those whose changes are reverted."""
    first = checkpoints[0]
    if first.after == UNKEPT:
        return "it is too large or no plain file, and was not kept"
    if Path(path).is_dir() and first.before is None:
        return None
    try:
        if files.resolve(path) != Path(path):
            return "a link leads elsewhere now"
        digest = compute_digest(Path(path))
    except OSError as error:
        return error.strerror or "it could not be read"
    except ToolError:
        return "it is outside of the workspace"
    # Nobody else has changed the file if each turn found what the one before it had left.
    unbroken = [row.after for row in checkpoints] == [*(digest_content(row.before) for row in checkpoints[1:]), digest]
    return None if unbroken or digest == digest_content(first.before) else CHANGED


def _restore_file(file: Path, before: bytes | None, new_paths: Collection[Path]) -> bool:
    """Write the old content `before`, or remove a file that did not exist (None). Return whether there was anything to
    do.

    When a file is removed, the folders around it are removed too, if the turn has made them and they are empty now.
    `new_paths` are the files and folders that the turn has made.
    """
    if compute_digest(file) == digest_content(before):
        return False
    if before is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write(file, before)
        return True
    file.unlink()
    for folder in file.parents:
        if not any(folder.is_relative_to(path) for path in new_paths) or any(folder.iterdir()):
            break
        folder.rmdir()
    return True


# The size in bytes of the largest file whose content is stored. Larger files are data, which our tools do not write,
# and a copy for each change would fill the disk.
MAX_BYTES: Final = 10_000_000


def read_content(path: Path) -> bytes | None:
    """Return the content of a file; None if there is no file. Raises: OSError, also if the file is too large."""
    return read_resolved(path, MAX_BYTES) if path.is_file() else None


def digest_file(path: str) -> str:
    """Return the digest of a file. A file that cannot be read has a digest that is unlike all others."""
    try:
        return compute_digest(Path(path))
    except OSError:
        return "unreadable"


def compute_digest(path: Path) -> str:
    """Return the digest of a file of any size. Raises: OSError.

    A large file is not read, because a turn waits for this. Its size and the time of its last change are used instead
    of its content. A move changes neither of them.
    """
    if not path.is_file():
        return digest_content(None)
    found = path.stat()
    if found.st_size > MAX_BYTES:
        return f"large:{found.st_size}:{found.st_mtime_ns}"
    with open_resolved(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_content(content: bytes | None) -> str:
    """Return the digest of a content. For None, which means no file, it is `absent`."""
    return "absent" if content is None else hashlib.sha256(content).hexdigest()
