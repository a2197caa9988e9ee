"""Files, notebooks, pictures and folders as a model is given them."""

from __future__ import annotations

import base64
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from tests.plugins.contexts.near import given

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def read(folder: Path, name: str, **more: Any) -> str:
    return (await given(folder, {"type": "file", "path": name, **more}))[0].text


def picture(width: int, format: str = "PNG") -> bytes:
    """Noise, which does not get smaller when it is compressed."""
    noise = Image.effect_noise((width, width), 100)
    made = io.BytesIO()
    noise.convert("RGB").save(made, format)
    return made.getvalue()


async def test_a_file_is_given_whole(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    assert await read(tmp_path, "a.py") == "x = 1\ny = 2\n"


async def test_lines_are_counted_from_one_and_both_ends_belong_to_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    assert await read(tmp_path, "a.txt", linesRange={"start": 2, "end": 3}) == "[lines 2-3 of 4]\ntwo\nthree"
    assert await read(tmp_path, "a.txt", linesRange={"start": 4, "end": 99}) == "[lines 4-4 of 4]\nfour"
    assert "has only 4 lines" in await read(tmp_path, "a.txt", linesRange={"start": 5, "end": 6})


async def test_of_a_long_file_the_beginning_is_given_and_the_rest_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("line\n" * 5000)
    assert (await read(tmp_path, "a.txt")).startswith("[lines 1-2000 of 5000]\nline\n")
    (tmp_path / "b.txt").write_text("x" * 90_000)
    text = await read(tmp_path, "b.txt")
    assert text.startswith("[lines 1-1 of 1]\nxxx")
    assert text.endswith("[40000 characters of this line left out]")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
async def test_a_text_is_read_in_the_encodings_that_people_have(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_text("Größe;1\n", encoding=encoding)
    assert await read(tmp_path, "a.csv") == "Größe;1\n"


async def test_a_binary_file_is_named_and_not_pasted(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    assert await read(tmp_path, "a.bin") == "[a binary file of 3 bytes, not shown]"


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "nothing.txt", "folder", "a\0b"])
async def test_what_cannot_be_read_becomes_the_reason(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "work/folder").mkdir(parents=True)
    text = await read(tmp_path / "work", path)
    assert text.startswith("(not readable: ")
    assert "secret" not in text


async def test_a_notebook_is_given_as_cells_with_their_outputs(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["hello\n", "world\n"]},
        {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": ["<Figure>"]}, "metadata": {}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\x1b[31mValueError\x1b[0m: no"]},
    ]
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
        {"cell_type": "code", "execution_count": 3, "source": "print('hello')", "outputs": outputs},
        {"cell_type": "code", "execution_count": None, "source": "later()", "outputs": []},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    assert await read(tmp_path, "a.ipynb") == (
        "--- cell 1: markdown ---\n# Title\nwords\n\n"
        "--- cell 2: code, execution 3 ---\nprint('hello')\n"
        "--- output of cell 2 ---\nhello\nworld\n<Figure>\n[shown to the user: image/png]\nValueError: no\n\n"
        "--- cell 3: code, not run ---\nlater()"
    )


async def test_a_notebook_of_the_year_2013_is_read_too(tmp_path: Path) -> None:
    outputs: list[dict[str, Any]] = [
        {"output_type": "pyout", "prompt_number": 1, "text": ["2"], "png": "aGk=", "metadata": {}},
        {"output_type": "pyerr", "ename": "KeyError", "evalue": "'x'", "traceback": ["KeyError: 'x'"]},
    ]
    cells: list[dict[str, Any]] = [
        {"cell_type": "heading", "level": 2, "source": "Old", "metadata": {}},
        {"cell_type": "code", "input": "1 + 1", "prompt_number": 1, "outputs": outputs, "language": "python"},
    ]
    book: dict[str, Any] = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells}],
    }
    (tmp_path / "a.ipynb").write_text(json.dumps(book))
    assert await read(tmp_path, "a.ipynb") == (
        "--- cell 1: heading ---\n## Old\n\n"
        "--- cell 2: code, execution 1 ---\n1 + 1\n"
        "--- output of cell 2 ---\n2\n[shown to the user: image/png]\nKeyError: 'x'"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<<<<<<< HEAD", "is not a valid notebook"),
        ("[" * 100_000, "is not a valid notebook"),
        ("[]", "is not a notebook"),
        ('{"a": 1}', "is not a notebook"),
        ('{"worksheets": 7}', "a notebook with no cells"),
        ("", "a notebook with no cells"),
        ('{"cells": [7, {"source": 1, "outputs": [1, {"data": 1, "traceback": 1}]}]}', "--- cell 1: unknown ---"),
    ],
)
async def test_a_broken_notebook_is_told_in_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.ipynb").write_text(text)
    assert reason in await read(tmp_path, "a.ipynb")


