"""Owns the syntax of `%eca` and `%%eca`: the parser, the tables of commands and options, and the help. Pure.

It must not run anything: `magic` runs what the parser returns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from keyword import iskeyword

# The commands of `%eca` with their arguments, and what each does, as `%eca help` shows it. The first word of a key is
# the name of the command. A key of only one word is a command without an argument.
COMMANDS = {
    "status": "show which engine answers, with which model, in which chat",
    "models": "list the models that can answer now",
    "use MODEL": "answer with this model from now on, also in new chats of this notebook",
    "new": "start a new chat; the old chat is kept",
    "stop": "stop all running answers",
    "diff [all]": "show the changes of the last turn that made any; `diff all`: the changes of the whole chat",
    "undo [NUMBERS]": "undo these changes, or only those with these numbers; `undo all`: the changes of the whole chat",
    "cost": "show the tokens and the cost of this message, chat, notebook and day",
    "lock on/off": "start or stop recording the answers of this notebook; `lock` shows the state",
    "cells prompts/code": "in the kernel ECA (Python): choose whether a cell without a marker is a prompt or code",
    "to-python [NAME.ipynb]": "write this notebook, or another, as plain Python that runs without the assistant",
    "panel [CHAT]": "show the side panel below this cell; with the id of a chat, continue that chat",
    "doctor": "show a report: what is set up, what is missing, and what to do about it",
    "help": "show this list",
}
CHAT_COMMANDS = {"go": "carry out the plan of the last answer"}
"""The words that are sent as a `/` command of the chat when they are the whole question."""
# The options that can be completed with Tab. `HELP` explains them.
OPTIONS = ("-m", "-b", "--agent", "-v", "-n", "--lock", "--relock", "->")

# What `%eca help` shows.
HELP = (
    "`%eca QUESTION` or, over several lines, `%%eca`. `@file` in a question shows that file to the assistant; "
    "`%eca /help` lists the commands of the chat.\n\n"
    "| option | means |\n|---|---|\n"
    "| `-m MODEL` | use this model from this question on |\n"
    "| `-b code`, `-b plan` | act, or only look and plan, from this question on; or use an agent of your own |\n"
    "| `--agent NAME` | the same, for example with an outside agent: `--agent codex` |\n"
    "| `-v VARIANT` | choose how hard the model thinks, if it has variants |\n"
    "| `-n` | ask in a new chat |\n"
    "| `--lock` | replay the answer in the lock file beside the notebook; if there is none, ask and record the answer; "
    "`--lock=FILE` names another file |\n"
    "| `--relock` | ask again, and record the new answer |\n"
    "| `-> name` | store the result in a variable: `.text`, `.tool_calls`, `.usage` |\n\n"
    "| command | does |\n|---|---|\n"
    + "\n".join(f"| `%eca {name}` | {does} |" for name, does in (COMMANDS | CHAT_COMMANDS).items())
)


@dataclass(frozen=True, slots=True)
class CellQuestion:
    """A question to the assistant, with its options."""

    message: str
    """The question itself."""
    model: str = ""
    """The full name of the model (`-m`); empty for the default."""
    agent: str = ""
    """The name of the agent (`-b`, `--agent`); empty for the default."""
    new: bool = False
    """Whether to ask in a new chat (`-n`)."""
    name: str = ""
    """The variable that gets the result (`-> name`); empty for none."""
    variant: str = ""
    """The variant of the model (`-v`); empty for the default."""
    lock: bool = False
    """Whether to answer from a lock file, or to record the answer in it (`--lock`)."""
    lock_file: str = ""
    """The name of the lock file; empty for the file beside the notebook."""
    renew: bool = False
    """Whether to ask again, and to record the new answer (`--relock`)."""

    @property
    def command(self) -> str:
        """The name of the `/` command in the message; empty for other text. A path at the beginning of a message may
        look like a command."""
        match = _SLASH.match(self.message)
        return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class LineCommand:
    """A command of `%eca`, for example `%eca use MODEL`."""

    name: str
    """The first word, a name in `COMMANDS`."""
    argument: str = ""
    """The words after the name; empty if there are none."""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A text that cannot be parsed."""

    message: str
    """Tells the user what to write instead."""


