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

    A tool is switched off in the last file that has a list. It is switched on in each file that lists it, because the
    list of a project is added to the user's own. Blocks.

    Raises: LocalError, ConfigError.
    """
    if on and names.isdisjoint(config.disabled_tools):
        raise LocalError(_ELSEWHERE.format(name=name))
    with WRITING:
        files = ConfigFiles(sources)
        written = {file: files.at(file, _KEY) for file in files.find_defining_files(_KEY)}
        last = next(reversed(written), files.user_file)
        for file in [file for file in written if not names.isdisjoint(written[file])] if on else [last]:
            if file not in files.own:
                raise LocalError(_FOREIGN.format(file=files.display_name(file)))
            others = [tool for tool in written.get(file, ()) if tool not in names]
            files.put(file, _KEY, others if on else [*others, name])
