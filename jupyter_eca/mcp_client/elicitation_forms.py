"""A server's elicitation form as questions: one for each field, whose answers become values of the field's schema. It
asks nobody; `server_requests` does.

The schema is flat by the protocol: texts, numbers, yes or no, and choices. Knows no SDK and asks nobody.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from jupyter_eca.protocol.question import FieldKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Value = str | int | float | bool | list[str]

_KINDS: Final = {
    "string": FieldKind.TEXT,
    "number": FieldKind.NUMBER,
    "integer": FieldKind.INTEGER,
    "boolean": FieldKind.YES_OR_NO,
    "array": FieldKind.SEVERAL,
}
YES: Final = "Yes"
NO: Final = "No"


class _Schema(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel)


class _Option(_Schema):
    const: str
    title: str | None = None


class _Choice(_Schema):
    """A choice between texts, with titles or without."""

    enum: tuple[str, ...] = ()
    enum_names: tuple[str, ...] = ()
    one_of: tuple[_Option, ...] = ()
    any_of: tuple[_Option, ...] = ()

    @property
    def choices(self) -> dict[str, str]:
        """Return the values by their labels."""
        titled = {one.title or one.const: one.const for one in (*self.one_of, *self.any_of)}
        return titled | dict(zip(self.enum_names or self.enum, self.enum, strict=False))


class _Wanted(_Choice):
    """The schema of a field, as the protocol allows it."""

    type: Literal["string", "number", "integer", "boolean", "array"]
    title: str = ""
    description: str = ""
    default: str | bool | float | list[str] | None = None
    format: str = ""
    min_length: int = 0
    max_length: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_items: int = 0
    max_items: int | None = None
    items: _Choice | None = None


class _Form(_Schema):
    properties: dict[str, _Wanted] = Field(default_factory=dict[str, _Wanted])
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """The question for one field. `choices` are values by their labels. Without choices, and for `several`, the answer
    is typed."""

    name: str
    wanted: _Wanted
    required: bool
    choices: Mapping[str, str | bool]

    @property
    def several(self) -> bool:
        return self.wanted.type == "array"

    @property
    def words(self) -> str:
        notes = [] if self.required else ["optional"]
        if self.several:
            notes.append(f"several of {', '.join(self.choices)}, with commas between them")
        title = self.wanted.title or self.name
        shown = f"{title}: {self.wanted.description}" if self.wanted.description else title
        return f"{shown} ({'; '.join(notes)})" if notes else shown

    @property
    def default(self) -> str | None:
        """Return the default as the user would type it."""
        value = self.wanted.default
        if value is None:
            return None
        labels = [self._label(one) for one in (value if isinstance(value, list) else [value])]
        return ", ".join(labels)

    @property
    def kind(self) -> FieldKind:
        if self.choices and not self.several and self.wanted.type != "boolean":
            return FieldKind.ONE
        return _KINDS[self.wanted.type]

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        wanted = self.wanted
        match self.kind:
            case FieldKind.TEXT:
                return wanted.min_length or None, wanted.max_length
            case FieldKind.SEVERAL:
                return wanted.min_items or None, wanted.max_items
            case _:
                return wanted.minimum, wanted.maximum

    def _label(self, value: str | bool | float) -> str:
        whole = isinstance(value, float) and value.is_integer()
        shown = str(int(value) if whole else value)
        return next((label for label, one in self.choices.items() if one == value), shown)

    def read(self, answer: str) -> Value:
        """Parse an answer. Raises: ValueError that says what is expected."""
        if self.several:
            return self._several(answer)
        if self.choices:
            return self._choice(answer)
        return _READERS[self.wanted.type](answer.strip(), self.wanted)

    def _choice(self, answer: str) -> str | bool:
        wanted = answer.strip().casefold()
        for label, value in self.choices.items():
            if wanted in {label.casefold(), str(value).casefold()}:
                return value
        raise ValueError(f"It must be one of {', '.join(self.choices)}.")

    def _several(self, answer: str) -> list[str]:
        found = list(dict.fromkeys(str(self._choice(part)) for part in answer.split(",") if part.strip()))
        least, most = self.wanted.min_items, self.wanted.max_items
        if len(found) < least or (most is not None and len(found) > most):
            raise ValueError(f"It must be {_range(least, most)} of them.")
        return found


def questions(schema: Mapping[str, Any]) -> tuple[FormQuestion, ...]:
    """Return the questions of a form. Raises: ValueError for a schema that the protocol does not allow in a form."""
    try:
        form = _Form.model_validate(schema)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return tuple(FormQuestion(name, one, name in form.required, _choices(one)) for name, one in form.properties.items())


def _choices(wanted: _Wanted) -> Mapping[str, str | bool]:
    if wanted.type == "boolean":
        return {YES: True, NO: False}
    return wanted.items.choices if wanted.items is not None else wanted.choices


def _text(answer: str, wanted: _Wanted) -> str:
    least, most = wanted.min_length, wanted.max_length
    if len(answer) < least or (most is not None and len(answer) > most):
        raise ValueError(f"It must have {_range(least, most)} characters.")
    if wanted.format in _FORMATS and not _FORMATS[wanted.format](answer):
        raise ValueError(f"It must be a {wanted.format}.")
    return answer


def _integer(answer: str, wanted: _Wanted) -> int:
    with suppress(ValueError):
        if _within(value := int(answer), wanted):
            return value
    raise ValueError(f"It must be a whole number {_range(wanted.minimum, wanted.maximum)}".strip() + ".")


def _number(answer: str, wanted: _Wanted) -> float:
    with suppress(ValueError):
        if _within(value := float(answer), wanted):
            return value
    raise ValueError(f"It must be a number {_range(wanted.minimum, wanted.maximum)}".strip() + ".")


def _within(value: float, wanted: _Wanted) -> bool:
    least, most = wanted.minimum, wanted.maximum
    return isfinite(value) and (least is None or value >= least) and (most is None or value <= most)


def _range(least: float | None, most: float | None) -> str:
    parts = (f"at least {least:g}" if least else "", f"at most {most:g}" if most is not None else "")
    return " and ".join(filter(None, parts))


def _is_date(read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(answer: str) -> bool:
        with suppress(ValueError):
            read(answer)
            return True
        return False

    return check


_READERS: Final[Mapping[str, Callable[[str, _Wanted], Value]]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
}
_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "email": lambda answer: bool(re.fullmatch(r"[^@\s]+@[^@\s]+", answer)),
    "uri": lambda answer: bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", answer)),
    "date": _is_date(date.fromisoformat),
    "date-time": _is_date(datetime.fromisoformat),
}
