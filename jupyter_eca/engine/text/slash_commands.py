"""The `/` commands of a chat as words: what is one, which there are, and what a custom one says.

It must not run one: `host/commands` does.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.protocol.command import ChatCommand, CommandArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A name, or a server's prompt; then a space or the end. `/home/ada` has a second slash and is a path.
_COMMAND = re.compile(r"/(?P<name>[A-Za-z][\w.-]*(?::[\w.-]+)?)(?:\s+(?P<text>.*))?\s*", re.DOTALL)

# One pass over the template, so that an argument that holds `$1` is not filled in once more.
_PLACE = re.compile(r"\$ARG(?:S|UMENTS)\b|\$(?:ARG)?(?P<number>[1-9]\d?)(?!\d)|\{\{\s*(?P<name>[A-Za-z_][\w-]*)\s*\}\}")
_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w-]*)=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A message that is a command."""

    name: str
    text: str = ""
    """Everything behind the name, as it was written."""
    arguments: tuple[str, ...] = ()
    """The words of the text."""


def parse(message: str) -> CommandCall | None:
    """Parse a message. None when it is no command; whether there is one of that name is not known here."""
    match = _COMMAND.fullmatch(message.strip())
    if match is None:
        return None
    text = (match["text"] or "").strip()
    return CommandCall(match["name"], text, split_words(text))


