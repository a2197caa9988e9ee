"""Owns the secrets (keys, passwords) that this process has read, and removes them from texts and log records.

It must not know where a secret comes from: the code that reads a secret registers it here (the configuration, the model
catalogue, the store of typed-in keys). Its neighbour is `config.secret_fields`, which registers a whole configuration.

A secret is found in two ways. By value: it was registered, or it looks like a key. By position: it is at a place of a
command or an address where a secret belongs (`--token X`, `KEY=X`, `https://X@host/?key=X`). Code that shows the
command or the address of a tool server must use `redact_arguments` or `redact_url`.

Redaction is needed wherever text by others is shown or logged: errors from vendors and plugins, and log records. SDKs
log their requests including the headers. Servers that reject a key often repeat it in the error message. An exception
in a plugin can contain anything. A secret stays registered until the process ends, because a replaced key may still be
valid.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HIDDEN: Final = "…"
"""The text that replaces a secret."""

# The shortest values that are registered: with a digit, and without one. Shorter values may be ordinary words, which
# occur in any text (`key: "lm-studio"` is common). A value without a digit is more likely to be a word.
_MIN_CHARS: Final = 8
_WORD_CHARS: Final = 12

# The value of a variable or an option with such a name is a secret. With another name, a value is a secret only if it
# looks like a random string.
_NAME: Final = (
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|BEARER|(?<![A-Z])(?:PASS|PWD|PW|PAT|DSN|JWT)(?![A-Z])"
)
_NAMES: Final = re.compile(_NAME, re.IGNORECASE)
# A random string: at least 16 characters, with a letter and a digit.
_OPAQUE: Final = re.compile(r"(?=.*[a-zA-Z])(?=.*\d)[\w+=-]{16,}")
# A value that begins like this may be the path or the address of a secret, and not the secret itself. But a secret may
# begin with a slash or a tilde too. So an absolute path counts only if its name or its first folder says so.
_PATH_STARTS: Final = ("/", "~", "./", "../", "http")
_PATH_NAME: Final = re.compile(r"(?:FILE|PATH|DIR|DIRECTORY|FOLDER|SOCK|SOCKET|URL|URI|ENDPOINT)$", re.IGNORECASE)
_USUAL_PATH: Final = re.compile(
    r"https?://|~/|\.{1,2}/|/(?:app|config|data|dev|etc|home|media|mnt|opt|private|proc|root|run|secrets|srv|tmp|Users|usr"
    r"|var|Volumes|work|workspace)/"
)

# A text that looks like a key at any place: with a prefix that vendors use for their keys, a JSON web token, or many
# letters and digits. It is longer than `_OPAQUE` and has no hyphens, because an argument may be the name of a package.
_VENDOR_KEY: Final = (
    r"\b(?:(?:sk|pk|rk|glpat|xox[a-z])-|(?:gh[a-z]|github_pat|hf|npm|ntn)_|AKIA|AIza|ya29\.|eyJ)"
    r"(?=[\w.-]*\d)[\w.-]{12,}"
)
_VENDOR_KEYS: Final = re.compile(_VENDOR_KEY)
_KEY_LIKE: Final = re.compile(
    rf"{_VENDOR_KEY}"
    r"|(?<![\w/.-])(?=[a-zA-Z]*\d)(?=\d*[a-zA-Z])[a-zA-Z0-9_+]{24,}={0,2}(?![\w/.-])"
)
# A whole argument of the form `--name=value` or `NAME=value`. Its value may contain spaces.
_ASSIGNMENT: Final = re.compile(r"-{0,2}(?P<name>[\w.-]+)\s*[=:]\s*(?P<value>.+)", re.DOTALL)
# An argument of this form is an option itself, and not the value of the option before it. Any other argument with a
# hyphen may be a secret.
_OPTION: Final = re.compile(r"-[a-zA-Z]|--[a-z][\w-]*(?:=.*)?", re.DOTALL)
# A name with its value in a longer argument, such as a shell line, a header or JSON: `--token abc`, `API_KEY="a b"`,
# `"Authorization: Bearer abc"`. The value may contain spaces if it is in quotes. The quotes may be around the value
# only, or around the name and the value.
_NAMED_VALUE: Final = re.compile(
    rf"""(?P<both>["'])?(?P<name>(?P<option>(?<!\w)-)?[\w.-]*(?:{_NAME})[\w.-]*)"""
    r"""(?:["']?\s*[=:]\s*|(?(option)\s+(?!-[a-zA-Z](?:\s|$)|--[a-z])|(?!)))"""
    r"""(?P<quote>["'])?(?:(?:bearer|basic|token)\s+)?"""
    r"""(?P<value>(?(quote)(?:\\.|(?!(?P=quote)).)+|(?:(?(both)(?:\\.|(?!(?P=both)).)+|[^\s"',;&|)}]+))))""",
    re.IGNORECASE | re.DOTALL,
)
_URL: Final = re.compile(
    r"[a-zA-Z][\w+.-]*://(?:(?P<user>[^\s/?#\"'<>]*)@)?(?P<path>[^\s?#\"'<>]*)(?:\?(?P<query>[^\s#\"'<>]*))?"
    r"(?:#(?P<fragment>[^\s\"'<>]*))?"
)
# What may be a secret in an address. First a part of its path that looks random. Then a value in its path
# (`;name=value`), a value in its query, and a value in its fragment. Two things in a fragment are not secrets: the
# heading of a page (`#install`), and the part of a repository that pip is to install (`#egg=name`).
_RANDOM_PART: Final = re.compile(r"(?<=/)(?=[^/]*\d)(?=[^/]*[a-zA-Z])[\w+=-]{20,}(?=/|$)")
_PATH_VALUE: Final = re.compile(r";[^;=/]*=(?P<value>[^;/]+)")
_QUERY_VALUE: Final = re.compile(r"(?:^|(?<=&))(?:[^&=]*=)?(?P<value>[^&=][^&]*)")
_FRAGMENT_VALUE: Final = re.compile(
    r"(?:^|(?<=&))(?!(?:egg|subdirectory)=|[a-zA-Z-]*(?:&|$))(?:[^&=]*=)?(?P<value>[^&=][^&]*)"
)
# Options whose value is `USER:PASSWORD`. The value is the next argument (`-u me:pw`) or a part of the same argument
# (`--user=me:pw`). Two numbers (`-u 1000:1000`) are the ids of a user and a group, and not a secret.
_USER_OPTIONS: Final = frozenset({"-u", "-U", "--user", "--userpwd", "--proxy-user", "--basic"})
_USER: Final = re.compile(
    r"""(?:^|(?<=\s))(?:-[uU]|--(?:user|userpwd|proxy-user|basic)(?=[\s=]))[\s=]*["']?"""
    r"""(?P<value>(?!\w+://|\d+:\d+\b)[^\s"':=]+:[^\s"']+)"""
)
# If a command has one of these options, the value of `-p` is a password. In other commands it is a port or a package.
_LOGIN_OPTIONS: Final = _USER_OPTIONS | {"--username", "--login"}
# `8080:80` or `127.0.0.1:8080:80`, as docker takes it.
_PORTS: Final = re.compile(r"(?:[\d.]+:)?\d+:\d+")

# Our own loggers, and those of libraries that receive secrets or log errors that may quote a secret.
_PACKAGES: Final = frozenset({"jupyter_eca", "anthropic", "openai", "httpx2", "httpcore2", "mcp", "asyncio"})

_known: set[str] = set()
"""The registered secrets."""


def register_secret(*values: str) -> None:
    """Register secrets. A value of several words, such as `Bearer KEY`, is registered as a whole and word by word."""
    for value in values:
        _known.update(part for part in (value.strip(), *value.split()) if _is_long_enough(part))


def register_named_secret(name: str, value: str, *, opaque: bool = False) -> None:
    """Register the value of a variable or header if its name says that it is a secret.

    With `opaque`, a value that looks like a random string is registered too, whatever its name is. This is not the
    default because names of models can look like that.
    """
    if _NAMES.search(name):
        if not _is_path_or_address(name, value):
            register_secret(value)
    elif opaque:
        register_secret(*(part for part in value.split() if _OPAQUE.fullmatch(part)))
    if "://" in value:
        register_url_secrets(value)


def register_url_secrets(url: str) -> None:
    """Register the secrets in an address: the user, the password, the values of its query and fragment, and the random
    parts of its path.

    User and password are also registered in the form in which they are sent in a header.
    """
    for start, end in _find_in_urls(url):
        secret = url[start:end]
        user, _, password = secret.partition(":")
        header = b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode() if password else ""
        register_secret(secret, unquote(secret), password, unquote(password), header)


def find_secrets(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the secrets in the arguments of a command, or in an address that is the only argument."""
    return tuple(text[start:end] for text, spans in _find_in_arguments(arguments) for start, end in spans)


def count_secrets() -> int:
    """Return how many secrets are registered. A stored text must be redacted again when there are more."""
    return len(_known)


def _is_long_enough(part: str) -> bool:
    """Return whether a value is too long to be an ordinary word. See `_MIN_CHARS`."""
    return len(part) >= (_MIN_CHARS if any(map(str.isdigit, part)) else _WORD_CHARS)


def redact(text: str) -> str:
    """Return the text with every registered secret replaced by `HIDDEN`."""
    # The longest secret first, because one secret may be part of another. Iterate over a copy: threads log too.
    for secret in sorted((value for value in tuple(_known) if value in text), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def redact_keys(text: str) -> str:
    """Return a text that leaves this machine: without registered secrets, and without what looks like a vendor's key.

    A key that the user has pasted into a question is registered nowhere. Only its prefix, such as `sk-`, shows
    that it is a key.
    """
    return redact(_VENDOR_KEYS.sub(HIDDEN, text))


def redact_json(value: Any, redact_text: Callable[[str], str] = redact) -> Any:
    """Return JSON data with every secret in its texts replaced. The keys of objects stay."""
    match value:
        case str():
            return redact_text(value)
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {key: redact_json(item, redact_text) for key, item in items}
        case list():
            return [redact_json(item, redact_text) for item in cast("list[Any]", value)]
        case _:
            return value


def redact_url(url: str) -> str:
    """Return an address without its user, password, values of query and fragment, and random parts of the path."""
    return redact(_hide(url, _find_in_urls(url)))


def redact_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of a command without the secrets in them, by value and by position."""
    return tuple(redact(_hide(argument, spans)) for argument, spans in _find_in_arguments(arguments))


def _find_in_arguments(arguments: Sequence[str]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield each argument with the positions (start, end) of its secrets."""
    has_login = any(argument.partition("=")[0] in _LOGIN_OPTIONS for argument in arguments)
    for before, argument in zip(("", *arguments), arguments, strict=False):
        is_password = has_login and before == "-p" and not _PORTS.fullmatch(argument)
        if is_password or _is_secret_value(before, argument):
            yield argument, [(0, len(argument))]
        else:
            yield argument, _find_in_argument(argument)


def _is_secret_value(option: str, value: str) -> bool:
    """Return whether `value` is a secret because of the option before it: `--token abc`, `-u me:pw`."""
    if not option.startswith("-") or "=" in option or _OPTION.fullmatch(value):
        return False
    has_password = option in _USER_OPTIONS and _USER.match(f"{option} {value}")
    return bool(has_password or (_NAMES.search(option) and not _is_path_or_address(option, value)))


def _find_in_argument(argument: str) -> list[tuple[int, int]]:
    """Return the positions (start, end) of secrets in one argument. They may overlap."""
    found = _find_in_urls(argument)
    assigned = _ASSIGNMENT.fullmatch(argument)
    named = (*((assigned,) if assigned and _NAMES.search(assigned["name"]) else ()), *_NAMED_VALUE.finditer(argument))
    found += [match.span("value") for match in named if not _is_path_or_address(match["name"], match["value"])]
    found += [match.span("value") for match in _USER.finditer(argument)]
    return found + [match.span() for match in _KEY_LIKE.finditer(argument)]


def _is_path_or_address(name: str, value: str) -> bool:
    """Return whether a value is not a secret itself, but the path or the address of one: `KEY_FILE=/etc/key`."""
    return value.startswith(_PATH_STARTS) and bool(_PATH_NAME.search(name) or _USUAL_PATH.match(value))


def _find_in_urls(text: str) -> list[tuple[int, int]]:
    """Return the positions (start, end) of secrets in all addresses of a text."""
    found: list[tuple[int, int]] = []
    for url in _URL.finditer(text):
        if url["user"]:
            found.append(url.span("user"))
        found += [match.span() for match in _RANDOM_PART.finditer(text, *url.span("path"))]
        for part, values in (("path", _PATH_VALUE), ("query", _QUERY_VALUE), ("fragment", _FRAGMENT_VALUE)):
            start = url.start(part)
            spans = (match.span("value") for match in values.finditer(url[part] or ""))
            found += [(start + first, start + last) for first, last in spans]
    return found


def _hide(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the text with `HIDDEN` at these positions. They may overlap."""
    parts: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            parts += (text[position:start], HIDDEN)
        position = max(position, end)
    return "".join((*parts, text[position:]))


class RedactingFilter(logging.Filter):
    """Redacts log records and drops none of them. A record without a secret keeps its arguments, which some formatters
    read."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the message and the traceback of a record. Always returns True, so the record is logged."""
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001  # the caller's format string is wrong; `logging` itself reports that
            return True
        redacted = redact(message)
        if redacted != message:
            record.msg, record.args = redacted, ()
        if record.exc_info and (traceback := _FORMATTER.formatException(record.exc_info)) != redact(traceback):
            record.exc_info, record.exc_text = None, redact(traceback)
        return True


# Formats the traceback of a record, so that it can be redacted.
_FORMATTER: Final = logging.Formatter()
REDACTING_FILTER: Final = RedactingFilter()
"""The filter that `install_log_filter` adds. It is one instance, so that `logging` adds it to a logger only once."""


def install_log_filter() -> None:
    """Add the filter to all loggers of `_PACKAGES` that exist now.

    A filter does not apply to child loggers. Call this again after a library is imported; a second call is harmless.
    """
    for name in tuple(logging.Logger.manager.loggerDict):
        if name.partition(".")[0] in _PACKAGES:
            logging.getLogger(name).addFilter(REDACTING_FILTER)
