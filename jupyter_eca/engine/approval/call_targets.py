"""`CallTargets`: which files a tool call names, with every link followed, and whether one of them is protected.

Rules, remembered approvals and the protection of paths all use this one value. The functions are pure: whoever calls
them passes a function that resolves a path on the disk. Without one, a path is resolved by its text alone.
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
FOLDER: Final = "working_directory"

# The longest text that is taken for a path.
_MAX_PATH: Final = 4096

_READS_CONFIG: Final = frozenset({"--get", "--get-all", "--list", "-l"})
_FILE: Final = "file://"
_PARTS_OF_WORD: Final = re.compile(r"[=:,@]")


@dataclass(frozen=True, slots=True)
class CallTargets:
    """What a call names."""

    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each argument that names a path, the path with every link followed, in each way in which it can be written:
    relative to the folders of the workspace where it lies in them, and absolute."""
    protected: str = ""
    """A path that changes what may run without asking, when the call may change it. Empty when there is none."""
    notebook: str = ""
    """The notebook that is meant where the arguments name none."""


def resolve_by_text(path: str, folder: str) -> tuple[str, ...]:
    """Resolve a path without looking at the disk. It belongs to the workspace, as far as its text says."""
    return (posixpath.normpath(posixpath.join(folder, path)),)


@dataclass(frozen=True, slots=True)
class PathResolver:
    """Resolves the paths of a call."""

    resolve: Callable[[str, str], tuple[str, ...]] = resolve_by_text
    """Takes a path and the folder that it starts at. Returns the path with every link followed, in each way in which it
    can be written. The first form is for people: relative to the workspace's first folder if it lies there."""
    own: tuple[str, ...] = ()
    """Files and folders that are protected here besides those of `protected_paths`: absolute, with links followed."""

    def is_protected(self, form: str) -> bool:
        """Return whether a resolved path is protected."""
        return is_protected(form) or any(form == own or form.startswith(f"{own}/") for own in self.own)


BY_TEXT: Final = PathResolver()


def find_targets(
    tool: ToolSpec, arguments: Mapping[str, Any], resolver: PathResolver = BY_TEXT, notebook: str = ""
) -> CallTargets:
    """Find what a call names. `notebook` is that of the prompt."""
    names = tool.paths if tool.origin is Origin.NATIVE else tuple(arguments)
    paths = {
        name: tuple(dict.fromkeys(form for path in found for form in resolver.resolve(path, "")))
        for name in names
        if (found := tuple(_list_paths(arguments.get(name))))
    }
    nearest = resolver.resolve(notebook, "")[0] if notebook else ""
    return CallTargets(paths, _find_protected(tool, arguments, paths, resolver), nearest)


def _list_paths(value: Any) -> Iterator[str]:
    """Yield the texts in a value that can be paths."""
    for text in _list_texts(value):
        if text.strip() and len(text) <= _MAX_PATH and not re.search(r"[\x00\r\n]", text):
            yield unquote(text.removeprefix(_FILE)) if text.startswith(_FILE) else text


def _list_texts(value: Any) -> Iterator[str]:
    """Yield all texts in a value."""
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
    # What a server says of its own tool is no reason to trust it.
    if tool.reads and tool.origin is Origin.NATIVE:
        return ""
    always = {path: resolver.resolve(path, "") for path in tool.changes}
    for forms in (*paths.values(), *always.values()):
        for form in forms:
            if resolver.is_protected(form):
                return forms[0]
    if tool.remembers is Remembers.COMMANDS:
        folder = str(arguments.get(FOLDER) or "")
        return _find_in_line(str(arguments.get("command")), folder, resolver)
    found = (find_in_text(text) for name in tool.code for text in _list_texts(arguments.get(name)))
    return next(filter(None, found), "")


def _find_in_line(line: str, folder: str, resolver: PathResolver) -> str:
    commands = parse_commands(line)
    if commands is None:
        return find_in_text(line.replace("'", "").replace('"', "").replace("\\", ""))
    found = (_find_in_word(word, folder, resolver) for command in commands for word in _list_words(command))
    changes_git = (".git/config" for command in commands if _is_git_config(command))
    return next(filter(None, found), next(changes_git, ""))


def _list_words(command: ParsedCommand) -> Iterator[tuple[str, str]]:
    """Yield what a command may change: a word as it is written, and without quotes."""
    for redirect in command.redirects:
        if redirect.writes:
            yield redirect.written, redirect.target
    if command.key is None:
        yield from zip(command.words, (command.command, *command.args), strict=True)


def _find_in_word(word: tuple[str, str], folder: str, resolver: PathResolver) -> str:
    written, bare = word
    if expands(written) and is_protected_by_pattern(written):
        return written
    if found := find_in_text(bare):
        return found
    parts = {bare, *_PARTS_OF_WORD.split(bare), *((bare[2:],) if bare.startswith("-") else ())}
    for path in _list_paths(sorted(parts)):
        for form in resolver.resolve(path, folder):
            if resolver.is_protected(form):
                return path
    return ""


def _is_git_config(command: ParsedCommand) -> bool:
    """Return whether a command may write the configuration of git, which names programs."""
    if command.command.rpartition("/")[2] != "git" or "config" not in command.args:
        return False
    first = next(arg for arg in command.args if not arg.startswith("-"))
    return first != "commit" and _READS_CONFIG.isdisjoint(command.args)
