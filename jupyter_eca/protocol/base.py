"""What every model on the wire shares. Knows nothing of any one message."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Frozen, camelCase on the wire, unknown fields ignored (a newer peer may send more than we know)."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")

    def wire(self) -> dict[str, object]:
        """As JSON-ready data; fields that are None are left out, since ECA reads absence as "unchanged"."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Empty(Model):
    """`{}`: the parameters or the result of a method that has none."""
