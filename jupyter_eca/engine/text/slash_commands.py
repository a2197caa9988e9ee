"""The `/` commands of a chat as words: which message is one, and what a custom one says.

It must not know which commands there are, nor run one: `host/commands` does.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.protocol.command import ChatCommand

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


def filter_commands(commands: Iterable[ChatCommand], query: str) -> tuple[ChatCommand, ...]:
    """Return the commands that match the query, the best first; equally good ones stay in their order.

    `go` finds `/go` before `/goals`, `/let-go`, `/cargo` and `/gallop`, and then those that are described with it. The
    panel ranks names in the same way: `labextension/src/chat/command_names.ts`.
    """
    wanted = query.strip().removeprefix("/").casefold()
    ranked = [(rank_command(command, wanted), command) for command in commands]
    matching = [(rank, command) for rank, command in ranked if rank is not None]
    return tuple(command for _, command in sorted(matching, key=lambda match: match[0]))


def rank_command(command: ChatCommand, wanted: str) -> int | None:
    """Return how well a command matches, 0 for an exact name; None when it does not. `wanted` has no capitals."""
    name = command.name.casefold()
    letters = iter(name)
    fits = (
        name == wanted,
        name.startswith(wanted),
        any(word.startswith(wanted) for word in re.split(r"[^\w]|_", name)),
        wanted in name,
        all(letter in letters for letter in wanted),
        wanted in command.description.casefold(),
    )
    return next((rank for rank, fit in enumerate(fits) if fit), None)


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
