"""What the arguments of a call name, in words: folders, origins of URLs, commands and code. Pure.

An approval for the session of a tool of somebody else is remembered for these, since nothing else is known of its
arguments. The names of arguments and the look of their values say what they are: see `describe_named`. A value of
which that is not certain, such as a URL with a name of a user in it, counts as code, which is remembered exactly.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Words in the names of arguments.
_CODE: Final = frozenset(
    {
        *("code", "command", "commands", "cmd", "args", "argv", "script", "source", "sql", "statement", "expression"),
        *("program", "shell", "javascript", "python"),
    }
)
_PATHS: Final = frozenset(
    {
        *("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "folder", "folders"),
        *("dir", "dirs", "directory", "directories", "cwd", "root", "notebook", "destination"),
    }
)
_URLS: Final = frozenset({"url", "urls", "uri", "uris", "href", "endpoint"})

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# The longest text that is taken for a path.
_MAX_PATH: Final = 4096
_FILE: Final = "file://"
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([\w.:%\[\]-]+)(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)
_QUERY_IN_SQL: Final = re.compile(
    r"\s*(?:--|/\*|\(|(?:select|insert|update|delete|drop|create|alter|with|merge|replace|truncate|grant|pragma|call"
    r"|exec|mutation)\b)",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(r"[^\s\"',()]+")


def describe_named(arguments: Mapping[str, Any], resolve: Callable[[str], str]) -> tuple[str, ...]:
    """Return what the arguments name: `path in notes/`, `url at https://example.org`, `command "ls -l"`. No two values
    have the same words unless they name the same folder or origin. `resolve` follows the links of a path."""
    return tuple(sorted({_quote(name) + words for name, words in _list_named(arguments, resolve)}))


def describe_exactly(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments in words, with their exact values."""
    return tuple(sorted(f"{_quote(name)} {_as_json(value)}" for name, value in arguments.items()))


def name_folder(path: str) -> str:
    """Return the folder of a resolved path, with a slash at its end."""
    return f"{posixpath.dirname(path) or '.'}/".replace("//", "/")


def describe_folder(folder: str) -> str:
    return "the top folder" if folder == "./" else folder


def _list_named(arguments: Mapping[str, Any], resolve: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    for name, value in arguments.items():
        yield from ((key, words) for key, one in _flatten(name, value) if (words := _describe(key, one, resolve)))


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values within a value, each with the nearest name. Code stays whole."""
    match value:
        case _ if _has_word(name, _CODE):
            yield name, value
        case list() | tuple():
            for item in cast("list[Any]", value):
                yield from _flatten(name, item)
        case dict():
            for key, item in cast("dict[str, Any]", value).items():
                yield from _flatten(key, item)
        case _:
            yield name, value


def _describe(name: str, value: Any, resolve: Callable[[str], str]) -> str:
    """Return what one value names; "" for a value that names nothing."""
    if _has_word(name, _CODE):
        return f" {_as_json(value)}"
    if not isinstance(value, str) or not (text := value.strip()):
        return ""
    if _has_word(name, {"query"}) and _QUERY_IN_SQL.match(text):
        return f" {_as_json(value)}"
    if "://" in text.split()[0] or _has_word(name, _URLS):
        if text.lower().startswith(_FILE):
            return _describe_path(unquote(text[len(_FILE) :]), resolve)
        url = _URL.fullmatch(text)
        return f" at {url[1].lower()}://{url[2].lower()}" if url else f" {_as_json(value)}"
    if _has_word(name, _PATHS) or _looks_like_path(text):
        return _describe_path(value, resolve)
    return ""


def _describe_path(path: str, resolve: Callable[[str], str]) -> str:
    if len(path) > _MAX_PATH or re.search(r"[\x00\r\n]", path):
        return f" {_as_json(path)}"
    return f" in {describe_folder(_quote(name_folder(resolve(path))))}"


def _looks_like_path(text: str) -> bool:
    is_word = len(text) <= _MAX_PATH and not re.search(r"\s", text)
    return is_word and (text.startswith("~") or text in {".", ".."} or "/" in text or "\\" in text)


def _has_word(name: str, words: frozenset[str] | set[str]) -> bool:
    return any(word.lower() in words for word in _WORDS.findall(name))


def _quote(text: str) -> str:
    """Return a text so that its end is certain."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
