"""Keys and passwords that this process knows of, and how they are kept out of what it says.

Whoever reads one makes it known here (the configuration, the catalogue of models, the store of what was typed in). It
is then taken out where words of others pass on: errors of vendors and plugs on their way to a reader, and log records.
SDKs write their requests into the log, headers and all; a server that refuses a key likes to repeat it; an exception
of somebody's plug says what it pleases. What is known is never forgotten: a key that was replaced may still be valid.
Knows nobody.
"""

from __future__ import annotations

import logging
import re
from typing import Final

HIDDEN: Final = "…"

# Shorter ones, and short ones without a digit, are words that stand in any text: `key: "lm-studio"` is a usual one.
_MIN_CHARS: Final = 8
_WORD_CHARS: Final = 12

# What is called so is secret. Under another name only what looks like nothing else.
_NAMES: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_OPAQUE: Final = re.compile(r"(?=.*[a-zA-Z])(?=.*\d)[\w+=-]{16,}")

# Ours, and those of the libraries that are handed secrets, or told of errors that may quote one.
_PACKAGES: Final = frozenset({"jupyter_eca", "anthropic", "openai", "httpx2", "httpcore2", "mcp", "asyncio"})

_known: set[str] = set()


def know(*values: str) -> None:
    """`Bearer KEY` is known as a whole and in its parts."""
    for value in values:
        _known.update(part for part in (value.strip(), *value.split()) if _counts(part))


def know_named(name: str, value: str, *, opaque: bool = False) -> None:
    """One of many, of which some are no secrets: a variable, a header. With `opaque` it need not be called one if it
    looks like one; the name of a model does, too."""
    if _NAMES.search(name):
        if not value.startswith(("/", "~", "http")):  # where a key is kept is no secret
            know(value)
    elif opaque:
        know(*(part for part in value.split() if _OPAQUE.fullmatch(part)))


def _counts(part: str) -> bool:
    return len(part) >= (_MIN_CHARS if any(map(str.isdigit, part)) else _WORD_CHARS)


def hide(text: str) -> str:
    """The text without what is known."""
    # The longest first: one may be part of another. A copy: threads log, too.
    for secret in sorted((one for one in tuple(_known) if one in text), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


class Veil(logging.Filter):
    """Lets every record pass, without what is known. One that holds nothing stays as it is, for formatters that look
    at its arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            told = record.getMessage()
        except Exception:  # noqa: BLE001  # whoever logs made a mistake, and `logging` tells it
            return True
        shown = hide(told)
        if shown != told:
            record.msg, record.args = shown, ()
        if record.exc_info and (traced := _FORMATTER.formatException(record.exc_info)) != hide(traced):
            record.exc_info, record.exc_text = None, hide(traced)
        return True


_FORMATTER: Final = logging.Formatter()
VEIL: Final = Veil()


def veil() -> None:
    """Over the loggers that there are by now. A filter holds for its own logger and not for those below it, so this is
    called again once a library is there; twice is once."""
    for name in tuple(logging.Logger.manager.loggerDict):
        if name.partition(".")[0] in _PACKAGES:
            logging.getLogger(name).addFilter(VEIL)
