"""What every model on the wire shares. Knows nothing of any one message."""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

# Python's strings may hold half of a surrogate pair: an emoji that a client or a stream cut in two, a file name that is
# no UTF-8. UTF-8 cannot, and so neither the store nor a link nor a provider; one such character would end them all.
_HALF = re.compile("[\ud800-\udfff]")


ChatId = str | int
"""Minted by either side; nvim sends a number and matches replies by it, so it is echoed unchanged."""


class Model(BaseModel):
    """Frozen, camelCase on the wire, unknown fields ignored (a newer peer may send more than we know)."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _utf8(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cast("dict[str, Any]", data)
        for name, value in fields.items():
            if isinstance(value, str) and not value.isascii():
                fields = {**fields, name: _HALF.sub("\N{REPLACEMENT CHARACTER}", value)}
        return fields

    def wire(self) -> dict[str, object]:
        """As JSON-ready data; fields that are None are left out, since ECA reads absence as "unchanged"."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Empty(Model):
    """`{}`: the parameters of a method that has none. As a result it is written as null."""


class Done(Model):
    """`{}` as the result of a request that only had to be done."""
