"""Finds the protected path that a command line may change. Pure.

A protected path decides what may run without approval (`protected_paths`). If a line may change one, the user is asked.
In doubt, this module finds a path: one question too many is better than one too few.

Each word of the line may be a path. It may start at these folders:

- the folder of the call;
- a folder that the line has entered: `cd ~/.config && cp x eca/config.json`;
- a folder that an option names: `git -C .git`.

These words count too:

- a pattern that the shell may replace by a protected path: `.e*/x`, `~/.conf*/eca`;
- a word that is *unknown* before the line runs (`$(cat list)`, `$1`), if a program may write to the file that it names;
- the files that `xargs` and `find` pass to such a program.

`shell_parser` parses plain lines. Any other line (with loops, variables, `$(…)`) is split into words roughly. Then its
variables are replaced by the values that the line or the environment gives them (`shell_expansion`).

A path that a program puts together while it runs is not found. The neighbour `call_targets` finds what other tools
name.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval import known_programs
from jupyter_eca.engine.approval.path_resolver import guess_paths
from jupyter_eca.engine.approval.protected_paths import expand_braces, find_protected_name, is_protected_by_pattern
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

# Options with which `git config` only reads.
_GIT_CONFIG_READS: Final = frozenset({"--get", "--get-all", "--list", "-l"})
# A word may contain a path between these: `--file=x`, `a:b`, `@x`.
_WORD_SEPARATOR: Final = re.compile(r"[=:,@]")
# Options of one letter with a path directly after them: the `-so` of `-so.eca/x`.
_SHORT_OPTIONS: Final = re.compile(r"-\w+(?=[.~/])")

# Programs that change the current folder for the commands after them.
_CD_PROGRAMS: Final = frozenset({"cd", "chdir", "pushd"})
# If this variable has a value, `cd x` may enter a folder `x` that is not in the current folder.
_CDPATH: Final = "CDPATH"
# Mentions of the variable that give it no value.
_HARMLESS_CDPATH_MENTION: Final = re.compile(
    r"""(?<!["'\w$])CDPATH=(?:''|"")?(?=[\s;&|)]|$)|\bunset\ CDPATH\b|\$CDPATH\b|\$\{CDPATH\}""", re.IGNORECASE
)
# For paths that begin like this, `cd` does not use the variable.
_PATH_WITHOUT_CDPATH: Final = re.compile(r"[/~-]|\.\.?(?:/|$)")
# After these options a program works in another folder.
_FOLDER_OPTIONS: Final = re.compile(r"-C|--(?:directory|chdir|cwd|prefix|work-tree)")
# If a line may be in more folders than this, or if more paths than this would have to be looked up, the user is asked
# without a look at the rest. A look-up takes 0.1 ms.
_MAX_FOLDERS: Final = 20
_MAX_PATHS: Final = 50_000
# A text that may be more than one word of a command line contains one of these characters.
_SEVERAL_WORDS: Final = re.compile(r"[\s<>|;&$`]")
# What may stand before the name of a program: a word of the shell language, or an assignment.
_WORD_BEFORE_PROGRAM: Final = re.compile(r"if|then|elif|else|while|until|do|\{|!|time|\w+=.*", re.DOTALL)
# Options of `xargs`, which stand before the program that it runs. The second pattern is for options whose value is the
# next word.
_XARGS_OPTION: Final = re.compile(r"-(?:0|r|t|[nPLsdI].+)")
_XARGS_OPTION_WITH_VALUE: Final = re.compile(r"-[nPLsdI]")

# Programs that pass files to another program, whose name is in their arguments: `find . -exec rm {} +`.
_FILE_GIVERS: Final = frozenset({"fd", "fdfind", "find", "parallel", "xargs"})
# Options of `fd` that run a program. Then those of `find`: some write a file, some run a program, some delete.
_FD_RUNS: Final = re.compile(r"-[xX].*|--exec.*")
_FIND_WRITES: Final = frozenset({"-fls", "-fprint", "-fprint0", "-fprintf"})
_FIND_DELETES: Final = "-delete"
_FIND_RUNS: Final = re.compile(r"-(?:exec|ok)(?:dir)?")
# Words between the tests of `find`.
_FIND_OR: Final = frozenset({"-o", "-or", ","})
_FIND_NOT: Final = frozenset({"!", "-not"})
# Names of files that never decide what may run. `find . -name "*.pyc" -delete` is harmless.
_HARMLESS_NAME: Final = re.compile(
    r"[^/]*\.(?:py[cod]|o|a|so|class|log|tmp|bak|orig|rej|swp|csv|tsv|parquet|npy|npz|pkl|h5|png|jpe?g|gif|svg|pdf|ipynb"
    r"|html|zip|gz|egg-info|DS_Store)|\.(?:ipynb_checkpoints|pytest_cache|mypy_cache|ruff_cache|coverage)|__pycache__"
    r"|node_modules|nohup\.out"
)


def find_protected_in_line(line: str, folder: str, resolver: PathResolver, *, counts_unknown: bool = True) -> str:
    """Return a protected path that a line may change, "" for none. If it is not certain which path that is, return the
    uncertain part of the line. The user sees the returned text.

    `folder` is where the line starts. `counts_unknown` says whether an unknown word counts as a protected path. It is
    False if the line is not only shell: in a cell, `!cp $x y` may use a variable of Python.
    """
    if _sets_cdpath(line):
        resolver = replace(resolver, variables={**resolver.variables, _CDPATH: UNKNOWN})
    if (commands := parse_commands(line)) is not None:
        return _find_protected_in_commands(commands, folder, resolver, resolver, counts_unknown=counts_unknown)
    # First as the line is written, and then with the values of its variables.
    if found := find_protected_name(line.replace("'", "").replace('"', "").replace("\\", "")):
        return found
    if found := _find_protected_in_commands(
        split_roughly(line), folder, resolver, resolver, is_rough=True, counts_unknown=False
    ):
        return found
    script = divide_script(line)
    if counts_unknown and not script.is_certain:
        return line.strip()
    variables = Variables(script, resolver.variables)
    commands = _fill_variables(script, variables)
    inner_resolver = replace(resolver, variables=variables.export())
    if found := _find_protected_in_commands(
        commands, folder, resolver, inner_resolver, is_rough=True, counts_unknown=counts_unknown
    ):
        return found
    # Now the lines within the line: in `$(…)`, and in a here document that a shell may run.
    runs_documents = any(command.hides_program or command.program in known_programs.SHELLS for command in commands)
    inner_lines = (*script.written_commands, *(script.documents if runs_documents else ()))
    entered = [target for command in commands for target in _list_entered_folders(command, resolver)]
    starts = _add_folders((folder,), entered)
    if len(starts) > _MAX_FOLDERS:
        return line.strip()
    results = (
        find_protected_in_line(text, start, inner_resolver, counts_unknown=counts_unknown)
        for text, start in product(inner_lines, starts)
    )
    return next(filter(None, results), "")


def _find_protected_in_commands(
    commands: tuple[ParsedCommand, ...],
    folder: str,
    resolver: PathResolver,
    inner_resolver: PathResolver,
    *,
    is_rough: bool = False,
    counts_unknown: bool,
) -> str:
    """Return a protected path that one of the commands may change; "" for none.

    `folder` is where the first command starts. `inner_resolver` is for lines within the line: it knows the variables
    that the line has set. `is_rough` says whether the commands come from `split_roughly`. For `counts_unknown`, see
    `find_protected_in_line`.
    """
    word_count = sum(len(command.words) for command in commands)
    folders = (folder,)
    is_folder_unknown = UNKNOWN in folder
    # A shell that runs what it reads: `echo "cp x y" | sh`.
    reads_script = any(command.program in known_programs.SHELLS and not _list_operands(command) for command in commands)
    for command in commands:
        own_folders = (*_list_option_folders(command),)
        folders = _add_folders(folders, own_folders)
        if len(folders) > _MAX_FOLDERS or len(folders) * word_count > _MAX_PATHS:
            return _mark_unknown(command.text)
        is_folder_unknown = is_folder_unknown or UNKNOWN in "".join(own_folders)
        if counts_unknown and (
            found := _find_unknown_target(command, folders, resolver, is_folder_unknown=is_folder_unknown)
        ):
            return found
        moves = command.moves_folders
        for word in _list_words(command):
            if found := _find_protected_in_word(word, folders, resolver, moves=moves, is_rough=is_rough):
                return _mark_unknown(found)
        if _is_git_config(command):
            return ".git/config"
        # An argument may be a line itself: `sh -c "cd .git; cp x config"`.
        runs_texts = reads_script or command.program in known_programs.SHELLS
        inner_counts_unknown = counts_unknown and (runs_texts or _runs_texts(command))
        lines = command.args if runs_texts or command.hides_program else ()
        for text, start in product(filter(_SEVERAL_WORDS.search, lines), folders):
            if found := find_protected_in_line(text, start, inner_resolver, counts_unknown=inner_counts_unknown):
                return found
        entered = (*_list_entered_folders(command, resolver),)
        is_folder_unknown = is_folder_unknown or UNKNOWN in "".join(entered)
        folders = _add_folders(folders, entered)
    return ""


def _list_words(command: ParsedCommand) -> Iterator[tuple[str, str]]:
    """Yield the words that may name what a command changes, each as it is written and without quotes."""
    for redirect in command.redirects:
        if redirect.writes:
            yield redirect.written, redirect.target
    # A command with a `key` only reads, so its words name nothing that it changes.
    if command.words and command.key is None:
        yield from zip(command.words, (command.command, *command.args), strict=True)


def _add_folders(folders: tuple[str, ...], entered: Iterable[str]) -> tuple[str, ...]:
    """Return the folders in which the line may be after it enters others.

    `cd x` may fail. So the folders in which the line may have been before stay: `(".",)` and `["x"]` -> `(".", "x")`.
    """
    for target in entered:
        if len(folders) > _MAX_FOLDERS:
            break
        folders = tuple(dict.fromkeys((*folders, *(_join_paths(folder, target) for folder in folders))))
    return folders


def _sets_cdpath(line: str) -> bool:
    """Return whether a line may give `CDPATH` a value: whether it has this word after harmless mentions are removed."""
    return _CDPATH in unquote_roughly(_HARMLESS_CDPATH_MENTION.sub("", line.replace("\\\n", ""))).upper()


def _list_entered_folders(command: ParsedCommand, resolver: PathResolver) -> Iterator[str]:
    """Yield the folders that a command enters for the commands after it: `cd x` -> `x`."""
    words = (command.command, *command.args)
    for index, word in enumerate(words):
        if word in _CD_PROGRAMS:
            target = next((after for after in words[index + 1 :] if not after.startswith("-")), "~")
            yield target
            if resolver.variables.get(_CDPATH) == UNKNOWN and not _PATH_WITHOUT_CDPATH.match(target):
                yield UNKNOWN


def _list_option_folders(command: ParsedCommand) -> Iterator[str]:
    """Yield the folders that the options of a command name for the command itself: `git -C x log` -> `x`."""
    for index, word in enumerate(command.args):
        option, _, value = word.partition("=")
        if _FOLDER_OPTIONS.fullmatch(option):
            yield from (value,) if value else command.args[index + 1 : index + 2]
        elif word.startswith("-C"):
            yield word[2:]


def _join_paths(folder: str, path: str) -> str:
    """Return the path from the folder where it starts. `~` begins an absolute path."""
    return posixpath.normpath(path if path.startswith("~") else posixpath.join(folder, path))


def _find_protected_in_word(
    word: tuple[str, str], folders: tuple[str, ...], resolver: PathResolver, *, moves: bool, is_rough: bool
) -> str:
    """Return the protected path that a word of a command may name; "" for none.

    `word` is the word as it is written, and without quotes. `moves` says whether the command may move whole folders,
    and `is_rough` whether the command comes from `split_roughly`.
    """
    written, bare = word
    is_pattern = expands(written)
    # In a line with loops, `*.md` is often what a loop only reads: `for f in *.md; do wc $f; done`.
    if is_pattern and is_protected_by_pattern(written, any_name=not is_rough):
        return written
    after_options = _SHORT_OPTIONS.sub("", bare, count=1) if bare.startswith("-") else bare
    if found := find_protected_name(bare) or find_protected_name(after_options):
        return found
    # The word itself may be a path, or a part of it: after an option, or between two separators.
    parts = {bare, after_options, *_WORD_SEPARATOR.split(bare), *((bare[2:],) if bare.startswith("-") else ())}
    for path in guess_paths(sorted(parts)):
        names = expand_braces(path) if is_pattern else (path,)
        for name, folder in product(names, folders):
            for form in resolver.resolve(name, folder):
                if resolver.is_protected_or_parent(form, moves=moves) or (
                    is_pattern and resolver.may_become_protected(form)
                ):
                    return path
    return ""


def _is_git_config(command: ParsedCommand) -> bool:
    """Return whether a command may write the configuration of git, which names programs to run."""
    if command.program != "git" or "config" not in command.args:
        return False
    # In `git commit config`, `config` is the name of a file.
    first = next(arg for arg in command.args if not arg.startswith("-"))
    return first != "commit" and _GIT_CONFIG_READS.isdisjoint(command.args)


def _fill_variables(script: ScriptParts, variables: Variables) -> tuple[ParsedCommand, ...]:
    """Return the commands of a line with their variables replaced. A variable with several values, such as that of a
    loop, becomes several words: `for f in a b; do rm $f; done` has `rm a b`. The assignments are stored in
    `variables`."""
    commands = split_roughly(script.text)
    filled: list[ParsedCommand] = []
    for _ in range(2):  # Twice, because a loop runs its first command again after its last one has assigned something.
        filled = []
        for command in commands:
            words = tuple(word for written in command.words for word in variables.expand_word(written))
            redirects = tuple(
                replace(redirect, written=word, target=unquote_roughly(word))
                for redirect in command.redirects
                for word in variables.expand_word(redirect.written)
            )
            first, *others = map(unquote_roughly, words or ("",))
            filled.append(ParsedCommand(first, tuple(others), words, redirects))
            variables.assign((first, *others))
    return tuple(filled)


def _find_unknown_target(
    command: ParsedCommand, folders: tuple[str, ...], resolver: PathResolver, *, is_folder_unknown: bool
) -> str:
    """Return the unknown word that may name a file which the command changes. If no single word names the file, return
    the whole command. "" when the command changes no unknown file.

    `is_folder_unknown` says whether the current folder is unknown. Then each relative path is unknown too.
    """
    for redirect in command.redirects:
        if redirect.writes and (
            UNKNOWN in redirect.target or (is_folder_unknown and not redirect.target.startswith(("/", "~")))
        ):
            return _mark_unknown(redirect.text)
    words = (command.command, *command.args)
    index = _find_program_index(words)
    program, others = "".join(words[index : index + 1]), words[index + 1 :]
    if program in known_programs.RUNNERS and program not in _FILE_GIVERS:
        # A runner may run a program that passes files on: `env -u A xargs rm`.
        index = next((index for index, word in enumerate(words) if word in _FILE_GIVERS), index)
        program, others = words[index], words[index + 1 :]
    if program == "find":
        return _mark_unknown(command.text) if _may_find_change_protected(others, folders, resolver) else ""
    if program in {"fd", "fdfind"} and any(map(_FD_RUNS.fullmatch, others)):
        return _mark_unknown(command.text)
    if program in {"xargs", "parallel"}:
        return "" if _writes_no_argument(_skip_xargs_options(others)) else _mark_unknown(command.text)
    if program in _CD_PROGRAMS or _writes_no_argument((program, *others)):
        return ""
    if is_folder_unknown and _list_operands(command):
        return _mark_unknown(command.text)
    return next((_mark_unknown(word) for word in words[index:] if UNKNOWN in word), "")


def _list_operands(command: ParsedCommand) -> list[str]:
    """Return the arguments that are not options."""
    return [argument for argument in command.args if not argument.startswith("-")]


def _runs_texts(command: ParsedCommand) -> bool:
    """Return whether a command may run a text in its arguments as a command line: `su -c "rm x"`. A text in another
    language does not count: `time awk "…"`."""
    words = (command.command, *command.args)
    program = words[_find_program_index(words)]
    return program in known_programs.RUNNERS or program in known_programs.SHELLS or program == "git"


def _mark_unknown(text: str) -> str:
    """Return a text for people, with `…` in place of each unknown part."""
    return text.replace(UNKNOWN, "…")


def _find_program_index(words: tuple[str, ...]) -> int:
    """Return the index of the program that a command really runs: 2 for `sudo env rm x`."""
    index = 0
    while index < len(words) - 1:
        word, after = words[index], words[index + 1]
        is_runner = word in known_programs.RUNNERS and word not in _FILE_GIVERS
        if not _WORD_BEFORE_PROGRAM.fullmatch(word) and (not is_runner or after.startswith("-")):
            break
        index += 2 if word == "timeout" else 1  # The word after `timeout` is the time.
    return index


def _writes_no_argument(words: tuple[str, ...]) -> bool:
    """Return whether a command changes no file that its arguments name. A redirection is not one of `words`."""
    first, second = "".join(words[:1]), "".join(words[1:2])
    program = first.rpartition("/")[2]
    known = known_programs.WRITE_NO_ARGUMENT
    return (
        not words
        or _WORD_BEFORE_PROGRAM.fullmatch(first) is not None
        or program in known
        or f"{program} {second}" in known
    )


def _skip_xargs_options(args: tuple[str, ...]) -> tuple[str, ...]:
    """Return the program that `xargs` runs, with its arguments: `-n 1 rm -f` -> `rm -f`."""
    index = 0
    while index < len(args):
        if _XARGS_OPTION_WITH_VALUE.fullmatch(args[index]):
            index += 2
        elif _XARGS_OPTION.fullmatch(args[index]):
            index += 1
        else:
            break
    return args[index:]


def _may_find_change_protected(args: tuple[str, ...], folders: tuple[str, ...], resolver: PathResolver) -> bool:
    """Return whether `find` may delete or change protected files. `args` are its arguments."""
    runs = [args[index + 1 :] for index, arg in enumerate(args) if _FIND_RUNS.fullmatch(arg)]
    if _FIND_DELETES not in args and all(map(_writes_no_argument, runs)):
        return not _FIND_WRITES.isdisjoint(args) and UNKNOWN in "".join(args)
    first = next((index for index, arg in enumerate(args) if arg.startswith(("-", "(", "!"))), len(args))
    starts = args[:first] or (".",)
    if UNKNOWN not in "".join(starts) and not any(
        resolver.may_contain_protected(form)
        for start, folder in product(starts, folders)
        for form in resolver.resolve(start, folder)
    ):
        return False
    # The tests of `find`, divided at each `-o`: `-name a -o -name b` -> [["-name", "a"], ["-name", "b"]].
    alternatives: list[list[str]] = [[]]
    for arg in args[first:]:
        if arg in _FIND_OR:
            alternatives.append([])
        else:
            alternatives[-1].append(arg)
    return not all(map(_finds_only_harmless_files, alternatives))


def _finds_only_harmless_files(tests: list[str]) -> bool:
    """Return whether one of these tests of `find` allows only names of harmless files: `["-name", "*.pyc"]`."""
    return any(
        name in {"-name", "-iname"} and _HARMLESS_NAME.fullmatch(pattern) and before not in _FIND_NOT
        for before, name, pattern in zip(["", *tests], tests, tests[1:], strict=False)
    )
