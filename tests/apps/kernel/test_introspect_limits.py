"""What looking at variables may cost, whatever code of the user's is behind them."""

from __future__ import annotations

import base64
import importlib
import json
import signal
import threading
import tracemalloc
from time import perf_counter, sleep
from typing import Any, NoReturn

import pytest

from jupyter_eca.workspace.kernels.introspect import MAX_SHOWN, MAX_VARIABLES, SAMPLE_CHARS, describe


def told(*names: str, **namespace: object) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(describe(namespace, list(names), set()))["variables"]}


class Endless:
    def __repr__(self) -> str:
        while True:
            pass


class Waiting:
    @property
    def shape(self) -> NoReturn:
        while True:
            sleep(100)


class Uncatching:
    """Takes every Exception for its own."""

    def __len__(self) -> int:
        while True:
            try:
                sleep(0.01)
            except Exception:  # noqa: BLE001
                return 1


@pytest.mark.parametrize("value", [Endless(), Waiting(), Uncatching(), [Endless()]], ids=lambda one: type(one).__name__)
def test_what_never_answers_is_given_up_and_hides_no_other(value: object) -> None:
    began = perf_counter()
    found = told(slow=value, n=1)
    assert perf_counter() - began < 1
    assert found["slow"]["preview"] == "(not all of it is told: it takes more than 200 ms)"
    assert found["n"]["preview"] == "1"


def test_many_that_never_answer_take_a_second_together() -> None:
    began = perf_counter()
    found = told(**{f"slow{number}": Endless() for number in range(100)})
    assert perf_counter() - began < 3
    assert len(found) == 100


def test_an_alarm_of_the_users_own_is_left_as_it_was() -> None:
    rung: list[int] = []

    def ring(_number: int, _frame: object) -> None:
        rung.append(1)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        told(a=Endless())
        assert rung == []
        signal.raise_signal(signal.SIGALRM)
        assert rung == [1]
        signal.setitimer(signal.ITIMER_REAL, 100)
        assert "preview" not in told(a=Endless())["a"]
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 90
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_where_nothing_can_be_ended_no_code_of_the_users_is_run() -> None:
    found: dict[str, dict[str, Any]] = {}
    other = threading.Thread(target=lambda: found.update(told(a=Endless(), b="text", n=3)))
    other.start()
    other.join(5)
    assert [found[name].get("preview") for name in "abn"] == [None, "'text'", "3"]
    assert found["a"]["type"].endswith(".Endless")


def test_of_very_many_the_first_are_told_in_full_and_the_last_only_counted() -> None:
    space = {f"x{number}": [number] for number in range(MAX_VARIABLES + 7)}
    answer = json.loads(describe(space, [], set()))
    assert (len(answer["variables"]), answer["left_out"]) == (MAX_VARIABLES, 7)
    assert "preview" in answer["variables"][MAX_SHOWN - 1]
    assert answer["variables"][MAX_SHOWN] == {"name": f"x{MAX_SHOWN}", "type": "list"}


def test_what_was_named_is_told_with_its_memory_and_more_of_its_value() -> None:
    text = told("text", text="y" * 5000)["text"]
    assert (text["length"], len(text["sample"])) == (5000, SAMPLE_CHARS)
    assert text["memory"] > 5000
    assert "sample" not in told(text="y" * 5000)["text"]
    settings = told("d", d={"lr": 0.1, "layers": [1, 2], "net": Endless})["d"]
    assert settings["sample"].startswith("'lr': float 0.1\n'layers': list [1, 2]\n")


def test_a_frame_of_pandas_is_told_with_its_memory_and_an_array_with_its_type() -> None:
    pandas: Any = importlib.import_module("pandas")  # half a second, and it ships no types
    frame = pandas.DataFrame({"a": range(1000)})
    space = {"frame": frame, "column": frame["a"], "array": frame["a"].to_numpy()}
    found = told(*space, **space)
    assert found["frame"]["memory"] >= 8000
    assert [found[name]["dtype"] for name in ("column", "array")] == ["int64", "int64"]
    assert found["array"]["shape"] == [1000]
    assert found["array"]["memory"] == 8000


def test_a_frame_of_a_hundred_million_rows_is_told_at_once_and_not_copied() -> None:
    numpy, pandas = (importlib.import_module(name) for name in ("numpy", "pandas"))
    rows, words = 10**8, numpy.array("word", dtype=object)  # one value each, seen as many
    numbers = pandas.DataFrame(numpy.broadcast_to(1.5, (rows, 3)), columns=["a", "b", "c"], copy=False)
    texts = pandas.DataFrame(numpy.broadcast_to(words, (rows, 1)), columns=["word"], dtype=object, copy=False)
    space = {"numbers": numbers, "texts": texts, "column": numbers["a"]}
    told(*space, frame=numbers.head())  # what is imported on the way
    tracemalloc.start()
    began = perf_counter()
    found = told(*space, **space)
    took, (_, most) = perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [found[name]["shape"] for name in space] == [[rows, 3], [rows, 1], [rows]]
    assert took < 1
    assert most < 10_000_000


def test_a_table_of_arrow_is_told_by_its_schema() -> None:
    class Field:
        name, type = "city", "string"

    class Table:
        shape = (10**8, 1)
        schema = (Field,)

        def slice(self, start: int, length: int) -> Table:
            assert (start, length) == (0, 5)
            return self

        def to_pydict(self) -> dict[str, list[str]]:
            return {"city": ["Lyon"]}

    Table.__module__ = "pyarrow.lib"
    found = told(table=Table())["table"]
    assert found["columns"] == [{"name": "city", "dtype": "string"}]
    assert found["sample"] == "{'city': ['Lyon']}"


def test_what_would_be_computed_is_not_touched() -> None:
    class Frame:
        def __getattr__(self, name: str) -> NoReturn:
            raise AssertionError(name)

    Frame.__module__ = "pyspark.sql"
    assert told("f", f=Frame())["f"]["preview"] == "(computed only when it is asked for)"


def test_what_draws_itself_is_shown_when_it_is_named() -> None:
    class Picture:
        def _repr_png_(self) -> bytes:
            return b"\x89PNG"

    assert base64.b64decode(told("p", p=Picture())["p"]["image"]) == b"\x89PNG"
    assert "image" not in told(p=Picture())["p"]


def test_an_error_that_cannot_be_told_hides_no_other() -> None:
    class Worse(Exception):
        def __str__(self) -> str:
            raise ValueError

    class Bad:
        @property
        def shape(self) -> NoReturn:
            raise Worse

    found = told(bad=Bad(), n=1)
    assert found["bad"]["preview"] == "(cannot be shown: Worse)"
    assert found["n"]["preview"] == "1"
