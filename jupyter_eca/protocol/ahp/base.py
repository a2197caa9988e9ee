"""What every model of the protocol shares."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from jupyter_eca.protocol.base import Model, to_camel

Json = dict[str, Any]
Uri = str


class Ahp(Model):
    """Fields that nobody here knows are kept: they go on to others as they came."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="allow")


class Meta(Ahp):
    meta: Json | None = Field(default=None, alias="_meta")
