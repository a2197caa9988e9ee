"""Renders the conditions and variables in prompts and rules. The syntax is ECA's (template.md in its documentation).
ECA uses the template library Selmer, and the `if` tags are those of Selmer.

A fact is a named value that describes the turn, for example `isSubagent`. `{{name}}` is replaced by the value of a
fact, and `{% if name %}` tests it. Everything else in braces stays as it is, because a rule may be about templates. The
module is pure, and must not read files. `instruction_context.py` lists the facts.

For example, `Be brief.{% if isSubagent %} Ask nothing.{% else %} Ask first.{% endif %}` becomes `Be brief. Ask first.`
in a turn that the user started.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    Facts = Mapping[str, bool | str]

# A tag, such as `{% if name %}`. The first alternative is for a tag that is alone in its line: it is removed together
# with the line. Its groups are `alone` (the word of the tag) and `condition_alone`. The second is for a tag within a
# line.
_TAG: Final = re.compile(
    r"^[ \t]*\{%\s*(?P<alone>if|elif|else|endif)\b(?P<condition_alone>[^%\n]*)%\}[ \t]*(?:\n|\Z)"
    r"|\{%\s*(?P<word>if|elif|else|endif)\b(?P<condition>[^%\n]*)%\}",
    re.MULTILINE,
)
# A variable: `{{name}}`.
_VALUE: Final = re.compile(r"\{\{\s*(?P<name>\w+)\s*\}\}")


@dataclass
class _If:
    """One open `if`."""

    is_kept: bool
    """Whether the text of the current branch is kept."""
    has_kept: bool
    """Whether the text of the current branch or of an earlier one is kept."""
    is_else: bool = False
    """Whether the current branch is the `else`."""


def render(text: str, facts: Facts) -> str:
    """Replace the variables in a text, and keep only the branches whose conditions are true.

    Raises: ValueError for a condition that is not valid, and for an `if` without `endif`.
    """
    out: list[str] = []
    open_ifs: list[_If] = []
    end_of_tag = 0
    for tag in _TAG.finditer(text):
        if all(block.is_kept for block in open_ifs):
            out.append(_fill(text[end_of_tag : tag.start()], facts))
        end_of_tag = tag.end()
        _apply_tag(
            open_ifs, tag["alone"] or tag["word"], (tag["condition_alone"] or tag["condition"] or "").split(), facts
        )
    if open_ifs:
        raise ValueError("an {% if %} has no {% endif %}")
    return "".join([*out, _fill(text[end_of_tag:], facts)]).strip()


def _apply_tag(open_ifs: list[_If], word: str, condition: list[str], facts: Facts) -> None:
    """Update the stack of open `if`s for the next tag. Raises: ValueError for a tag without an `if` before it."""
    if word == "if":
        holds = _holds(condition, facts)
        open_ifs.append(_If(holds, holds))
        return
    if not open_ifs or (open_ifs[-1].is_else and word != "endif"):
        raise ValueError(f"an {{% {word} %}} has no {{% if %}}")
    if word == "endif":
        open_ifs.pop()
        return
    top = open_ifs[-1]
    top.is_else = word == "else"
    top.is_kept = not top.has_kept and (top.is_else or _holds(condition, facts))
    top.has_kept = top.has_kept or top.is_kept


def _holds(condition: list[str], facts: Facts) -> bool:
    """Return whether a condition is true: `[name]`, `[not, name]`, `[any, name, name]` or `[all, name, name]`. An
    unknown fact counts as false.

    Raises: ValueError for another condition.
    """
    match condition:
        case ["not", *negated]:
            return not _holds(negated, facts)
        case ["any" | "all" as quantifier, *names] if names:
            return (any if quantifier == "any" else all)(bool(facts.get(name)) for name in names)
        case [name]:
            return bool(facts.get(name))
        case _:
            raise ValueError(f"{{% if {' '.join(condition)} %}} is not understood")


def _fill(text: str, facts: Facts) -> str:
    """Replace the variables in a text. A variable without a fact stays as it is."""

    def fill(found: re.Match[str]) -> str:
        """Return the value for one variable."""
        value = facts.get(found["name"])
        return found[0] if value is None else str(value).lower() if isinstance(value, bool) else value

    return _VALUE.sub(fill, text)
