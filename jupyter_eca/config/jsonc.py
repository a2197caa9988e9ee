"""Changes one value in a text of JSON with comments (JSONC), and keeps every other character.

It must not read or write a file: its neighbour `editing` does.

The library `json5` parses such texts but cannot keep comments when it writes them. The only library that keeps comments
cannot be installed together with it, because both have the module name `json5`. So this module finds the positions of
the values by scanning the text. It returns the changed text only if that is parsed to the intended data.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.errors import ConfigError
from jupyter_eca.protocol.base import MAX_DEPTH, is_nested_too_deeply

if TYPE_CHECKING:
    from collections.abc import Iterator

# One token: blanks or a comment (`skip`), or a punctuation mark (`mark`), or a string, a number or a word (`atom`).
_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n\r]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])|(?P<atom>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s{}\[\]:,"'/]+)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _JsonToken:
    """A token of the text, and where it begins and ends."""

    text: str
    """The token as it is written."""
    start: int
    """The position of its first character."""
    end: int
    """The position after its last character."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object. The numbers are positions in the text."""

    key: str
    """The key, without quotes and escapes."""
    start: int
    """Where the key begins."""
    value: int
    """Where the value begins."""
    end: int
    """Where the value ends."""
    comma: int | None
    """Where the comma after the value ends; None when there is no comma."""


