"""A program that draws a figure: `python draw_figure.py MEDIA_TYPE` reads the figure from stdin and writes a PNG to
stdout. If it fails, it writes the reason to stderr.

It is a program of its own, because a figure may come from a notebook of somebody else. A figure that never gets ready,
or that crashes a library, ends only this process. `drawing.py` starts and ends it. It must not import our package: it
runs as a file.
"""

from __future__ import annotations

import importlib
import json
import struct
import sys
from typing import Any, cast

# The width in pixels of a drawing: text in it can be read, and it costs a model no more than a usual plot.
WIDTH = 900
# The height in pixels of a figure of plotly that has none.
HEIGHT = 500
# The kinds of maps of plotly.
MAPS = frozenset(
    {"choropleth", "choroplethmap", "choroplethmapbox", "densitymap", "densitymapbox", "scattergeo", "scattermap"}
    | {"scattermapbox"}
)
# Vendors refuse images with a longer side.
MAX_HEIGHT = 8_000


class FigureError(Exception):
    """A figure that is not drawn. The message says why."""


def draw(media_type: str, source: str) -> bytes:
    """Return the figure as PNG. Raises: FigureError, and errors of the libraries."""
    drawn = _draw_svg(source) if media_type.startswith("image/svg") else _draw_plotly(source)
    # The width and the height are at this place of every PNG.
    _, height = struct.unpack(">II", drawn[16:24])
    if height > MAX_HEIGHT:
        raise FigureError(f"it would be {height} pixels high")
    return drawn


def _draw_svg(source: str) -> bytes:
    """Draw an SVG, and return the PNG."""
    library: Any = importlib.import_module("cairosvg.surface")
    # `cairosvg.svg2png` calls this without a function for addresses.
    return library.PNGSurface.convert(bytestring=source.encode(), output_width=WIDTH, url_fetcher=_fetch)


def _fetch(url: str, resource_type: str) -> bytes:
    """Return a picture that the figure contains, and refuse all that it only names: that could be any file or page."""
    if not url.startswith("data:"):
        raise FigureError(f"it names {url}, which is not loaded")
    library: Any = importlib.import_module("cairosvg.url")
    return library.fetch(url, resource_type)


def _draw_plotly(source: str) -> bytes:
    """Draw a figure of plotly, which is JSON, and return the PNG."""
    figure = _as_object(json.loads(source))
    if not figure:
        raise FigureError("it is no figure of plotly")
    _check_complete(figure)
    library: Any = importlib.import_module("kaleido")
    # `plotly.io.to_image` would let the browser load MathJax from the web, for each figure.
    size = {"width": WIDTH, "height": _as_object(figure.get("layout")).get("height") or HEIGHT}
    return library.calc_fig_sync(figure, opts={"format": "png", **size}, kopts={"mathjax": False})


def _check_complete(figure: dict[str, Any]) -> None:
    """Check that the browser need load nothing to draw a figure of plotly. Raises: FigureError.

    A figure can name pictures at any address, also of inner servers. For a map, plotly itself loads the coasts or the
    tiles.
    """
    traces = [_as_object(trace) for trace in _as_list(figure.get("data"))]
    has_map = any(name.startswith(("geo", "map")) for name in _as_object(figure.get("layout")))
    if has_map or any(trace.get("type") in MAPS for trace in traces):
        raise FigureError("it has a map, which would be loaded from elsewhere")
    _check_sources(figure)


def _check_sources(value: object) -> None:
    """Check that all pictures in a part of a figure are contained in it. Raises: FigureError."""
    fields = _as_object(value)
    source = fields.get("source")
    if isinstance(source, str) and not source.startswith("data:"):
        raise FigureError(f"it names {source}, which is not loaded")
    for part in (*fields.values(), *_as_list(value)):
        _check_sources(part)


def _as_object(value: object) -> dict[str, Any]:
    """Return a JSON object; an empty one for another value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _as_list(value: object) -> list[object]:
    """Return a JSON array; an empty one for another value."""
    return cast("list[object]", value) if isinstance(value, list) else []


def main() -> None:
    """Draw the figure of stdin. Exits with 1 if that is not possible."""
    try:
        drawn = draw(sys.argv[1], sys.stdin.buffer.read().decode("utf-8", "replace"))
    except Exception as error:  # noqa: BLE001  # the libraries raise errors of many kinds for a figure
        sys.exit(" ".join((str(error) or type(error).__name__).split())[:300])
    sys.stdout.buffer.write(drawn)


if __name__ == "__main__":
    main()
