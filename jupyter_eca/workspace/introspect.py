"""What a kernel's variables are. Standard library only, and one self-contained source: it is also sent to kernels that
have no `jupyter_eca`, so it must import nothing of ours.
"""

from __future__ import annotations

import itertools
import json
import reprlib
import types
from typing import Any, cast

# A preview is a glance: this many characters, rows and columns of it go to a model.
PREVIEW_CHARS = 200
SAMPLE_ROWS = 5
MAX_COLUMNS = 50
MAX_VARIABLES = 200
MAX_ITEMS = 8
SAMPLE_CHARS = 2_000


class _Short(reprlib.Repr):
    """Looks at the first items only, whatever the size: the library would sort all keys of a dictionary, and take the
    whole repr of bytes and of every container that is not exactly of a built-in type."""

    def repr1(self, x: Any, level: int) -> str:
        match x:
            case bytes() | bytearray():
                x = bytes(x[:PREVIEW_CHARS])
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


def describe(namespace: dict[str, Any], names: list[str], hidden: set[str]) -> str:
    """JSON of `{variables, missing}`; without names, all that the user has made: no modules, no `_names`, none of
    `hidden`."""
    wanted = names or [name for name, value in namespace.items() if _users_own(name, value, hidden)]
    found = [_describe(name, namespace[name]) for name in wanted[:MAX_VARIABLES] if name in namespace]
    return json.dumps({"variables": found, "missing": [name for name in names if name not in namespace]})


def _users_own(name: str, value: Any, hidden: set[str]) -> bool:
    return not name.startswith("_") and name not in hidden and not isinstance(value, types.ModuleType)


def _describe(name: str, value: Any) -> dict[str, Any]:
    kind = cast("type[object]", type(value))
    module = "" if kind.__module__ == "builtins" else kind.__module__.partition(".")[0] + "."
    about: dict[str, Any] = {"name": name, "type": module + kind.__qualname__}
    try:
        _fill(about, value)
    except Exception as error:  # noqa: BLE001  # code of the user's own objects runs here
        about["preview"] = f"(cannot be shown: {type(error).__name__}: {error})"[:PREVIEW_CHARS]
    return about


def _fill(about: dict[str, Any], value: Any) -> None:
    shape: Any = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(map(_is_int, cast("tuple[object, ...]", shape))):
        about["shape"] = list(cast("tuple[int, ...]", shape))
    elif shape is None and hasattr(value, "__len__"):  # a shape that is yet to be computed has a length that costs
        about["length"] = len(value)
    columns, dtypes = getattr(value, "columns", None), getattr(value, "dtypes", None)
    if columns is not None and dtypes is not None and hasattr(value, "head"):
        pairs = zip(list(columns)[:MAX_COLUMNS], list(dtypes)[:MAX_COLUMNS], strict=False)
        about["columns"] = [{"name": str(column), "dtype": str(dtype)} for column, dtype in pairs]
        about["sample"] = str(value.head(SAMPLE_ROWS))[:SAMPLE_CHARS]
    else:
        text = _short.repr(value)
        about["preview"] = text if len(text) <= PREVIEW_CHARS else text[: PREVIEW_CHARS - 1] + "…"


def _is_int(value: object) -> bool:
    return isinstance(value, int)
