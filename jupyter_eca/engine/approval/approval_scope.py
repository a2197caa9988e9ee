"""Owns `ApprovalScope`: the calls that one "approve for this session" covers. Pure.

It must not decide about a call: its neighbour `policy` does. It compares the scopes of a call with the scopes of
earlier approvals. The text on the button is made from the scope too, so the button says exactly what the approval does.

A scope is never wider than what the user saw. A file tool is approved for one folder, and a tool that runs code for one
notebook. A command is approved for its exact line, or for its program if the program only reads. A tool of an MCP
server or of the user is approved for what its arguments name (`named_arguments`). Such an approval contains a digest of
the tool's definition. So the approval no longer counts when the server changes the tool.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.approval.call_targets import FOLDER_ARGUMENT
from jupyter_eca.engine.approval.named_arguments import describe_folder, get_parent_folder
from jupyter_eca.engine.approval.shell_parser import get_line_keys
from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.model.request import ToolSpec


class ScopeKind(StrEnum):
    """The kinds of scopes."""

    TOOL = "tool"
    """All calls of the tool."""
    PROGRAM = "program"
    """Commands that run this program, which only reads."""
    LINE = "line"
    """Commands with exactly this line."""
    FOLDER = "folder"
    """Calls whose paths are in these folders."""
    NOTEBOOK = "notebook"
    """Calls for this notebook."""
    ARGUMENTS = "arguments"
    """Calls whose arguments name the same folders, addresses and texts, see `named_arguments`."""


@dataclass(frozen=True, slots=True)
class ApprovalScope:
    """The calls that one approval for the session covers."""

    tool: str
    """The selector of the tool, see `get_selector`."""
    name: str
    """The name of the tool, for the button."""
    definition: str = ""
    """A digest of the tool's definition; empty for our own tools, which do not change."""
    kind: ScopeKind = ScopeKind.TOOL
    """What is compared with a later call: its tool, its command line, its folders and so on."""
    value: str = ""
    """The program, the line, the folders, the notebook or what the arguments name, depending on the kind; empty for all
    calls of the tool."""
    folder: str = ""
    """For a command, the folder in which it runs."""

    def as_text(self) -> str:
        """Return the text on the button."""
        match self.kind:
            case ScopeKind.TOOL:
                return f"every call of {self.name}"
            case ScopeKind.ARGUMENTS:
                return f"{self.name} ({self.value})" if self.value else f"{self.name} without arguments"
            case ScopeKind.PROGRAM | ScopeKind.LINE:
                return f"{self.value} (in {self.folder}/)" if self.folder not in {"", "."} else self.value
            case ScopeKind.FOLDER:
                return f"{self.name} in {describe_folder(self.value)}"
            case ScopeKind.NOTEBOOK:
                return f"{self.name} in {self.value or 'this kernel'}"


def get_selector(tool: ToolSpec) -> str:
    """Return the name by which rules select a tool: `server__tool`. Some tools already have such a name."""
    prefix = f"{tool.server}__"
    return tool.name if tool.name.startswith(prefix) else f"{prefix}{tool.name}"


def is_same_tool(tool: ToolSpec, other: ToolSpec) -> bool:
    """Return whether two tools are the same: of the same server, with the same name and definition."""
    return (
        get_selector(tool) == get_selector(other)
        and tool.origin == other.origin
        and _compute_digest(tool) == _compute_digest(other)
    )


def list_scopes(tool: ToolSpec, arguments: Mapping[str, Any], targets: CallTargets) -> tuple[ApprovalScope, ...]:
    """Return the scopes that "approve for this session" remembers for a call.

    A later call runs without approval if all of its scopes are remembered. Without any scope, a call needs approval
    each time. A call that does several things has the scopes of each of them.
    """
    if targets.parts:
        tools = {part.tool.name: part.tool for part in targets.parts if part.tool is not None}
        own = replace(targets, parts=())
        return tuple(scope for part in tools.values() for scope in list_scopes(part, arguments, own))
    scope = ApprovalScope(get_selector(tool), tool.name, _compute_digest(tool))
    match tool.approval_covers:
        case ApprovalCoverage.TOOL if tool.is_read_only:
            return (scope,)
        case ApprovalCoverage.TOOL | ApprovalCoverage.ARGUMENTS:
            return (replace(scope, kind=ScopeKind.ARGUMENTS, value=", ".join(targets.named)),)
        case ApprovalCoverage.COMMANDS:
            line = arguments.get("command")
            folder = targets.paths.get(FOLDER_ARGUMENT, (".",))[0]
            return _list_command_scopes(scope, line, folder) if isinstance(line, str) else ()
        case ApprovalCoverage.FOLDER:
            folders = [get_parent_folder(targets.paths[name][0]) for name in tool.paths if name in targets.paths]
            are_all_known = len(folders) == len(tool.paths)
            return (replace(scope, kind=ScopeKind.FOLDER, value=" and ".join(folders)),) if are_all_known else ()
        case ApprovalCoverage.NOTEBOOK:
            notebook = next((forms[0] for forms in targets.paths.values()), "")
            return (replace(scope, kind=ScopeKind.NOTEBOOK, value=notebook),)


def _list_command_scopes(scope: ApprovalScope, line: str, folder: str) -> tuple[ApprovalScope, ...]:
    """Return the scopes for a command line: its programs if they only read, else the line itself."""
    keys = get_line_keys(line)
    if keys is None:
        return ()
    if keys.line:
        return (replace(scope, kind=ScopeKind.LINE, value=keys.line, folder=folder),)
    return tuple(replace(scope, kind=ScopeKind.PROGRAM, value=program, folder=folder) for program in keys.programs)


def _compute_digest(tool: ToolSpec) -> str:
    """Return a digest of a tool's definition; empty for our own tools, which change only with our version.

    The description of our tool `spawn_agent` lists the agents, and may change during a chat. That must not end an
    approval of the tool.
    """
    if tool.origin is Origin.NATIVE and not tool.definition:
        return ""
    text = json.dumps([tool.description, tool.parameters, tool.definition], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
