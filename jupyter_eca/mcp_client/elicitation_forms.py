"""Converts the form of an elicitation to questions, one for each field, and parses the answers. An elicitation is a
question that an MCP server has for the user during a call.

A form is a JSON schema. MCP allows only a flat one: its fields are texts, numbers, yes or no, and choices. The module
must not ask the user, which `server_requests.py` does, and must not know the SDK.
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

# The kind of a field, by its type in the JSON schema.
_KINDS: Final = {
    "string": FieldKind.TEXT,
    "number": FieldKind.NUMBER,
    "integer": FieldKind.INTEGER,
    "boolean": FieldKind.YES_OR_NO,
    "array": FieldKind.SEVERAL,
}
# The name or title of a field whose value is a secret. The protocol forbids such fields, and programs have them anyway.
_SECRET_NAME: Final = re.compile(r"passw|passphrase|passcode|secret|token|api[ _-]?key|credential", re.IGNORECASE)
# What is shown in place of a secret.
_HIDDEN: Final = "(not kept)"

# The labels of the two answers to a yes-or-no field.
YES: Final = "Yes"
NO: Final = "No"


class _Schema(BaseModel):
    """A part of the JSON schema. The names of the fields are those of JSON schema, in camelCase on the wire."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel)


class _Option(_Schema):
    """One option of a choice: its value, and a title for the user."""

    const: str
    title: str | None = None


class _Choice(_Schema):
    """A choice between texts. The protocol has several ways to write it, with titles and without: `enum` with
    `enumNames`, `oneOf`, and `anyOf`."""

    enum: tuple[str, ...] = ()
    enum_names: tuple[str, ...] = ()
    one_of: tuple[_Option, ...] = ()
    any_of: tuple[_Option, ...] = ()

    @property
    def choices(self) -> dict[str, str]:
        """The values by their labels. A label is the title, or the value where there is no title."""
        titled = {option.title or option.const: option.const for option in (*self.one_of, *self.any_of)}
        return titled | dict(zip(self.enum_names or self.enum, self.enum, strict=False))


class _FieldSchema(_Choice):
    """The schema of one field, as far as MCP allows it. `items` are the choices of an array."""

    type: Literal["string", "number", "integer", "boolean", "array"]
    title: str = ""
    description: str = ""
    default: str | bool | float | list[str] | None = None
    format: str = ""
    write_only: bool = False
    min_length: int = 0
    max_length: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_items: int = 0
    max_items: int | None = None
    items: _Choice | None = None


class _Form(_Schema):
    """The schema of a form: its fields, and the names of those that are required."""

    properties: dict[str, _FieldSchema] = Field(default_factory=dict[str, _FieldSchema])
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """The question for one field. The user chooses one of the choices. Where there are none, or where several may be
    chosen, the user types the answer."""

    name: str
    """The name of the field."""
    schema: _FieldSchema
    """The schema of the field."""
    required: bool
    """Whether the form cannot be sent without this field."""
    choices: Mapping[str, str | bool]
    """The values by their labels."""

    @property
    def is_multiple(self) -> bool:
        """Whether several choices may be chosen."""
        return self.schema.type == "array"

    @property
    def is_secret(self) -> bool:
        """Whether the value is a secret, which must not be shown or stored."""
        named = any(_SECRET_NAME.search(text) for text in (self.name, self.schema.title))
        return self.schema.format == "password" or self.schema.write_only or named

    @property
    def text(self) -> str:
        """The text of the question."""
        notes = [] if self.required else ["optional"]
        if self.is_multiple:
            notes.append(f"several of {', '.join(self.choices)}, with commas between them")
        title = self.schema.title or self.name
        shown = f"{title}: {self.schema.description}" if self.schema.description else title
        return f"{shown} ({'; '.join(notes)})" if notes else shown

    @property
    def default(self) -> str | None:
        """The default value as the user would type it; None when there is none."""
        value = self.schema.default
        if value is None:
            return None
        return self._format(value)

    @property
    def kind(self) -> FieldKind:
        """The kind of the field, for a client that draws it."""
        if self.choices and not self.is_multiple and self.schema.type != "boolean":
            return FieldKind.ONE
        return _KINDS[self.schema.type]

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """The smallest and the largest value, length or number of choices, according to the kind; None for no limit."""
        schema = self.schema
        match self.kind:
            case FieldKind.TEXT:
                return schema.min_length or None, schema.max_length
            case FieldKind.SEVERAL:
                return schema.min_items or None, schema.max_items
            case _:
                return schema.minimum, schema.maximum

    def describe(self, value: Value | None) -> str:
        """Return a value that the user has given, in words, to keep it. None is a field that was left out. A secret is
        not in the words."""
        if value is None:
            return "(left out)"
        return _HIDDEN if self.is_secret else self._format(value)

    def _format(self, value: Value) -> str:
        """Return a value as the user would type it."""
        return ", ".join(self._find_label(item) for item in (value if isinstance(value, list) else [value]))

    def _find_label(self, value: str | bool | float) -> str:
        """Return the label of a value; for a value that is no choice, the value as text."""
        is_whole = isinstance(value, float) and value.is_integer()
        text = str(int(value) if is_whole else value)
        return next((label for label, choice in self.choices.items() if choice == value), text)

    def parse_answer(self, answer: str) -> Value:
        """Parse an answer of the user.

        Raises: ValueError with a message that says what is expected.
        """
        if self.is_multiple:
            return self._read_multiple(answer)
        if self.choices:
            return self._read_choice(answer)
        return _READERS[self.schema.type](answer.strip(), self.schema)

    def _read_choice(self, answer: str) -> str | bool:
        """Return the value that the answer names by its label or by itself. Upper and lower case do not matter."""
        folded = answer.strip().casefold()
        for label, value in self.choices.items():
            if folded in {label.casefold(), str(value).casefold()}:
                return value
        raise ValueError(f"It must be one of {', '.join(self.choices)}.")

    def _read_multiple(self, answer: str) -> list[str]:
        """Return the values in an answer such as `red, blue`, each once."""
        found = list(dict.fromkeys(str(self._read_choice(part)) for part in answer.split(",") if part.strip()))
        least, most = self.schema.min_items, self.schema.max_items
        if len(found) < least or (most is not None and len(found) > most):
            raise ValueError(f"It must be {_format_range(least or None, most)} of them.")
        return found


