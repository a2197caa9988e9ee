"""Finds keys that no provider can accept: a key of another vendor, an empty one, one that was copied with its quotes.

It must not show a key or a part of it. `catalog` finds the keys, and `host.doctor` says which ones a provider refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.plugins.providers.presets import KEY_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.plugins.providers.catalog import CatalogEntry

# The beginnings of keys of vendors that are no built-in provider, and of other services.
_OTHER_PREFIXES: Final = {
    "Groq": ("gsk_",),
    "xAI": ("xai-",),
    "Hugging Face": ("hf_",),
    "Perplexity": ("pplx-",),
    "GitHub": ("ghp_", "gho_", "ghu_", "github_pat_"),
    "AWS": ("AKIA", "ASIA"),
}

# Placeholders that documentation shows in the place of a key.
_EXAMPLE: Final = re.compile(
    r"<.*>|\{.*\}|(?:sk-)?(?:\.\.\.|…|x{3,}|\*{3,})|.*(?:your|my)[-_ ]?(?:\w+[-_ ])?(?:api[-_ ]?)?(?:key|token).*|"
    r"(?:change[-_ ]?me|todo|none|null|undefined|api[-_ ]?key|secret)|.*(?:\.\.\.|…)",
    re.IGNORECASE,
)


def find_key_problems(
    entries: Mapping[str, CatalogEntry], config: Config, environment: Mapping[str, str]
) -> Iterator[str]:
    """Yield what is wrong with the keys of all providers. `entries` are the providers by name, and `environment` has
    the environment variables by name."""
    for name, entry in entries.items():
        if entry.key.source is None:
            yield from _find_empty_keys(name, entry, config, environment)
            continue
        place = _describe_place(name, entry)
        key = entry.settings.read_key()
        if problem := _find_form_problem(key):
            yield f"The key for {entry.label or name} ({place}) {problem}"
        elif _is_at_vendor(name, entry, config) and (owner := _find_other_owner(name, key, entries)):
            yield (
                f"The key for {entry.label or name} ({place}) is a key of {owner}. Put it where that one's keys "
                f"belong, or make a key at {entry.label or name}."
            )


def _find_empty_keys(name: str, entry: CatalogEntry, config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for a key that is set, but empty. A placeholder such as `${env:NAME}` is empty when the variable
    is not set."""
    variable = entry.key.variable
    if variable and variable in environment and not environment[variable].strip():
        yield (
            f"`{variable}` is set, but it is empty. Give it the key, or remove it. Then restart Jupyter or the editor."
        )
    own = config.providers.get(name)
    if own is not None and own.key is not None and not own.read_key():
        yield (
            f"`providers.{name}.key` is empty, or names a variable that is not set. Set it, or remove it and "
            "sign in with `/login`."
        )


def _find_form_problem(key: str) -> str:
    """Return what is wrong with the text of a key, and what to do, as a sentence without its subject; "" for
    nothing."""
    if key[0] in "\"'`" or key[-1] in "\"'`":
        return "has quotes around it, which do not belong to it. Remove them."
    if key.casefold().startswith("bearer "):
        return "begins with the word `Bearer`, which we add ourselves. Remove it."
    if re.match(r"(?:export )?\w+(?:_KEY|_TOKEN)=", key):
        return "begins with the name of a variable. Write only what comes after the sign `=`."
    if _EXAMPLE.fullmatch(key):
        return "is the example of a documentation. Replace it by a key of your own."
    if re.search(r"\s", key):
        return "has a space or a line end in it. Copy it again, as one line."
    if not key.isascii():
        return "has a character that no key has, such as a long dash. Copy it again, from the page of the provider."
    return ""


def _is_at_vendor(name: str, entry: CatalogEntry, config: Config) -> bool:
    """Return whether the requests go to the vendor itself. Another server may accept any key."""
    own = config.providers.get(name)
    return entry.label is not None and entry.has_address and (own is None or own.url is None)


def _find_other_owner(name: str, key: str, entries: Mapping[str, CatalogEntry]) -> str:
    """Return the vendor whose keys begin like this one, "" if it may be a key of the provider `name`."""
    prefixes_by_vendor = {**KEY_PREFIXES, **_OTHER_PREFIXES}
    fitting = [
        (len(prefix), vendor)
        for vendor, prefixes in prefixes_by_vendor.items()
        for prefix in prefixes
        if key.startswith(prefix)
    ]
    longest = max((length for length, _ in fitting), default=0)
    found = [vendor for length, vendor in fitting if length == longest]
    # Many vendors have keys that begin with `sk-`. So this beginning is only wrong for a provider whose keys are known
    # to begin with other letters.
    if not found or name in found or (longest <= len("sk-") and name not in KEY_PREFIXES):
        return ""
    return " or ".join((entries[vendor].label or vendor) if vendor in entries else vendor for vendor in found)


def _describe_place(name: str, entry: CatalogEntry) -> str:
    """Return where a key is from."""
    match entry.key.source:
        case "config":
            return f"`providers.{name}.key`"
        case "login":
            return "typed in"
        case _:
            return f"`{entry.key.variable}`"
