"""Says in words what outputs show that have no useful plain text: tables in HTML, SVG and figures of plotly.

It knows the formats and must not know kernels. `output_text.py` uses it for outputs, and `reading/drawing.py` draws
figures where that is possible.
"""

from __future__ import annotations

import base64
import re
from array import array
from html.parser import HTMLParser
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Characters of HTML or SVG that are parsed, because parsing a megabyte takes a second.
_MAX_PARSED: Final = 200_000

# Characters of the texts in an SVG, and traces of a plotly figure, that are named.
_MAX_TEXTS: Final = 1_000
_MAX_TRACES: Final = 12

# What Python shows of an object that has no text of its own.
_BARE_REPR: Final = re.compile(r"<[\w.]+( object)? at 0x[0-9a-fA-F]+>|<[\w.]+ object>")

# Elements whose text a reader does not see, and elements that begin a new line.
_HIDDEN: Final = frozenset({"script", "style", "template", "noscript"})
_BLOCKS: Final = frozenset({"br", "div", "h1", "h2", "h3", "h4", "li", "p", "pre", "table", "tr", "caption"})

# The codes of `array` for plotly's names of number types.
_ARRAY_CODES: Final = {
    "i1": "b",
    "u1": "B",
    "i2": "h",
    "u2": "H",
    "i4": "i",
    "u4": "I",
    "f4": "f",
    "f8": "d",
}


def is_uninformative(text: str) -> bool:
    """Return whether a plain text says nothing about the value: it is empty, or only a class and an address."""
    return not text.strip() or _BARE_REPR.fullmatch(text.strip()) is not None


def describe_html(html: str) -> str:
    """Return the text of HTML. Each row of a table is a line, with ` | ` between its cells."""
    collector = _TextCollector()
    collector.feed(html[:_MAX_PARSED])
    collector.close()
    lines = (" ".join(line.split()) for line in "".join(collector.parts).split("\n"))
    return "\n".join(line for line in (line.removesuffix(" |") for line in lines) if line)


def describe_svg(svg: str) -> str:
    """Return the texts in an SVG, in words for a model."""
    texts = " / ".join(describe_html(svg).split("\n"))
    return f"[an SVG figure with the texts: {texts[:_MAX_TEXTS]}]" if texts else "[an SVG figure without texts]"


def describe_plotly(figure: Mapping[str, Any]) -> str:
    """Return the titles of a plotly figure, and a line for each trace with its kind, its name and its data."""
    layout, traces = _as_object(figure.get("layout")), _as_list(figure.get("data"))
    titles = [
        f"{name}: {title}"
        for name, part in (("title", layout), ("x", layout.get("xaxis")), ("y", layout.get("yaxis")))
        if (title := _get_title(_as_object(part)))
    ]
    lines = [", ".join(("[a plotly figure", *titles))]
    lines += [_describe_trace(_as_object(trace)) for trace in islice(traces, _MAX_TRACES)]
    lines += [f"{len(traces) - _MAX_TRACES} more traces"] if len(traces) > _MAX_TRACES else []
    return "\n  ".join(lines) + "]"


def _describe_trace(trace: Mapping[str, Any]) -> str:
    """Return one line about a trace: `scatter 'sales': x 12 values, 1 to 12; y 12 values, 3 to 90`."""
    data = ((axis, _read_values(trace.get(axis))) for axis in ("x", "y", "z", "labels", "values"))
    parts = [f"{axis} {_describe_values(values)}" for axis, values in data if values]
    name = f" {str(trace['name'])[:80]!r}" if trace.get("name") else ""
    return f"{trace.get('type', 'scatter')}{name}: {'; '.join(parts) or 'no data'}"


def _describe_values(values: Sequence[Any]) -> str:
    """Return how many values there are, with the least and the greatest number, or the first and the last text."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values):
        return f"{len(values)} values, {min(numbers):.6g} to {max(numbers):.6g}"
    return f"{len(values)} values, {str(values[0])[:40]!r} to {str(values[-1])[:40]!r}"


def _read_values(value: Any) -> Sequence[Any]:
    """Return the values of an axis: plotly has a list, or numbers as bytes in base64."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    packed = _as_object(value)
    code = _ARRAY_CODES.get(str(packed.get("dtype")))
    if code is None or not isinstance(packed.get("bdata"), str):
        return ()
    try:
        return array(code, base64.b64decode(packed["bdata"]))
    except ValueError:  # it is not base64, or ends within a number
        return ()


def _get_title(part: Mapping[str, Any]) -> str:
    """Return the title of a layout or of an axis, which plotly stores as a text or as an object; "" for none."""
    title = part.get("title")
    return str(_as_object(title).get("text") or (title if isinstance(title, str) else ""))[:200]


def _as_object(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _as_list(value: Any) -> Sequence[Any]:
    """Return the value if it is a list, else an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else ()


class _TextCollector(HTMLParser):
    """Collects the text that a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        """The pieces of text, with a line break where a new line begins."""
        # The elements of `_HIDDEN` in which the parser is, the outermost first.
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  # HTMLParser's
        if tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in {"td", "th"}:
            self.parts.append(" | ")
        elif tag in _BLOCKS or tag in {"text", "title"}:  # the last two are of SVG
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data.replace("\n", " "))
