"""What `@frozen` makes: a dataclass like any other, except for the memory."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from jupyter_eca.frozen import frozen


@frozen
class Place:
    name: str
    """The name."""
    line: int = 1
    key: str = field(default="secret", repr=False)
    seen: list[str] = field(default_factory=list[str], compare=False)


@frozen
class Nothing:
    """No fields."""


@frozen
class OtherNothing:
    """No fields either."""


@frozen
class Room(Place):
    floor: int = 0


@frozen
class Case:
    word: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Case) and self.word.lower() == other.word.lower()

    def __repr__(self) -> str:
        return "a case"


@frozen
class Ring:
    inside: list[Ring]


def test_objects_with_equal_values_are_equal_and_have_one_hash() -> None:
    assert Place("a", seen=["x"]) == Place("a")
    assert Place("a") != Place("a", 2)
    assert len({Place("a"), Place("a"), Place("b")}) == 2
    assert hash(Place("a")) == hash(Place("a"))


def test_objects_of_two_classes_are_never_equal() -> None:
    assert Nothing() == Nothing()
    assert Nothing() != OtherNothing()
    assert Place("a") != Room("a")
    assert Place("a") != "a"


def test_nothing_can_be_set_or_deleted() -> None:
    place = Place("a")
    with pytest.raises(FrozenInstanceError):
        place.name = "b"  # pyright: ignore[reportAttributeAccessIssue]  # that is what is refused
    with pytest.raises(FrozenInstanceError):
        del place.name  # pyright: ignore[reportAttributeAccessIssue]  # that is what is refused
    with pytest.raises(FrozenInstanceError):
        place.unknown = 1  # pyright: ignore[reportAttributeAccessIssue]  # that is what is refused
    assert not hasattr(place, "__dict__")
    assert place.name == "a"


def test_it_is_shown_as_a_dataclass_without_the_fields_that_are_not_shown() -> None:
    assert repr(Place("a", 2)) == "Place(name='a', line=2, seen=[])"
    assert repr(Nothing()) == "Nothing()"
    ring = Ring([])
    ring.inside.append(ring)
    assert repr(ring) == "Ring(inside=[...])"


def test_a_method_of_the_class_itself_is_kept() -> None:
    assert Case("a") == Case("A")
    assert repr(Case("a")) == "a case"


def test_python_treats_it_as_a_dataclass() -> None:
    place = Place("a", 2)
    assert replace(place, line=3) == Place("a", 3)
    assert [found.name for found in fields(place)] == ["name", "line", "key", "seen"]
    assert asdict(Room("a", floor=4))["floor"] == 4
    assert copy.copy(place) == place
    assert copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place  # noqa: S301  # our own bytes
    match place:
        case Place(name, line):
            assert (name, line) == ("a", 2)


def test_classes_share_the_methods_that_python_would_make_for_each() -> None:
    """This is what saves memory, and `dataclass` may not take it back."""
    for name in ("__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__"):
        assert getattr(Place, name) is getattr(Nothing, name) is getattr(Room, name)

    @dataclass(frozen=True, slots=True)
    class Usual:
        name: str

    assert Usual.__eq__ is not Place.__eq__
