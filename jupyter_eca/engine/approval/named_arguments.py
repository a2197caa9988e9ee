"""Describes in words what the arguments of a tool call name: folders, origins of URLs, commands and code. Pure.

When the user approves a tool of an MCP server for the session, the approval is remembered for these words. A later call
with the same words needs no approval. The neighbour `approval_scope` stores the words.

We do not know what the arguments of such a tool mean. So this module guesses it from the name of an argument and from
the form of its value:

| argument | in words |
|---|---|
| `path: "notes/a.txt"` | `path in notes/` |
| `url: "https://example.org/a"` | `url at https://example.org` |
| `query: "pandas"`, `content: "…"` and other texts | `any query`, `any content` |
| `note: "see https://example.org/a"` | `any note with https://example.org` |
| `id: 5` and other numbers | `any id`; a `limit`, a `line` and similar numbers are left out |
| `files: {"a.txt": "x"}` | `files."a.txt" "x"` |
| code, and everything that is not certain | the exact value: `command "ls -l"`, `to "Ada"`, `force true` |

Each argument has its own words. So a later call with one more argument needs approval.
"""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# If one of these words is in the name of an argument, its value is code, a path, or a URL.
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
# If the name of an argument ends with one of these words, its value is a text for people or a search. So `message_id`
# is not a text.
_TEXTS: Final = frozenset(
    {
        *("answer", "body", "comment", "content", "contents", "description", "keyword", "keywords", "markdown"),
        *("message", "note", "notes", "observation", "observations", "pattern", "prompt", "query", "question", "regex"),
        *("search", "str", "string", "subject", "summary", "term", "terms", "text", "texts", "thought", "title"),
    }
)
# A number with one of these words in its name only says how much the tool looks at, or where.
_MEASURES: Final = frozenset(
    {
        *("context", "count", "depth", "end", "head", "limit", "line", "lines", "max", "min", "offset", "page", "skip"),
        *("start", "tail", "timeout"),
    }
)

