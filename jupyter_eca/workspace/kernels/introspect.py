"""Describes the variables of a Python kernel.

The source of this module is also sent to kernels that do not have `jupyter_eca`. So it must import only the standard
library. It must not import `profile.py` and `database.py` either: their functions are arguments of `describe`.
`introspect.R` and `introspect.jl` do the same for R and Julia, and `languages.py` loads them.
"""

from __future__ import annotations

import base64
import contextlib
import enum
import inspect
import io
import itertools
import json
import reprlib
import signal
import sys
import threading
import time
import types
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The limits of what goes to a model. A preview is one short line about a value. A sample shows more of the value: the
# first rows of a table, or the beginning of a long text or container.
PREVIEW_CHARS = 200
SAMPLE_ROWS = 5
SAMPLE_CHARS = 2_000
MAX_COLUMNS = 50
MAX_ITEMS = 8  # of a list, a dict or an array
MAX_PICTURE = 300_000  # bytes

# Showing the rows of a table takes half a millisecond. So only the first `MAX_SAMPLED` variables are described with
# rows. After `MAX_SHOWN` variables only types are listed, and after `MAX_VARIABLES` the rest is only counted.
MAX_SAMPLED = 20
MAX_SHOWN = 200
MAX_VARIABLES = 1_000

# Seconds that the user's own code (properties, lengths, reprs) may take for one variable, and for all together.
LIMIT_S = 0.2
TOTAL_S = 1.0

# Seconds that the profile of one table or array may take. It is only made of a variable that was requested by name.
PROFILE_S = 0.3

# Describing values of these types, and what they contain, runs no code of the user.
_PLAIN_TYPES = frozenset({int, float, complex, bool, str, bytes, bytearray, type(None), range})

# Packages and classes with lazy values: they are computed when somebody looks at them, which may take hours.
_LAZY_TYPES = frozenset({"_duckdb", "dask", "duckdb", "ibis", "pyspark", "snowflake", "polars.LazyFrame"})

# The classes of connections to databases, and what they lead to. A connection is recognized by the name of its class,
# and so without running code of the user.
_DATABASES = {
    "sqlite3.Connection": "SQLite",
    "_duckdb.DuckDBPyConnection": "DuckDB",
    "duckdb.DuckDBPyConnection": "DuckDB",
    "duckdb.duckdb.DuckDBPyConnection": "DuckDB",
    "sqlalchemy.engine.base.Engine": "SQLAlchemy",
    "sqlalchemy.engine.base.Connection": "SQLAlchemy",
    "sqlalchemy.ext.asyncio.engine.AsyncEngine": "SQLAlchemy",
    "sqlalchemy.ext.asyncio.engine.AsyncConnection": "SQLAlchemy",
    "ibis.backends.BaseBackend": "ibis",
}


class _ShortRepr(reprlib.Repr):
    """Makes a short repr from the first items only, so that the size of the value does not matter. `reprlib` itself
    would sort all keys of a dictionary. It would also make the whole repr of bytes, and of containers whose type is a
    subclass of a built-in type."""

    def repr1(self, x: Any, level: int) -> str:
        """Make the repr of the first items of `x`, converted to a built-in type. `level` is the depth that is left."""
        match x:
            case bytes() | bytearray():
                x = bytes(x[: self.maxother])
            case dict():
                x = dict(itertools.islice(cast("dict[Any, Any]", x).items(), MAX_ITEMS + 1))
            case set() | frozenset():
                x = set(itertools.islice(cast("set[Any]", x), MAX_ITEMS + 1))
            case list():
                x = list(itertools.islice(cast("list[Any]", x), MAX_ITEMS + 1))
            case _:
                pass
        return super().repr1(x, level)

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """Make the repr in the order of the dictionary. `reprlib` itself would sort the keys."""
        if level <= 0:
            return "{...}" if x else "{}"
        items = itertools.islice(x.items(), MAX_ITEMS)
        parts = [f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}" for key, value in items]
        return "{" + ", ".join([*parts, "..."] if len(x) > MAX_ITEMS else parts) + "}"


