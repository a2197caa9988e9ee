"""The key `customTools`: command lines of the user's as tools. What is wrong with one is found here, before it runs."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from pydantic import Field, model_validator

from jupyter_eca.engine.text import shell_template
from jupyter_eca.protocol.base import Model

_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")


class ToolSchema(Model):
    """The arguments of a custom tool, each with its JSON schema."""

    properties: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """By name: `type` and `description`, which the model reads."""
    required: tuple[str, ...] = ()
    """The arguments that must be given."""

    @model_validator(mode="after")
    def _usable(self) -> ToolSchema:
        for name, one in self.properties.items():
            if not re.fullmatch(r"[A-Za-z_][\w-]{0,63}", name):
                raise ValueError(f"{name!r} is no name of an argument")
            kind: Any = one.get("type", "string")
            if any(each not in _TYPES for each in (cast("list[Any]", kind) if isinstance(kind, list) else [kind])):
                raise ValueError(f"the type of {name!r} must be one of {', '.join(_TYPES)}")
        if missing := [name for name in self.required if name not in self.properties]:
            raise ValueError(f"{missing[0]!r} is required and not among the properties")
        return self


class CustomToolConfig(Model):
    """A command line of the user's as a tool."""

    description: str = Field(min_length=1)
    """What it does, for the model."""
    command: str = Field(min_length=1)
    """A line for the shell; `{{name}}` in it are arguments of its `schema`, quoted for the shell."""
    parameters: ToolSchema = Field(default=ToolSchema(), alias="schema")
    """Its arguments."""
    timeout_seconds: float = Field(default=600, gt=0, le=600)
    """A key of ours: seconds after which it is ended, at most 600."""

    @model_validator(mode="after")
    def _fillable(self) -> CustomToolConfig:
        shell_template.parse(self.command, self.parameters.properties)
        return self
