"""Owns the Python functions of the user that the assistant may call as tools. A program or a notebook marks them with
`@jupyter_eca.tool`.

The functions are lent to the engine, the program that calls the model: it gets their descriptions, and sends a request
when the model calls one. This module must not know the engine: `transport/eca_client.py` sends the descriptions, and
passes the calls on.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from jupyter_eca.errors import LocalError, ToolError
from jupyter_eca.plugins.tools.base import make_arguments_model, make_schema, validate
from jupyter_eca.protocol.tool import LentTool, ToolCallResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

F = TypeVar("F", bound="Callable[..., Any]")

# The form of a tool's name that all vendors of models accept.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class _MarkedFunction:
    """A function that is marked as a tool."""

    tool: LentTool
    """The description that the model gets."""
    arguments: type[BaseModel]
    """Validates the arguments of a call."""
    function: Callable[..., Any]
    """The function itself."""


class PythonTools:
    """The functions of this process that are tools, by their names."""

    def __init__(self) -> None:
        # By the names of the tools.
        self._functions: dict[str, _MarkedFunction] = {}
        self.version = 0
        """A number that changes whenever a function is added, replaced or removed."""

    def add(self, function: Callable[..., Any], *, name: str, reads: bool) -> None:
        """Add a function. `reads`: it changes nothing. Raises: LocalError when it cannot be described to a model."""
        if not _NAME.fullmatch(name):
            raise LocalError(
                f"{name!r} is not a valid name for a tool (letters, digits, _ and - only). Give it one with `name=`."
            )
        if not inspect.isfunction(function):
            raise LocalError(f"{name} is not a Python function. Wrap it in one with `def`.")
        try:
            arguments = make_arguments_model(function, skip=0)
            schema = make_schema(arguments)
        except Exception as error:
            advice = "Annotate them with types of JSON, such as str or list."
            message = f"The parameters of {name} cannot be described: {error}. {advice}"
            raise LocalError(message) from error
        described = LentTool(name=name, description=inspect.getdoc(function) or "", parameters=schema, reads=reads)
        self._functions[name] = _MarkedFunction(described, arguments, function)
        self.version += 1

    def clear(self) -> None:
        """Remove all functions."""
        self._functions.clear()
        self.version += 1

    def list_tools(self) -> tuple[LentTool, ...]:
        """Return the descriptions of all functions."""
        return tuple(function.tool for function in self._functions.values())

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolCallResult:
        """Call a function and return its result as the model reads it. This never raises: an error becomes a result,
        so that the model learns what went wrong."""
        if (function := self._functions.get(name)) is None:
            return ToolCallResult(text=f"There is no function {name} any more.", error=True)
        try:
            validated = validate(function.arguments, arguments)
            # The function runs in a thread. On the loop it would block, and the user could not stop the turn.
            result = await asyncio.to_thread(function.function, **validated)
            return ToolCallResult(text=_as_text(await result if inspect.isawaitable(result) else result))
        except ToolError as error:
            return ToolCallResult(text=str(error), error=True)
        except Exception as error:  # noqa: BLE001  # the user's own code may raise anything, and the model reads it
            return ToolCallResult(text=f"{name} failed: {type(error).__name__}: {error}", error=True)


# The functions of this process that `@jupyter_eca.tool` marks.
LENT_TOOLS: Final = PythonTools()


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, name: str = "", reads: bool = False) -> Callable[[F], F]: ...
def tool(function: F | None = None, /, *, name: str = "", reads: bool = False) -> F | Callable[[F], F]:
    """Let the assistant call a function: write `@jupyter_eca.tool` above a `def` with annotations and a docstring.

    The model reads the docstring. The user must approve each call, unless a rule for `python__NAME` allows it. With
    `reads=True` the function changes nothing, so the agent `plan` may call it, too. A function that is not a coroutine
    function runs in a thread. The model gets the result as text or as JSON.

    Raises: LocalError for a function that cannot be described to a model.
    """

    def mark(function: F) -> F:
        """Add a function to the tools, and return it unchanged."""
        LENT_TOOLS.add(function, name=name or function.__name__, reads=reads)
        return function

    return mark if function is None else mark(function)


def _as_text(value: object) -> str:
    """Return a result as text: unchanged, as JSON, or as `str` writes it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)
