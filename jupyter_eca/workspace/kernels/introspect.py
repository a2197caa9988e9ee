"""What a kernel's variables are. Standard library only, and one self-contained source: it is also sent to kernels that
have no `jupyter_eca`, so it must import nothing of ours.
"""

from __future__ import annotations

import base64
import contextlib
import enum
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
    from collections.abc import Callable

# A preview is a glance: this many characters, rows and columns of it go to a model.
PREVIEW_CHARS = 200
SAMPLE_ROWS = 5
MAX_COLUMNS = 50
MAX_ITEMS = 8
SAMPLE_CHARS = 2_000
MAX_PICTURE = 300_000

# The rows of a table cost half a millisecond. What is behind the first ones is told without rows, then with its type
# only, and at last it is only counted.
MAX_SAMPLED = 20
MAX_SHOWN = 200
MAX_VARIABLES = 1_000

# Seconds. What the user's own code (properties, lengths, reprs) may take for one variable, and for all together.
LIMIT_S = 0.2
TOTAL_S = 1.0

# No code of the user's is in these, nor in what they hold.
_PLAIN = frozenset({int, float, complex, bool, str, bytes, bytearray, type(None), range})

# Looking at one of these would compute it, which may take hours: packages, and classes of others.
_LAZY = frozenset({"dask", "duckdb", "ibis", "pyspark", "snowflake", "polars.LazyFrame"})


class _Short(reprlib.Repr):
    """Looks at the first items only, whatever the size: the library would sort all keys of a dictionary, and take the
    whole repr of bytes and of every container that is not exactly of a built-in type."""

    def repr1(self, x: Any, level: int) -> str:
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
        """In the dictionary's own order, which the library would replace by that of the sorted keys."""
        if level <= 0:
            return "{...}" if x else "{}"
        items = itertools.islice(x.items(), MAX_ITEMS)
        shown = [f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}" for key, value in items]
        return "{" + ", ".join([*shown, "..."] if len(x) > MAX_ITEMS else shown) + "}"


_short = _Short()
_short.maxstring = _short.maxother = PREVIEW_CHARS
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = _short.maxfrozenset = MAX_ITEMS

# Of what was named.
_long = _Short()
_long.maxstring = _long.maxother = SAMPLE_CHARS
_long.maxlist = _long.maxtuple = _long.maxset = _long.maxfrozenset = MAX_ITEMS


def describe(namespace: dict[str, Any], names: list[str], hidden: set[str]) -> str:
    """JSON of `{variables, missing, left_out}`; without names, all that the user has made: no modules, no `_names`,
    none of `hidden`. More is told of what was named."""
    wanted = names or [name for name, value in namespace.items() if _users_own(name, value, hidden)]
    told = [name for name in wanted if name in namespace][:MAX_VARIABLES]
    until = time.monotonic() + TOTAL_S
    with _Watch() as watch, contextlib.nullcontext() if names else _brief_arrays():
        found = [
            _describe(name, namespace[name], watch, _much(place, bool(names), time.monotonic() > until))
            for place, name in enumerate(told)
        ]
    missing = [name for name in names if name not in namespace]
    return json.dumps({"variables": found, "missing": missing, "left_out": len(wanted) - len(missing) - len(told)})


def _brief_arrays() -> contextlib.AbstractContextManager[object]:
    """Numpy would write out up to a thousand items, which takes a millisecond, to show the first and the last ones."""
    numpy: Any = sys.modules.get("numpy")
    return numpy.printoptions(threshold=MAX_ITEMS) if hasattr(numpy, "printoptions") else contextlib.nullcontext()


class _Much(enum.IntEnum):
    """Type; shape, columns and preview too; rows of tables too; memory, picture and more of the value too."""

    TYPE = 0
    SHAPE = 1
    ROWS = 2
    ALL = 3


def _much(place: int, named: bool, late: bool) -> _Much:
    if late or place >= MAX_SHOWN:
        return _Much.TYPE
    return _Much.ALL if named else _Much.ROWS if place < MAX_SAMPLED else _Much.SHAPE


class _TooSlow(BaseException):
    """No Exception: code of the user's must not take it for one of its own."""


class _Watch:
    """Ends code of the user's that takes too long: an alarm, which only the main thread can have, and not on Windows.
    Elsewhere no such code is run."""

    def __init__(self) -> None:
        self._armed = False
        main = threading.current_thread() is threading.main_thread()
        self.works = hasattr(signal, "setitimer") and main and not any(signal.getitimer(signal.ITIMER_REAL))

    def __enter__(self) -> _Watch:
        if self.works:
            self._before = signal.signal(signal.SIGALRM, self._ring)
        return self

    def __exit__(self, *_: object) -> None:
        if self.works:
            # a handler that was not set by Python is told as None
            signal.signal(signal.SIGALRM, self._before or signal.SIG_DFL)

    def _ring(self, *_: object) -> None:
        """Once: the alarm may come when what it was for has ended."""
        if self._armed:
            self._armed = False
            raise _TooSlow

    def run(self, work: Callable[[], None]) -> None:
        """Raises: _TooSlow."""
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        try:
            work()
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)


