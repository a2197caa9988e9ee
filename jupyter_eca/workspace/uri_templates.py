"""Matches the resource templates of MCP servers (RFC 6570) with an address that a user is still typing.

A resource template is an address with variables, such as `file:///logs/{day}`. MCP is the Model Context Protocol. For
example, the typed address `file:///logs/2026-0` is completed with the values for `day` that the server offers.

It must not know servers or clients. `mcp_client` lists the templates, and the context `mcpResource` in `plugins/`
offers the completions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Mapping

# A variable of a template as it is written, with its braces: `{day}`.
_EXPRESSION: Final = re.compile(r"\{([^}]*)\}")
# Only expressions with a single variable are supported: `{name}`, and `{+name}`, whose value may contain slashes. The
# addresses of other templates are not completed.
_SIMPLE_VARIABLE: Final = re.compile(r"\+?[\w.]+")


@dataclass(frozen=True, slots=True)
class PartialUri:
    """How far a typed address matches a template."""

    known_values: Mapping[str, str]
    """The values of the variables that are complete."""
    variable: str = ""
    """The variable that is being typed; empty when the address ends in fixed text."""
    value: str = ""
    """The part of this variable's value that was typed so far."""
    before: str = ""
    """The part of the address before that value."""
    after: str = ""
    """The part of the template after that value."""
    is_complete: bool = False
    """Whether the address is complete, so that the resource can be read."""

    def fill(self, value: str) -> str:
        """Return the address with this value for the variable that is being typed. Later variables stay as they are in
        the template."""
        return f"{self.before}{quote(value, safe='')}{self.after}"


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A resource template that a server offers. The fields are those of MCP."""

    server: str
    """The name of the server."""
    uri: str
    """The template of the address, such as `file:///logs/{day}`."""
    name: str
    """The name of the template, for the user."""
    description: str = ""
    """What the resources are, for the user."""
    mime_type: str = ""
    """The MIME type of all resources of the template; empty if they differ, or it is unknown."""
    _parts: tuple[str, ...] = field(init=False)
    """The template in parts: a literal, an expression, a literal, and so on. An expression is here without its braces.
    The first and the last part are literals, which may be empty."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_parts", tuple(_EXPRESSION.split(self.uri)))

    def match_prefix(self, text: str) -> PartialUri | None:
        """Match a typed address with this template. Return None when no address of this template begins with `text`.

        Example: `file:///logs/{day}/{level}` and `file:///logs/monday/er` give the known value `day: monday`, the
        variable `level`, and its value so far `er`.
        """
        if not all(_SIMPLE_VARIABLE.fullmatch(expression) for expression in self._parts[1::2]):
            return None
        known: dict[str, str] = {}
        rest = text
        # Each round takes one variable from the rest of the address, up to the literal that follows the variable.
        # `place` is the index of that literal among the literals.
        for place, literal in enumerate(self._parts[::2]):
            if place:
                variable = self._parts[2 * place - 1].removeprefix("+")
                value, separator, behind = rest.partition(literal) if literal else (rest, "", "")
                if not separator:
                    before, after = text.removesuffix(rest), self._format_rest(place)
                    is_complete = bool(rest) and not after
                    return PartialUri(known, variable, unquote(rest), before, after, is_complete)
                known[variable], rest = unquote(value), behind
            elif not rest.startswith(literal):
                return PartialUri(known) if literal.startswith(rest) else None
            else:
                rest = rest.removeprefix(literal)
        return PartialUri(known, is_complete=True) if not rest else None

    def _format_rest(self, place: int) -> str:
        """Return the template as it is written, from a literal on to its end. `place` is the index among the
        literals."""
        return "".join(
            part if number % 2 == 0 else f"{{{part}}}" for number, part in enumerate(self._parts) if number >= 2 * place
        )


def list_missing_variables(uri: str) -> tuple[str, ...]:
    """Return the variables that an address still contains, because they have no value yet: `day` for
    `file:///logs/{day}`."""
    return tuple(_EXPRESSION.findall(uri))
