"""What a model is told of variables."""

from __future__ import annotations

import importlib
import json
import types
from collections import Counter, OrderedDict, deque
from typing import Any

import pytest

from jupyter_eca.workspace.kernels.introspect import MAX_VARIABLES, PREVIEW_CHARS, SAMPLE_CHARS, describe


def about(value: object) -> dict[str, Any]:
    (variable,) = json.loads(describe({"x": value}, [], set()))["variables"]
    return variable


class Table:
    """As much of a data frame as matters here, of pandas' manners: columns and dtypes go together."""

    shape = (1000, 2)
    columns = ("city", 1)
    dtypes = ("object", "int64")

    def head(self, rows: int) -> str:
        return f"{rows} rows\n" + "y" * 10_000

    def __repr__(self) -> str:
        raise AssertionError("a whole table is never printed")


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no repr")


class Watched:
    """Counts how often it is compared or printed."""

    looks = 0

    def __lt__(self, other: object) -> bool:
        Watched.looks += 1
        return id(self) < id(other)

    def __repr__(self) -> str:
        Watched.looks += 1
        return "w"


def test_a_table_is_told_by_its_columns_and_first_rows() -> None:
    told = about(Table())
    assert told["shape"] == [1000, 2]
    assert told["columns"] == [{"name": "city", "dtype": "object"}, {"name": "1", "dtype": "int64"}]
    assert told["sample"].startswith("5 rows\ny")
    assert len(told["sample"]) == SAMPLE_CHARS
    assert "preview" not in told


def test_a_pandas_frame_is_told_by_its_columns_and_first_rows() -> None:
    pandas: Any = importlib.import_module("pandas")  # half a second, and it ships no types
    told = about(pandas.DataFrame({"a": range(1000), "b": "x"}))
    assert (told["type"], told["shape"], [c["name"] for c in told["columns"]]) == (
        "pandas.DataFrame",
        [1000, 2],
        ["a", "b"],
    )


def test_of_a_numpy_array_the_first_and_the_last_items_are_told() -> None:
    numpy: Any = importlib.import_module("numpy")
    namespace = {"x": numpy.arange(100.0)}
    (told,) = json.loads(describe(namespace, [], set()))["variables"]
    assert told["preview"].startswith("array([ 0.,  1.,  2., ..., 97., 98., 99.]")
    assert "50." in repr(namespace["x"])


def test_an_array_is_told_by_its_shape() -> None:
    class Array:
        shape = (3, 4)

        def __repr__(self) -> str:
            return "array(...)"

    told = about(Array())
    assert (told["shape"], told["preview"]) == ([3, 4], "array(...)")


def test_a_shape_that_is_yet_to_be_computed_computes_nothing() -> None:
    class Lazy:
        shape = (object(), 4)

        def __len__(self) -> int:
            raise AssertionError("this would take an hour")

    assert about(Lazy()).keys() == {"name", "type", "preview"}


@pytest.mark.parametrize(
    ("value", "kind", "length", "preview"),
    [
        (5, "int", None, "5"),
        ("hi", "str", 2, "'hi'"),
        ([1, 2], "list", 2, "[1, 2]"),
        ({"b": 1, "a": 2}, "dict", 2, "{'b': 1, 'a': 2}"),
        (Counter("aab"), "collections.Counter", 2, "{'a': 2, 'b': 1}"),
        (b"abc", "bytes", 3, "b'abc'"),
        (None, "NoneType", None, "None"),
    ],
)
def test_a_plain_value_is_told_by_type_length_and_repr(
    value: object, kind: str, length: int | None, preview: str
) -> None:
    told = about(value)
    assert (told["type"], told.get("length"), told["preview"]) == (kind, length, preview)


@pytest.mark.parametrize(
    "value",
    [
        [Watched() for _ in range(2000)],
        tuple(Watched() for _ in range(2000)),
        {Watched(): 1 for _ in range(2000)},
        {Watched() for _ in range(2000)},
        frozenset(Watched() for _ in range(2000)),
        deque(Watched() for _ in range(2000)),
        OrderedDict((Watched(), 1) for _ in range(2000)),
        Counter(Watched() for _ in range(2000)),
        [{Watched(): 1 for _ in range(2000)}],
    ],
    ids=lambda value: type(value).__name__,
)
def test_of_a_huge_container_only_the_first_items_are_looked_at(value: object) -> None:
    Watched.looks = 0
    assert len(about(value)["preview"]) <= PREVIEW_CHARS
    assert 0 < Watched.looks < 100


def test_a_dictionary_keeps_its_own_order() -> None:
    assert about({"b": {"d": 1, "c": {}}, "a": 2})["preview"] == "{'b': {'d': 1, 'c': {}}, 'a': 2}"


@pytest.mark.parametrize("value", ["y" * 10**7, b"y" * 10**7, bytearray(10**7), [["y" * 10**6] * 9] * 9, Broken])
def test_a_preview_is_short(value: object) -> None:
    assert len(about(value)["preview"]) <= PREVIEW_CHARS


def test_a_value_that_cannot_be_shown_says_why_and_hides_no_other() -> None:
    class Endless(list[int]):
        def __len__(self) -> int:
            raise ValueError("no length")

    told = json.loads(describe({"broken": Broken(), "endless": Endless(), "good": 1}, [], set()))["variables"]
    broken, endless, good = (v["preview"] for v in told)
    assert broken.startswith("<Broken instance at")
    assert (endless, good) == ("(cannot be shown: ValueError: no length)", "1")


def test_only_what_the_user_made_is_told() -> None:
    names: dict[str, object] = {
        "x": 1,
        "_y": 2,
        "__eca__": 3,
        "json": json,
        "Out": {},
        "f": len,
        "m": types.ModuleType("m"),
    }
    told = json.loads(describe(names, [], {"Out"}))
    assert [v["name"] for v in told["variables"]] == ["x", "f"]


def test_names_that_were_asked_for_are_told_or_missed() -> None:
    told = json.loads(describe({"x": 1, "_y": 2, "z": 3}, ["z", "nope", "_y"], set()))
    assert [v["name"] for v in told["variables"]] == ["z", "_y"]
    assert told["missing"] == ["nope"]


def test_there_is_an_end_to_many_variables() -> None:
    told = json.loads(describe({f"x{i}": i for i in range(MAX_VARIABLES + 5)}, [], set()))
    assert len(told["variables"]) == MAX_VARIABLES


def test_a_function_is_told_by_its_signature_and_what_it_is_for() -> None:
    def share(frame: int, column: str = "a") -> float:
        """The share of each value.

        More of it.
        """
        return len(column) / frame

    assert about(share)["preview"] == "share(frame: 'int', column: 'str' = 'a') -> 'float': The share of each value."
