"""Converts the outputs of code to text for a model. It knows Jupyter's output messages, and must not know kernels.

`tail.py` keeps the last lines of the output while code still runs. `notebooks/cell_outputs.py` builds outputs in
nbformat.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.model.request import MAX_PICTURES
from jupyter_eca.protocol.notebook import KernelPicture
from jupyter_eca.workspace.kernels.rich_text import describe_html, describe_plotly, describe_svg, is_uninformative
from jupyter_eca.workspace.reading.drawing import PLOTLY, SVG, can_draw

if TYPE_CHECKING:
    from collections.abc import Mapping

# The types of images that vendors of models accept. They do not accept SVG as an image.
IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")

# The escape sequences of terminals (ANSI): first colours and cursor moves, then titles and links. Titles and links end
# with a bell character or with another escape sequence.
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


def as_plain_text(text: str) -> str:
    """Return the text without terminal colours. Of a line that was overwritten by carriage returns, only the last state
    is kept."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))


def describe_bundle(data: Mapping[str, Any], picture_note: str = "") -> str:
    """Return the text of a MIME bundle (one output in several formats), with a note about the parts that only the user
    sees. `picture_note` replaces this note; "" for none."""
    text, html = str(data.get("text/plain", "")), str(data.get("text/html", ""))
    if html and is_uninformative(text):
        text = describe_html(html) or text
    figure = ""
    if not any(mime in data for mime in IMAGE_TYPES):
        figure = _describe_figure(data)
    types = [mime for mime in data if mime.startswith(("image/", "application/vnd."))]
    note = picture_note or (f"[shown to the user: {', '.join(types)}]" if types else "")
    return "\n".join(part for part in (text, figure, note) if part)


def _describe_figure(data: Mapping[str, Any]) -> str:
    """Return in words what a figure of Plotly or in SVG shows; empty when there is no such figure."""
    if isinstance(data.get(PLOTLY), dict):
        return describe_plotly(data[PLOTLY])
    return describe_svg(str(data[SVG])) if data.get(SVG) else ""


def find_picture(data: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the type and the data of a picture in a MIME bundle, or of a figure that can be drawn as one. None when
    there is neither."""
    for mime in (*IMAGE_TYPES, *filter(can_draw, (PLOTLY, SVG))):
        if value := data.get(mime):
            return mime, value if isinstance(value, str) else json.dumps(value)
    return None


class OutputText:
    """Collects the outputs of one execution, in order. With `pictures`, its last pictures are kept, and the text has
    their names."""

    def __init__(self, *, pictures: bool = False) -> None:
        self._parts: list[str] = []
        self._keeps_pictures = pictures
        self._count = 0
        # The last pictures. With each are the index of its part in `_parts`, and the text that takes the place of this
        # part when the picture is left out.
        self._pictures: list[tuple[int, str, KernelPicture]] = []

    def add(self, msg_type: str, content: Mapping[str, Any]) -> None:
        """Add an output message. `msg_type` and `content` are those of Jupyter's messaging protocol."""
        match msg_type:
            case "stream":
                self._parts.append(str(content.get("text", "")))
            case "display_data" | "execute_result":
                self._add_bundle(content.get("data", {}))
            case "error":
                self._parts.append("\n".join(content.get("traceback", ())) + "\n")
            case _:
                pass

    def _add_bundle(self, data: Mapping[str, Any]) -> None:
        """Add one output, which is a MIME bundle, and keep its picture. If there are too many pictures then, the oldest
        one is replaced by a note."""
        found = find_picture(data) if self._keeps_pictures else None
        if found is None:
            self._parts.append(describe_bundle(data) + "\n")
            return
        self._count += 1
        name, (media_type, source) = f"picture {self._count}", found
        left_out = describe_bundle(data, f"[{media_type}: left out, because more pictures follow]") + "\n"
        self._pictures.append(
            (len(self._parts), left_out, KernelPicture(name=name, media_type=media_type, data=source))
        )
        self._parts.append(describe_bundle(data, f"[{name}]") + "\n")
        if len(self._pictures) > MAX_PICTURES:
            index, text, _ = self._pictures.pop(0)
            self._parts[index] = text

    @property
    def pictures(self) -> tuple[KernelPicture, ...]:
        """The last pictures, at most `MAX_PICTURES`."""
        return tuple(picture for _, _, picture in self._pictures)

    @property
    def text(self) -> str:
        """All outputs as plain text."""
        return as_plain_text("".join(self._parts)).strip("\n")