def split_words(text: str) -> tuple[str, ...]:
    """Split a text as a shell does. A text with a lone quote in it ("don't") is split at its spaces."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def _make_native(name: str, description: str, *arguments: tuple[str, str]) -> ChatCommand:
    described = tuple(CommandArgument(name=name, description=about) for name, about in arguments)
    return ChatCommand(name=name, description=description, arguments=described)


NATIVE: Final = (
    _make_native("init", "Have AGENTS.md written, or improved: what an assistant must know of this project"),
    _make_native("login", "Sign in to a model provider", ("provider", "which one; asked for when left out")),
    _make_native("model", "Show or choose the model of this chat", ("name", "PROVIDER/MODEL")),
    _make_native("costs", "Tokens and costs of this chat and of this session"),
    _make_native("context", "Show what fills the model's context window"),
    _make_native(
        "compact", "Go on with a summary of this chat, to make room", ("focus", "what the summary must keep above all")
    ),
    _make_native(
        "go", "Carry the plan out: switch from plan mode to an agent that acts", ("words", "what to mind on the way")
    ),
    _make_native("approvals", "Show which tools run unasked, ask or are forbidden here, and by which rule"),
    _make_native("resume", "List earlier chats, or go on with one", ("chat", "its number in the list, or its id")),
    _make_native(
        "diff", "Show what the last turn that changed something changed", ("all", "for what the whole chat changed")
    ),
    _make_native("undo", "Take changes back", ("numbers", "which of those that /diff shows; all: of the whole chat")),
    _make_native("rules", "Show the rules that hold here, and the files they are from"),
    _make_native("sync-system-prompt", "Tell the model the instructions and rules as they are now"),
    _make_native("subagents", "List the agents that can be spawned"),
    _make_native("config", "Show the configuration that holds, and the files it is from"),
    _make_native("hooks", "List the hooks there are, where each is from, and whether it is in force"),
    _make_native("doctor", "Show what is set up, what is missing and what to do about it"),
    _make_native("prompt-show", "Show the exact request a model would get", ("message", "what would be asked")),
    _make_native(
        "export",
        "Write this chat to a Markdown file, or a notebook (.ipynb)",
        ("file", "in the workspace; must not be there yet"),
    ),
    _make_native("skills", "List the skills: instructions that the model loads when they fit"),
    _make_native(
        "skill-create",
        "Have a skill written for this project",
        ("name", "small letters, digits and hyphens"),
        ("purpose", "what it is for; taken from this chat when left out"),
    ),
    _make_native("help", "List the commands"),
)


def filter_commands(commands: Iterable[ChatCommand], query: str) -> tuple[ChatCommand, ...]:
    """Return the commands with the query in their name or description."""
    wanted = query.strip().removeprefix("/").casefold()
    return tuple(
        command for command in commands if wanted in command.name.casefold() or wanted in command.description.casefold()
    )


def guess_command(name: str, names: Iterable[str]) -> str:
    """Return the command that a mistyped name was meant to be, "" when it looks like none."""
    # Two thirds alike: `cost` and `modle` are found, `opt`, `tmp` and `data` are not.
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.67)), "")


def hide_key(message: str) -> str:
    """Return a message as it may be kept: what stands behind the provider of a `/login` is a key, and is left out."""
    called = parse(message)
    if called is None or called.name != "login" or len(called.arguments) < 2:
        return message
    return f"/login {called.arguments[0]} …"


def find_mixed_line(template: str) -> int:
    """Return the line on which places by name and by position first meet, 0 if they do not.

    Where they meet, it is not known which word is meant for which.
    """
    kinds = set[bool]()
    for match in _PLACE.finditer(template):
        kinds.add(match["name"] is None)
        if len(kinds) > 1:
            return template.count("\n", 0, match.start()) + 1
    return 0


def list_arguments(template: str, declared: Any = None) -> tuple[CommandArgument, ...]:
    """Return the arguments of a custom command, in the order in which they are filled.

    `declared` is what its front matter says of them: by name, or by position for those that have none. Those by name
    are required unless it says no.
    """
    matches = list(_PLACE.finditer(template))
    numbers = sorted({int(match["number"]) for match in matches if match["number"]})
    names = list(dict.fromkeys(match["name"] for match in matches if match["name"]))
    every = ["args"] if any(match["number"] is match["name"] is None for match in matches) else []
    known = (
        [_parse_declared(declaration) for declaration in cast("list[Any]", declared)]
        if isinstance(declared, list)
        else []
    )
    by_name = {argument.name: argument for argument in known if argument is not None}
    placed = [(str(number), known[number - 1] if number <= len(known) else None) for number in numbers]
    all_arguments = known[0] if every and not numbers and len(known) == 1 else None
    return (
        *(argument or CommandArgument(name=name) for name, argument in placed),
        *(by_name.get(name) or CommandArgument(name=name, required=True) for name in names),
        *(all_arguments or CommandArgument(name=name) for name in every),
    )


def _parse_declared(declaration: Any) -> CommandArgument | None:
    fields: dict[str, Any] = cast("dict[str, Any]", declaration) if isinstance(declaration, dict) else {}
    name, about = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not name:
        return None
    description = about if isinstance(about, str) else None
    return CommandArgument(name=name, description=description, required=fields.get("required") is not False)


def expand(template: str, called: CommandCall) -> str:
    """Return the prompt that a custom command stands for.

    A template without a place for arguments gets them at its end.
    """
    names = [match["name"] for match in _PLACE.finditer(template) if match["name"]]
    values = bind_arguments(tuple(dict.fromkeys(names)), called.arguments)

    def fill(match: re.Match[str]) -> str:
        if match["name"]:
            return values.get(match["name"], "")
        if match["number"]:
            at = int(match["number"]) - 1
            return called.arguments[at] if at < len(called.arguments) else ""
        return called.text

    if _PLACE.search(template) is None and called.text:
        return f"{template.rstrip()}\n\n{called.text}"
    return _PLACE.sub(fill, template)


def bind_arguments(names: Sequence[str], arguments: Sequence[str]) -> dict[str, str]:
    """Return the arguments by name.

    `name=value` goes to its name, the others to the names that are left, in order; the last one takes all the words
    that remain.
    """
    values: dict[str, str] = {}
    loose: list[str] = []
    for argument in arguments:
        named = _NAMED.fullmatch(argument)
        if named is not None and named["name"] in names:
            values[named["name"]] = named["value"]
        else:
            loose.append(argument)
    free = [name for name in names if name not in values]
    for at, name in enumerate(free[: len(loose)]):
        values[name] = " ".join(loose[at:]) if name == free[-1] else loose[at]
    return values
