"""What the profile of a table or an array says, and what it may cost."""

from __future__ import annotations

import importlib
import json
import re
from typing import Any

import pytest

from jupyter_eca.config.schema import VariableDetail, VariablesConfig
from jupyter_eca.protocol.notebook import Variable
from jupyter_eca.workspace.kernels import introspect, profile
from jupyter_eca.workspace.kernels.introspect import describe
from jupyter_eca.workspace.reading import variable_text

# Each column has something that the first rows hide.
COLUMNS: dict[str, list[Any]] = {
    "sensor": [float(number) for number in range(90)] + [-9999.0] * 8 + [None] * 2,
    "status": ["OK"] * 80 + ["ok"] * 15 + [None] * 5,
    "constant": [1] * 100,
    "comment": [f"log {number}" for number in range(100)],
}
LINES = [
    ("sensor", "2% null, -9999 8%, others 0..89, mean 44.5"),
    ("status", "5% null, 2 values: 'OK' 80%, 'ok' 15%"),
    ("constant", "constant 1"),
    ("comment", "all different, e.g. 'log 0'"),
]


@pytest.fixture(autouse=True)
def have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the limits of time, because the machine may be busy. The first tables also import parts of pandas."""
    monkeypatch.setattr(introspect, "LIMIT_S", 60)
    monkeypatch.setattr(introspect, "PROFILE_S", 60)
    monkeypatch.setattr(profile, "DEADLINE_S", 60)


def describe_named(value: object) -> dict[str, Any]:
    (variable,) = json.loads(describe({"x": value}, ["x"], set(), profile.profile))["variables"]
    return variable


def read_lines(value: object) -> list[str]:
    return describe_named(value)["profile"].splitlines()


def make_frame(library: str) -> Any:
    module: Any = pytest.importorskip(library, reason=f"{library} is installed for the nightly tests only")
    return module.table(COLUMNS) if library == "pyarrow" else module.DataFrame(COLUMNS)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_each_column_of_a_table_has_a_line_and_three_rows_follow(library: str) -> None:
    lines = read_lines(make_frame(library))
    for line, (name, text) in zip(lines, LINES, strict=False):
        assert line.startswith(f"{name} ")
        assert line.endswith(f", {text}")
    assert lines[4:] == ["row 1: 0, 'OK', 1, 'log 0'", "row 2: 1, 'OK', 1, 'log 1'", "row 3: 2, 'OK', 1, 'log 2'"]


def test_a_column_without_values_and_a_table_without_rows_are_named() -> None:
    pandas: Any = importlib.import_module("pandas")
    assert read_lines(pandas.DataFrame({"e": [None] * 9}, dtype="float64"))[0] == "e float64, all null"
    assert read_lines(pandas.DataFrame({"n": []}, dtype="int64")) == ["n int64, no rows"]


def test_unusual_tables_have_a_profile_too() -> None:
    pandas: Any = importlib.import_module("pandas")
    twice = pandas.DataFrame([[1, [2]], [3, [4]]], columns=["a", "a"])
    assert read_lines(twice)[:2] == ["a int64, 2 values: 1 50%, 3 50%", "a object, e.g. [2]"]
    dates = pandas.DataFrame({"d": pandas.date_range("2024-01-01", periods=31)})
    assert read_lines(dates)[0].endswith(", 2024-01-01..2024-01-31")
    missing = pandas.DataFrame({"i": pandas.array([1, None, 2], dtype="Int64")})
    assert read_lines(missing)[0] == "i Int64, 33% null, 2 values: 1 33%, 2 33%"


def test_a_large_table_is_looked_at_in_rows_that_are_spread_over_it() -> None:
    pandas: Any = importlib.import_module("pandas")
    lines = read_lines(pandas.DataFrame({"n": range(200_000)}))
    assert re.fullmatch(r"n int64, \d\.\.19999\d, mean (99|100)\d\d\d(\.\d+)?", lines[0])
    assert lines[1] == "[1 row of 10 was looked at: 20,000 of 200,000]"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_values_that_alternate_do_not_seem_constant_in_a_large_table(library: str) -> None:
    module: Any = pytest.importorskip(library, reason=f"{library} is installed for the nightly tests only")
    values = [0, 1] * 50_000
    match library:
        case "numpy":
            table = module.array(values)
        case "pyarrow":
            table = module.table({"n": values})
        case _:
            table = module.DataFrame({"n": values})
    assert re.search(r", 2 values: [01] 5\d%, [01] (50|4\d)%", read_lines(table)[0])


def test_of_two_million_rows_few_are_looked_at() -> None:
    numpy: Any = importlib.import_module("numpy")
    pandas: Any = importlib.import_module("pandas")
    rows = 2_000_000
    numbers = numpy.arange(rows, dtype="int32")
    columns: dict[str, Any] = {f"n{place}": numbers % (1_000 + place) for place in range(9)}
    columns["share"] = (numbers / rows).astype("float32")
    columns["day"] = pandas.to_datetime(numbers % 365, unit="D")
    columns["status"] = numpy.array(["OK", "ok"], dtype=object)[numbers % 2]
    lines = read_lines(pandas.DataFrame(columns))
    assert [line.split(" ")[0] for line in lines[:12]] == list(columns)
    assert all("," in line for line in lines[:12])
    assert lines[12] == "[1 row of 100 was looked at: 20,000 of 2,000,000]"


def test_the_profile_of_a_wide_table_has_a_limit() -> None:
    pandas: Any = importlib.import_module("pandas")
    described = describe_named(pandas.DataFrame({f"column {number}": ["text " * 50] * 5 for number in range(80)}))
    assert "[30 more columns]" in described["profile"]
    assert len(described["profile"]) < profile.MAX_CHARS + profile.FIRST_ROWS * profile.ROW_CHARS + 100


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_when_the_time_is_over_the_other_columns_have_their_type_only_and_the_first_rows_have_all_columns(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "DEADLINE_S", 0)
    lines = read_lines(make_frame(library))
    assert [line.split(" ")[0] for line in lines[:4]] == ["sensor", "status", "constant", "comment"]
    assert not any("," in line for line in lines[:4])
    assert lines[4] == "row 1: 0, 'OK', 1, 'log 0'"


def test_a_column_whose_values_cannot_be_compared_does_not_take_the_other_columns_with_it() -> None:
    pandas: Any = importlib.import_module("pandas")
    mixed = [pandas.Timestamp(f"2024-01-0{number + 1}", tz="UTC" if number % 2 else None) for number in range(9)]
    table = pandas.DataFrame({"z": [complex(number, 1) for number in range(9)], "t": mixed, "n": range(9)})
    described = describe_named(table)
    assert described["profile"].splitlines()[:4] == [
        "z complex128, cannot be described: TypeError",
        "t object, cannot be described: TypeError",
        "n int64, 0..8, mean 4",
        "row 1: 1j, 2024-01-01, 0",
    ]
    assert "sample" not in described


def test_a_column_that_cannot_be_read_has_its_type_and_the_first_rows_stay_as_they_were() -> None:
    class Closed:
        """A column that is not there any more."""

        dtype = "int64"

        @property
        def iloc(self) -> Any:
            raise OSError("the file is closed")

    class Table:
        shape = (1, 2)
        schema = column_names = columns = dtypes = ("a", "b")

        def head(self, rows: int) -> str:
            return f"{rows} rows"

        def column(self, place: int) -> Any:
            pandas: Any = importlib.import_module("pandas")
            return pandas.Series([7]) if place else Closed()

    described = describe_named(Table())
    assert described["profile"].splitlines()[:2] == ["a int64", "b int64, constant 7"]
    assert "the file is closed" in described["profile"]
    assert described["sample"] == "5 rows"
    lines = variable_text.describe(Variable.model_validate(described), VariablesConfig(table=VariableDetail.FULL))
    assert "5 rows" in lines
    assert any(line.startswith("columns: a: ") for line in lines)


def test_a_profile_that_takes_too_long_ends_and_keeps_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(introspect, "PROFILE_S", 0.05)

    class Slow:
        """A column that never answers."""

        dtype = "int64"

        @property
        def iloc(self) -> Any:
            while True:
                pass

    class Table:
        shape = (1, 2)
        schema = column_names = columns = dtypes = ("a", "b")

        def head(self, rows: int) -> str:
            return f"{rows} rows"

        def column(self, place: int) -> Any:
            pandas: Any = importlib.import_module("pandas")
            return Slow() if place else pandas.Series([7])

    described = describe_named(Table())
    assert described["profile"].splitlines() == ["a int64, constant 7", "(the rest takes more than 50 ms)"]
    assert described["sample"] == "5 rows"


def test_a_table_that_would_be_disclosed_as_an_array_has_no_profile() -> None:
    class Table:
        """A table of an unknown library, which does not list its columns as others do."""

        shape = (1, 2)
        schema = column_names = ("a", "b")

        def column(self, place: int) -> Any:
            pandas: Any = importlib.import_module("pandas")
            return pandas.Series([place])

    assert "profile" not in describe_named(Table())


def test_the_tables_of_anndata_count_as_tables() -> None:
    pandas: Any = importlib.import_module("pandas")

    class AnnData:
        """As much of AnnData as matters here: observations without columns, and variables with one."""

        shape = (2, 2)
        X = None
        obs = pandas.DataFrame(index=["cell 1", "cell 2"])
        var = pandas.DataFrame({"gene": ["a", "b"]})
        obsm = {"pca": 1}  # noqa: RUF012  # read only

    described = describe_named(AnnData())
    assert [column["name"] for column in described["columns"]] == ["gene"]
    assert "obsm: pca" in described["profile"]


def test_a_table_whose_columns_cannot_be_read_keeps_its_first_rows() -> None:
    class Broken:
        shape = (1, 1)
        columns = ("a",)
        dtypes = ("int64",)
        iloc = None

        def head(self, rows: int) -> str:
            return f"{rows} rows"

        def memory_usage(self) -> int:
            return 8

    described = describe_named(Broken())
    assert (described["sample"], "profile" in described) == ("5 rows", False)


def test_an_array_has_a_line_of_statistics() -> None:
    numpy: Any = importlib.import_module("numpy")
    array = numpy.arange(100.0).reshape(10, 10)
    array[0, :5] = numpy.nan
    assert read_lines(array) == ["float64 (10 x 10), 5% NaN, 5..99, mean 52"]
    assert read_lines(numpy.zeros((3000, 40)).T) == ["float64 (40 x 3000), constant 0"]


def test_a_tensor_has_a_line_of_statistics_and_is_not_copied_from_a_device() -> None:
    class Tensor:
        """As much of a tensor of torch as matters here."""

        shape = (2, 4)
        dtype = "torch.float32"
        requires_grad = True

        def __init__(self, device: str) -> None:
            self.device = device

        def is_contiguous(self) -> bool:
            return True

        @property
        def nbytes(self) -> int:
            raise RuntimeError("a sparse tensor does not say how large it is")

        def detach(self) -> Any:
            assert self.device == "cpu"
            return importlib.import_module("numpy").arange(8.0)

    assert read_lines(Tensor("cpu")) == ["torch.float32 (2 x 4) requires_grad, 0..7, mean 3.5"]
    assert read_lines(Tensor("cuda:0")) == ["torch.float32 (2 x 4) on cuda:0 requires_grad"]


def test_each_variable_of_an_xarray_dataset_has_a_line_and_the_dataset_counts_as_a_table() -> None:
    xarray: Any = importlib.import_module("xarray")
    described = describe_named(xarray.Dataset({"t": (("time", "place"), [[1.0, 2.0], [3.0, 4.0]])}))
    assert described["profile"] == "t float64 (time 2, place 2), 4 values: 1 25%, 2 25%, 3 25%, 4 25%"
    assert described["columns"] == [{"name": "t", "dtype": "float64"}]


def test_the_columns_of_a_duckdb_relation_are_listed_and_nothing_is_computed() -> None:
    duckdb: Any = importlib.import_module("duckdb")
    described = describe_named(duckdb.sql("select 1 as a, error('computed') as b"))
    assert [column["name"] for column in described["columns"]] == ["a", "b"]
    assert described["preview"] == "(computed only when it is asked for)"
