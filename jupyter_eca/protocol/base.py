"""Owns what all models of messages share: their base class, and two models without fields.

It must not know any message. `methods` is its neighbour: it lists all messages.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticUseDefault

if TYPE_CHECKING:
    from collections.abc import Iterable

# A Python string can contain half of a surrogate pair: from an emoji that a client or a stream has cut in two, or from
# a file name that is not UTF-8. UTF-8 cannot encode it: the store, a link and a provider would fail on that character.
_HALF_SURROGATE = re.compile("[\ud800-\udfff]")

# How many levels of objects and lists a client's message or a configuration may have. The deepest that are needed are
# schemas of tools, which have about twenty levels. All code of this program that reads JSON can handle 100 levels.
MAX_DEPTH: Final = 100

ChatId = str | int
"""The id of a chat. Either side can make one. nvim sends a number and compares replies with it, so an id is never
changed or converted."""


def has_half_surrogate(data: Any) -> bool:
    """Return whether data for JSON contains half of a surrogate pair, in a text or in a key, at any depth."""
    # No recursion, because a client decides how deep its data is: the list grows while it is walked through. A dict is
    # unfolded at once, because most data is one, without any depth.
    unchecked: list[Any] = [*data, *data.values()] if data.__class__ is dict else [data]
    for item in unchecked:
        # `isinstance` would make every message of a long answer noticeably slower.
        kind = item.__class__
        if kind is str:
            if not item.isascii() and _HALF_SURROGATE.search(item):
                return True
        elif kind is dict:
            unchecked += item
            unchecked += item.values()
        elif kind is list or kind is tuple:
            unchecked += item
    return False


def find_fault(data: Any) -> str:
    """Return why data from a client cannot be stored and sent to other clients, in words for this client; "" if the
    data can."""
    if has_half_surrogate(data):
        return r"a text contains half of a surrogate pair (\ud800 to \udfff), which is no character"
    unchecked: list[Any] = [data]
    while unchecked:
        item = unchecked.pop()
        kind = item.__class__
        if kind is float:
            if not isfinite(item):
                return f"{item} is not a number in JSON"
        elif kind is dict:
            unchecked += item.values()
        elif kind is list or kind is tuple:
            unchecked += item
    return ""


def is_nested_too_deeply(data: Any) -> bool:
    """Return whether data for JSON has more than `MAX_DEPTH` levels."""
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [child for node in level for child in _list_children(node)]
        if not level:
            return False
    return True


def _list_children(node: Any) -> Iterable[Any]:
    """Return the values of an object or list; nothing for any other value."""
    if isinstance(node, dict):
        return cast("dict[str, Any]", node).values()
    return cast("list[Any]", node) if isinstance(node, list) else ()


def replace_half_surrogates(data: Any) -> Any:
    """Return data for JSON with a replacement character for each half of a surrogate pair."""
    return _replace(data) if has_half_surrogate(data) else data


def _replace(data: Any) -> Any:
    """Return a copy of data for JSON with a replacement character for each half of a surrogate pair, at any depth."""
    match data:
        case str():
            return _HALF_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", data)
        case dict():
            return {_replace(name): _replace(value) for name, value in cast("dict[Any, Any]", data).items()}
        case list():
            return [_replace(item) for item in cast("list[Any]", data)]
        case tuple():
            return tuple(_replace(item) for item in cast("tuple[Any, ...]", data))
        case _:
            return data


def count_characters(data: Any) -> int:
    """Return how many characters the texts in a model or in data for JSON have together, at any depth."""
    total = 0
    uncounted: list[Any] = [data]
    while uncounted:
        item = uncounted.pop()
        kind = item.__class__
        if kind is str:
            total += len(item)
        elif kind is dict:
            uncounted += item.values()
        elif kind is list or kind is tuple:
            uncounted += item
        elif isinstance(item, Model):
            uncounted += item.__dict__.values()
    return total


def _skip_empty(value: Any) -> Any:
    """Return a value unchanged. For an empty one (null, "", [], {}, 0 or false), let pydantic use the default of the
    field."""
    if not value:
        raise PydanticUseDefault
    return value


EMPTY_IS_DEFAULT: Final = BeforeValidator(_skip_empty)
"""For a field that some clients send as null or empty when they mean to leave it out. It then has its default."""


DEFERRED: Final = ConfigDict(defer_build=True)
"""For a `TypeAdapter` of models: its validators are built when it is first used. Most servers never use most of
them."""


class Model(BaseModel):
    """The base of all models. A model is frozen and uses camelCase on the wire. Unknown fields are ignored, because a
    newer peer may send more than we know."""

    # The validators of a model are built when it is first used: most servers never use most models.
    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore", defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _replace_half_surrogates(cls, data: Any) -> Any:
        """Replace half surrogates in the data before it is parsed."""
        return replace_half_surrogates(data) if isinstance(data, dict) else data

    def as_json_object(self) -> dict[str, object]:
        """Return the model as data for JSON. Fields that are None are left out: for ECA, absent means "unchanged"."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class Empty(Model):
    """A model without fields: `{}` as the parameters of a method that has none. As a result it is written as null."""


class Done(Model):
    """The result of a request that returns no data: `{}`."""
