"""A server's resource template (RFC 6570) while somebody types an address of it, part by part."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXPRESSION: Final = re.compile(r"\{([^}]*)\}")
# What is filled in here: one variable, with or without slashes in it. Others are for who knows the server.
_SIMPLE_VARIABLE: Final = re.compile(r"\+?[\w.]+")


@dataclass(frozen=True, slots=True)
class Typed:
    """As far as an address fits: what is `known`, and the `variable` in which it ends, with its value so far. `whole`
    when nothing is missing."""

    known: Mapping[str, str]
    variable: str = ""
    value: str = ""
    before: str = ""
    after: str = ""
    whole: bool = False

    def filled(self, value: str) -> str:
        """The address with a value in the place that is being typed; what comes after it is still to be filled in."""
        return f"{self.before}{quote(value, safe='')}{self.after}"


@dataclass(frozen=True, slots=True)
class Template:
    server: str
    uri: str
    name: str
    description: str = ""
    mime_type: str = ""
    _parts: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_parts", tuple(_EXPRESSION.split(self.uri)))

    def typed(self, text: str) -> Typed | None:
        """None when it is no address of this template, as far as it goes."""
        if not all(_SIMPLE_VARIABLE.fullmatch(expression) for expression in self._parts[1::2]):
            return None
        known: dict[str, str] = {}
        rest = text
        for place, literal in enumerate(self._parts[::2]):
            if place:
                variable = self._parts[2 * place - 1].removeprefix("+")
                value, found, behind = rest.partition(literal) if literal else (rest, "", "")
                if not found:
                    before, after = text.removesuffix(rest), self._format_rest(place)
                    whole = bool(rest) and not after
                    return Typed(known, variable, unquote(rest), before, after, whole)
                known[variable], rest = unquote(value), behind
            elif not rest.startswith(literal):
                return Typed(known) if literal.startswith(rest) else None
            else:
                rest = rest.removeprefix(literal)
        return Typed(known, whole=True) if not rest else None

    def _format_rest(self, place: int) -> str:
        """As it is written, from that literal on."""
        return "".join(
            part if number % 2 == 0 else f"{{{part}}}" for number, part in enumerate(self._parts) if number >= 2 * place
        )


def open_places(uri: str) -> tuple[str, ...]:
    """What is still to be filled in."""
    return tuple(_EXPRESSION.findall(uri))
