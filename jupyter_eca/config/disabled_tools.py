"""Owns the switching of a tool in the key `disabledTools`, in the file that has the list.

It must not decide which tools an agent has: `agents` does. `editing` is its neighbour: it changes the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.editing import WRITING, ConfigFiles
from jupyter_eca.errors import LocalError

if TYPE_CHECKING:
    from jupyter_eca.config.mcp_servers import ConfigSources
    from jupyter_eca.config.schema import Config

_KEY: Final = ("disabledTools",)
_ELSEWHERE: Final = "{name} is not switched off by `disabledTools`: an agent, a rule or its whole server is."
_FOREIGN: Final = "`disabledTools` is in {file}, which is not changed from here."


def switch_tool(config: Config, sources: ConfigSources, names: frozenset[str], name: str, *, on: bool) -> None:
    """Switch a tool on or off. `names` are all names that the list may have for it, and `name` is the one to write.

    The list in a later file replaces the one in an earlier file, so the last file with a list is changed. Blocks.

    Raises: LocalError, ConfigError.
    """
    off = tuple(tool for tool in config.disabled_tools if tool not in names)
    if on and off == config.disabled_tools:
        raise LocalError(_ELSEWHERE.format(name=name))
    with WRITING:
        files = ConfigFiles(sources)
        defining_files = files.find_defining_files(_KEY)
        file = defining_files[-1] if defining_files else files.user_file
        if file not in files.own:
            raise LocalError(_FOREIGN.format(file=files.display_name(file)))
        files.put(file, _KEY, [*off, *([] if on else [name])])
