"""Owns changes to one value in a text of JSON with comments. Every other character stays as it was.

It must not know any file: its neighbour `editing` reads and writes them.

The library `json5` parses such texts but does not write them. The one library that keeps comments cannot be installed
beside it, because both are the module `json5`. So this module finds the positions by scanning. It returns a change only
if json5 reads it as intended.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n\r]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])|(?P<atom>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s{}\[\]:,"'/]+)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _JsonToken:
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Member:
    """`comma` is where the comma after the value ends, None when there is none."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None


@dataclass(frozen=True, slots=True)
class _Object:
    start: int
    close: int
    members: tuple[_Member, ...]

    def member(self, key: str) -> _Member | None:
        """Return the last member of that name, as every parser does."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def parse(text: str) -> dict[str, Any]:
    """Parse a text. Raises: ConfigError when it is not an object."""
    import json5

    try:
        data = json5.loads(text)  # pyright: ignore[reportUnknownMemberType]  # untyped library
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The file is not JSON: {error}. Mend it first.") from error
    if not isinstance(data, dict):
        raise ConfigError("The file must hold one JSON object. Mend it first.")
    return cast("dict[str, Any]", data)


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """Set one value, and create the objects on the path to it. Raises: ConfigError when this is not safe."""
    text = text if text.strip() else "{}\n"
    meant = parse(text)
    _set_value(meant, path, value)
    current, rest = _object(text), list(path)
    while len(rest) > 1 and (member := current.member(rest[0])) and text[member.value] == "{":
        current, rest = _object(text, member.value), rest[1:]
    for key in reversed(rest[1:]):
        value = {key: value}
    member = current.member(rest[0])
    if member is None:
        return _check(_insert(text, current, rest[0], value), meant)
    return _check(text[: member.value] + _render_value(value, _margin(text, member.start)) + text[member.end :], meant)


def drop(text: str, path: tuple[str, ...]) -> str:
    """Remove one member, if it exists. Raises: ConfigError when this is not safe."""
    meant = inside = parse(text)
    current = _object(text)
    for key in path[:-1]:
        member = current.member(key)
        if member is None or text[member.value] != "{":
            return text
        current, inside = _object(text, member.value), inside[key]
    if (member := current.member(path[-1])) is None:
        return text
    del inside[path[-1]]
    before = current.members[current.members.index(member) - 1] if member != current.members[0] else None
    start = len(text[: member.start].rstrip(" \t"))
    if member.comma is None and before is not None and before.comma is not None:
        beginning = text[: before.comma - 1] + text[before.comma : start]
    else:
        beginning = text[:start]
    return _check(beginning.rstrip(" \t") + text[member.comma or member.end :], meant)


def _tokens(text: str, start: int) -> Iterator[_JsonToken]:
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None:
            raise ConfigError("The file is written in a way that we cannot change. Change it by hand.")
        if match.lastgroup != "skip":
            yield _JsonToken(match[0], match.start(), match.end())
        start = match.end()


def _object(text: str, start: int = 0) -> _Object:
    """Scan the object that is the next value."""
    tokens = _tokens(text, start)
    brace = next(tokens)
    members: list[_Member] = []
    token = next(tokens)
    while token.text != "}":
        key = token
        next(tokens)
        first = last = next(tokens)
        depth = first.text in "{["
        while depth:
            last = next(tokens)
            depth += (last.text in "{[") - (last.text in "]}")
        after = next(tokens)
        comma = after.end if after.text == "," else None
        members.append(_Member(_parse_name(key.text), key.start, first.start, last.end, comma))
        token = next(tokens) if comma else after
    return _Object(brace.start, token.start, tuple(members))


def _parse_name(key: str) -> str:
    return next(iter(parse(f"{{{key}: 0}}")))


def _insert(text: str, into: _Object, key: str, value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _margin(text, into.start)
    inner = _margin(text, into.members[-1].start) if into.members else outer + "  "
    if inner == outer:
        inner = outer + "  "
    head, tail = text[: into.close].rstrip(), text[into.close :]
    if into.members and into.members[-1].comma is None:
        end = into.members[-1].end
        head = f"{head[:end]},{head[end:]}"
    member = f"{json.dumps(key, ensure_ascii=False)}: {_render_value(value, inner)}".replace("\n", newline)
    return f"{head}{newline}{inner}{member}{newline}{outer}{tail}"


def _render_value(value: Any, margin: str) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n" + margin)


def _margin(text: str, at: int) -> str:
    """Return the indentation of the line at this position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _set_value(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        inside: Any = data.get(key)
        if not isinstance(inside, dict):
            inside = data[key] = {}
        data = cast("dict[str, Any]", inside)
    data[path[-1]] = value


def _check(text: str, meant: dict[str, Any]) -> str:
    if parse(text) != meant:
        raise ConfigError("The file is written in a way that we cannot change. Change it by hand.")
    return text