def parse_form(schema: Mapping[str, Any]) -> tuple[FormQuestion, ...]:
    """Return the questions of a form.

    Raises: ValueError for a schema that MCP does not allow in a form.
    """
    try:
        form = _Form.model_validate(schema)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return tuple(
        FormQuestion(name, field, name in form.required, _list_choices(field))
        for name, field in form.properties.items()
    )


def _list_choices(schema: _FieldSchema) -> Mapping[str, str | bool]:
    """Return the choices of a field: the values by their labels. `items` has those of an array."""
    if schema.type == "boolean":
        return {YES: True, NO: False}
    return schema.items.choices if schema.items is not None else schema.choices


def _read_text(answer: str, schema: _FieldSchema) -> str:
    """Return the answer, if its length and its format fit. Raises: ValueError."""
    least, most = schema.min_length, schema.max_length
    if len(answer) < least or (most is not None and len(answer) > most):
        raise ValueError(f"It must have {_format_range(least or None, most)} characters.")
    if schema.format in _FORMATS and not _FORMATS[schema.format](answer):
        raise ValueError(f"It must be a {schema.format}.")
    return answer


def _read_integer(answer: str, schema: _FieldSchema) -> int:
    """Parse a whole number. Raises: ValueError."""
    with suppress(ValueError):
        if _is_in_range(value := int(answer), schema):
            return value
    raise ValueError(f"It must be a whole number {_format_range(schema.minimum, schema.maximum)}".strip() + ".")


def _read_number(answer: str, schema: _FieldSchema) -> float:
    """Parse a number. Raises: ValueError."""
    with suppress(ValueError):
        if _is_in_range(value := float(answer), schema):
            return value
    raise ValueError(f"It must be a number {_format_range(schema.minimum, schema.maximum)}".strip() + ".")


def _is_in_range(value: float, schema: _FieldSchema) -> bool:
    """Return whether a number is finite, and within the bounds of the field."""
    least, most = schema.minimum, schema.maximum
    return isfinite(value) and (least is None or value >= least) and (most is None or value <= most)


def _format_range(least: float | None, most: float | None) -> str:
    """Return the bounds in words, such as `at least 1 and at most 3`; empty when there are none."""
    parts = (f"at least {least:g}" if least is not None else "", f"at most {most:g}" if most is not None else "")
    return " and ".join(filter(None, parts))


def _make_date_check(read: Callable[[str], object]) -> Callable[[str], bool]:
    """Return a check for `_FORMATS`: it returns whether `read`, which parses a date, accepts an answer."""

    def check(answer: str) -> bool:
        """Return whether `read` accepts the answer."""
        with suppress(ValueError):
            read(answer)
            return True
        return False

    return check


# The functions that parse a typed answer, by the type of the field in the JSON schema.
_READERS: Final[Mapping[str, Callable[[str, _FieldSchema], Value]]] = {
    "string": _read_text,
    "integer": _read_integer,
    "number": _read_number,
}
# The functions that check a text, by the `format` of the field in the JSON schema.
_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "email": lambda answer: bool(re.fullmatch(r"[^@\s]+@[^@\s]+", answer)),
    "uri": lambda answer: bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", answer)),
    "date": _make_date_check(date.fromisoformat),
    "date-time": _make_date_check(datetime.fromisoformat),
}
