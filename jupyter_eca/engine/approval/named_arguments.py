"""What the arguments of a call name, in words: folders, origins of URLs, commands and code. Pure.

An approval for the session of a tool of somebody else is remembered for these, since nothing else is known of its
arguments. The names of arguments and the look of their values say what they are:

| argument | in words |
|---|---|
| `path: "notes/a.txt"` | `path in notes/` |
| `url: "https://example.org/a"` | `url at https://example.org` |
| `query: "pandas"`, `content: "…"` and other texts | `any query`, `any content` |
| `note: "see https://example.org/a"` | `any note with https://example.org` |
| `id: 5` and other numbers | `any id`; a `limit`, a `line` and the like are left out |
| `files: {"a.txt": "x"}` | `files."a.txt" "x"` |
| `command`, `to`, `force`, and all that is not certain | exactly: `command "ls -l"`, `to "Ada"`, `force true` |

So a call with an argument more is in other words.
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
# The last words in the names of arguments that hold a text for people or a search. `message_id` is none.
_TEXTS: Final = frozenset(
    {
        *("answer", "body", "comment", "content", "contents", "description", "keyword", "keywords", "markdown"),
        *("message", "note", "notes", "observation", "observations", "pattern", "prompt", "query", "question", "regex"),
        *("search", "str", "string", "subject", "summary", "term", "terms", "text", "texts", "thought", "title"),
    }
)
# Numbers with these words in their names say only how much is looked at, or where.
_MEASURES: Final = frozenset(
    {
        *("context", "count", "depth", "end", "head", "limit", "line", "lines", "max", "min", "offset", "page", "skip"),
        *("start", "tail", "timeout"),
    }
)

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# The longest text that is taken for a path.
_MAX_PATH: Final = 4096
_FILE: Final = "file://"
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([\w.:%\[\]-]+)(?:[/?#]\S*)?", re.IGNORECASE)
# What a text names outside of this machine: the origins of URLs, hosts before a slash, and addresses of mail.
_ADDRESS: Final = re.compile(
    r"""
      [a-z][a-z0-9+.-]{0,20}://[^\s/?#"'<>()]*
    | (?<=["'(=])//[^\s/?#"'<>()]+
    | (?<![\w./@-])(?:www\.[\w.-]{1,253}|(?:[\w-]{1,63}\.){1,10}[a-z]{2,63}(?=/)|(?:[0-9]{1,3}\.){3}[0-9]{1,3})
    | [\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,10}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_QUERY_IN_SQL: Final = re.compile(
    r"\s*(?:--|/\*|\(|(?:select|insert|update|delete|drop|create|alter|with|merge|replace|truncate|grant|pragma|call"
    r"|exec|mutation)\b)",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[\w-]+")
_PLAIN: Final = re.compile(r"[^\s\"',()]+")


def describe_named(arguments: Mapping[str, Any], resolve: Callable[[str], str]) -> tuple[str, ...]:
    """Return what the arguments name: `path in notes/`, `url at https://example.org`, `command "ls -l"`. No two values
    have the same words unless they name the same folder or origin, or both are texts or numbers. `resolve` follows the
    links of a path."""
    values = tuple(value for name, one in arguments.items() for value in _flatten((name,), one))
    named = tuple(value for value in values if not _is_measure(*value))
    return tuple(sorted({_describe(names, value, resolve) for names, value in named or values}))


def describe_exactly(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the arguments in words, with their exact values."""
    return tuple(sorted(f"{_quote_name(name)} {_as_json(value)}" for name, value in arguments.items()))


def name_folder(path: str) -> str:
    """Return the folder of a resolved path, with a slash at its end."""
    return f"{posixpath.dirname(path) or '.'}/".replace("//", "/")


def describe_folder(folder: str) -> str:
    return "the top folder" if folder == "./" else folder


def _flatten(names: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values within a value, each with all names that lead to it. Code stays whole."""
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
    return _is_number(value) and _has_word(names[-1], _MEASURES)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _describe(names: tuple[str, ...], value: Any, resolve: Callable[[str], str]) -> str:
    """Return what one value names."""
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
        within = _list_addresses(unquote(text[url.end(2) :]))
        return f"{words} at {' and '.join((f'{url[1]}://{url[2]}'.lower(), *within))}"
    if text and (_has_word(name, _PATHS) or _looks_like_path(text)):
        return words + _describe_path(value, resolve)
    if _WORDS.findall(name)[-1:] and _WORDS.findall(name)[-1].lower() in _TEXTS:
        addresses = _list_addresses(value)
        return f"any {words} with {' and '.join(addresses)}" if addresses else f"any {words}"
    return exactly


def _list_addresses(text: str) -> tuple[str, ...]:
    """Return the addresses in a text, each once."""
    return tuple(sorted({_quote(found[0].lower()) for found in _ADDRESS.finditer(text)}))


def _describe_path(path: str, resolve: Callable[[str], str]) -> str:
    if len(path) > _MAX_PATH or re.search(r"[\x00\r\n]", path):
        return f" {_as_json(path)}"
    return f" in {describe_folder(_quote(name_folder(resolve(path))))}"


def _looks_like_path(text: str) -> bool:
    is_word = len(text) <= _MAX_PATH and not re.search(r"\s", text)
    return is_word and (text.startswith("~") or text in {".", ".."} or "/" in text or "\\" in text)


def _has_word(name: str, words: frozenset[str] | set[str]) -> bool:
    return any(word.lower() in words for word in _WORDS.findall(name))


def _quote_name(name: str) -> str:
    """Return a name so that its end is certain, also behind another name and a dot."""
    return name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _quote(text: str) -> str:
    """Return a text so that its end is certain."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