def _users_own(name: str, value: Any, hidden: set[str]) -> bool:
    return not name.startswith("_") and name not in hidden and not isinstance(value, types.ModuleType)


def _describe(name: str, value: Any, watch: _Watch, much: _Much) -> dict[str, Any]:
    about: dict[str, Any] = {"name": name, "type": _kind(value)}
    if much is _Much.TYPE:
        return about
    try:
        if type(value) in _PLAIN:
            about["preview"] = _cut(_short.repr(value), PREVIEW_CHARS)
            if isinstance(value, str | bytes | bytearray):
                about["length"] = len(value)
            if much is _Much.ALL:
                _more(about, value)
        elif watch.works:
            watch.run(lambda: _fill(about, value, much))
    except _TooSlow:
        about.setdefault("preview", f"(not all of it is told: it takes more than {LIMIT_S * 1000:.0f} ms)")
    except Exception as error:  # noqa: BLE001  # code of the user's own objects runs here
        about["preview"] = _failed(error)
    return about


def _failed(error: Exception) -> str:
    try:
        return f"(cannot be shown: {type(error).__name__}: {error})"[:PREVIEW_CHARS]
    except Exception:  # noqa: BLE001  # the error is the user's own too
        return f"(cannot be shown: {type(error).__name__})"


def _kind(value: Any) -> str:
    """Without the class's own `__getattribute__`, which is the user's code."""
    kind = cast("type[object]", type(value))
    module = type.__getattribute__(kind, "__module__")
    package = str(module).partition(".")[0] if isinstance(module, str) else ""
    return ("" if package == "builtins" else f"{package}.") + type.__getattribute__(kind, "__qualname__")


def _fill(about: dict[str, Any], value: Any, much: _Much) -> None:
    package = about["type"].partition(".")[0]
    if package in _LAZY or about["type"] in _LAZY:
        about["preview"] = "(computed only when it is asked for)"
        return
    shape: Any = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(map(_is_int, cast("tuple[object, ...]", shape))):
        about["shape"] = list(cast("tuple[int, ...]", shape))
    elif shape is None and hasattr(value, "__len__"):  # a shape that is yet to be computed has a length that costs
        about["length"] = len(value)
    columns = _columns(value, package)
    if columns:
        about["columns"] = [{"name": str(column), "dtype": str(dtype)} for column, dtype in columns]
        if much >= _Much.ROWS:
            rows = value.head(SAMPLE_ROWS) if hasattr(value, "head") else value.slice(0, SAMPLE_ROWS).to_pydict()
            about["sample"] = str(rows)[:SAMPLE_CHARS]
    else:
        if shape is not None and (dtype := getattr(value, "dtype", None)) is not None:
            about["dtype"] = str(dtype)
        about["preview"] = _cut(_short.repr(value), PREVIEW_CHARS)
    if much is _Much.ALL:
        _more(about, value)


def _columns(value: Any, package: str) -> list[tuple[Any, Any]]:
    """Of a table: pandas' and polars' manners, then those of pyarrow."""
    columns, dtypes = getattr(value, "columns", None), getattr(value, "dtypes", None)
    if columns is not None and dtypes is not None and hasattr(value, "head"):
        return list(zip(_first(columns), _first(dtypes), strict=False))
    if package == "pyarrow" and hasattr(value, "schema") and hasattr(value, "slice"):
        return [(column.name, column.type) for column in _first(value.schema)]
    return []


def _first(values: Any) -> list[Any]:
    return list(itertools.islice(values, MAX_COLUMNS))


def _more(about: dict[str, Any], value: Any) -> None:
    about["memory"] = _memory(value)
    if "columns" in about:
        return
    if isinstance(value, dict):
        items = itertools.islice(cast("dict[Any, Any]", value).items(), MAX_COLUMNS)
        about["sample"] = _cut("\n".join(_entry(key, one) for key, one in items), SAMPLE_CHARS)
    elif len(text := _long.repr(value)) > PREVIEW_CHARS:
        about["preview"] = ""
        about["sample"] = _cut(text, SAMPLE_CHARS)
    if picture := _picture(about["type"], value):
        about["image"] = picture


def _entry(key: Any, value: Any) -> str:
    shape: Any = getattr(value, "shape", None)
    size = f" of shape {tuple(cast('tuple[Any, ...]', shape))}" if isinstance(shape, tuple) else ""
    text = "" if size else f" {_cut(_short.repr(value), PREVIEW_CHARS // 2)}"
    return f"{_short.repr(key)}: {_kind(value)}{size}{text}"


def _memory(value: Any) -> int:
    """Bytes. Of tables and arrays what they say of themselves; objects in their cells are not gone through."""
    if callable(usage := getattr(value, "memory_usage", None)):
        used: Any = usage()
        return int(used.sum() if hasattr(used, "sum") else used)
    if callable(estimate := getattr(value, "estimated_size", None)):
        return int(cast("Any", estimate()))
    size: Any = getattr(value, "nbytes", None)
    return size if isinstance(size, int) else sys.getsizeof(value)


def _picture(kind: str, value: Any) -> str:
    """A PNG in base64, of a figure or of what draws itself."""
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


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _is_int(value: object) -> bool:
    return isinstance(value, int)
