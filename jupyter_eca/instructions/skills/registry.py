"""Finds the skills. It searches `.eca/skills` and `.agents/skills` of the project, the paths of the configuration, the
same two folders of the user, and this package. If two skills have the same name, the first in this order is used.

It must not parse files: `skill_file.py` does. In this module, a complaint is a warning for the user about a faulty
file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from jupyter_eca.config import folders
from jupyter_eca.config.schema import Config, read_file_state
from jupyter_eca.instructions.skills.skill_file import SKILL_FILE, Skill, SkillOrigin, read_skill
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jupyter_eca.instructions.skills.skill_file import SkillFile
    from jupyter_eca.workspace.ports import Files

# The folder of the skills that come with this package.
SHIPPED: Final = Path(__file__).parent / "shipped"

# The limits of a search. Skills may be in subfolders (ECA's `**/SKILL.md`), but a link to the home folder must not make
# us search all of it.
_MAX_DEPTH: Final = 6
_MAX_FOLDERS: Final = 1_000
# Folders that are not searched.
_SKIPPED_FOLDERS: Final = frozenset({".git", "node_modules", "__pycache__", ".venv"})
# The folders of a skill for its other files, according to the specification. They contain no other skills.
_RESOURCE_FOLDERS: Final = frozenset({"scripts", "references", "assets"})


def ignore_warning(_message: str) -> None:
    """Ignore a warning. This is for callers without a user."""


async def find(
    files: Files, config: Config | None = None, warn: Callable[[str], None] = ignore_warning
) -> tuple[Skill, ...]:
    """Return the skills that are on the disk now, sorted by name. `warn` is called with a message for each faulty file.
    The same fault always gives the same message, so that it can be shown only once."""
    found, complaints = await run_read(_find_skills, files, config or Config())
    for complaint in complaints:
        warn(complaint)
    return found


class FoundFile(NamedTuple):
    """A `SKILL.md` that was found."""

    origin: SkillOrigin
    """The kind of place where it was found."""
    path: Path
    """Its path."""
    written: SkillFile | str
    """The parsed file, or the reason why it is no skill."""


@dataclass(frozen=True, slots=True)
class SkillRegistry:
    """Finds the skills for callers that do not know the configuration."""

    files: Files
    """The files of the workspace."""
    config: Config
    """The configuration, which names further folders with skills."""
    warn: Callable[[str], None] = ignore_warning
    """Called with a message for each faulty file."""

    async def list_skills(self) -> tuple[Skill, ...]:
        """Return the skills that are on the disk now. See `find`."""
        return await find(self.files, self.config, self.warn)


def read_all(roots: Sequence[Path], config: Config) -> tuple[list[FoundFile], list[str]]:
    """Return all `SKILL.md` files, those with precedence first, and the complaints about folders. This blocks."""
    complaints: list[str] = []
    within = tuple(folder.resolve() for folder in (*roots, *_get_user_folders()))
    found: list[FoundFile] = []
    for origin, path in _list_paths(roots, config, complaints):
        try:
            written = read_skill(path, read_file_state(path), within if origin is SkillOrigin.PROJECT else None)
        except OSError as error:
            written = f"it cannot be read: {error.strerror}"
        found.append(FoundFile(origin, path, written))
    return found, complaints


def _find_skills(files: Files, config: Config) -> tuple[tuple[Skill, ...], list[str]]:
    """Return the skills, sorted by name, and the complaints. This blocks."""
    found: dict[str, tuple[Skill, SkillFile]] = {}
    found_files, complaints = read_all(files.roots, config)
    for origin, path, written in found_files:
        if isinstance(written, str):
            complaints.append(f"{path} is not a skill and was left out: {written}.")
        elif written.name not in found:
            skill = Skill(written.name, written.description, written.body, path.parent, origin, written.arguments)
            found[written.name] = (skill, written)
    # Of several lines that load the same skill, the first is kept.
    loads = {name: dict(reversed(written.loads)) for name, (_, written) in found.items()}
    looped = [replace(skill, loops=_find_loop(skill.name, loads)) for skill, _ in found.values()]
    complaints += [
        f"{skill.path} loads itself (line {skill.loops}); it is loaded once." for skill in looped if skill.loops
    ]
    return tuple(sorted(looped, key=lambda skill: skill.name)), complaints


def _find_loop(name: str, loads: dict[str, dict[str, int]]) -> int:
    """Return the number of the line by which a skill loads itself, directly or through others; 0 if it does not.
    `loads` has for each skill the skills that it loads, with the numbers of the lines."""
    for first, line in loads[name].items():
        waiting, seen = [first], set[str]()
        while waiting:
            loaded = waiting.pop()
            if loaded == name:
                return line
            if loaded not in seen:
                seen.add(loaded)
                waiting += loads.get(loaded, ())
    return 0


def _list_paths(roots: Sequence[Path], config: Config, complaints: list[str]) -> Iterator[tuple[SkillOrigin, Path]]:
    """Yield the path and the origin of each `SKILL.md`, those with precedence first."""
    own = _get_user_folders()
    within = [root.resolve() for root in roots]
    for root in within:
        for kind in (".eca", ".agents"):
            for path in _walk(root / kind / "skills", complaints):
                if folders.is_inside(path, (*within, *own)):
                    yield SkillOrigin.PROJECT, path
                else:
                    complaints.append(f"{path} leads out of the workspace and was left out.")
    for named in config.skills:
        for root in within:
            here = root / Path(named.path).expanduser()
            yield from ((SkillOrigin.CONFIGURED, path) for path in _list_files(here, complaints))
    for folder in own:
        yield from ((SkillOrigin.USER, path) for path in _walk(folder, complaints))
    yield from ((SkillOrigin.SHIPPED, path) for path in _walk(SHIPPED, complaints))


def _get_user_folders() -> tuple[Path, ...]:
    """Return the user's two folders for skills."""
    return folders.get_user_folder() / "skills", Path.home() / ".agents" / "skills"


def _list_files(path: Path, complaints: list[str]) -> Iterable[Path]:
    """Return the `SKILL.md` files at a path: a folder of skills, the folder of one skill, or a `SKILL.md` itself."""
    return [path] if path.name == SKILL_FILE and path.is_file() else _walk(path, complaints)


def _walk(top: Path, complaints: list[str]) -> list[Path]:
    """Return the `SKILL.md` files in a folder and its subfolders. Links are followed, but each real folder is visited
    only once: a link to a parent folder would otherwise never end."""
    found: list[Path] = []
    seen = set[tuple[int, int]]()
    for here, inside, files in os.walk(top, followlinks=True):  # `inside` has the subfolders that are walked next
        folder, known = Path(here), len(seen)
        with suppress(OSError):
            state = folder.stat()
            seen.add((state.st_dev, state.st_ino))
        # A folder that is `seen` already, or cannot be read, adds nothing to the set.
        if len(seen) == known or len(folder.relative_to(top).parts) > _MAX_DEPTH:
            inside.clear()
            continue
        own = _RESOURCE_FOLDERS if SKILL_FILE in files else frozenset[str]()
        inside[:] = sorted(name for name in inside if name not in _SKIPPED_FOLDERS | own)
        if SKILL_FILE in files:
            found.append(folder / SKILL_FILE)
        if len(seen) > _MAX_FOLDERS:
            complaints.append(f"{top} has more than {_MAX_FOLDERS} folders: only the skills in the first were read.")
            break
    return found