# How similar a word must be to a command, from 0 to 1, to be taken for a mistyped command. With 0.8, `docter` is taken
# for `doctor`, and `look` is not taken for `lock`.
_SIMILARITY = 0.8

# The variable at the end of a line: "-> name".
_NAME = re.compile(r"(?:^|\s)->\s*(\w+)\s*$")
# A single word that may be a mistyped command.
_WORD = re.compile(r"[a-z][a-z-]*")
# The numbers of changes, which are the only argument with spaces: "2 5", "all".
_NUMBERS = re.compile(r"(?:all\b)?[\d\s,]*")
# "--lock", "--relock", "--lock=FILE".
_LOCK = re.compile(r"--(re)?lock(?:=(\S+))?")
# A `/` command at the beginning of a message.
_SLASH = re.compile(r"/([A-Za-z][\w.:-]*)(?=\s|$)")


def parse(line: str, body: str | None = None) -> CellQuestion | LineCommand | Misuse:
    """Parse the text of `%eca`, or of `%%eca` with its `body`, which is None for `%eca`.

    A line that begins like a command, but has more words than the command takes, is a question. A single word that
    looks like a mistyped command is not sent to a model: the result is a `Misuse`.
    """
    if body is None:
        if (command := _parse_command(line)) is not None:
            return command
        if line.strip() in CHAT_COMMANDS:
            return CellQuestion(f"/{line.strip()}")
        if guess := _guess_command(line.strip()):
            return Misuse(
                f"There is no command `%eca {line.strip()}`. Did you mean `%eca {guess}`? `%eca help` lists them all. "
                "To ask the model about this word, write it below `%%eca`."
            )
    name = ""
    if match := _NAME.search(line):
        name, line = match[1], line[: match.start()]
        if not name.isidentifier() or iskeyword(name):
            return Misuse(f"`{name}` cannot be the name of a variable.")
    values = {"-m": "", "-b": "", "-v": ""}
    new = lock = renew = False
    lock_file = ""
    rest = line.strip()
    while rest.startswith("-"):
        option, _, rest = rest.partition(" ")
        option = "-b" if option == "--agent" else option
        if option == "-n":
            new = True
        elif (match := _LOCK.fullmatch(option)) is not None:
            lock, renew, lock_file = True, renew or bool(match[1]), match[2] or lock_file
        elif option in values:
            values[option], _, rest = rest.strip().partition(" ")
            if not values[option]:
                return Misuse(f"`{option}` needs a value: see `%eca help`.")
        else:
            return Misuse(f"`{option}` is not an option: see `%eca help`.")
        rest = rest.strip()
    message = "\n".join(part for part in (rest, (body or "").strip("\n")) if part.strip())
    if not message.strip():
        return Misuse("There is no question. Write it after `%eca`, or below `%%eca`.")
    return CellQuestion(message, values["-m"], values["-b"], new, name, values["-v"], lock, lock_file, renew)


def _guess_command(word: str) -> str:
    """Return the command that a mistyped word is similar to; empty if the text is not a word, or there is none."""
    if not _WORD.fullmatch(word):
        return ""
    names = [name.partition(" ")[0] for name in COMMANDS | CHAT_COMMANDS]
    return next(iter(get_close_matches(word, names, n=1, cutoff=_SIMILARITY)), "")


def _parse_command(line: str) -> LineCommand | None:
    """Return the command of a line; None if the line is a question."""
    word, _, argument = line.strip().partition(" ")
    if not word:
        return LineCommand("help")
    has_argument = {name.partition(" ")[0]: bool(name.partition(" ")[2]) for name in COMMANDS}
    argument = argument.strip()
    if word not in has_argument or (argument and not has_argument[word]):
        return None
    if " " in argument and not _NUMBERS.fullmatch(argument):
        return None
    return LineCommand(word, argument)
