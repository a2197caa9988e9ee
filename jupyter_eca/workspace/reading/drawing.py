"""Draws figures that are no pictures yet, such as SVG, so that a model can look at them. Each format needs a library,
which is used only if it is installed.

It must not know where a figure comes from. Its neighbour `image.py` loads pictures, and `kernels/rich_text.py` says in
words what a figure shows.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Never

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

SVG: Final = "image/svg+xml"
PLOTLY: Final = "application/vnd.plotly.v1+json"

# The libraries that draw a format. All of them must be installed.
_LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {SVG: ("cairosvg",), PLOTLY: ("plotly", "kaleido")}

# The width in pixels of a drawing: text in it can be read, and it costs a model no more than a usual plot.
_WIDTH: Final = 900


@cache
def can_draw(media_type: str) -> bool:
    """Return whether a format can be drawn with what is installed."""
    libraries = _LIBRARIES.get(media_type, ())
    return bool(libraries) and all(importlib.util.find_spec(name) is not None for name in libraries)


def draw(media_type: str, source: str) -> bytes:
    """Draw a figure as PNG. It takes up to some seconds, so it belongs in a thread. Raises: ToolError."""
    try:
        return _draw_svg(source) if media_type == SVG else _draw_plotly(source)
    except Exception as error:  # the libraries raise errors of many kinds for a figure that they cannot draw
        raise ToolError(f"A figure of the type {media_type} could not be drawn: {error}.") from error


def _draw_svg(source: str) -> bytes:
    library: Any = importlib.import_module("cairosvg")
    return library.svg2png(bytestring=source.encode(), output_width=_WIDTH, url_fetcher=_refuse_url)


def _refuse_url(url: str, *_: Any) -> Never:
    """Refuse what a figure names: it could be any file or page."""
    raise ToolError(f"The figure names {url}, which is not loaded.")


def _draw_plotly(source: str) -> bytes:
    library: Any = importlib.import_module("plotly.io")
    return library.to_image(json.loads(source), format="png", width=_WIDTH, validate=False)
