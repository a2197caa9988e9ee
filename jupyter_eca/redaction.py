"""Owns the secrets (keys, passwords) that this process has read, and removes them from texts and log records.

It must not know where a secret comes from: whoever reads one registers it here (the configuration, the model
catalogue, the store of typed-in keys). Its neighbour is `config.secret_fields`, which registers a whole configuration.

Redaction is needed wherever text written by others is passed on: errors from vendors and plugins, and log records.
SDKs log their requests including the headers. Servers that reject a key often repeat it in the error message. An
exception in a plugin can contain anything. A registered secret is never removed: a replaced key may still be valid.
"""

from __future__ import annotations

import logging
import re
from typing import Final

HIDDEN: Final = "…"
"""Replaces a secret in a text."""

# Shorter values may be ordinary words, which occur in any text (`key: "lm-studio"` is common), so they are not
# redacted. A value without a digit is more likely to be a word, so it must be longer.
_MIN_CHARS: Final = 8
_WORD_CHARS: Final = 12

# A value with such a name is a secret. Under another name, a value is a secret only if it looks like a random string.
_NAMES: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_OPAQUE: Final = re.compile(r"(?=.*[a-zA-Z])(?=.*\d)[\w+=-]{16,}")

# Our own loggers, and those of libraries that receive secrets or log errors that may quote a secret.
_PACKAGES: Final = frozenset({"jupyter_eca", "anthropic", "openai", "httpx2", "httpcore2", "mcp", "asyncio"})

_known: set[str] = set()


def register_secret(*values: str) -> None:
    """Register secrets. `Bearer KEY` is registered as a whole, and each of its words separately."""
    for value in values:
        _known.update(part for part in (value.strip(), *value.split()) if _is_long_enough(part))


def register_named_secret(name: str, value: str, *, opaque: bool = False) -> None:
    """Register the value of a variable or header if its name says that it is a secret.

    With `opaque`, a value that looks like a random string is registered too, whatever its name is. This is not the
    default because names of models can look like that.
    """
    if _NAMES.search(name):
        if not value.startswith(("/", "~", "http")):  # the path or URL of a key is not a secret
            register_secret(value)
    elif opaque:
        register_secret(*(part for part in value.split() if _OPAQUE.fullmatch(part)))


def _is_long_enough(part: str) -> bool:
    return len(part) >= (_MIN_CHARS if any(map(str.isdigit, part)) else _WORD_CHARS)


def redact(text: str) -> str:
    """Return the text with every registered secret replaced by `HIDDEN`."""
    # The longest secret first, because one secret may be part of another. Iterate over a copy: threads log too.
    for secret in sorted((value for value in tuple(_known) if value in text), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


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


_FORMATTER: Final = logging.Formatter()
REDACTING_FILTER: Final = RedactingFilter()
"""The one filter instance. `logging` adds the same instance to a logger only once."""


def install_log_filter() -> None:
    """Add the filter to all loggers of `_PACKAGES` that exist now.

    A filter does not apply to child loggers. Call this again after a library is imported; a second call is harmless.
    """
    for name in tuple(logging.Logger.manager.loggerDict):
        if name.partition(".")[0] in _PACKAGES:
            logging.getLogger(name).addFilter(REDACTING_FILTER)
