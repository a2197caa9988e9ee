"""Owns what all models on the wire share: their base class, and two models without fields.

It must not know any message. `methods` is its neighbour: it lists all messages.
"""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

# A Python string can contain half of a surrogate pair: from an emoji that a client or a stream has cut in two, or from
# a file name that is not UTF-8. UTF-8 cannot encode it: the store, a link and a provider would fail on that character.
_HALF_SURROGATE = re.compile("[\ud800-\udfff]")


ChatId = str | int
"""The id of a chat. Either side can make one. nvim sends a number and compares replies with it, so an id is never
changed or converted."""


class Model(BaseModel):
    """The base of all models. A model is frozen and uses camelCase on the wire. Unknown fields are ignored, because a
    newer peer may send more than we know."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _replace_half_surrogates(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cast("dict[str, Any]", data)
        for name, value in fields.items():
            if isinstance(value, str) and not value.isascii():
                fields = {**fields, name: _HALF_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value)}
        return fields

    def wire(self) -> dict[str, object]:
        """Return the model as data for JSON. Fields that are None are left out: for ECA, absent means "unchanged"."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Empty(Model):
    """The parameters of a method that has none: `{}`. As a result it is written as null."""


class Done(Model):
    """The result of a request that returns no data: `{}`."""
