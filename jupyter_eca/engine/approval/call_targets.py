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

# The argument that names a notebook. Where it is left out, tools of notebooks and kernels mean that of the prompt.
NOTEBOOK: Final = "path"

# The longest text that is taken for a path where any text may be one.
_MAX_PATH: Final = 4096

# Arguments of other tools that are code, or command lines, by their names.
_CODE_NAMES: Final = frozenset({"code", "command", "commands", "cmd", "args", "script", "source"})

_READS_CONFIG: Final = frozenset({"--get", "--get-all", "--list", "-l"})
_FILE: Final = "file://"
_PARTS_OF_WORD: Final = re.compile(r"[=:,@]")
# Options of one letter before a path: `-so.eca/x`.
_OPTIONS: Final = re.compile(r"-\w+(?=[.~/])")


@dataclass(frozen=True, slots=True)
class CallTargets:
    """What a call names."""

    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each argument that names a path, the path with every link followed, in each way in which it can be written:
    relative to the folders of the workspace where it lies in them, and absolute."""
    protected: str = ""
    """A path that changes what may run without asking, when the call may change it. Empty when there is none."""


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
    above: tuple[str, ...] = ()
    """Folders below those of the workspace that hold one of these. Whoever moves such a folder moves it too."""
    above_scripts: tuple[str, ...] = ()
    """Folders with a script that the settings run. They are often the folders that the user works in, so only what
    moves or replaces one of them counts, and not each program that is called with it."""

    def is_protected(self, form: str) -> bool:
        """Return whether a resolved path is protected. Case does not count, because some file systems ignore it."""
        text = form.casefold()
        own = (path.casefold() for path in self.own)
        return is_protected(form) or any(text == path or text.startswith(f"{path}/") for path in own)

    def holds_protected(self, form: str, *, moves: bool = True) -> bool:
        """Return whether a resolved path is protected, or is a folder with something that is. `moves`: whether the call
        may move or replace a whole folder."""
        folders = (*self.above, *self.above_scripts) if moves else self.above
        return self.is_protected(form) or any(form.casefold() == path.casefold() for path in folders)


BY_TEXT: Final = PathResolver()


def find_targets(
    tool: ToolSpec, arguments: Mapping[str, Any], resolver: PathResolver = BY_TEXT, notebook: str = ""
) -> CallTargets:
    """Find what a call names. `notebook` is the one that is meant when it names none. It is then a path of the call
    like any other: a rule about it holds for the call."""
    names = tool.paths if tool.origin is Origin.NATIVE else tuple(arguments)
    list_paths = _list_texts if _is_ours(tool) else _guess_paths
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
    return CallTargets(paths, _find_protected(tool, arguments, paths, resolver))


def names_notebook(arguments: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a tool of notebooks or kernels say which one is meant."""
    return bool(str(arguments.get(NOTEBOOK) or "").strip())


def _is_ours(tool: ToolSpec) -> bool:
    """Return whether a tool is one of those that we bring: it takes a path as it stands, and says which arguments are
    paths or code. Nothing is known of the arguments of a server's tool, or of the user's own."""
    return tool.origin is Origin.NATIVE and not tool.definition


def _guess_paths(value: Any) -> Iterator[str]:
    """Yield the texts in a value that may be paths. It is not known whether a tool takes a URI, so it is both."""
    for text in _list_texts(value):
        if text.strip() and len(text) <= _MAX_PATH and not re.search(r"[\x00\r\n]", text):
            yield text
            if text.startswith(_FILE):
                yield unquote(text.removeprefix(_FILE))


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
    runs_line = tool.remembers is Remembers.COMMANDS
    touches = resolver.is_protected if runs_line else resolver.holds_protected
    always = {path: resolver.resolve(path, "") for path in tool.changes}
    for forms in (*paths.values(), *always.values()):
        for form in forms:
            if touches(form):
                return forms[0]
    if runs_line:
        folder = str(arguments.get(FOLDER) or "")
        return _find_in_line(str(arguments.get("command")), folder, resolver)
    found = (find_in_text(text) for text in _list_code(tool, arguments))
    return next(filter(None, found), "")


def _list_code(tool: ToolSpec, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that may be code or a command. A text of one line may be one, whatever its name is."""
    if _is_ours(tool):
        yield from (text for name in tool.code for text in _list_texts(arguments.get(name)))
        return
    for name in arguments:
        list_texts = _list_texts if name.lower() in _CODE_NAMES else _guess_paths
        yield from list_texts(arguments[name])


def _find_in_line(line: str, folder: str, resolver: PathResolver) -> str:
    commands = parse_commands(line)
    if commands is None:
        return find_in_text(line.replace("'", "").replace('"', "").replace("\\", ""))
    found = (
        _find_in_word(word, folder, resolver, moves=command.moves_folders)
        for command in commands
        for word in _list_words(command)
    )
    changes_git = (".git/config" for command in commands if _is_git_config(command))
    return next(filter(None, found), next(changes_git, ""))


def _list_words(command: ParsedCommand) -> Iterator[tuple[str, str]]:
    """Yield what a command may change: a word as it is written, and without quotes."""
    for redirect in command.redirects:
        if redirect.writes:
            yield redirect.written, redirect.target
    if command.key is None:
        yield from zip(command.words, (command.command, *command.args), strict=True)


def _find_in_word(word: tuple[str, str], folder: str, resolver: PathResolver, *, moves: bool) -> str:
    written, bare = word
    if expands(written) and is_protected_by_pattern(written):
        return written
    after_options = _OPTIONS.sub("", bare, count=1) if bare.startswith("-") else bare
    if found := find_in_text(bare) or find_in_text(after_options):
        return found
    parts = {bare, after_options, *_PARTS_OF_WORD.split(bare), *((bare[2:],) if bare.startswith("-") else ())}
    for path in _guess_paths(sorted(parts)):
        for form in resolver.resolve(path, folder):
            if resolver.holds_protected(form, moves=moves):
                return path
    return ""


def _is_git_config(command: ParsedCommand) -> bool:
    """Return whether a command may write the configuration of git, which names programs."""
    if command.command.rpartition("/")[2] != "git" or "config" not in command.args:
        return False
    first = next(arg for arg in command.args if not arg.startswith("-"))
    return first != "commit" and _READS_CONFIG.isdisjoint(command.args)
