"""The conditions and variables of ECA's prompts and rules (its template.md: Selmer's `if`). Pure.

Only what is documented there is filled in. Braces that name no fact stay as they are: a rule may be about templates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    Facts = Mapping[str, bool | str]

# One that is alone in its line takes the line with it.
_TAG: Final = re.compile(
    r"^[ \t]*\{%\s*(?P<alone>if|elif|else|endif)\b(?P<asked_alone>[^%\n]*)%\}[ \t]*(?:\n|\Z)"
    r"|\{%\s*(?P<word>if|elif|else|endif)\b(?P<asked>[^%\n]*)%\}",
    re.MULTILINE,
)
_VALUE: Final = re.compile(r"\{\{\s*(?P<name>\w+)\s*\}\}")


@dataclass
class _If:
    """One `if`. `on`: the text that follows is taken; `done`: one of its branches was taken."""

    on: bool
    done: bool
    last: bool = False


def render(text: str, facts: Facts) -> str:
    """Render a text. Raises: ValueError for a condition that is not understood, or has no end."""
    out: list[str] = []
    open: list[_If] = []
    at = 0
    for tag in _TAG.finditer(text):
        if all(one.on for one in open):
            out.append(_fill(text[at : tag.start()], facts))
        at = tag.end()
        _step(open, tag["alone"] or tag["word"], (tag["asked_alone"] or tag["asked"] or "").split(), facts)
    if open:
        raise ValueError("an {% if %} has no {% endif %}")
    return "".join([*out, _fill(text[at:], facts)]).strip()


def _step(open: list[_If], word: str, asked: list[str], facts: Facts) -> None:
    if word == "if":
        holds = _holds(asked, facts)
        open.append(_If(holds, holds))
        return
    if not open or (open[-1].last and word != "endif"):
        raise ValueError(f"an {{% {word} %}} has no {{% if %}}")
    if word == "endif":
        open.pop()
        return
    top = open[-1]
    top.last = word == "else"
    top.on = not top.done and (top.last or _holds(asked, facts))
    top.done = top.done or top.on


def _holds(asked: list[str], facts: Facts) -> bool:
    """Whether a condition holds. A fact that does not exist does not hold."""
    match asked:
        case ["not", *rest]:
            return not _holds(rest, facts)
        case ["any" | "all" as many, *names] if names:
            return (any if many == "any" else all)(bool(facts.get(name)) for name in names)
        case [name]:
            return bool(facts.get(name))
        case _:
            raise ValueError(f"{{% if {' '.join(asked)} %}} is not understood")


def _fill(text: str, facts: Facts) -> str:
    def fill(found: re.Match[str]) -> str:
        value = facts.get(found["name"])
        return found[0] if value is None else str(value).lower() if isinstance(value, bool) else value

    return _VALUE.sub(fill, text)
