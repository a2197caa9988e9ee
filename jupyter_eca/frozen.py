"""Owns `@frozen`, which makes a class a frozen dataclass with slots that needs little memory.

It is `@dataclass(frozen=True, slots=True)`, except that the classes share their methods `__repr__`, `__eq__` and the
like. Python compiles these methods for each class, and some of them keep the class without slots, of which Python has
made a copy. That takes 13 KiB for a class with four fields, and 5 KiB with shared methods. A server has more than two
hundred of these classes as soon as one panel is connected.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

_T = TypeVar("_T")

# The attribute of a class with the function that returns the values of its fields which are compared.
_GET_VALUES = "__compared_values__"


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T], /) -> type[_T]:
    """Make a class a frozen dataclass with slots. Methods that the class defines itself are kept."""
    # Python sets `__hash__` to None in a class that only defines `__eq__`.
    own = {name for name, value in vars(cls).items() if value is not None}
    made: Any = dataclass(frozen=True, slots=True, repr=False, eq=False)(cls)
    compared = [field.name for field in fields(made) if field.compare]
    # Without a name, `attrgetter` raises an error. All objects of a class without fields are equal.
    setattr(made, _GET_VALUES, attrgetter(*compared or ("__class__",)))
    for name, method in _SHARED_METHODS.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _equals(self: Any, other: object) -> bool:
    """Return whether both are of the same class and have equal values."""
    if other.__class__ is not self.__class__:
        return NotImplemented
    get_values = self.__compared_values__
    return get_values(self) == get_values(other)


def _hash(self: Any) -> int:
    """Return the hash of all values."""
    return hash(self.__compared_values__(self))


@recursive_repr()
def _represent(self: Any) -> str:
    """Return the class with its fields, as for a dataclass."""
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    """Raise the error of a frozen dataclass."""
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    """Raise the error of a frozen dataclass."""
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_SHARED_METHODS = {
    "__eq__": _equals,
    "__hash__": _hash,
    "__repr__": _represent,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
}