# For previews.
_preview_repr = _ShortRepr()
_preview_repr.maxstring = _preview_repr.maxother = PREVIEW_CHARS
_preview_repr.maxlist = _preview_repr.maxtuple = _preview_repr.maxdict = _preview_repr.maxset = (
    _preview_repr.maxfrozenset
) = MAX_ITEMS

# For the samples of variables that were requested by name.
_sample_repr = _ShortRepr()
_sample_repr.maxstring = _sample_repr.maxother = SAMPLE_CHARS
_sample_repr.maxlist = _sample_repr.maxtuple = _sample_repr.maxset = _sample_repr.maxfrozenset = MAX_ITEMS


def describe(
    namespace: dict[str, Any],
    names: list[str],
    hidden: set[str],
    profile: Callable[[Any], Iterator[str]] | None = None,
    database: Callable[[Any, str], dict[str, Any]] | None = None,
) -> str:
    """Return the JSON of a `KernelVariablesResult` (`protocol/notebook.py`): `variables` is a list of descriptions,
    `missing` has the requested names that do not exist, and `left_out` is the number of variables without a
    description.

    Without `names`, all variables that the user made are described: no modules, no names that begin with `_`, and no
    names in `hidden`. Variables that were requested by name are described in more detail. `profile` is the function
    of `profile.py`, which describes the columns of those variables. `database` is `describe_database` of `database.py`.
    With it, the name `con.orders` is the table `orders` of the connection `con`.
    """
    wanted = names or [name for name, value in namespace.items() if _is_users_own(name, value, hidden)]
    known = [name for name in wanted if name in namespace or _is_table_name(name, namespace)]
    described = known[:MAX_VARIABLES]
    deadline = time.monotonic() + TOTAL_S
    descriptions: dict[str, dict[str, Any]] = {}
    with _TimeLimit() as time_limit, contextlib.nullcontext() if names else _shorten_arrays():
        for place, name in enumerate(described):
            is_late = time.monotonic() > deadline
            if name in namespace:
                detail = _choose_detail(place, bool(names), is_late)
                descriptions[name] = _describe_variable(name, namespace[name], time_limit, detail, profile, database)
            else:
                descriptions[name] = _describe_table(name, namespace, None if is_late else database)
    found = [description for description in descriptions.values() if description]
    # A name is missing if its description is empty. A name without a description was left out if it is known.
    missing = [name for name in names if not descriptions.get(name, name in known)]
    return json.dumps({"variables": found, "missing": missing, "left_out": len(known) - len(described)})


def _shorten_arrays() -> contextlib.AbstractContextManager[object]:
    """Make numpy print few items. Otherwise it would format up to a thousand items, which takes a millisecond."""
    numpy: Any = sys.modules.get("numpy")
    return numpy.printoptions(threshold=MAX_ITEMS) if hasattr(numpy, "printoptions") else contextlib.nullcontext()


class _Detail(enum.IntEnum):
    """How much of a variable is described. Each level adds to the level before."""

    TYPE = 0
    """The type only."""
    SHAPE = 1
    """Shape, columns and preview."""
    ROWS = 2
    """The first rows of tables."""
    ALL = 3
    """Memory, picture, and more of the value."""


def _choose_detail(place: int, is_named: bool, is_late: bool) -> _Detail:
    """Return how much of a variable is described. `place` is its index, `is_named` means that it was requested by name,
    and `is_late` that the time for all variables is over."""
    if is_late or place >= MAX_SHOWN:
        return _Detail.TYPE
    return _Detail.ALL if is_named else _Detail.ROWS if place < MAX_SAMPLED else _Detail.SHAPE


class _TooSlowError(BaseException):
    """The user's code took too long. This is not an `Exception`, so that an `except Exception` in the user's code does
    not catch it."""


