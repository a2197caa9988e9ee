"""Switches a tool on or off for all agents, by changing the key `disabledTools` in a configuration file.

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
# The errors for the user: why a tool cannot be switched here.
_ELSEWHERE: Final = (
    "{name} is not in `disabledTools`. It is switched off by an agent, by an approval rule, or with its whole server."
)
_FOREIGN: Final = "`disabledTools` is in {file}, which cannot be changed from here. Change it by hand."


def switch_tool(config: Config, sources: ConfigSources, names: frozenset[str], name: str, *, on: bool) -> None:
    """Switch a tool on (`on` is True) or off. `names` are all names that the list of disabled tools may have for the
    tool; `name` is the one to write.

    A tool is added to the list of the last file that has one. It is removed from the list of each file that has it,
    because the list of a project is added to the list of the user. Blocks: it writes files.

    Raises: LocalError when the tool cannot be switched in this way, ConfigError when a file cannot be changed.
    """
    if on and names.isdisjoint(config.disabled_tools):
        raise LocalError(_ELSEWHERE.format(name=name))
    with WRITING:
        files = ConfigFiles(sources)
        # By file, its list of disabled tools.
        written = {file: files.get(file, _KEY) for file in files.find_defining_files(_KEY)}
        last = next(reversed(written), files.user_file)
        # The files whose list has the tool.
        listing = [file for file, tools in written.items() if not names.isdisjoint(tools)]
        for file in listing if on else [last]:
            if file not in files.own:
                raise LocalError(_FOREIGN.format(file=files.get_display_name(file)))
            others = [tool for tool in written.get(file, ()) if tool not in names]
            files.put(file, _KEY, others if on else [*others, name])
