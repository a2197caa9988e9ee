"""Owns the schema of the key `customTools`: the user's command lines as tools. It finds errors before a tool runs.

It must not run a tool: `plugins.tools.configured.custom` does. `schema` is its neighbour: it has all other keys.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from pydantic import Field, model_validator

from jupyter_eca.engine.text import shell_template
from jupyter_eca.protocol.base import Model

# The types of JSON schema.
_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")


class CustomToolSchema(Model):
    """The arguments of a custom tool, each with its JSON schema."""

    properties: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """By the name of the argument, its `type` and `description`. The model reads them."""
    required: tuple[str, ...] = ()
    """The arguments that a call must have."""

    @model_validator(mode="after")
    def _check(self) -> CustomToolSchema:
        """Raise ValueError for a name or a type that a model cannot use, and for a required argument that is
        missing."""
        for name, schema in self.properties.items():
            if not re.fullmatch(r"[A-Za-z_][\w-]{0,63}", name):
                raise ValueError(f"{name!r} is not a valid name of an argument")
            kind: Any = schema.get("type", "string")
            if any(each not in _TYPES for each in (cast("list[Any]", kind) if isinstance(kind, list) else [kind])):
                raise ValueError(f"the type of {name!r} must be one of {', '.join(_TYPES)}")
        if missing := [name for name in self.required if name not in self.properties]:
            raise ValueError(f"{missing[0]!r} is required and not among the properties")
        return self


class CustomToolConfig(Model):
    """A command line of yours as a tool."""

    description: str = Field(min_length=1)
    """What the tool does. The model reads it."""
    command: str = Field(min_length=1)
    """A command line for the shell. `{{name}}` in it is replaced by the argument of that name, quoted for the shell."""
    parameters: CustomToolSchema = Field(default=CustomToolSchema(), alias="schema")
    """The arguments of the tool."""
    timeout_seconds: float = Field(default=600, gt=0, le=600)
    """A key of ours: the seconds after which the command is ended, at most 600."""

    @model_validator(mode="after")
    def _check_placeholders(self) -> CustomToolConfig:
        """Raise ValueError if a placeholder is at a place where no argument is safe."""
        shell_template.parse(self.command, self.parameters.properties)
        return self