async def test_of_a_long_output_both_ends_are_given(tmp_path: Path) -> None:
    outputs = [{"output_type": "stream", "name": "stdout", "text": "begin" + "x" * 9000 + "end"}]
    cells = [{"cell_type": "code", "source": "", "outputs": outputs}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    text = await read(tmp_path, "a.ipynb")
    assert "begin" in text
    assert text.endswith("end")
    assert "[... 5008 characters left out ...]" in text


async def test_a_picture_is_what_its_bytes_say(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture(4, "JPEG"))
    (material,) = await given(tmp_path, {"type": "file", "path": "a.png"})
    assert [part.media_type for part in material.images] == ["image/jpeg"]
    (tmp_path / "b.png").write_text("not a picture")
    assert "is no PNG, JPEG, GIF or WebP picture" in await read(tmp_path, "b.png")


async def test_a_picture_that_is_too_large_is_made_smaller(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture(2400))
    (material,) = await given(tmp_path, {"type": "file", "path": "a.png"})
    made = Image.open(io.BytesIO(base64.b64decode(material.images[0].base64)))
    assert (material.images[0].media_type, max(made.size)) == ("image/jpeg", 1568)


async def test_without_pillow_a_picture_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    (tmp_path / "a.gif").write_bytes(b"GIF89a" + bytes(4_000_000))
    assert "Install Pillow" in await read(tmp_path, "a.gif")


async def test_a_pasted_picture_is_checked_too(tmp_path: Path) -> None:
    data = base64.b64encode(picture(4)).decode()
    good, bad = await given(
        tmp_path,
        {"type": "image", "mediaType": "image/jpeg", "base64": data},
        {"type": "image", "mediaType": "image/png", "base64": "?"},
    )
    assert [part.media_type for part in good.images] == ["image/png"]
    assert "is not valid base64" in bad.text


async def test_a_folder_is_a_tree_with_sizes(tmp_path: Path) -> None:
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / "src/deep/b.py").write_text("12345")
    (tmp_path / "src/a.py").write_text("123")
    (material,) = await given(tmp_path, {"type": "directory", "path": "src"})
    assert material.text == "a.py (3 bytes)\ndeep/\n  b.py (5 bytes)"


async def test_a_folder_that_git_ignores_is_shown_to_who_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.csv").write_text("1")
    (tmp_path / ".gitignore").write_text("data")
    (material,) = await given(tmp_path, {"type": "directory", "path": str(tmp_path / "data")})
    assert material.text == "x.csv (1 bytes)"


async def test_of_a_large_workspace_the_map_leaves_out_what_is_deep(tmp_path: Path) -> None:
    (tmp_path / "near.py").touch()
    (tmp_path / "deep/er").mkdir(parents=True)
    for number in range(600):
        (tmp_path / f"deep/er/{number}.py").touch()
    (material,) = await given(tmp_path, {"type": "repoMap"})
    lines = material.text.splitlines()
    assert lines[0] == str(tmp_path)
    assert "near.py" in lines
    assert "  er/ ..." in lines
    assert lines[-1] == "[500 of 603 entries, the nearest first; directory_tree shows more]"


async def test_a_cursor_comes_with_the_lines_around_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    at = {"line": 49, "character": 2}
    context = {"type": "cursor", "path": "a.py", "position": {"start": at, "end": at}}
    (material,) = await given(tmp_path, context)
    assert material.label == "cursor in a.py"
    assert material.text.startswith("line 50, column 3; around it:\n[lines 30-70 of 100]\nline 30\n")
