"""Finds the protected path that a command line may change. Pure.

Each word of the line may be a path. It starts at the folder of the call, or at a folder that the line enters before
(`cd ~/.config && cp x eca/config.json`) or names with an option (`git -C .git`). A word that the shell replaces counts
if it may become such a path: `.e*/x`, `~/.conf*/eca`. A line that is not understood is split into words roughly, and
its variables are replaced by what the line or the environment gives them. In doubt a path is found: then somebody is
asked once more.

It does not find a path that a program puts together while it runs. `call_targets` is the neighbour: it finds what other
tools name.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.path_resolver import guess_paths
from jupyter_eca.engine.approval.protected_paths import expand_braces, find_in_text, is_protected_by_pattern
from jupyter_eca.engine.approval.shell_parser import expands, parse_commands, split_roughly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.engine.approval.path_resolver import PathResolver
    from jupyter_eca.engine.approval.shell_parser import ParsedCommand

_READS_CONFIG: Final = frozenset({"--get", "--get-all", "--list", "-l"})
_PARTS_OF_WORD: Final = re.compile(r"[=:,@]")
# Options of one letter before a path: `-so.eca/x`.
_OPTIONS: Final = re.compile(r"-\w+(?=[.~/])")

_ENTERS: Final = frozenset({"cd", "chdir", "pushd"})
# After these options a program works in another folder.
_FOLDER_OPTIONS: Final = re.compile(r"-C|--(?:directory|chdir|cwd|prefix|work-tree)")
# A line that enters folders in more ways than these is asked about, and so is one for which more paths would have to be
# looked up: that takes 0.1 ms each.
_MOST_FOLDERS: Final = 20
_MOST_PATHS: Final = 50_000
# A word that variables replace by more words than these keeps the variables.
_MOST_VALUES: Final = 50

_ASSIGNMENT: Final = re.compile(r"(\w+)=(.*)", re.DOTALL)
_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)[^}]*\})")


def find_in_line(line: str, folder: str, resolver: PathResolver) -> str:
    """Return a protected path that a line may change, "" for none. `folder` is where the line starts."""
    commands = parse_commands(line)
    is_rough = commands is None
    if commands is None:
        if found := find_in_text(line.replace("'", "").replace('"', "").replace("\\", "")):
            return found
        commands = tuple(_replace_variables(split_roughly(line), resolver))
    count = sum(len(command.words) for command in commands)
    folders = (folder,)
    for command in commands:
        folders = _enter(folders, _list_option_folders(command))
        if len(folders) > _MOST_FOLDERS or len(folders) * count > _MOST_PATHS:
            return command.text
        for word in _list_words(command):
            if found := _find_in_word(word, folders, resolver, moves=command.moves_folders, is_rough=is_rough):
                return found
        if _is_git_config(command):
            return ".git/config"
        # `sh -c "cd .git; cp x config"`
        lines = [argument for argument in command.args if command.hides_program and " " in argument]
        for inner, start in product(lines, folders):
            if found := find_in_line(inner, start, resolver):
                return found
        folders = _enter(folders, _list_entered(command))
    return ""


def _list_words(command: ParsedCommand) -> Iterator[tuple[str, str]]:
    """Yield what a command may change: a word as it is written, and without quotes."""
    for redirect in command.redirects:
        if redirect.writes:
            yield redirect.written, redirect.target
    if command.key is None:
        yield from zip(command.words, (command.command, *command.args), strict=True)


def _enter(folders: tuple[str, ...], entered: Iterable[str]) -> tuple[str, ...]:
    """Return the folders in which words may start from now on. It is not known whether a command succeeds, so each
    folder that the line was in stays."""
    for target in entered:
        if len(folders) > _MOST_FOLDERS:
            break
        folders = tuple(dict.fromkeys((*folders, *(_join(folder, target) for folder in folders))))
    return folders


def _list_entered(command: ParsedCommand) -> Iterator[str]:
    """Yield the folders that a command enters for those after it."""
    words = (command.command, *command.args)
    for at, word in enumerate(words):
        if word in _ENTERS:
            yield next((after for after in words[at + 1 :] if not after.startswith("-")), "~")


def _list_option_folders(command: ParsedCommand) -> Iterator[str]:
    """Yield the folders in which a command works itself, by its options."""
    for at, word in enumerate(command.args):
        option, _, value = word.partition("=")
        if _FOLDER_OPTIONS.fullmatch(option):
            yield from (value,) if value else command.args[at + 1 : at + 2]
        elif word.startswith("-C"):
            yield word[2:]


def _join(folder: str, path: str) -> str:
    return posixpath.normpath(path if path.startswith("~") else posixpath.join(folder, path))


def _find_in_word(
    word: tuple[str, str], folders: tuple[str, ...], resolver: PathResolver, *, moves: bool, is_rough: bool
) -> str:
    written, bare = word
    is_pattern = expands(written)
    # In a line that is not understood, `*.md` is often the words of a loop that only reads.
    if is_pattern and is_protected_by_pattern(written, any_name=not is_rough):
        return written
    after_options = _OPTIONS.sub("", bare, count=1) if bare.startswith("-") else bare
    if found := find_in_text(bare) or find_in_text(after_options):
        return found
    parts = {bare, after_options, *_PARTS_OF_WORD.split(bare), *((bare[2:],) if bare.startswith("-") else ())}
    for path in guess_paths(sorted(parts)):
        names = expand_braces(path) if is_pattern else (path,)
        for name, folder in product(names, folders):
            for form in resolver.resolve(name, folder):
                if resolver.holds_protected(form, moves=moves) or (is_pattern and resolver.may_become_protected(form)):
                    return path
    return ""


def _is_git_config(command: ParsedCommand) -> bool:
    """Return whether a command may write the configuration of git, which names programs."""
    if command.program != "git" or "config" not in command.args:
        return False
    first = next(arg for arg in command.args if not arg.startswith("-"))
    return first != "commit" and _READS_CONFIG.isdisjoint(command.args)


def _replace_variables(commands: tuple[ParsedCommand, ...], resolver: PathResolver) -> Iterator[ParsedCommand]:
    """Yield the commands with their variables replaced. A variable of a loop has several values, and each makes a
    word."""
    values: dict[str, tuple[str, ...]] = {name: (value,) for name, value in resolver.variables.items()}
    for command in commands:
        bare = [word for written in (command.command, *command.args) for word in _fill(written, values)]
        words = [word for written in command.words for word in _fill(written, values)]
        is_same = len(bare) == len(words)
        yield replace(command, command=bare[0], args=tuple(bare[1:]), words=tuple(words)) if is_same else command
        for word in bare:
            if assigned := _ASSIGNMENT.fullmatch(word):
                values[assigned[1]] = (*values.get(assigned[1], ()), assigned[2])
        if command.command in {"for", "select"} and len(bare) > 3 and bare[2] == "in":
            values[bare[1]] = tuple(bare[3:])


def _fill(word: str, values: dict[str, tuple[str, ...]]) -> list[str]:
    """Return a word with each value of its variables. A variable that nobody sets stays."""
    parts: list[tuple[str, ...]] = []
    at = 0
    for found in _VARIABLE.finditer(word):
        parts += [(word[at : found.start()],), values.get(found[1] or found[2], (found[0],))]
        at = found.end()
    parts.append((word[at:],))
    count = 1
    for part in parts:
        count *= len(part)
    return ["".join(chosen) for chosen in product(*parts)] if count <= _MOST_VALUES else [word]