@dataclass(frozen=True, slots=True)
class _Object:
    """An object. The numbers are positions in the text."""

    start: int
    """The position of its opening brace."""
    close: int
    """The position of its closing brace."""
    members: tuple[_Member, ...]
    """Its members, in the order of the text."""

    def find_member(self, key: str) -> _Member | None:
        """Return the member of this name; None when there is none. If there are several, return the last one, because
        parsers use the last one."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def parse(text: str, *, allows_duplicates: bool = True) -> dict[str, Any]:
    """Parse a text. If a key is there twice, the last one counts; without `allows_duplicates` that is an error.

    Raises: ConfigError when it is not an object.
    """
    try:
        data = load(text, allows_duplicates=allows_duplicates)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The file is not JSON: {error}. Fix it first.") from error
    if not isinstance(data, dict):
        raise ConfigError("The file must hold one JSON object. Fix it first.")
    if is_nested_too_deeply(data):
        raise ConfigError(f"The file has more than {MAX_DEPTH} levels of objects and lists. Fix it first.")
    return cast("dict[str, Any]", data)


def load(text: str, *, allows_duplicates: bool = True) -> object:
    """Parse a text, which may be of any JSON value. See `parse`. Raises: ValueError, RecursionError."""
    with suppress(ValueError):  # hundreds of times faster, and most files have no comments
        return json.loads(text, object_pairs_hook=None if allows_duplicates else _refuse_duplicates)
    import json5  # imported here because it takes 40 ms, and few users have such a file

    return json5.loads(text, allow_duplicate_keys=allows_duplicates)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # untyped library


def _refuse_duplicates(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members as an object. Raises: ValueError when a key is there twice."""
    data = dict(members)
    if len(data) < len(members):
        raise ValueError
    return data


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with one value set. Objects on the path to it are created.

    Raises: ConfigError when the change would not have the intended effect.
    """
    text = text if text.strip() else "{}\n"
    intended = parse(text)
    _set_value(intended, path, value)
    # Go down as far as the objects on the path exist. The others become a part of the new value.
    current, path_left = _scan_object(text), list(path)
    while len(path_left) > 1 and (member := current.find_member(path_left[0])) and text[member.value] == "{":
        current, path_left = _scan_object(text, member.value), path_left[1:]
    for key in reversed(path_left[1:]):
        value = {key: value}
    member = current.find_member(path_left[0])
    if member is None:
        return _check_result(_insert_member(text, current, path_left[0], value), intended)
    return _check_result(
        text[: member.value] + _render_value(value, _get_indentation(text, member.start)) + text[member.end :], intended
    )


def drop(text: str, path: tuple[str, ...]) -> str:
    """Return the text without one member, if it exists.

    Without the member `b`, `{"a": 1, "b": 2}` becomes `{"a": 1}`. Without `a`, it becomes `{ "b": 2}`.

    Raises: ConfigError when the change would not have the intended effect.
    """
    intended = inside = parse(text)
    current = _scan_object(text)
    for key in path[:-1]:
        member = current.find_member(key)
        if member is None or text[member.value] != "{":
            return text
        current, inside = _scan_object(text, member.value), inside[key]
    if (member := current.find_member(path[-1])) is None:
        return text
    del inside[path[-1]]
    # If the last member goes and has no comma behind it, the comma before it must go too.
    # A comment between this comma and the member stays.
    before = current.members[current.members.index(member) - 1] if member != current.members[0] else None
    if member.comma is None and before is not None and before.comma is not None:
        beginning = text[: before.comma - 1] + text[before.comma : member.start]
    else:
        beginning = text[: member.start]
    # The indentation of the member goes too. Its line break stays, so that a comment before it still ends.
    return _check_result(beginning.rstrip(" \t") + text[member.comma or member.end :], intended)


def _scan_tokens(text: str, start: int) -> Iterator[_JsonToken]:
    """Yield the tokens from a position on, without blanks and comments. Raises: ConfigError at an unknown character."""
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None:
            raise ConfigError("The file is written in a way that we cannot change. Change it by hand.")
        if match.lastgroup != "skip":
            yield _JsonToken(match[0], match.start(), match.end())
        start = match.end()


def _scan_object(text: str, start: int = 0) -> _Object:
    """Return the positions of the object that begins at `start`, after blanks and comments."""
    tokens = _scan_tokens(text, start)
    brace = next(tokens)
    members: list[_Member] = []
    token = next(tokens)
    while token.text != "}":
        key = token
        next(tokens)  # the colon
        first = last = next(tokens)
        # For an object or a list, go on to the bracket that closes it. `depth` counts the open brackets.
        depth = 1 if first.text in "{[" else 0
        while depth:
            last = next(tokens)
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(last.text, 0)
        after = next(tokens)
        comma = after.end if after.text == "," else None
        members.append(_Member(_parse_name(key.text), key.start, first.start, last.end, comma))
        token = next(tokens) if comma else after
    return _Object(brace.start, token.start, tuple(members))


def _parse_name(key: str) -> str:
    """Return the name that a key stands for: a key may be in quotes, and have escapes."""
    return next(iter(parse(f"{{{key}: 0}}")))


def _insert_member(text: str, into: _Object, key: str, value: Any) -> str:
    """Return the text with a new member at the end of an object, indented like its other members."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _get_indentation(text, into.start)
    inner = _get_indentation(text, into.members[-1].start) if into.members else outer + "  "
    if inner == outer:  # the members are in the line of the brace
        inner = outer + "  "
    head, tail = text[: into.close].rstrip(), text[into.close :]
    if into.members and into.members[-1].comma is None:
        end = into.members[-1].end
        head = f"{head[:end]},{head[end:]}"
    member = f"{json.dumps(key, ensure_ascii=False)}: {_render_value(value, inner)}".replace("\n", newline)
    return f"{head}{newline}{inner}{member}{newline}{outer}{tail}"


def _render_value(value: Any, indentation: str) -> str:
    """Return a value as JSON. Its lines, except the first, begin with this indentation."""
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + indentation)


def _get_indentation(text: str, position: int) -> str:
    """Return the indentation of the line at this position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())]


def _set_value(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Set a value in parsed data, and create the objects on the path to it."""
    for key in path[:-1]:
        inside: Any = data.get(key)
        if not isinstance(inside, dict):
            inside = data[key] = {}
        data = cast("dict[str, Any]", inside)
    data[path[-1]] = value


def _check_result(text: str, intended: dict[str, Any]) -> str:
    """Return the text if it means the intended data. Raises: ConfigError."""
    if parse(text) != intended:
        raise ConfigError("The file is written in a way that we cannot change. Change it by hand.")
    return text
