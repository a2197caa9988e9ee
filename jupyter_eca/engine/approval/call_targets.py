"""`CallTargets`: which files a tool call names, with every link followed, and whether one of them is protected.

Rules, remembered approvals and the protection of paths all use this one value. The functions are pure: whoever calls
them passes a `PathResolver`, which knows the disk. `line_targets` finds what a command line names,
and `code_targets` what code names.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.code_targets import find_in_code, list_shown_code
from jupyter_eca.engine.approval.line_targets import find_in_line
from jupyter_eca.engine.approval.path_resolver import BY_TEXT, guess_paths, list_texts
from jupyter_eca.engine.approval.protected_paths import find_in_text
from jupyter_eca.engine.model.request import Remembers
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.engine.approval.path_resolver import PathResolver
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.content import ToolCallDetails

# The argument of a shell tool that names the folder of the command.
FOLDER: Final = "working_directory"

# The argument that names a notebook. Where it is left out, tools of notebooks and kernels mean that of the prompt.
NOTEBOOK: Final = "path"

# Arguments of other tools that are code, or command lines, by their names.
_CODE_NAMES: Final = frozenset({"code", "command", "commands", "cmd", "args", "script", "source"})


@dataclass(frozen=True, slots=True)
class CallTargets:
    """What a call names."""

    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each argument that names a path, the path with every link followed, in each way in which it can be written:
    relative to the folders of the workspace where it lies in them, and absolute."""
    protected: str = ""
    """A path that changes what may run without asking, when the call may change it. Empty when there is none."""


def find_targets(
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    resolver: PathResolver = BY_TEXT,
    notebook: str = "",
    details: ToolCallDetails | None = None,
) -> CallTargets:
    """Find what a call names. `notebook` is the one that is meant when it names none. It is then a path of the call
    like any other: a rule about it holds for the call. `details` are those that its card shows."""
    names = tool.paths if tool.origin is Origin.NATIVE else tuple(arguments)
    list_paths = list_texts if _is_ours(tool) else guess_paths
    paths = {
        name: tuple(dict.fromkeys(form for path in found for form in resolver.resolve(path, "")))
        for name in names
        if (found := tuple(filter(None, list_paths(arguments.get(name)))))
    }
    start = resolver.resolve("", "")
    if tool.remembers is Remembers.COMMANDS and FOLDER not in paths and start[0] != ".":
        paths[FOLDER] = start
    if notebook and not names_notebook(arguments):
        paths[NOTEBOOK] = resolver.resolve(notebook, "")
    return CallTargets(paths, _find_protected(tool, arguments, paths, resolver, details))


def names_notebook(arguments: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a tool of notebooks or kernels say which one is meant."""
    return bool(str(arguments.get(NOTEBOOK) or "").strip())


def _is_ours(tool: ToolSpec) -> bool:
    """Return whether a tool is one of those that we bring: it takes a path as it stands, and says which arguments are
    paths or code. Nothing is known of the arguments of a server's tool, or of the user's own."""
    return tool.origin is Origin.NATIVE and not tool.definition


def _find_protected(
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    paths: Mapping[str, tuple[str, ...]],
    resolver: PathResolver,
    details: ToolCallDetails | None,
) -> str:
    # What a server says of its own tool is no reason to trust it.
    if tool.reads and tool.origin is Origin.NATIVE:
        return ""
    runs_line = tool.remembers is Remembers.COMMANDS
    touches = resolver.is_protected if runs_line else resolver.holds_protected
    always = {path: resolver.resolve(path, "") for path in tool.changes}
    for forms in (*paths.values(), *always.values()):
        for form in forms:
            if touches(form):
                return forms[0]
    if runs_line:
        folder = str(arguments.get(FOLDER) or "")
        return find_in_line(str(arguments.get("command")), folder, resolver)
    if _is_ours(tool):
        # A kernel works in the folder of its notebook.
        notebook = next((form for form in paths.get(NOTEBOOK, ()) if form.startswith("/")), "")
        folders = tuple(dict.fromkeys(("", posixpath.dirname(notebook))))
        code = (*(text for name in tool.code for text in list_texts(arguments.get(name))), *list_shown_code(details))
        found = (find_in_code(text, folders, resolver) for text in code)
    else:
        found = map(find_in_text, _list_code(arguments))
    return next(filter(None, found), "")


def _list_code(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that may be code or a command. A text of one line may be one, whatever its name is."""
    for name in arguments:
        list_code = list_texts if name.lower() in _CODE_NAMES else guess_paths
        yield from list_code(arguments[name])
