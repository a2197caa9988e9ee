"""Parses the `/` commands of a chat, ranks them for a list, and fills the arguments into custom commands.

It must not know which commands exist or run one: its neighbour `host/commands` does.
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

# A name of a command, or `server:prompt`; then a space or the end. `/home/ada` has a second slash, so it is a path.
_COMMAND = re.compile(r"/(?P<name>[A-Za-z][\w.-]*(?::[\w.-]+)?)(?:\s+(?P<text>.*))?\s*", re.DOTALL)

# A place for an argument in the template of a custom command: `$ARGS`, `$1`, `$ARG1` or `{{name}}`. There is one
# expression for all forms, so that the template is filled in one pass. Otherwise an argument that contains `$1` would
# be filled a second time.
_PLACE = re.compile(r"\$ARG(?:S|UMENTS)\b|\$(?:ARG)?(?P<number>[1-9]\d?)(?!\d)|\{\{\s*(?P<name>[A-Za-z_][\w-]*)\s*\}\}")
# A named argument that the user wrote: `name=value`.
_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w-]*)=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A message that is a command."""

    name: str
    """The name of the command, without the slash."""
    text: str = ""
    """Everything after the name, as it was written."""
    arguments: tuple[str, ...] = ()
    """The words of the text."""


def parse_command(message: str) -> CommandCall | None:
    """Parse a message. Return None when it is not a command. A command of this name may not exist."""
    match = _COMMAND.fullmatch(message.strip())
    if match is None:
        return None
    text = (match["text"] or "").strip()
    return CommandCall(match["name"], text, split_words(text))


def split_words(text: str) -> tuple[str, ...]:
    """Split a text into words, as a shell does. A text with only one quote in it ("don't") is split at its spaces."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())


def filter_commands(commands: Iterable[ChatCommand], query: str) -> tuple[ChatCommand, ...]:
    """Return the commands that match a query, the best ones first. Commands that match equally well keep their order.

    `go` finds `/go` before `/goals`, `/let-go`, `/cargo` and `/gallop`, and then the commands with `go` in their
    description. The panel ranks names in the same way: `labextension/src/chat/command_names.ts`.
    """
    typed = query.strip().removeprefix("/").casefold()
    ranked = [(rank_command(command, typed), command) for command in commands]
    matching = [(rank, command) for rank, command in ranked if rank is not None]
    return tuple(command for _, command in sorted(matching, key=lambda match: match[0]))


def rank_command(command: ChatCommand, query: str) -> int | None:
    """Return how well a command matches: 0 for the exact name, more for worse matches, None for no match.

    `query` is the text that was typed, without the slash and in lower case.
    """
    name = command.name.casefold()
    # From the best match to the worst. The fifth test consumes `letters`: it finds the letters of the query in their
    # order.
    letters = iter(name)
    fits = (
        name == query,
        name.startswith(query),
        any(word.startswith(query) for word in re.split(r"[^\w]|_", name)),
        query in name,
        all(letter in letters for letter in query),
        query in command.description.casefold(),
    )
    return next((rank for rank, fit in enumerate(fits) if fit), None)


def guess_command(name: str, names: Iterable[str]) -> str:
    """Return the name that a mistyped name was probably meant to be; "" when it is similar to none."""
    # Two thirds of the letters must be alike: `cost` and `modle` find a command; `opt`, `tmp` and `data` find none.
    return next(iter(get_close_matches(name, names, n=1, cutoff=0.67)), "")


def hide_key(message: str) -> str:
    """Return a message in the form that may be stored: without the key that follows the provider of a `/login`."""
    called = parse_command(message)
    if called is None or called.name != "login" or len(called.arguments) < 2:
        return message
    return f"/login {called.arguments[0]} …"


def find_mixed_line(template: str) -> int:
    """Return the number of the line in which a template mixes the two kinds of places, `{{name}}` and `$1`: the first
    line with the kind that occurs later. 0 if the template has only one kind.

    A template with both kinds is an error: it would not be clear which word of the user belongs to which place.
    """
    kinds = set[bool]()
    for match in _PLACE.finditer(template):
        kinds.add(match["name"] is None)
        if len(kinds) > 1:
            return template.count("\n", 0, match.start()) + 1
    return 0


def list_arguments(template: str, declared: Any = None) -> tuple[CommandArgument, ...]:
    """Return the arguments of a custom command, in the order in which they are filled.

    `declared` is the list of arguments in its front matter. An argument `{{name}}` is found in the list by its name,
    and an argument `$1` by its position. An argument `{{name}}` is required, unless the list says that it is not.
    """
    matches = list(_PLACE.finditer(template))
    numbers = sorted({int(match["number"]) for match in matches if match["number"]})
    names = list(dict.fromkeys(match["name"] for match in matches if match["name"]))
    # `$ARGS` stands for everything after the name of the command. It is listed as one argument. Its match has neither a
    # number nor a name.
    all_words = ["args"] if any(match["number"] is match["name"] is None for match in matches) else []
    known = (
        [_parse_declared(declaration) for declaration in cast("list[Any]", declared)]
        if isinstance(declared, list)
        else []
    )
    by_name = {argument.name: argument for argument in known if argument is not None}
    placed = [(str(number), known[number - 1] if number <= len(known) else None) for number in numbers]
    all_arguments = known[0] if all_words and not numbers and len(known) == 1 else None
    return (
        *(argument or CommandArgument(name=name) for name, argument in placed),
        *(by_name.get(name) or CommandArgument(name=name, required=True) for name in names),
        *(all_arguments or CommandArgument(name=name) for name in all_words),
    )


def _parse_declared(declaration: Any) -> CommandArgument | None:
    """Return an argument from the list in the front matter; None when it has no name."""
    fields: dict[str, Any] = cast("dict[str, Any]", declaration) if isinstance(declaration, dict) else {}
    name, about = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not name:
        return None
    description = about if isinstance(about, str) else None
    return CommandArgument(name=name, description=description, required=fields.get("required") is not False)


def expand_template(template: str, command_call: CommandCall) -> str:
    """Return the prompt of a custom command, with the arguments filled into its template.

    If the template has no place for arguments, they are added at its end.
    """
    names = [match["name"] for match in _PLACE.finditer(template) if match["name"]]
    values = bind_arguments(tuple(dict.fromkeys(names)), command_call.arguments)

    def fill(match: re.Match[str]) -> str:
        """Return the text for one place of the template; "" if the user has written no argument for it."""
        if match["name"]:
            return values.get(match["name"], "")
        if match["number"]:
            index = int(match["number"]) - 1
            return command_call.arguments[index] if index < len(command_call.arguments) else ""
        return command_call.text

    if _PLACE.search(template) is None and command_call.text:
        return f"{template.rstrip()}\n\n{command_call.text}"
    return _PLACE.sub(fill, template)


def bind_arguments(names: Sequence[str], arguments: Sequence[str]) -> dict[str, str]:
    """Return the values of named arguments.

    A word `name=value` is the value of that name. The other words go to the remaining names, in order, and the last
    name gets all words that are left: `("a", "b")` and `("1", "2", "3")` -> `{"a": "1", "b": "2 3"}`.
    """
    values: dict[str, str] = {}
    unnamed: list[str] = []
    for argument in arguments:
        named = _NAMED.fullmatch(argument)
        if named is not None and named["name"] in names:
            values[named["name"]] = named["value"]
        else:
            unnamed.append(argument)
    free = [name for name in names if name not in values]
    for index, name in enumerate(free[: len(unnamed)]):
        values[name] = " ".join(unnamed[index:]) if name == free[-1] else unnamed[index]
    return values
