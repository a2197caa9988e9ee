"""Owns `CallTargets`: the files that a tool call names, with all links followed, and any protected file among them.

Approval rules, remembered approvals and the protection of paths all use this one value. This module must not look at
the disk: its caller (`host/tools/path_resolution`) passes a function that resolves a path. Without such a function, a
path is resolved by its text alone. Which paths are protected is decided in `protected_paths`.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from jupyter_eca.engine.approval.protected_paths import find_in_text, is_protected, is_protected_by_pattern
from jupyter_eca.engine.approval.shell_parser import expands, parse_commands
from jupyter_eca.engine.model.request import Remembers
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jupyter_eca.engine.approval.shell_parser import ParsedCommand
    from jupyter_eca.engine.model.request import ToolSpec

# The argument of a shell tool that names the folder of the command.
FOLDER_ARGUMENT: Final = "working_directory"

# Where any argument may be a path, a longer text is not taken for one. It is PATH_MAX of Linux.
_MAX_PATH: Final = 4096

# Names of arguments of other tools that contain code or command lines.
_CODE_NAMES: Final = frozenset({"code", "command", "commands", "cmd", "args", "script", "source"})

# Options with which `git config` only reads.
_READS_CONFIG: Final = frozenset({"--get", "--get-all", "--list", "-l"})
_FILE: Final = "file://"
# A word of a command may contain a path after one of these: `--output=x`, `host:x`.
_PARTS_OF_WORD: Final = re.compile(r"[=:,@]")
# One-letter options directly before a path: `-so.eca/x`.
_OPTIONS: Final = re.compile(r"-\w+(?=[.~/])")


@dataclass(frozen=True, slots=True)
class CallTargets:
    """The files that a call names."""

    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each argument that names a path: all ways to write the path, with all links followed. These are the absolute
    path and, if it is in a folder of the workspace, the path relative to that folder."""
    protected: str = ""
    """A protected path that the call may change; empty when there is none. Such a path decides what may run without
    approval."""
    notebook: str = ""
    """The notebook of the prompt, which the call uses if its arguments name no other."""


def resolve_by_text(path: str, folder: str) -> tuple[str, ...]:
    """Return a path without `..` and `.`, without looking at the disk: links are not followed."""
    return (posixpath.normpath(posixpath.join(folder, path)),)


@dataclass(frozen=True, slots=True)
class PathResolver:
    """Resolves the paths of a call."""

    resolve: Callable[[str, str], tuple[str, ...]] = resolve_by_text
    """A function of a path and the folder that it is relative to. It returns all ways to write the path, with all links
    followed. The first one is for people: it is relative to the first folder of the workspace, if it is in there."""
    protected: tuple[str, ...] = ()
    """Files and folders that are protected on this machine, besides those of `protected_paths`. They are absolute, with
    all links followed."""
    parents: tuple[str, ...] = ()
    """Folders of the workspace that contain one of `protected`. To move such a folder is to move the protected file."""

    def is_protected(self, form: str) -> bool:
        """Return whether a resolved path is protected. Upper and lower case are equal, as in some file systems."""
        text = form.casefold()
        protected = (path.casefold() for path in self.protected)
        return is_protected(form) or any(text == path or text.startswith(f"{path}/") for path in protected)

    def holds_protected(self, form: str) -> bool:
        """Return whether a resolved path is protected, or is a folder that contains a protected file."""
        return self.is_protected(form) or any(form.casefold() == path.casefold() for path in self.parents)


BY_TEXT: Final = PathResolver()


def find_targets(
    tool: ToolSpec, arguments: Mapping[str, Any], resolver: PathResolver = BY_TEXT, notebook: str = ""
) -> CallTargets:
    """Return the files that a call names. `notebook` is the notebook of the prompt; empty when there is none."""
    names = tool.paths if tool.origin is Origin.NATIVE else tuple(arguments)
    list_paths = _list_texts if _is_ours(tool) else _guess_paths
    paths = {
        name: tuple(dict.fromkeys(form for path in found for form in resolver.resolve(path, "")))
        for name in names
        if (found := tuple(filter(None, list_paths(arguments.get(name)))))
    }
    start = resolver.resolve("", "")
    if tool.remembers is Remembers.COMMANDS and FOLDER_ARGUMENT not in paths and start[0] != ".":
        paths[FOLDER_ARGUMENT] = start
    nearest = resolver.resolve(notebook, "")[0] if notebook else ""
    return CallTargets(paths, _find_protected(tool, arguments, paths, resolver), nearest)


