"""Finds the protected path that a command line may change. Pure.

Each word of the line may be a path. It starts at the folder of the call, or at a folder that the line enters before
(`cd ~/.config && cp x eca/config.json`) or names with an option (`git -C .git`). A word that the shell replaces counts
if it may become such a path: `.e*/x`, `~/.conf*/eca`. A line that is not understood is split into words roughly, and
its variables are replaced by what the line or the environment gives them (`shell_expansion`). A word that is not known
before the line runs (`$(cat list)`, `$1`) counts where a program may write what it names. So do the files that `xargs`
and `find` give to such a program. In doubt a path is found: then somebody is asked once more.

It does not find a path that a program puts together while it runs. `call_targets` is the neighbour: it finds what other
tools name.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval import known_programs
from jupyter_eca.engine.approval.path_resolver import guess_paths
from jupyter_eca.engine.approval.protected_paths import expand_braces, find_in_text, is_protected_by_pattern
from jupyter_eca.engine.approval.shell_expansion import Variables
from jupyter_eca.engine.approval.shell_parser import (
    ParsedCommand,
    expands,
    parse_commands,
    split_roughly,
    unquote_roughly,
)
from jupyter_eca.engine.approval.shell_script import UNKNOWN, divide_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.engine.approval.path_resolver import PathResolver
    from jupyter_eca.engine.approval.shell_script import ScriptParts

_READS_CONFIG: Final = frozenset({"--get", "--get-all", "--list", "-l"})
_PARTS_OF_WORD: Final = re.compile(r"[=:,@]")
# Options of one letter before a path: `-so.eca/x`.
_OPTIONS: Final = re.compile(r"-\w+(?=[.~/])")

_ENTERS: Final = frozenset({"cd", "chdir", "pushd"})
# With this variable, `cd` enters a folder below others than the current one, but for these paths. Without a value it
# does nothing.
_CDPATH: Final = "CDPATH"
_KEEPS_CDPATH: Final = re.compile(
    r"""(?<!["'\w$])CDPATH=(?:''|"")?(?=[\s;&|)]|$)|\bunset\ CDPATH\b|\$CDPATH\b|\$\{CDPATH\}""", re.IGNORECASE
)
_STARTS_HERE: Final = re.compile(r"[/~-]|\.\.?(?:/|$)")
# After these options a program works in another folder.
_FOLDER_OPTIONS: Final = re.compile(r"-C|--(?:directory|chdir|cwd|prefix|work-tree)")
# A line that enters folders in more ways than these is asked about, and so is one for which more paths would have to be
# looked up: that takes 0.1 ms each.
_MOST_FOLDERS: Final = 20
_MOST_PATHS: Final = 50_000
# Text that is more than one word of a command line.
_LINE: Final = re.compile(r"[\s<>|;&$`]")
# Words of the shell language, and an assignment, before the name of a program.
_BEFORE_PROGRAM: Final = re.compile(r"if|then|elif|else|while|until|do|\{|!|time|\w+=.*", re.DOTALL)
# Options of `xargs` before the program, of which some take the next word.
_XARGS_OPTION: Final = re.compile(r"-(?:0|r|t|[nPLsdI].+)")
_XARGS_OPTION_WITH_VALUE: Final = re.compile(r"-[nPLsdI]")

# Programs that give files to another one, which their arguments name.
_GIVE_FILES: Final = frozenset({"fd", "fdfind", "find", "parallel", "xargs"})
_FD_RUNS: Final = re.compile(r"-[xX].*|--exec.*")
_FIND_WRITES: Final = frozenset({"-fls", "-fprint", "-fprint0", "-fprintf"})
_FIND_DELETES: Final = "-delete"
_FIND_RUNS: Final = re.compile(r"-(?:exec|ok)(?:dir)?")
_FIND_OR: Final = frozenset({"-o", "-or", ","})
_FIND_NOT: Final = frozenset({"!", "-not"})
# Names of files that decide nothing about what may run.
_HARMLESS_NAME: Final = re.compile(
    r"[^/]*\.(?:py[cod]|o|a|so|class|log|tmp|bak|orig|rej|swp|csv|tsv|parquet|npy|npz|pkl|h5|png|jpe?g|gif|svg|pdf|ipynb"
    r"|html|zip|gz|egg-info|DS_Store)|\.(?:ipynb_checkpoints|pytest_cache|mypy_cache|ruff_cache|coverage)|__pycache__"
    r"|node_modules|nohup\.out"
)


def find_in_line(line: str, folder: str, resolver: PathResolver, *, looks_up: bool = True) -> str:
    """Return a protected path that a line may change, "" for none. `folder` is where the line starts. Without
    `looks_up`, the line is no line of a shell alone, and a word that is not known does not count."""
    if _sets_cdpath(line):
        resolver = replace(resolver, variables={**resolver.variables, _CDPATH: UNKNOWN})
    if (commands := parse_commands(line)) is not None:
        return _find_in_commands(commands, folder, resolver, resolver, looks_up=looks_up)
    if found := find_in_text(line.replace("'", "").replace('"', "").replace("\\", "")):
        return found
    if found := _find_in_commands(split_roughly(line), folder, resolver, resolver, is_rough=True, looks_up=False):
        return found
    script = divide_script(line)
    if looks_up and not script.is_certain:
        return line.strip()
    variables = Variables(script, resolver.variables)
    commands = _fill_variables(script, variables)
    inside = replace(resolver, variables=variables.export())
    if found := _find_in_commands(commands, folder, resolver, inside, is_rough=True, looks_up=looks_up):
        return found
    runs_documents = any(one.hides_program or one.program in known_programs.SHELLS for one in commands)
    inner = (*script.inner, *(script.documents if runs_documents else ()))
    starts = _enter((folder,), [entered for command in commands for entered in _list_entered(command, resolver)])
    if len(starts) > _MOST_FOLDERS:
        return line.strip()
    results = (find_in_line(text, start, inside, looks_up=looks_up) for text in inner for start in starts)
    return next(filter(None, results), "")


def _find_in_commands(
    commands: tuple[ParsedCommand, ...],
    folder: str,
    resolver: PathResolver,
    inside: PathResolver,
    *,
    is_rough: bool = False,
    looks_up: bool,
) -> str:
    """Return a protected path that one of the commands may change. `inside` knows the variables of lines within the
    line."""
    count = sum(len(command.words) for command in commands)
    folders = (folder,)
    is_lost = UNKNOWN in folder
    # `echo "cp x y" | sh`
    reads_script = any(one.program in known_programs.SHELLS and not _list_operands(one) for one in commands)
    for command in commands:
        own_folders = (*_list_option_folders(command),)
        folders = _enter(folders, own_folders)
        if len(folders) > _MOST_FOLDERS or len(folders) * count > _MOST_PATHS:
            return _show(command.text)
        is_lost = is_lost or UNKNOWN in "".join(own_folders)
        if looks_up and (found := _find_unknown(command, folders, resolver, is_lost=is_lost)):
            return found
        moves = command.moves_folders
        for word in _list_words(command):
            if found := _find_in_word(word, folders, resolver, moves=moves, is_rough=is_rough):
                return _show(found)
        if _is_git_config(command):
            return ".git/config"
        # `sh -c "cd .git; cp x config"`
        runs_texts = reads_script or command.program in known_programs.SHELLS
        knows = looks_up and (runs_texts or _runs_texts(command))
        lines = command.args if runs_texts or command.hides_program else ()
        for text, start in product(filter(_LINE.search, lines), folders):
            if found := find_in_line(text, start, inside, looks_up=knows):
                return found
        entered = (*_list_entered(command, resolver),)
        is_lost = is_lost or UNKNOWN in "".join(entered)
        folders = _enter(folders, entered)
    return ""


def _list_words(command: ParsedCommand) -> Iterator[tuple[str, str]]:
    """Yield what a command may change: a word as it is written, and without quotes."""
    for redirect in command.redirects:
        if redirect.writes:
            yield redirect.written, redirect.target
    if command.words and command.key is None:
        yield from zip(command.words, (command.command, *command.args), strict=True)


def _enter(folders: tuple[str, ...], entered: Iterable[str]) -> tuple[str, ...]:
    """Return the folders in which words may start from now on. It is not known whether a command succeeds, so each
    folder that the line was in stays."""
    for target in entered:
        if len(folders) > _MOST_FOLDERS:
            break
        folders = tuple(dict.fromkeys((*folders, *(_join(folder, target) for folder in folders))))
    return folders


def _sets_cdpath(line: str) -> bool:
    """Return whether a line may give `CDPATH` a value."""
    return _CDPATH in unquote_roughly(_KEEPS_CDPATH.sub("", line.replace("\\\n", ""))).upper()


def _list_entered(command: ParsedCommand, resolver: PathResolver) -> Iterator[str]:
    """Yield the folders that a command enters for those after it."""
    words = (command.command, *command.args)
    for at, word in enumerate(words):
        if word in _ENTERS:
            target = next((after for after in words[at + 1 :] if not after.startswith("-")), "~")
            yield target
            if resolver.variables.get(_CDPATH) == UNKNOWN and not _STARTS_HERE.match(target):
                yield UNKNOWN


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


def _fill_variables(script: ScriptParts, variables: Variables) -> tuple[ParsedCommand, ...]:
    """Return the commands with their variables replaced. A variable of a loop has several values, and each makes a
    word."""
    commands = split_roughly(script.text)
    filled: list[ParsedCommand] = []
    for _ in range(2):  # A loop comes back to its first command with what a later one assigned.
        filled = []
        for command in commands:
            words = tuple(word for written in command.words for word in variables.fill(written))
            redirects = tuple(
                replace(redirect, written=word, target=unquote_roughly(word))
                for redirect in command.redirects
                for word in variables.fill(redirect.written)
            )
            first, *others = map(unquote_roughly, words or ("",))
            filled.append(ParsedCommand(first, tuple(others), words, redirects))
            variables.assign((first, *others))
    return tuple(filled)


def _find_unknown(command: ParsedCommand, folders: tuple[str, ...], resolver: PathResolver, *, is_lost: bool) -> str:
    """Return a word that is not known, if the command may write what it names; "" for none. `is_lost`: the folder in
    which it runs is not known, so no path that starts there is."""
    for redirect in command.redirects:
        if redirect.writes and (UNKNOWN in redirect.target or (is_lost and not redirect.target.startswith(("/", "~")))):
            return _show(redirect.text)
    words = (command.command, *command.args)
    at = _find_program(words)
    program, others = "".join(words[at : at + 1]), words[at + 1 :]
    if program in known_programs.RUNNERS and program not in _GIVE_FILES:
        # `env -u A xargs rm`
        at = next((at for at, word in enumerate(words) if word in _GIVE_FILES), at)
        program, others = words[at], words[at + 1 :]
    if program == "find":
        return _show(command.text) if _find_changes_any(others, folders, resolver) else ""
    if program in {"fd", "fdfind"} and any(map(_FD_RUNS.fullmatch, others)):
        return _show(command.text)
    if program in {"xargs", "parallel"}:
        return "" if _only_reads(_skip_xargs_options(others)) else _show(command.text)
    if program in _ENTERS or _only_reads((program, *others)):
        return ""
    if is_lost and _list_operands(command):
        return _show(command.text)
    return next((_show(word) for word in words[at:] if UNKNOWN in word), "")


def _list_operands(command: ParsedCommand) -> list[str]:
    return [argument for argument in command.args if not argument.startswith("-")]


def _runs_texts(command: ParsedCommand) -> bool:
    """Return whether a command that hides its program may run a text in its arguments, as `su -c` does, and not one of
    another language, as `time awk` does."""
    words = (command.command, *command.args)
    program = words[_find_program(words)]
    return program in known_programs.RUNNERS or program in known_programs.SHELLS or program == "git"


def _show(text: str) -> str:
    return text.replace(UNKNOWN, "…")


def _find_program(words: tuple[str, ...]) -> int:
    """Return the place of the program in the words of a command. `env`, `sudo` and others run the next one."""
    at = 0
    while at < len(words) - 1:
        word, after = words[at], words[at + 1]
        is_runner = word in known_programs.RUNNERS and word not in _GIVE_FILES
        if not _BEFORE_PROGRAM.fullmatch(word) and (not is_runner or after.startswith("-")):
            break
        at += 2 if word == "timeout" else 1
    return at


def _only_reads(words: tuple[str, ...]) -> bool:
    """Return whether a command writes nothing that its arguments name."""
    first, second = "".join(words[:1]), "".join(words[1:2])
    program = first.rpartition("/")[2]
    known = known_programs.WRITE_NO_ARGUMENT
    return (
        not words or _BEFORE_PROGRAM.fullmatch(first) is not None or program in known or f"{program} {second}" in known
    )


def _skip_xargs_options(args: tuple[str, ...]) -> tuple[str, ...]:
    at = 0
    while at < len(args):
        if _XARGS_OPTION_WITH_VALUE.fullmatch(args[at]):
            at += 2
        elif _XARGS_OPTION.fullmatch(args[at]):
            at += 1
        else:
            break
    return args[at:]


def _find_changes_any(args: tuple[str, ...], folders: tuple[str, ...], resolver: PathResolver) -> bool:
    """Return whether `find` may delete or change files that decide what may run."""
    runs = [args[at + 1 :] for at, arg in enumerate(args) if _FIND_RUNS.fullmatch(arg)]
    if _FIND_DELETES not in args and all(map(_only_reads, runs)):
        return not _FIND_WRITES.isdisjoint(args) and UNKNOWN in "".join(args)
    first = next((at for at, arg in enumerate(args) if arg.startswith(("-", "(", "!"))), len(args))
    starts = args[:first] or (".",)
    if UNKNOWN not in "".join(starts) and not any(
        resolver.is_above_protected(form)
        for start, folder in product(starts, folders)
        for form in resolver.resolve(start, folder)
    ):
        return False
    tests: list[list[str]] = [[]]
    for arg in args[first:]:
        if arg in _FIND_OR:
            tests.append([])
        else:
            tests[-1].append(arg)
    return not all(map(_names_harmless_files, tests))


def _names_harmless_files(test: list[str]) -> bool:
    """Return whether the tests of `find` between two `-o` let no file pass that decides what may run."""
    return any(
        name in {"-name", "-iname"} and _HARMLESS_NAME.fullmatch(pattern) and before not in _FIND_NOT
        for before, name, pattern in zip(["", *test], test, test[1:], strict=False)
    )
