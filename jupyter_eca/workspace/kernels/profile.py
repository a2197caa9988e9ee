"""Profiles tables and arrays of a Python kernel: one line for each column, with its type, the share of nulls, and its
range and mean or its most frequent values.

A profile shows what the first rows hide: values that stand for "no value", such as -9999, columns that are constant or
empty, and two spellings of one value. No library is imported. The tables of pandas, polars and pyarrow, the arrays of
numpy, torch and xarray, and AnnData are recognised by their attributes, and a column becomes a list of Python values.

A library with one interface to all tables was measured and left out (narwhals 2.29, with pandas 2.3, polars 2.1 and
pyarrow 26, in a process that has imported ipykernel):

- narwhals is not installed with pandas, polars, pyarrow, DuckDB or xarray, but only with some libraries for plots
  (plotly, altair, bokeh). So what is below would be needed beside it.
- Its import takes 120 ms of the processor, and 170 to 230 ms together with its first table: most of the time that a
  profile has. With a table of 2,000,000 rows and 12 columns it then is as fast as this module (pandas 38 ms and 40 ms,
  polars 19 and 19, pyarrow 67 and 64).
- It does not know arrays of numpy, torch and xarray, sparse matrices and AnnData, and refuses a table of pandas in
  which two columns have the same name. For it, relations of DuckDB and tables of ibis are lazy, as they are for us.

The Arrow C stream (`__arrow_c_stream__`) needs a library that reads it. pyarrow takes 250 ms and 46 MB where it is not
imported. pandas converts the whole table for it, in 109 ms for the table above, and DuckDB and ibis compute theirs.

The source of this module is also sent to kernels that do not have `jupyter_eca`. So it must import only the standard
library. Its neighbour `introspect.py` limits the time.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

# The rows that are looked at: at most `MAX_ROWS`. In a wide table there are fewer, so that there are at most
# `MAX_VALUES` values in all columns together, but never fewer than `MIN_ROWS`. Reading and counting a value takes a
# tenth of a microsecond for numbers and up to half a microsecond for texts and dates. A table of pandas with 2,000,000
# rows and 12 columns takes 80 ms of the processor in all.
MAX_ROWS = 20_000
MAX_VALUES = 400_000
MIN_ROWS = 1_000

# Columns that have a line, and the characters of all lines together. A line has at least `LINE_CHARS[0]` characters,
# and at most `LINE_CHARS[1]`: few columns have longer lines than many.
MAX_COLUMNS = 50
MAX_CHARS = 2_400
LINE_CHARS = (48, 160)

# The first rows at the end: how many, and the characters of a row and of a value in it.
FIRST_ROWS = 3
ROW_CHARS = 120
VALUE_CHARS = 24

# Up to this number of different values, a column is described by its values and not by its range. Of a column with more
# values that has no range, the most frequent ones are shown.
FEW_VALUES = 6
SHOWN_VALUES = 4

# A value that is this frequent among many different ones may stand for "no value": its share of all values, and how
# many times more often it occurs than the average value.
FREQUENT = 0.01
FREQUENT_FACTOR = 3

# The seconds after which the columns that are left are described by their type only.
DEADLINE_S = 0.2

# Copying an array that is not contiguous could need as much memory as the array.
MAX_COPIED = 1_000_000


class _Column(NamedTuple):
    """The part of a column that was looked at."""

    name: str
    """The name of the column; "" for a column that is not in a table."""
    dtype: str
    """The type of its values, as the library names it."""
    size: int
    """The number of values that were looked at, with nulls."""
    values: list[Any]
    """The values that are not null."""


def profile(value: Any) -> Iterator[str]:
    """Yield the lines of the profile. There are none if the value is neither a table nor an array.

    Each line is made when the caller asks for it. So a caller that runs out of time has all lines before.
    """
    deadline = time.monotonic() + DEADLINE_S
    if hasattr(value, "obs") and hasattr(value, "var") and hasattr(value, "obsm"):
        yield from _profile_anndata(value, deadline)
    elif hasattr(value, "data_vars"):
        variables = list(value.data_vars.items())
        for name, variable in variables[:MAX_COLUMNS]:
            yield _describe_array(str(name), variable)
        yield from _count_rest(len(variables), "variables")
    elif _is_table(value):
        yield from _profile_table(value, deadline)
    elif _is_series(value):
        column = _read_series("", value, _choose_places(len(value), 1))
        yield _describe_column(column, LINE_CHARS[1])
    elif hasattr(value, "dtype") and hasattr(value, "shape") and (line := _describe_array("", value)):
        yield line


# -- tables


def _is_table(value: Any) -> bool:
    """Return whether the value is a table of pandas, polars or pyarrow."""
    is_pandas = hasattr(value, "iloc") and hasattr(value, "dtypes") and hasattr(value, "columns")
    is_polars = hasattr(value, "gather_every") and hasattr(value, "to_series")
    is_arrow = hasattr(value, "schema") and hasattr(value, "column_names") and hasattr(value, "column")
    return is_pandas or is_polars or is_arrow


def _is_series(value: Any) -> bool:
    """Return whether the value is one column of pandas, polars or pyarrow. It must not be a table."""
    return hasattr(value, "iloc") or hasattr(value, "gather_every") or hasattr(value, "drop_null")


def _profile_table(table: Any, deadline: float) -> Iterator[str]:
    """Yield a line for each column, and then the first rows.

    Raises: the error of a column that could not be read, after all lines. Then there are no first rows.
    """
    rows, width = int(table.shape[0]), int(table.shape[1])
    shown = min(width, MAX_COLUMNS)
    places = _choose_places(rows, shown)
    limit = max(LINE_CHARS[0], min(LINE_CHARS[1], MAX_CHARS // max(shown, 1)))
    first: list[list[Any]] = []
    failure: Exception | None = None
    for place in range(shown):
        name, series = _take_column(table, place)
        line = _cut(f"{name} {_name_dtype(series)}", limit)
        try:
            first.append(_read_first(series))
            if time.monotonic() <= deadline:
                line = _describe_column(_read_series(name, series, places), limit)
        except Exception as error:  # noqa: BLE001  # the other columns have their lines all the same
            failure = error
        yield line
    yield from _count_rest(width, "columns")
    if places is not None:
        yield f"[1 row of {-(-rows // len(places))} was looked at: {len(places):,} of {rows:,}]"
    if failure is not None:
        raise failure
    for number, row in enumerate(zip(*first, strict=False), start=1):
        yield _cut(f"row {number}: " + ", ".join(_cut(_as_text(item), VALUE_CHARS) for item in row), ROW_CHARS)


def _count_rest(count: int, noun: str) -> Iterator[str]:
    """Yield a line about the columns or variables that have no line, if there are any. `count` is the number of all of
    them, and `noun` says which they are."""
    if count > MAX_COLUMNS:
        yield f"[{count - MAX_COLUMNS} more {noun}]"


def _choose_places(rows: int, columns: int) -> list[int] | None:
    """Return the places (the indexes) of the rows that are looked at, in their order; None for all rows.

    The table is divided into parts of the same size, and each part has one of the places, by chance. If the distance
    were always the same, a column whose values alternate would seem constant. The same number of rows always gives the
    same places.
    """
    limit = max(MIN_ROWS, min(MAX_ROWS, MAX_VALUES // max(columns, 1)))
    step = max(1, -(-rows // limit))  # rounded up
    if step == 1:
        return None
    chance = random.Random(0).random  # noqa: S311  # no secret
    return [begin + int(chance() * min(step, rows - begin)) for begin in range(0, rows, step)]


def _take_column(table: Any, place: int) -> tuple[str, Any]:
    """Return the name and the values of a column. It is taken by its place, because pandas allows a name twice."""
    if hasattr(table, "iloc"):
        return str(table.columns[place]), table.iloc[:, place]
    if hasattr(table, "to_series"):
        return str(table.columns[place]), table.to_series(place)
    return str(table.column_names[place]), table.column(place)


def _read_series(name: str, series: Any, places: list[int] | None) -> _Column:
    """Read the values at these places of a column of pandas, polars or pyarrow. If `places` is None, read all values.
    `name` is the name of the column, and `series` the column itself."""
    if hasattr(series, "iloc"):
        seen = series if places is None else series.iloc[places]
        values = seen.dropna().tolist()
    elif hasattr(series, "gather_every"):
        seen = series if places is None else series.gather(places)
        values = seen.drop_nulls().to_list()
    else:
        seen = series if places is None else series.take(places)
        values = seen.drop_null().to_pylist()
    # NaN counts as null in all libraries.
    if values and isinstance(values[0], float):
        values = [value for value in values if value == value]  # NaN differs from itself
    return _Column(name, _name_dtype(series), len(seen), values)


def _read_first(series: Any) -> list[Any]:
    """Read the first values of a column of pandas, polars or pyarrow."""
    if hasattr(series, "iloc"):
        return series.iloc[:FIRST_ROWS].tolist()
    return (
        series.head(FIRST_ROWS).to_list()
        if hasattr(series, "gather_every")
        else series.slice(0, FIRST_ROWS).to_pylist()
    )


def _name_dtype(series: Any) -> str:
    """Return the type of the values of a column."""
    return str(series.dtype if hasattr(series, "dtype") else series.type)


# -- one column


def _describe_column(column: _Column, limit: int) -> str:
    """Return the line of a column."""
    head = f"{column.name} {column.dtype}".lstrip()
    nulls = column.size - len(column.values)
    parts = [head]
    if nulls == column.size:
        parts.append("all null" if column.size else "no rows")
    elif nulls:
        parts.append(f"{_as_percent(nulls, column.size)} null")
    parts += _describe_values(column.values, column.size) if column.values else []
    return _cut(", ".join(parts), limit)


def _describe_values(values: list[Any], count: int) -> list[str]:
    """Describe values that are not null. `count` is their number together with the nulls."""
    try:
        return _summarize(values, count)
    except Exception as error:  # noqa: BLE001  # such as values that cannot be compared
        return [f"cannot be described: {type(error).__name__}"]


def _summarize(values: list[Any], count: int) -> list[str]:
    """Return the parts of a line about values. See `_describe_values`.

    A column of numbers, dates or durations with many different values is described by its range. These are the types
    whose values can be subtracted.
    """
    try:
        frequencies = Counter(values)
    except TypeError:  # lists and dictionaries cannot be counted
        return [f"e.g. {_as_text(values[0])}"]
    different = len(frequencies)
    if different == 1:
        return [f"constant {_as_text(values[0])}"]
    kinds = set(map(type, values))
    is_number = kinds <= {int, float}
    if different > FEW_VALUES and (is_number or (all(hasattr(kind, "__sub__") for kind in kinds) and len(kinds) == 1)):
        return _describe_range(values, frequencies, is_number)
    if different == len(values) and different > FEW_VALUES:
        return ["all different", f"e.g. {_as_text(values[0])}"]
    most = frequencies.most_common(FEW_VALUES if different <= FEW_VALUES else SHOWN_VALUES)
    shown = ", ".join(f"{_as_text(value)} {_as_percent(times, count)}" for value, times in most)
    return [f"{different:,} values: {shown}"]


def _describe_range(values: list[Any], frequencies: Counter[Any], is_number: bool) -> list[str]:
    """Describe the range of numbers, dates and durations; of numbers (`is_number`) also the mean. If the least or the
    greatest value is suspiciously frequent, it may stand for "no value". Then the range and the mean are those of the
    other values."""
    value, times = frequencies.most_common(1)[0]
    is_frequent = times >= len(values) * max(FREQUENT, FREQUENT_FACTOR / len(frequencies))
    frequent = f"{_as_text(value)} {_as_percent(times, len(values))}" if is_frequent else ""
    if frequent and value in {min(values), max(values)}:
        values = [other for other in values if other != value]
        parts = [frequent, f"others {_as_text(min(values))}..{_as_text(max(values))}"]
    else:
        parts = [f"{_as_text(min(values))}..{_as_text(max(values))}", *([frequent] if frequent else [])]
    return [*parts, f"mean {_as_text(sum(values) / len(values))}"] if is_number else parts


def _as_percent(part: int, whole: int) -> str:
    """Return a share in words: `12%`, `<1%`, `>99%`."""
    percent = 100 * part / whole
    return "<1%" if percent < 1 else ">99%" if 99 < percent < 100 else f"{percent:.0f}%"


def _as_text(value: Any) -> str:
    """Return a value as a short text. The midnight of a date is left out."""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.7g}"
    if isinstance(value, str):
        return repr(_cut(value, 40))
    if hasattr(value, "isoformat"):
        return str(value).removesuffix(" 00:00:00")
    return _cut(repr(value), 40)


def _cut(text: str, limit: int) -> str:
    """Return the text in one line of at most `limit` characters."""
    text = " ".join(text[: limit * 2].split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


# -- arrays


def _describe_array(name: str, array: Any) -> str:
    """Return the line of an array of numpy, torch or xarray, or of a sparse matrix; "" if nothing is known of it."""
    dims: object = getattr(array, "dims", ())
    size = " x ".join(map(str, array.shape))
    if dims and isinstance(dims, tuple):  # of xarray: the dimensions have names
        names = cast("tuple[object, ...]", dims)
        size = ", ".join(f"{dim} {length}" for dim, length in zip(names, array.shape, strict=False))
    head = f"{name} {array.dtype} ({size})".lstrip()
    device = getattr(array, "device", None) if hasattr(array, "is_contiguous") else None
    if device:
        head += "" if str(device) == "cpu" else f" on {device}"
        head += "" if _is_dense(array) else f" {array.layout}"
    if getattr(array, "requires_grad", False):
        head += " requires_grad"
    values, count = _read_array(array)
    if count == 0:
        return _cut(head, LINE_CHARS[1]) if name or device else ""
    if _is_sparse(array):
        head += f", sparse, {_as_percent(int(array.nnz), math.prod(array.shape))} are stored, of these:"
    else:
        head += ","
    parts: list[str] = []
    present = [value for value in values if value == value]  # NaN differs from itself
    if len(present) < count:
        parts.append(f"{_as_percent(count - len(present), count)} NaN")
    parts += _describe_values(present, count) if present else []
    return _cut(f"{head} {', '.join(parts)}", LINE_CHARS[1])


def _is_sparse(array: Any) -> bool:
    """Return whether the value is a sparse matrix of scipy that has its values in one array."""
    return hasattr(array, "nnz") and hasattr(array, "data")


def _is_dense(tensor: Any) -> bool:
    """Return whether a tensor of torch has all its values in memory, one beside the other."""
    return str(getattr(tensor, "layout", "torch.strided")) == "torch.strided"


def _read_array(array: Any) -> tuple[list[Any], int]:
    """Return values that are spread over the array, with NaNs, and their number. There are none if the array is not in
    the memory of this process, or if they could only be read from a copy of a large array."""
    if hasattr(array, "variable"):  # an array of xarray; a file or dask may be behind it
        if not getattr(array.variable, "_in_memory", False):
            return [], 0
        array = array.values
    if _is_sparse(array):
        array = array.data
    if hasattr(array, "is_contiguous"):
        if str(array.device) != "cpu" or not _is_dense(array):
            return [], 0
        if not array.is_contiguous() and array.numel() > MAX_COPIED:
            return [], 0
        flat = array.detach().reshape(-1)
        places = _choose_places(int(flat.shape[0]), 1)
        values = (flat if places is None else flat[places]).tolist()
    elif hasattr(array, "flat") and not getattr(array.dtype, "hasobject", True):
        places = _choose_places(int(array.size), 1)
        values = array.flat[slice(None) if places is None else places].tolist()
    else:
        return [], 0
    return values, len(values)


# -- AnnData


def _profile_anndata(value: Any, deadline: float) -> Iterator[str]:
    """Yield the lines of the matrix, of the tables of observations and variables, and the names of other parts. If both
    tables have no columns, only the matrix has a line: then the value counts as an array."""
    # Reading the matrix of a view copies it.
    is_large = getattr(value, "is_view", False) and math.prod(value.shape) > MAX_COPIED
    if not getattr(value, "isbacked", False) and not is_large and value.X is not None:
        yield _describe_array("X", value.X)
    tables = {name: getattr(value, name) for name in ("obs", "var")}
    if all(table.shape[1] == 0 for table in tables.values()):
        return
    for name, table in tables.items():
        if table.shape[1] == 0:
            yield f"{name}: no columns"
            continue
        yield f"{name}:"
        yield from _profile_table(table, deadline)
    for name in ("layers", "obsm", "varm", "uns"):
        if keys := list(getattr(value, name, ())):
            yield _cut(f"{name}: " + ", ".join(map(str, keys)), LINE_CHARS[1])
