"""Owns the skills as a settings page shows them: it lists all skills with their files, and writes and removes those of
the user and of the workspace.

It must not know how a skill is found or rendered: `instructions.skills` does. Its neighbour `markdown_files` changes
the files, and `agent_files` does the same for agents. All functions block: they read and write files.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import folders, front_matter
from jupyter_eca.config.editing import ConfigFiles
from jupyter_eca.errors import LocalError
from jupyter_eca.host.operations import markdown_files
from jupyter_eca.instructions import skills
from jupyter_eca.instructions.skills import SkillOrigin
from jupyter_eca.protocol.settings import own_files as wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_eca.config import Config
    from jupyter_eca.config.mcp_servers import ConfigSources
    from jupyter_eca.instructions.skills.registry import FoundFile

# The names that agentskills.io allows. The name becomes the name of a folder.
_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")

_ORIGINS: Final = {
    SkillOrigin.PROJECT: wire.SkillSource.PROJECT,
    SkillOrigin.CONFIGURED: wire.SkillSource.CONFIGURATION,
    SkillOrigin.USER: wire.SkillSource.USER,
    SkillOrigin.SHIPPED: wire.SkillSource.BUILT_IN,
}

_BAD_NAME: Final = "A name may have small letters, digits and single hyphens, 64 characters at most."
_NO_DESCRIPTION: Final = "A skill needs a description, which tells the model when to use it."
_EXISTS: Final = "There is a skill `{name}` already. Choose another name, or change that skill."
_UNKNOWN: Final = "{file} is no file of a skill any more. Look at the list again."


def list_skills(config: Config, sources: ConfigSources) -> wire.SkillsListResult:
    """Return all skills, those with precedence first."""
    files = ConfigFiles(sources)
    names: set[str] = set()
    entries: list[wire.SkillEntry] = []
    # The second part of what `read_all` returns are complaints, which are not shown here.
    for found in skills.read_all(sources.folders, config)[0]:
        entry = _describe_file(sources, files, found)
        entries.append(entry.model_copy(update={"is_overridden": entry.error is None and entry.name in names}))
        if entry.error is None:
            names.add(entry.name)
    return wire.SkillsListResult(skills=tuple(entries))


def write_skill(config: Config, sources: ConfigSources, params: wire.SkillsWriteParams) -> str:
    """Write a skill to a new file, or change its file. Return the file.

    Raises: LocalError for a name or a description that cannot be used; ConfigError when the file exists already, has
    changed since the user has seen it, or cannot be written.
    """
    description = " ".join(params.description.split())
    if not description:
        raise LocalError(_NO_DESCRIPTION)
    files = ConfigFiles(sources)
    if params.old is not None:
        path = _find_file(config, sources, files, params.old.file)
        values: dict[str, Any] = {"description": description}
        markdown_files.change_file(path, params.old.digest, values, params.body, sources.folders)
        return files.get_display_name(path)
    if not _NAME.fullmatch(params.name):
        raise LocalError(_BAD_NAME)
    found = skills.read_all(sources.folders, config)[0]
    # A skill of the package can be replaced by one of the user's own.
    own = (file for file in found if file.origin is not SkillOrigin.SHIPPED)
    # `written` is the skill, or a text that says why the file has none.
    if any(not isinstance(file.written, str) and file.written.name == params.name for file in own):
        raise LocalError(_EXISTS.format(name=params.name))
    folder = sources.folders[0] / ".eca" if params.scope == "workspace" else folders.get_user_folder()
    path = folder / "skills" / params.name / "SKILL.md"
    values = {"name": params.name, "description": description}
    markdown_files.create_file(path, values, params.body, sources.folders)
    return files.get_display_name(path)


def remove_skill(config: Config, sources: ConfigSources, seen: wire.SeenFile) -> None:
    """Remove the file of a skill, and its folder if nothing else is in it. Raises: LocalError, ConfigError."""
    path = _find_file(config, sources, ConfigFiles(sources), seen.file)
    markdown_files.remove_file(path, seen.digest, sources.folders)
    with suppress(OSError):  # other files are in the folder, and stay
        path.parent.rmdir()


def list_files(config: Config, sources: ConfigSources) -> Iterator[Path]:
    """Yield the files of skills that the user may change, those with precedence first."""
    for found in skills.read_all(sources.folders, config)[0]:
        if found.origin is not SkillOrigin.SHIPPED:
            yield found.path


def _find_file(config: Config, sources: ConfigSources, files: ConfigFiles, name: str) -> Path:
    """Return the path of the file with the name that a client has sent. Raises: LocalError when no file of a skill has
    this name."""
    for path in list_files(config, sources):
        if files.get_display_name(path) == name:
            return path
    raise LocalError(_UNKNOWN.format(file=name))


def _describe_file(sources: ConfigSources, files: ConfigFiles, found: FoundFile) -> wire.SkillEntry:
    """Return the skill of a file, as it is written there. If it cannot be read, `error` of the result says why."""
    path, written = found.path, found.written
    shipped = found.origin is SkillOrigin.SHIPPED
    entry = wire.SkillEntry(
        name=path.parent.name if isinstance(written, str) else written.name,
        origin=_ORIGINS[found.origin],
        file=files.get_display_name(path),
        error=written if isinstance(written, str) else None,
    )
    try:
        text, digest = markdown_files.read_file(path, sources.folders)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return entry.model_copy(update={"error": entry.error or reason})
    entry = entry.model_copy(update={"digest": None if shipped else digest})
    with suppress(ValueError):  # `error` says this already
        front, body = front_matter.parse_lenient_front_matter(text.replace("\r\n", "\n"))
        entry = entry.model_copy(update={"description": str(front.get("description") or ""), "body": body})
    return entry