class _TimeLimit:
    """Stops code of the user that takes too long, by means of an alarm signal (`SIGALRM`).

    Only the main thread can set an alarm, and it is the thread in which a kernel of IPython runs cells. So the main
    thread is busy for at most the limits above. Only a single call into C, such as a long sort, may take longer: Python
    handles a signal between two of its own instructions.

    There is no alarm in another thread, on Windows, and while the user's own alarm is set. There, code of the user is
    not run: variables have their names and types, and only plain values, such as numbers and texts, are shown. Tables
    have no columns and no profile, and the model must print them. Databases are described everywhere: `database.py`
    limits their time without an alarm.
    """

    def __init__(self) -> None:
        self._armed = False  # whether an alarm may raise now
        main = threading.current_thread() is threading.main_thread()
        self.is_available = hasattr(signal, "setitimer") and main and not any(signal.getitimer(signal.ITIMER_REAL))

    def __enter__(self) -> _TimeLimit:
        if self.is_available:
            self._before = signal.signal(signal.SIGALRM, self._raise_once)
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_available:
            # `_before` is None if the handler was not set by Python code. Such a handler cannot be set again.
            signal.signal(signal.SIGALRM, self._before or signal.SIG_DFL)

    def _raise_once(self, *_: object) -> None:
        """Handle the alarm. It may come after the work has ended, and then it must not raise."""
        if self._armed:
            self._armed = False
            raise _TooSlowError

    def run(self, work: Callable[[], None], seconds: float) -> None:
        """Run the work for at most this many seconds. It may be called only where an alarm is available.

        Raises: _TooSlowError when the time is over.
        """
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            work()
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)


def _is_users_own(name: str, value: Any, hidden: set[str]) -> bool:
    """Return whether the user made a variable. `hidden` has the names that IPython itself defined."""
    return not name.startswith("_") and name not in hidden and not isinstance(value, types.ModuleType)


def _describe_function(function: types.FunctionType) -> str:
    """Return the signature of a function, and the first line of its docstring."""
    signature = f"{function.__name__}{inspect.signature(function)}"
    first_line = (function.__doc__ or "").strip().partition("\n")[0]
    return f"{signature}: {first_line}" if first_line else signature


def _describe_variable(
    name: str,
    value: Any,
    time_limit: _TimeLimit,
    detail: _Detail,
    profile: Callable[[Any], Iterator[str]] | None,
    database: Callable[[Any, str], dict[str, Any]] | None,
) -> dict[str, Any]:
    """Describe one variable, as the fields of a `Variable` in `protocol/notebook.py`. If the code of the user's objects
    raises an error, the error becomes the preview."""
    description: dict[str, Any] = {"name": name, "type": _name_type(value)}
    if detail is _Detail.TYPE:
        return description
    try:
        if type(value) in _PLAIN_TYPES:
            description["preview"] = _cut(_preview_repr.repr(value), PREVIEW_CHARS)
            if isinstance(value, str | bytes | bytearray):
                description["length"] = len(value)
            if detail is _Detail.ALL:
                _add_details(description, value)
        elif kind := _get_database_kind(value):
            description["database"] = kind
            if detail is _Detail.ALL and database is not None:
                description.update(database(value, ""))
            else:
                description["preview"] = "(a database: its tables are told when it is named)"
        elif time_limit.is_available:
            time_limit.run(lambda: _add_contents(description, value, detail), LIMIT_S)
            if detail is _Detail.ALL and profile is not None and not _is_lazy(description["type"]):
                _add_profile(description, value, time_limit, profile)
    except _TooSlowError:
        description.setdefault("preview", f"(not all of it is told: it takes more than {LIMIT_S * 1000:.0f} ms)")
    except Exception as error:  # noqa: BLE001  # code of the user's own objects runs here
        description["preview"] = _describe_error(error)
    return description


def _get_database_kind(value: Any) -> str:
    """Return the kind of the database that a connection leads to, such as `SQLite`; empty for a value that is no
    connection. Like `_name_type`, it runs no code of the user."""
    for kind in type.__getattribute__(cast("type[object]", type(value)), "__mro__"):
        module, name = (type.__getattribute__(kind, attribute) for attribute in ("__module__", "__qualname__"))
        if (found := _DATABASES.get(f"{module}.{name}")) is not None:
            return found
    return ""


def _is_table_name(name: str, namespace: dict[str, Any]) -> bool:
    """Return whether a name begins with a connection to a database and a dot, such as `con.orders`."""
    connection, dot, _ = name.partition(".")
    return bool(dot) and connection in namespace and _get_database_kind(namespace[connection]) != ""


