"""Owns what every model of the protocol shares. It must not know any of them."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from jupyter_eca.protocol.base import Model, to_camel

Json = dict[str, Any]
Uri = str


class Ahp(Model):
    """A model of the protocol. Fields that nobody here knows are kept, and passed on as they came.

    Flags and whole numbers are `StrictBool` and `StrictInt`. The JSON of a client is stored and sent to other clients
    as it came, so a value that we would convert, such as "false", would mean one thing here and another there.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="allow")


class Meta(Ahp):
    """A model that may carry `_meta`, which belongs to whoever wrote it."""

    meta: Json | None = Field(default=None, alias="_meta")
