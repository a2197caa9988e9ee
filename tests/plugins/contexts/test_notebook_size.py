"""What a whole notebook costs: a model's tokens, and the time to build it."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.notebook import NotebookDocument
from jupyter_eca.workspace.reading.text import MAX_CHARACTERS
from tests.plugins.contexts.open_notebooks import PATH, code, failed, printed, words
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookCell

COLUMNS = ("planet", "mass", "radius", "distance")


def table(rows: int) -> dict[str, Any]:
    """A data frame, as pandas shows it: as text and as HTML."""
    values = [[f"{column}{row}" for column in COLUMNS] for row in range(rows)]
    lines = ["  ".join(f"{value:>12}" for value in row) for row in (COLUMNS, *values)]
    head = "".join(f"      <th>{column}</th>\n" for column in COLUMNS)
    body = "".join(
        f"    <tr>\n      <th>{number}</th>\n" + "".join(f"      <td>{value}</td>\n" for value in row) + "    </tr>\n"
        for number, row in enumerate(values)
    )
    style = "<style scoped>\n    .dataframe tbody tr th {\n        vertical-align: top;\n    }\n</style>\n"
    html = f'<div>\n{style}<table border="1" class="dataframe">\n  <thead>\n    <tr style="text-align: right;">\n{head}'
    html += f"    </tr>\n  </thead>\n  <tbody>\n{body}  </tbody>\n</table>\n</div>"
    data = {"text/plain": "\n".join(lines), "text/html": html}
    return {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": data}


def figure(size: int, seed: int) -> dict[str, Any]:
    png = b"\x89PNG\r\n\x1a\n" + random.Random(seed).randbytes(size)
    data = {"image/png": base64.b64encode(png).decode(), "text/plain": "<Figure size 640x480 with 1 Axes>"}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def analysis(cells: int, picture: int = 12_000) -> NotebookDocument:
    """What an analysis is made of: text, code, tables, prints, now and then a figure or an error."""

    def cell(number: int) -> NotebookCell:
        id, count = f"{number:08x}", number + 1
        source = f"frame_{number} = load('part_{number}.csv')\nframe_{number}.groupby('planet').mean().head()"
        match number % 5:
            case 0:
                return words(
                    id, f"## Part {number}\n\nHere we look at the planets of part {number}, and why they matter."
                )
            case 1 | 2:
                return code(id, source, table(5), count=count)
            case 3:
                return code(id, source, printed(f"read {number} rows\n" * 4), count=count)
            case _ if number % 15 == 4:
                lines = "\x1b[0;31mValueError\x1b[0m", f"Cell In[{count}], line 2", "\x1b[0;31mValueError\x1b[0m: no"
                return code(id, source, failed("ValueError", "no", *lines), count=count)
            case _:
                return code(
                    id, f"frame_{number - 1}.plot()", *([figure(picture, number)] if picture else []), count=count
                )

    return NotebookDocument(path=PATH, cells=tuple(map(cell, range(cells))))


def saved(document: NotebookDocument) -> str:
    """As Jupyter writes it: indented by one, texts as lists of lines."""

    def lines(value: Any) -> Any:
        return value.splitlines(keepends=True) if isinstance(value, str) else value

    def output(one: dict[str, Any]) -> dict[str, Any]:
        if "data" in one:
            data = {mime: text if mime.startswith("image/") else lines(text) for mime, text in one["data"].items()}
            return {**one, "data": data}
        return {**one, "text": lines(one["text"])} if "text" in one else one

    cells = [
        {
            "cell_type": cell.cell_type.value,
            "id": cell.id,
            "metadata": cell.metadata,
            "source": lines(cell.source),
            **(
                {"execution_count": cell.execution_count, "outputs": list(map(output, cell.outputs))}
                if cell.state
                else {}
            ),
        }
        for cell in document.cells
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def tokens(text: str) -> int:
    """About as vendors count: short words and signs, and a long word by its letters."""
    return sum(1 + len(part) // 8 for part in re.findall(r" ?\w+|[^\w\s]|\s+", text))


@pytest.mark.parametrize("picture", [12_000, 0], ids=["figures", "no figures"])
def test_a_notebook_costs_at_most_a_third_of_its_file(picture: int) -> None:
    document = analysis(50, picture)
    given = open_notebook.render_whole(document).text
    assert tokens(given) * 3 <= tokens(saved(document))
    assert len(given) * 3 <= len(saved(document))


def test_nothing_is_missing_that_a_reader_sees() -> None:
    document = analysis(50)
    found = open_notebook.render_whole(document)
    for cell in document.cells:
        assert cell.source in found.text
        for output in cell.outputs:
            if text := output.get("data", {}).get("text/plain") or output.get("text"):
                assert text.strip() in found.text
    assert found.text.count("ValueError: no") == 4
    drawn = [
        output["data"]["image/png"] for cell in document.cells for output in cell.outputs if "image/png" in str(output)
    ]
    assert [image.base64 for image in found.images] == drawn[-open_notebook.MAX_PICTURES :]
    assert "[not all pictures of these cells are here: 10, 15]" in found.text


def test_of_a_notebook_that_is_too_long_outputs_are_told_in_fewer_words_and_no_cell_is_left_out() -> None:
    long = tuple(code(f"c{number}", f"step_{number}()", printed(f"{number} line\n" * 900)) for number in range(100))
    given = open_notebook.render_whole(NotebookDocument(path=PATH, cells=long)).text
    assert len(given) <= MAX_CHARACTERS
    assert all(f"step_{number}()" in given for number in range(100))
    assert given.count("characters left out") == 100


def test_each_of_200_cells_has_its_heading() -> None:
    given = open_notebook.render_whole(analysis(200)).text
    assert all(f"--- cell {number} [" in given for number in range(1, 201))


def test_a_hundred_megabytes_of_output_are_no_more_than_a_page() -> None:
    huge = code("huge", "flood()", printed("x" * 100_000_000))

    async def built() -> str:
        async with asyncio.timeout(PATIENCE):
            return (
                await asyncio.to_thread(open_notebook.render_whole, NotebookDocument(path=PATH, cells=(huge,)))
            ).text

    assert len(asyncio.run(built())) < MAX_CHARACTERS