def _is_ours(tool: ToolSpec) -> bool:
    """Return whether a tool belongs to this package.

    Our own tools declare which arguments are paths or code, and use a path exactly as it is written. About the
    arguments of other servers' tools and of the user's custom tools, nothing is known.
    """
    return tool.origin is Origin.NATIVE and not tool.definition


def _guess_paths(value: Any) -> Iterator[str]:
    """Yield the texts in a value that may be paths. A `file://` URI may be used as a path too, so both are yielded."""
    for text in _list_texts(value):
        if text.strip() and len(text) <= _MAX_PATH and not re.search(r"[\x00\r\n]", text):
            yield text
            if text.startswith(_FILE):
                yield unquote(text.removeprefix(_FILE))


def _list_texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from _list_texts(item)
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from _list_texts(item)
        case _:
            pass


def _find_protected(
    tool: ToolSpec, arguments: Mapping[str, Any], paths: Mapping[str, tuple[str, ...]], resolver: PathResolver
) -> str:
    """Return the first protected path that a call may change; empty when there is none."""
    # Only our own tools are believed. A server may claim falsely that its tool only reads.
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
        folder = str(arguments.get(FOLDER_ARGUMENT) or "")
        return _find_protected_in_line(str(arguments.get("command")), folder, resolver)
    found = (find_in_text(text) for text in _list_code(tool, arguments))
    return next(filter(None, found), "")


def _list_code(tool: ToolSpec, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in the arguments that may be code or a command.

    Our own tools declare them. For other tools, every text of one line may be code, whatever its name is.
    """
    if _is_ours(tool):
        yield from (text for name in tool.code for text in _list_texts(arguments.get(name)))
        return
    for name in arguments:
        list_texts = _list_texts if name.lower() in _CODE_NAMES else _guess_paths
        yield from list_texts(arguments[name])


def _find_protected_in_line(line: str, folder: str, resolver: PathResolver) -> str:
    """Return the first protected path that a command line may change; empty when there is none."""
    commands = parse_commands(line)
    if commands is None:
        return find_in_text(line.replace("'", "").replace('"', "").replace("\\", ""))
    found = (_find_protected_in_word(word, folder, resolver) for command in commands for word in _list_words(command))
    changes_git = (".git/config" for command in commands if _is_git_config(command))
    return next(filter(None, found), next(changes_git, ""))


def _list_words(command: ParsedCommand) -> Iterator[tuple[str, str]]:
    """Yield the words of a command that may be paths that it changes, each as it is written and without quotes."""
    for redirect in command.redirects:
        if redirect.writes:
            yield redirect.written, redirect.target
    if command.key is None:
        yield from zip(command.words, (command.command, *command.args), strict=True)


def _find_protected_in_word(word: tuple[str, str], folder: str, resolver: PathResolver) -> str:
    """Return the protected path in a word of a command; empty when there is none.

    `word` is the word as it is written, and the word without quotes.
    """
    written, bare = word
    if expands(written) and is_protected_by_pattern(written):
        return written
    after_options = _OPTIONS.sub("", bare, count=1) if bare.startswith("-") else bare
    if found := find_in_text(bare) or find_in_text(after_options):
        return found
    parts = {bare, after_options, *_PARTS_OF_WORD.split(bare), *((bare[2:],) if bare.startswith("-") else ())}
    for path in _guess_paths(sorted(parts)):
        for form in resolver.resolve(path, folder):
            if resolver.holds_protected(form):
                return path
    return ""


def _is_git_config(command: ParsedCommand) -> bool:
    """Return whether a command may write the configuration of git, which can name programs that git runs."""
    if command.command.rpartition("/")[2] != "git" or "config" not in command.args:
        return False
    first = next(arg for arg in command.args if not arg.startswith("-"))
    return first != "commit" and _READS_CONFIG.isdisjoint(command.args)