def _describe_table(
    name: str, namespace: dict[str, Any], database: Callable[[Any, str], dict[str, Any]] | None
) -> dict[str, Any]:
    """Describe a table of a connection. `name` is a name such as `con.orders`. The description is empty if there is no
    such table."""
    connection, _, table = name.partition(".")
    found = database(namespace[connection], table) if database is not None else {}
    kind = "view" if found.pop("is_view", False) else "table"
    return {"name": name, "type": f"{kind} of {_name_type(namespace[connection])}", **found} if found else {}


def _add_profile(
    description: dict[str, Any], value: Any, time_limit: _TimeLimit, profile: Callable[[Any], Iterator[str]]
) -> None:
    """Add the lines of the profile. It contains the first rows, so they are not repeated. If it takes too long or
    fails, the lines before are kept, and the first rows stay."""
    lines: list[str] = []
    is_complete = False
    try:
        time_limit.run(lambda: lines.extend(profile(value)), PROFILE_S)
        is_complete = True
    except _TooSlowError:
        lines.append(f"(the rest takes more than {PROFILE_S * 1000:.0f} ms)")
    except Exception as error:  # noqa: BLE001  # an unusual table; what is known of it without a profile stays
        lines = [*lines, _describe_error(error)] if lines else []
    # The user decides separately whether the content of tables is sent to a model. A value without `columns` does not
    # count as a table there. So it gets a profile only if that is a single line, as the profile of an array is.
    if lines and ("columns" in description or len(lines) == 1):
        description["profile"] = "\n".join(lines)
        if is_complete and "columns" in description:
            description.pop("sample", None)


def _describe_error(error: Exception) -> str:
    """Return an error as a preview."""
    try:
        return f"(cannot be shown: {type(error).__name__}: {error})"[:PREVIEW_CHARS]
    except Exception:  # noqa: BLE001  # the error is the user's own too
        return f"(cannot be shown: {type(error).__name__})"


def _name_type(value: Any) -> str:
    """Return the name of a value's type. The `__getattribute__` of a metaclass is not called, because it may be code of
    the user."""
    kind = cast("type[object]", type(value))
    module = type.__getattribute__(kind, "__module__")
    package = str(module).partition(".")[0] if isinstance(module, str) else ""
    return ("" if package == "builtins" else f"{package}.") + type.__getattribute__(kind, "__qualname__")


def _add_contents(description: dict[str, Any], value: Any, detail: _Detail) -> None:
    """Add what the value contains: shape, columns, rows and preview."""
    if isinstance(value, types.FunctionType):
        description["preview"] = _cut(_describe_function(value), PREVIEW_CHARS)
        return
    if _is_lazy(description["type"]):
        description["preview"] = "(computed only when it is asked for)"
        if description["type"] == "duckdb.DuckDBPyRelation":  # it knows its columns before it is computed
            columns = zip(_take_first(value.columns), _take_first(value.types), strict=False)
            description["columns"] = [{"name": str(column), "dtype": str(dtype)} for column, dtype in columns]
        return
    shape: Any = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(map(_is_int, cast("tuple[object, ...]", shape))):
        description["shape"] = list(cast("tuple[int, ...]", shape))
    # If the shape is not computed yet, the length would be expensive. So the length is used only where there is no
    # shape.
    elif shape is None and hasattr(value, "__len__"):
        description["length"] = len(value)
    columns = _list_columns(value, description["type"].partition(".")[0])
    if columns:
        description["columns"] = [{"name": str(column), "dtype": str(dtype)} for column, dtype in columns]
        if not hasattr(value, "head") and not hasattr(value, "slice"):
            description["preview"] = _cut(_preview_repr.repr(value), PREVIEW_CHARS)
        elif detail >= _Detail.ROWS:
            rows = value.head(SAMPLE_ROWS) if hasattr(value, "head") else value.slice(0, SAMPLE_ROWS).to_pydict()
            description["sample"] = str(rows)[:SAMPLE_CHARS]
    else:
        if shape is not None and (dtype := getattr(value, "dtype", None)) is not None:
            description["dtype"] = str(dtype)
        description["preview"] = _cut(_preview_repr.repr(value), PREVIEW_CHARS)
    if detail is _Detail.ALL:
        _add_details(description, value)


def _is_lazy(kind: str) -> bool:
    """Return whether values of a type are lazy. `kind` is the name of the type, such as `polars.LazyFrame`."""
    return kind in _LAZY_TYPES or kind.partition(".")[0] in _LAZY_TYPES


