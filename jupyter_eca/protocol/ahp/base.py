"""Owns the base classes of all models of the Agent Host Protocol.

It must not know any of these models: its neighbours `state`, `actions`, `commands` and `content` have them.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import ConfigDict, Field

from jupyter_eca.protocol.base import Model, to_camel

Json = dict[str, Any]
"""A JSON object."""
Uri = str


class AhpModel(Model):
    """The base of all models of the protocol. Unknown fields are kept and passed on unchanged.

    Booleans and integers are `StrictBool` and `StrictInt`, so that a value such as "false" is refused, not converted.
    The JSON of a client is stored and sent to other clients unchanged. If we converted a value, it would mean something
    else to us than to them.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="allow")

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Parse JSON by the names of the protocol alone. A client that sends `turn_id` in place of `turnId` must be
        refused: its JSON is also applied to states as it is, and these read only `turnId`.

        Raises: pydantic.ValidationError.
        """
        return super().model_validate(obj, **options, by_alias=True, by_name=False)


class ModelWithMeta(AhpModel):
    """The base of models with the field `_meta`."""

    meta: Json | None = Field(default=None, alias="_meta")
    """Data of the program that made the model. Nobody else may interpret it."""
