"""Owns `CallTargets`: the files that a tool call names, with all links followed, and any protected file among them.

Approval rules, remembered approvals and the protection of paths all use this one value. A protected file decides what
may run without approval, see `protected_paths`. The functions are pure: the caller passes a `PathResolver`, which knows
the disk. The neighbour `line_targets` finds what a command line names, and `code_targets` what code names.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.call_parts import CallPart, list_parts
from jupyter_eca.engine.approval.git_reads import list_git_folders
from jupyter_eca.engine.approval.named_arguments import describe_exactly, describe_named
from jupyter_eca.engine.approval.path_resolver import BY_TEXT, guess_paths, list_texts
from jupyter_eca.engine.approval.protected_paths import find_protected_name
from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.engine.approval.path_resolver import PathResolver
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.content import ToolCallDetails

# The argument of a shell tool that names the folder of the command.
FOLDER_ARGUMENT: Final = "working_directory"

# The argument that names a notebook. Without it, tools for notebooks and kernels use the notebook of the prompt.
NOTEBOOK_ARGUMENT: Final = "path"

# Names of arguments of other tools that contain code or command lines.
_CODE_NAMES: Final = frozenset(
    {
        *("args", "cmd", "code", "command", "commands", "diff", "expression", "function", "input", "javascript", "js"),
        *("patch", "program", "script", "source", "stdin"),
    }
)


@dataclass(frozen=True, slots=True)
class CallTargets:
    """The files that a call names."""

    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each argument that names a path: all ways to write the path, with all links followed. These are the absolute
    path and, if it is in a folder of the workspace, the path relative to that folder. The first is shown to people."""
    protected: str = ""
    """A protected path that the call may change, see `protected_paths`. Empty when there is none."""
    named: tuple[str, ...] = ()
    """What the arguments name, in words: `path in notes/`. An approval of a tool that is not ours is remembered for
    these words. See `named_arguments`."""
    git_program: str = ""
    """The setting of a repository that makes git run a program although the command only reads, such as
    `diff.external`. Empty when there is none."""
    parts: tuple[CallPart, ...] = ()
    """For a call that does several things: these things. Rules and approvals are decided for each of them."""


def find_targets(
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    resolver: PathResolver = BY_TEXT,
    notebook: str = "",
    details: ToolCallDetails | None = None,
) -> CallTargets:
    """Find what a call names.

    Without a `resolver`, paths are normalized as texts, and links are not followed. `notebook` is the notebook that is
    used when the arguments name none. It then counts as a path of the call, so that
    approval rules about it apply. `details` are what the card of the call shows to the user, with the code that it runs
    or writes; None when there is no preview.
    """
    names = tool.paths if tool.origin is Origin.NATIVE else tuple(arguments)
    list_paths = list_texts if _is_ours(tool) else guess_paths
    # By the name of the argument: all forms of its paths, each once. An argument without a path is left out.
    paths = {
        name: tuple(dict.fromkeys(form for path in found for form in resolver.resolve(path, "")))
        for name in names
        if (found := tuple(filter(None, list_paths(arguments.get(name)))))
    }
    # The folder in which a command runs if no argument names one.
    start = resolver.resolve("", "")
    if tool.approval_covers is ApprovalCoverage.COMMANDS and FOLDER_ARGUMENT not in paths and start[0] != ".":
        paths[FOLDER_ARGUMENT] = start
    if notebook and not names_notebook(arguments):
        paths[NOTEBOOK_ARGUMENT] = resolver.resolve(notebook, "")
    protected = _find_protected(tool, arguments, paths, resolver, details)
    named = _describe_arguments(tool, arguments, resolver)
    program = _find_git_program(arguments, resolver) if tool.approval_covers is ApprovalCoverage.COMMANDS else ""
    return CallTargets(paths, protected, named, program, list_parts(tool, arguments, details))


def _find_git_program(arguments: Mapping[str, Any], resolver: PathResolver) -> str:
    """Return the setting of a repository that makes git run a program in a command line; empty when there is none."""
    folders = list_git_folders(str(arguments.get("command")), str(arguments.get(FOLDER_ARGUMENT) or ""))
    return next((found for folder in folders if (found := resolver.find_git_program(folder))), "")


def _describe_arguments(tool: ToolSpec, arguments: Mapping[str, Any], resolver: PathResolver) -> tuple[str, ...]:
    """Return what the arguments name, in words; empty if approvals of the tool do not depend on this."""
    match tool.approval_covers:
        case ApprovalCoverage.ARGUMENTS:
            return describe_exactly(arguments)
        case ApprovalCoverage.TOOL if not tool.is_read_only:
            return describe_named(arguments, lambda path: resolver.resolve(path, "")[0])
        case _:
            return ()


def names_notebook(arguments: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a tool for notebooks or kernels name a notebook."""
    return bool(str(arguments.get(NOTEBOOK_ARGUMENT) or "").strip())


def _is_ours(tool: ToolSpec) -> bool:
    """Return whether a tool belongs to this package.

    Our own tools declare which arguments are paths or code, and use a path exactly as it is written. About the
    arguments of other servers' tools and of the user's custom tools, nothing is known.
    """
    return tool.origin is Origin.NATIVE and not tool.definition


def _find_protected(
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    paths: Mapping[str, tuple[str, ...]],
    resolver: PathResolver,
    details: ToolCallDetails | None,
) -> str:
    """Return the first protected path that a call may change; empty when there is none."""
    if tool.is_read_only:
        return ""
    runs_line = tool.approval_covers is ApprovalCoverage.COMMANDS
    # The folder of a command may contain protected files: only what the line itself names can be changed.
    may_change = resolver.is_protected if runs_line else resolver.is_protected_or_parent
    always_changed = tuple(resolver.resolve(path, "") for path in tool.changes)
    for forms in (*paths.values(), *always_changed):
        for form in forms:
            if may_change(form):
                return forms[0]
    # The tables of shells and programs take 0.5 MB, so they are imported when a tool is called.
    if runs_line:
        from jupyter_eca.engine.approval.line_targets import find_protected_in_line

        folder = str(arguments.get(FOLDER_ARGUMENT) or "")
        return find_protected_in_line(str(arguments.get("command")), folder, resolver)
    if _is_ours(tool):
        from jupyter_eca.engine.approval.code_targets import find_protected_in_code, list_shown_code

        # A kernel works in the folder of its notebook.
        notebook = next((form for form in paths.get(NOTEBOOK_ARGUMENT, ()) if form.startswith("/")), "")
        folders = tuple(dict.fromkeys(("", posixpath.dirname(notebook))))
        # What was previewed is in no argument, but in the arguments of the parts.
        parts = ((part.tool.code, part.arguments) for part in list_parts(tool, arguments, details) if part.tool)
        texts = (
            text
            for names, values in ((tool.code, arguments), *parts)
            for name in names
            for text in list_texts(values.get(name))
        )
        code = (*texts, *list_shown_code(details))
        found = (find_protected_in_code(text, folders, resolver) for text in code)
    else:
        found = map(find_protected_name, _list_code(arguments))
    return next(filter(None, found), "")


def _list_code(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in the arguments that may be code or a command. With a name of `_CODE_NAMES`, that is any text.
    With another name, it is any text of a single line."""
    for name in arguments:
        list_code = list_texts if name.lower() in _CODE_NAMES else guess_paths
        yield from list_code(arguments[name])