def _list_columns(value: Any, package: str) -> list[tuple[Any, Any]]:
    """List the names of a table's columns with their types, for pandas, polars, pyarrow, xarray and AnnData. The list
    is empty for other values. A value with columns counts as a table where the user decides how much of tables is sent
    to a model."""
    columns, dtypes = getattr(value, "columns", None), getattr(value, "dtypes", None)
    if columns is not None and dtypes is not None and hasattr(value, "head"):
        return list(zip(_take_first(columns), _take_first(dtypes), strict=False))
    if package == "pyarrow" and hasattr(value, "schema") and hasattr(value, "slice"):
        return [(column.name, column.type) for column in _take_first(value.schema)]
    if hasattr(value, "data_vars"):
        return [(name, variable.dtype) for name, variable in _take_first(value.data_vars.items())]
    if hasattr(value, "obs") and hasattr(value, "var") and hasattr(value, "obsm"):
        return _list_columns(value.obs, "pandas") or _list_columns(value.var, "pandas")
    return []


def _take_first(values: Any) -> list[Any]:
    """Return at most `MAX_COLUMNS` of the values."""
    return list(itertools.islice(values, MAX_COLUMNS))


def _add_details(description: dict[str, Any], value: Any) -> None:
    """Add the details of variables that were requested by name: memory, a longer sample, and a picture."""
    with contextlib.suppress(Exception):  # a view of AnnData and a sparse tensor of torch cannot be measured
        description["memory"] = _measure_memory(value)
    if "columns" in description:
        return
    if isinstance(value, dict):
        items = itertools.islice(cast("dict[Any, Any]", value).items(), MAX_COLUMNS)
        description["sample"] = _cut("\n".join(_describe_entry(key, item) for key, item in items), SAMPLE_CHARS)
    elif len(text := _sample_repr.repr(value)) > PREVIEW_CHARS:
        description["preview"] = ""
        description["sample"] = _cut(text, SAMPLE_CHARS)
    if picture := _draw_picture(description["type"], value):
        description["image"] = picture


def _describe_entry(key: Any, value: Any) -> str:
    """Return one entry of a dict as a line: its key, the type of its value, and the shape or a short preview."""
    shape: Any = getattr(value, "shape", None)
    size = f" of shape {tuple(cast('tuple[Any, ...]', shape))}" if isinstance(shape, tuple) else ""
    text = "" if size else f" {_cut(_preview_repr.repr(value), PREVIEW_CHARS // 2)}"
    return f"{_preview_repr.repr(key)}: {_name_type(value)}{size}{text}"


def _measure_memory(value: Any) -> int:
    """Return the size in bytes. Tables and arrays report it themselves; objects inside of them are not counted."""
    if callable(usage := getattr(value, "memory_usage", None)):
        used: Any = usage()
        return int(used.sum() if hasattr(used, "sum") else used)
    if callable(estimate := getattr(value, "estimated_size", None)):
        return int(cast("Any", estimate()))
    size: Any = getattr(value, "nbytes", None)
    return size if isinstance(size, int) else sys.getsizeof(value)


def _draw_picture(kind: str, value: Any) -> str:
    """Return a PNG in base64 of a matplotlib figure, or of a value that can draw itself (`_repr_png_`). Return an empty
    text for other values, and if the PNG is larger than `MAX_PICTURE`. `kind` is the name of the type."""
    if kind.startswith("matplotlib."):
        figure: Any = value if hasattr(value, "savefig") else getattr(value, "figure", None)
        if not hasattr(figure, "savefig"):
            return ""
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=72)
        data = drawn.getvalue()
    else:
        draw: Any = getattr(cast("type[Any]", type(value)), "_repr_png_", None)
        data = draw(value) if callable(draw) else None
    fits = isinstance(data, bytes) and len(data) <= MAX_PICTURE
    return base64.b64encode(cast("bytes", data)).decode("ascii") if fits else ""


def _cut(text: str, limit: int) -> str:
    """Cut a text to `limit` characters, with an ellipsis at the end."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _is_int(value: object) -> bool:
    """Return whether a value is an integer."""
    return isinstance(value, int)
