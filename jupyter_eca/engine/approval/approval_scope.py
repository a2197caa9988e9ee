"""`ApprovalScope`: which calls one approval for the session covers, as a value and in words. Pure.

The words on the button and the comparison with later calls come from this one value. It is never wider than what the
user saw: a file tool is remembered for one folder, code for one notebook, a command for its line or, when it only
reads, for its program. A tool of a server is remembered with its definition: when the server changes the tool, the
approval does not hold for it.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.approval.call_targets import FOLDER
from jupyter_eca.engine.approval.shell_parser import find_keys
from jupyter_eca.engine.model.request import Remembers
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.model.request import ToolSpec


class ScopeKind(StrEnum):
    """What an approval is remembered for."""

    TOOL = "tool"
    PROGRAM = "program"
    LINE = "line"
    FOLDER = "folder"
    NOTEBOOK = "notebook"


@dataclass(frozen=True, slots=True)
class ApprovalScope:
    """The calls that one approval for the session covers."""

    tool: str
    """The selector of the tool."""
    name: str
    """The name of the tool."""
    definition: str = ""
    """A digest of the tool's definition; empty for our own tools, which do not change."""
    kind: ScopeKind = ScopeKind.TOOL
    value: str = ""
    """The program, the line, the folders of the paths or the notebook; empty for every call of the tool."""
    folder: str = ""
    """For a command, the folder where it runs."""

    def as_text(self) -> str:
        """Return the words on the button."""
        match self.kind:
            case ScopeKind.TOOL:
                return self.name
            case ScopeKind.PROGRAM | ScopeKind.LINE:
                return f"{self.value} (in {self.folder}/)" if self.folder not in {"", "."} else self.value
            case ScopeKind.FOLDER:
                return f"{self.name} in {'the top folder' if self.value == './' else self.value}"
            case ScopeKind.NOTEBOOK:
                return f"{self.name} in {self.value or 'this kernel'}"


def key(tool: ToolSpec) -> str:
    """Return the selector of one tool of one server."""
    prefix = f"{tool.server}__"
    return tool.name if tool.name.startswith(prefix) else f"{prefix}{tool.name}"


def is_same_tool(tool: ToolSpec, other: ToolSpec) -> bool:
    """Return whether a tool is still the one that was shown: of the same server, with the same definition."""
    return (key(tool), tool.origin, _compute_digest(tool)) == (key(other), other.origin, _compute_digest(other))


def list_scopes(tool: ToolSpec, arguments: Mapping[str, Any], targets: CallTargets) -> tuple[ApprovalScope, ...]:
    """Return what "approve for this session" remembers of a call. Empty: the call is asked about each time."""
    scope = ApprovalScope(key(tool), tool.name, _compute_digest(tool))
    match tool.remembers:
        case Remembers.TOOL:
            return (scope,)
        case Remembers.COMMANDS:
            line = arguments.get("command")
            folder = targets.paths.get(FOLDER, (".",))[0]
            return _list_command_scopes(scope, line, folder) if isinstance(line, str) else ()
        case Remembers.FOLDER:
            folders = [_name_folder(targets.paths[name][0]) for name in tool.paths if name in targets.paths]
            found = len(folders) == len(tool.paths)
            return (replace(scope, kind=ScopeKind.FOLDER, value=" and ".join(folders)),) if found else ()
        case Remembers.NOTEBOOK:
            notebook = next((forms[0] for forms in targets.paths.values()), "")
            return (replace(scope, kind=ScopeKind.NOTEBOOK, value=notebook),)


def _list_command_scopes(scope: ApprovalScope, line: str, folder: str) -> tuple[ApprovalScope, ...]:
    found = find_keys(line)
    if found is None:
        return ()
    if found.line:
        return (replace(scope, kind=ScopeKind.LINE, value=found.line, folder=folder),)
    return tuple(replace(scope, kind=ScopeKind.PROGRAM, value=program, folder=folder) for program in found.programs)


def _name_folder(path: str) -> str:
    return f"{posixpath.dirname(path) or '.'}/".replace("//", "/")


def _compute_digest(tool: ToolSpec) -> str:
    """Our own tools change with our version only. The description of one of them names other agents, and may change
    while a chat goes on."""
    if tool.origin is Origin.NATIVE and not tool.definition:
        return ""
    text = json.dumps([tool.description, tool.parameters, tool.definition], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
