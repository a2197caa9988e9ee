"""Figures are drawn with the real libraries, where they are installed, so that a model can look at them."""

from __future__ import annotations

import base64
import importlib
import io
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from jupyter_eca.engine.model.request import ToolResultPart
from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.reading import drawing
from jupyter_eca.workspace.reading.drawing import PLOTLY, SVG, can_draw, draw
from tests.support.notebook_page import code, result, room

if TYPE_CHECKING:
    from pathlib import Path


def can_import(name: str) -> bool:
    """Return whether a library can be used. cairosvg also needs a library that pip does not install."""
    try:
        importlib.import_module(name)
    except (ImportError, OSError):
        return False
    return True


needs_cairosvg = pytest.mark.skipif(not can_import("cairosvg"), reason="cairosvg, or its library cairo, is missing")
needs_kaleido = pytest.mark.skipif(
    not (can_draw(PLOTLY) and any(map(shutil.which, ("chromium", "google-chrome", "chrome")))),
    reason="plotly, kaleido or a Chromium is missing",
)

HEAD = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


@pytest.fixture(autouse=True)
def have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the limit, because the machine may be busy."""
    monkeypatch.setattr(drawing, "LIMIT_SECONDS", 120)


def make_svg(content: str, size: str = 'width="200" height="100"', before: str = "") -> str:
    return f"{before}<svg {HEAD} {size}>{content}</svg>"


def make_png(color: str) -> str:
    """Return a picture of one color as a `data:` URL, as matplotlib writes it into its SVG."""
    buffer = io.BytesIO()
    Image.new("RGB", (2, 2), color).save(buffer, "PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def open_picture(data: bytes) -> Any:
    return Image.open(io.BytesIO(data)).convert("RGB")


@needs_cairosvg
def test_an_svg_is_drawn_as_wide_as_a_usual_plot() -> None:
    picture = open_picture(
        draw(SVG, make_svg('<rect width="100" height="100" fill="#00ff00"/><text y="50">größe</text>'))
    )
    assert picture.size == (900, 450)
    assert picture.getpixel((300, 400)) == (0, 255, 0)


@needs_cairosvg
def test_a_picture_within_an_svg_is_drawn() -> None:
    svg = make_svg(f'<image width="200" height="100" preserveAspectRatio="none" xlink:href="{make_png("blue")}"/>')
    assert open_picture(draw(SVG, svg)).getpixel((450, 225)) == (0, 0, 255)


@needs_cairosvg
@pytest.mark.parametrize(
    "content",
    [
        '<image width="9" height="9" xlink:href="https://example.org/x.png"/>',
        '<image width="9" height="9" xlink:href="{file}"/>',
        '<image width="9" height="9" xlink:href="file://{file}"/>',
        '<use xlink:href="file://{file}#a"/>',
    ],
)
def test_what_an_svg_only_names_is_not_loaded(tmp_path: Path, content: str) -> None:
    file = tmp_path / "secret.svg"
    file.write_text(make_svg('<rect id="a" width="9" height="9"/>'))
    with pytest.raises(ToolError, match=r"could not be drawn: it names .*, which is not loaded"):
        draw(SVG, make_svg(content.replace("{file}", str(file))))


ENTITY = '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/hostname">]>'


@needs_cairosvg
@pytest.mark.parametrize(
    ("svg", "reason"),
    [
        (make_svg("<text>&a;</text>", before=ENTITY), "EntitiesForbidden"),
        (make_svg("<rect/>", size='width="1" height="20"'), "it would be 18000 pixels high"),
        (make_svg("<rect/>", size='width="1" height="1e9"'), ""),
        (make_svg("<rect/>", size=""), ""),
        ("no figure", "syntax error"),
    ],
)
def test_a_figure_that_cannot_be_drawn_has_a_reason(svg: str, reason: str) -> None:
    with pytest.raises(ToolError, match=f"A figure of the type image/svg.xml could not be drawn: .*{reason}"):
        draw(SVG, svg)


@needs_cairosvg
def test_a_figure_that_never_gets_ready_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = ['<g id="g0"><rect width="9" height="9"/></g>']
    groups += ['<g id="g{}">{}</g>'.format(n, f"<use xlink:href='#g{n - 1}'/>" * 9) for n in range(1, 20)]
    monkeypatch.setattr(drawing, "LIMIT_SECONDS", 1.0)
    with pytest.raises(ToolError, match="could not be drawn: "):
        draw(SVG, make_svg("".join(groups)))


@needs_cairosvg
@pytest.mark.asyncio
async def test_the_model_sees_the_svg_of_a_cell(tmp_path: Path) -> None:
    data = {SVG: make_svg('<rect width="9" height="9"/>'), "text/plain": "<SVG>"}
    shown = {"output_type": "display_data", "data": data, "metadata": {}}
    async with room(tmp_path, code("a", "draw()", shown, count=1), read=False) as there:
        done = await there.call("notebook_read", cells="a")
        assert "[picture 1 of cell 1]" in result(done)
        messages = (await there.table.host.turns.draft("chat")).messages
        parts = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
        assert [image.media_type for image in parts[-1].images] == ["image/png"]


@pytest.mark.skipif(can_draw(SVG), reason="cairosvg is installed")
@pytest.mark.asyncio
async def test_without_cairosvg_the_model_reads_the_texts_of_an_svg(tmp_path: Path) -> None:
    data = {SVG: make_svg("<text>Sales</text>"), "text/plain": "<SVG>"}
    shown = {"output_type": "display_data", "data": data, "metadata": {}}
    async with room(tmp_path, code("a", "draw()", shown, count=1), read=False) as there:
        assert "Sales" in result(await there.call("notebook_read", cells="a"))


PICTURE = {"layout": {"images": [{"source": "http://127.0.0.1:1/a.png"}]}}
MAP = {"data": [{"type": "scattergeo", "lat": [1], "lon": [2]}]}


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        (PICTURE, "it names http://127.0.0.1:1/a.png, which is not loaded"),
        ({"data": [{"type": "image", "source": "file:///etc/passwd"}]}, "which is not loaded"),
        (MAP, "it has a map, which would be loaded from elsewhere"),
        ({"data": [], "layout": {"mapbox": {"style": "open-street-map"}}}, "it has a map"),
        ([1], "it is no figure of plotly"),
    ],
)
def test_a_plotly_figure_that_would_load_something_is_not_drawn(figure: Any, reason: str) -> None:
    with pytest.raises(ToolError, match=f"could not be drawn: .*{reason}"):
        draw(PLOTLY, json.dumps(figure))


@needs_kaleido
def test_a_plotly_figure_is_drawn() -> None:
    figure = {"data": [{"type": "bar", "x": ["a", "b"], "y": [1, 2]}], "layout": {"height": 300, "width": 200}}
    assert open_picture(draw(PLOTLY, json.dumps(figure))).size == (900, 300)


@needs_kaleido
@pytest.mark.asyncio
async def test_the_model_sees_the_plotly_figure_of_a_cell(tmp_path: Path) -> None:
    figure = {"data": [{"type": "bar", "x": ["a", "b"], "y": [1, 2]}]}
    shown = {"output_type": "display_data", "data": {PLOTLY: figure, "text/plain": "Figure()"}, "metadata": {}}
    async with room(tmp_path, code("a", "draw()", shown, count=1), read=False) as there:
        assert "[picture 1 of cell 1]" in result(await there.call("notebook_read", cells="a"))
        messages = (await there.table.host.turns.draft("chat")).messages
        parts = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
        (image,) = parts[-1].images
        assert open_picture(base64.b64decode(image.base64)).size == (900, 500)


@needs_kaleido
def test_what_is_no_plotly_figure_has_a_reason() -> None:
    with pytest.raises(ToolError, match=r"plotly.*could not be drawn: "):
        draw(PLOTLY, "[1")
