"""Owns the methods of ECA on own files. These are the files that the user writes for the assistant: the configuration
files, and the Markdown files of agents and skills. The methods list, preview, write and remove skills, and read and
write the whole text of any own file. A change takes effect immediately. The neighbour `agents` writes and removes
agents.

It must not know the format of the files: `host/operations/` does.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import LocalError
from jupyter_eca.fronts.eca.config_rights import check_may_change_config, find_config_sources
from jupyter_eca.host.commands import skills as skill_commands
from jupyter_eca.host.operations import own_files, skill_files
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.settings import own_files as wire

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Model

_NO_SKILL: Final = "There is no skill `{name}`."


async def list_skills(session: EcaSession, _params: Model) -> wire.SkillsListResult:
    """Return all skills."""
    host = session.host
    return await asyncio.to_thread(skill_files.list_skills, host.config, find_config_sources(host))


async def preview_skill(session: EcaSession, params: wire.SkillsPreviewParams) -> wire.SkillsPreviewResult:
    """Return the text that the model gets when it loads a skill.

    The text may contain values of files and environment variables that the skill names. So code in a cell must not
    read it: only clients that may change the configuration may. Raises: RemoteError, LocalError.
    """
    check_may_change_config(session)
    text = await skill_commands.preview(session.host, params.name)
    if text is None:
        raise LocalError(_NO_SKILL.format(name=params.name))
    return wire.SkillsPreviewResult(text=text)


async def write_skill(session: EcaSession, params: wire.SkillsWriteParams) -> wire.WrittenFile:
    """Write a skill to a new file, or change its file. Raises: RemoteError, LocalError, ConfigError."""
    check_may_change_config(session)
    host = session.host
    # The user makes this change, so a folder whose settings the user trusts stays trusted with it.
    file = await host.folder_trust.keep_trust_during(
        partial(skill_files.write_skill, host.config, find_config_sources(host), params)
    )
    return wire.WrittenFile(file=file)


async def remove_skill(session: EcaSession, params: wire.SeenFile) -> Done:
    """Remove the file of a skill. `params` has the file, and a digest of the text that the user has seen. Raises:
    RemoteError, LocalError, ConfigError."""
    check_may_change_config(session)
    host = session.host
    await host.folder_trust.keep_trust_during(
        partial(skill_files.remove_skill, host.config, find_config_sources(host), params)
    )
    return Done()


async def read_file(session: EcaSession, params: wire.OwnFilesReadParams) -> wire.OwnFile:
    """Return the text of an own file. It may contain keys, so code in a cell must not read it this way.

    Raises: RemoteError, LocalError.
    """
    check_may_change_config(session)
    host = session.host
    return await asyncio.to_thread(own_files.read_own_file, host.config, find_config_sources(host), params.file)


async def write_file(session: EcaSession, params: wire.OwnFilesWriteParams) -> wire.OwnFile:
    """Replace the text of an own file. Raises: RemoteError, LocalError, ConfigError."""
    check_may_change_config(session)
    host = session.host
    written = await host.folder_trust.keep_trust_during(
        partial(own_files.write_own_file, host.config, find_config_sources(host), params)
    )
    # The file may be a configuration file or that of an agent. Skills are read whenever they are needed.
    await host.reload()
    return written


HANDLERS: Final = {
    "skills/list": list_skills,
    "skills/preview": preview_skill,
    "skills/write": write_skill,
    "skills/remove": remove_skill,
    "ownFiles/read": read_file,
    "ownFiles/write": write_file,
}
