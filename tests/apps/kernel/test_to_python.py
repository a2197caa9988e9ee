"""A notebook without us: what becomes of cells. That the whole of it runs is seen in `test_prompt_kernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.apps.kernel.to_python import convert, write_python
from jupyter_eca.errors import LocalError
from tests.apps.kernel.prompts import book

if TYPE_CHECKING:
    from pathlib import Path


def test_a_notebook_of_python_that_asks_becomes_one_that_does_not() -> None:
    code = "x = '''\n%eca in a string'''\nif x:\n    {}\n{}"
    cells = [
        "%load_ext jupyter_eca",
        "%%eca -m a/b -> answer\nWhat\nis it?",
        code.format("%eca go on -> y", "%eca use a/b"),
        "%%time\n%eca no magic of ours",
    ]
    made = convert(book("python3", *cells))["cells"]
    assert [(cell["cell_type"], cell["source"]) for cell in made] == [
        ("markdown", "What\nis it?"),
        ("code", code.format("pass  # %eca go on -> y", "# %eca use a/b")),
        ("code", "%%time\n%eca no magic of ours"),
    ]


@pytest.mark.parametrize("text", ["no json", "[]", "{}", '{"nbformat": 3}'])
def test_what_is_no_notebook_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.ipynb").write_text(text)
    with pytest.raises(LocalError, match=r"^bad\.ipynb (is|has) "):
        write_python(tmp_path / "bad.ipynb")
    with pytest.raises(LocalError, match="No such file"):
        write_python(tmp_path / "none.ipynb")
    assert [file.name for file in tmp_path.iterdir()] == ["bad.ipynb"]