# The words of a name: `maxLines` -> `max`, `Lines`.
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# A longer text does not count as a path. This is the limit of Linux.
_MAX_PATH_CHARS: Final = 4096
# The beginning of the URL of a file.
_FILE: Final = "file://"
# The groups are the scheme and the host.
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([\w.:%\[\]-]+)(?:[/?#]\S*)?", re.IGNORECASE)
# What a text names outside of this machine: the origin of a URL, an e-mail address, or a host (`www.example.org`,
# `example.org/`, `10.0.0.1`).
_ADDRESS: Final = re.compile(
    r"""
      [a-z][a-z0-9+.-]{0,20}://[^\s/?#"'<>()]*
    | (?<=["'(=])//[^\s/?#"'<>()]+
    | (?<![\w./@-])(?:www\.[\w.-]{1,253}|(?:[\w-]{1,63}\.){1,10}[a-z]{2,63}(?=/)|(?:[0-9]{1,3}\.){3}[0-9]{1,3})
    | [\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,10}
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A `query` that begins like this is a command for a database, and not a text for a search.
_QUERY_IN_SQL: Final = re.compile(
    r"\s*(?:--|/\*|\(|(?:select|insert|update|delete|drop|create|alter|with|merge|replace|truncate|grant|pragma|call"
    r"|exec|mutation)\b)",
    re.IGNORECASE,
)
# Names and texts that need no quotes.
_NAME: Final = re.compile(r"[\w-]+")
_PLAIN: Final = re.compile(r"[^\s\"',()]+")


def describe_named(arguments: Mapping[str, Any], resolve: Callable[[str], str]) -> tuple[str, ...]:
    """Return what the arguments name, sorted: `path in notes/`, `url at https://example.org`, `command "ls -l"`.

    Two values have the same words only if they name the same folder or origin, or if both are texts or numbers.
    `resolve` returns a path with its links followed.
    """
    values = tuple(pair for name, value in arguments.items() for pair in _flatten((name,), value))
    without_measures = tuple((names, value) for names, value in values if not _is_measure(names, value))
    # If all arguments are measures, they are not left out: otherwise the call would have no words.
    return tuple(sorted({_describe_value(names, value, resolve) for names, value in without_measures or values}))


def describe_exactly(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments in words, with their exact values."""
    return tuple(sorted(f"{_quote_name(name)} {_as_json(value)}" for name, value in arguments.items()))


def get_parent_folder(path: str) -> str:
    """Return the folder of a resolved path, with a slash at its end."""
    return f"{posixpath.dirname(path) or '.'}/".replace("//", "/")


def describe_folder(folder: str) -> str:
    """Return a folder in words for the user."""
    return "the top folder" if folder == "./" else folder


def _flatten(names: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values within a value, each with all names that lead to it. The value of a name for code stays whole.

    `("files",)` and `{"a.txt": "x"}` -> `(("files", "a.txt"), "x")`
    """
    match value:
        case _ if _has_word(names[-1], _CODE):
            yield names, value
        case [_, *_]:
            for item in cast("list[Any]", value):
                yield from _flatten(names, item)
        case dict() if value:
            for name, item in cast("dict[str, Any]", value).items():
                yield from _flatten((*names, name), item)
        case _:
            yield names, value


def _is_measure(names: tuple[str, ...], value: Any) -> bool:
    """Return whether a value is a number that only says how much is looked at, or where. See `_MEASURES`."""
    return _is_number(value) and _has_word(names[-1], _MEASURES)


def _is_number(value: Any) -> bool:
    """Return whether a value is a number. In Python, True and False are integers too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _describe_value(names: tuple[str, ...], value: Any, resolve: Callable[[str], str]) -> str:
    """Return what one value names, in the words of the table above."""
    name, words = names[-1], ".".join(map(_quote_name, names))
    exactly = f"{words} {_as_json(value)}"
    if _has_word(name, _CODE):
        return exactly
    if _is_number(value):
        return f"any {words}"
    if not isinstance(value, str):
        return exactly
    if _has_word(name, {"query"}) and _QUERY_IN_SQL.match(value):
        return exactly
    text = value.strip()
    is_url = _has_word(name, _URLS)
    if text and (is_url or ("://" in text and not re.search(r"\s", text))):
        if text.lower().startswith(_FILE):
            return words + _describe_path(unquote(text[len(_FILE) :]), resolve)
        url = _URL.fullmatch(text)
        if url is None:
            return exactly
        # The path and the query may contain other addresses: `https://a.org/?to=https://b.org`.
        others = _list_addresses(unquote(text[url.end(2) :]))
        return f"{words} at {' and '.join((f'{url[1]}://{url[2]}'.lower(), *others))}"
    if text and (_has_word(name, _PATHS) or _looks_like_path(text)):
        return words + _describe_path(value, resolve)
    if _WORDS.findall(name)[-1:] and _WORDS.findall(name)[-1].lower() in _TEXTS:
        addresses = _list_addresses(value)
        return f"any {words} with {' and '.join(addresses)}" if addresses else f"any {words}"
    return exactly


def _list_addresses(text: str) -> tuple[str, ...]:
    """Return the addresses in a text, each once, sorted. See `_ADDRESS`."""
    return tuple(sorted({_quote(found[0].lower()) for found in _ADDRESS.finditer(text)}))


def _describe_path(path: str, resolve: Callable[[str], str]) -> str:
    """Return the words for a path, to be put after the name: ` in notes/`."""
    if len(path) > _MAX_PATH_CHARS or re.search(r"[\x00\r\n]", path):
        return f" {_as_json(path)}"
    return f" in {describe_folder(_quote(get_parent_folder(resolve(path))))}"


def _looks_like_path(text: str) -> bool:
    """Return whether a text looks like a path, whatever the name of its argument is."""
    is_word = len(text) <= _MAX_PATH_CHARS and not re.search(r"\s", text)
    return is_word and (text.startswith("~") or text in {".", ".."} or "/" in text or "\\" in text)


def _has_word(name: str, words: frozenset[str] | set[str]) -> bool:
    """Return whether the name of an argument contains one of the words: `filePath` has `path`."""
    return any(word.lower() in words for word in _WORDS.findall(name))


def _quote_name(name: str) -> str:
    """Return a name, in quotes if it has other characters than letters, digits and hyphens."""
    return name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _quote(text: str) -> str:
    """Return a text, in quotes if it has blanks, quotes, commas or parentheses."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _as_json(value: Any) -> str:
    """Return a value as JSON. Equal values have equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
