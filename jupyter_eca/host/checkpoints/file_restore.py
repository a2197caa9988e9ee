"""Files put back as they were before a turn changed them. Nobody's later work is lost for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from jupyter_eca.config.disk.regular_file import open_resolved, read_resolved
from jupyter_eca.engine.changes.revert import Decided
from jupyter_eca.engine.changes.review import CHANGED, GONE, LATER
from jupyter_eca.errors import ToolError
from jupyter_eca.host.store import UNKEPT, Checkpoint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from jupyter_eca.workspace.ports import Files

    Kept = Mapping[str, Sequence[Checkpoint]]
    """By paths, in the order in which the files were changed."""


@dataclass(frozen=True, slots=True)
class FilesBack:
    """Paths that are as they were before, and those that were left alone, with the reason."""

    done: tuple[str, ...]
    left: Mapping[str, str]


def standing(kept: Sequence[Checkpoint], now: str) -> list[Checkpoint]:
    """Without those that were taken back, as long as nobody has undone that. `now` is the digest of the file."""
    found: list[Checkpoint] = []
    for one in reversed(kept):
        again = one.after == now != digest_of(one.before)
        if one.decided is not Decided.REVERTED or again:
            found.insert(0, one)
            now = digest_of(one.before)
    return found


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """What stands of what some turns did to a file; `rows` are its checkpoints."""

    rows: Sequence[Checkpoint]
    before: bytes | None
    after: bytes | None
    refused: str

    @property
    def kind(self) -> Literal["created", "edited", "deleted"]:
        if self.before is None and self.rows[0].after != UNKEPT:
            return "created"
        return "deleted" if self.after is None else "edited"


def review_file(kept: Sequence[Checkpoint], turns: Collection[str], files: Files) -> ReviewedFile | None:
    """None when nothing stands. `kept` is all that was ever done to the file; folders are no changes of their own."""
    path = Path(kept[0].path)
    mine = [one for one in kept if one.turn in turns and one.decided is not Decided.KEPT]
    if not mine or path.is_dir():
        return None
    try:
        now = content(path)
    except OSError:
        return ReviewedFile(mine, mine[0].before, None, "it could not be read")
    stands = standing(kept[kept.index(mine[0]) :], digest_of(now))
    rows = [one for one in stands if one in mine]
    later = [one for one in stands if one not in mine]
    if not rows or (not later and not _differs(rows, now)):
        return None
    after = later[0].before if later else now
    return ReviewedFile(rows, rows[0].before, after, LATER if later else why_not(str(path), rows, files) or "")


def _differs(rows: Sequence[Checkpoint], now: bytes | None) -> bool:
    """Not one that somebody removed, or made as it was before."""
    if now is None:
        return rows[-1].after == "absent" and rows[0].before is not None
    return rows[0].after == UNKEPT or now != rows[0].before


def choose(kept: Kept, wanted: Mapping[str, Collection[str]], files: Files) -> tuple[Kept, Kept, dict[str, str]]:
    """By paths: what to take back of what the `wanted` turns did, what else they did, and why the rest is left."""
    found = {path: review_file(kept[path], turns, files) for path, turns in wanted.items()}
    back = {path: one.rows for path, one in found.items() if one is not None and not one.refused}
    left = {path: one.refused if one else GONE for path, one in found.items() if path not in back}
    turns = {turn for of_path in wanted.values() for turn in of_path}
    others = {path: rows for path, rows in of_turns(kept, turns).items() if path not in back}
    return back, others, left


def of_turns(kept: Kept, turns: Collection[str]) -> Kept:
    """What stands of the last turns of a chat."""
    mine = {path: [one for one in rows if one.turn in turns] for path, rows in kept.items()}
    stands = {path: standing(rows, compute_file_digest(path)) for path, rows in mine.items() if rows}
    return {path: rows for path, rows in stands.items() if rows}


def put_back(kept: Kept, files: Files, others: Kept | None = None) -> FilesBack:
    """Each as the first of its checkpoints has it. `others` is what the same turns did and what stays so."""
    done: list[str] = []
    made = [Path(path) for path, of_path in {**(others or {}), **kept}.items() if of_path[0].before is None]
    left = {path: why for path, of_path in kept.items() if (why := why_not(path, of_path, files))}
    stays = {path: of_path for path, of_path in (others or {}).items() if not Path(path).exists()}
    stays |= {path: kept[path] for path in left}
    # A file that was moved, and cannot go back where it came from: there is no other copy of it. What was not kept may
    # be any of those that are new.
    unkept = any(of_path[0].after == UNKEPT for of_path in {**stays, **kept}.values())
    homeless = {digest_of(of_path[0].before) for of_path in stays.values()} - {"absent"}
    for path, of_path in kept.items():
        if path in left or Path(path).is_dir():
            continue
        if of_path[0].before is None and (unkept or digest(Path(path)) in homeless):
            left[path] = "it may be the only copy of what was moved there"
            continue
        try:
            if _put_back(Path(path), of_path[0].before, made):
                done.append(path)
        except OSError as error:
            left[path] = error.strerror or "it could not be written"
    return FilesBack(tuple(done), left)


def display_path(path: str, files: Files) -> str:
    try:
        return files.shorten(files.resolve(path))
    except ToolError:
        return path


def why_not(path: str, kept: Sequence[Checkpoint], files: Files) -> str | None:
    first = kept[0]
    if first.after == UNKEPT:
        return "it is too large or no plain file, and was not kept"
    if Path(path).is_dir() and first.before is None:
        return None
    try:
        if files.resolve(path) != Path(path):
            return "a link leads elsewhere now"
        now = digest(Path(path))
    except OSError as error:
        return error.strerror or "it could not be read"
    except ToolError:
        return "it is outside of the workspace"
    # From one turn to the next it must be what the last one left.
    unbroken = [one.after for one in kept] == [*(digest_of(one.before) for one in kept[1:]), now]
    return None if unbroken or now == digest_of(first.before) else CHANGED


def _put_back(file: Path, before: bytes | None, made: Collection[Path]) -> bool:
    """Whether there was anything to do."""
    if digest(file) == digest_of(before):
        return False
    if before is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(before)
        return True
    file.unlink()
    for folder in file.parents:
        if not any(folder.is_relative_to(one) for one in made) or any(folder.iterdir()):
            break
        folder.rmdir()
    return True


# Larger files are data, which tools of ours do not write; a copy of each change would fill the disk.
MAX_BYTES: Final = 10_000_000


def content(path: Path) -> bytes | None:
    """Return the content of a file, None where there is none. Raises: OSError, also for a file that is too large."""
    return read_resolved(path, MAX_BYTES) if path.is_file() else None


def compute_file_digest(path: str) -> str:
    """The digest of a file, of one that cannot be read unlike any other."""
    try:
        return digest(Path(path))
    except OSError:
        return "unreadable"


def digest(path: Path) -> str:
    """Return the digest of a file of any size. A large one is not read, because a turn waits for this: its size and the
    time of its last change stand in for its content. A move changes neither. Raises: OSError."""
    if not path.is_file():
        return digest_of(None)
    found = path.stat()
    if found.st_size > MAX_BYTES:
        return f"large:{found.st_size}:{found.st_mtime_ns}"
    with open_resolved(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(content: bytes | None) -> str:
    """`absent` for a file that is not there."""
    return "absent" if content is None else hashlib.sha256(content).hexdigest()
