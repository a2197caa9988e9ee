"""What `editor_diagnostics` tells the model of notebooks and files: real ruff, real ty, the page at the other end of a
link."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.diagnostics import editor_diagnostics
from jupyter_eca.protocol.notebook import CellState, NotebookDocument
from jupyter_eca.workspace.diagnostics import linter_process
from jupyter_eca.workspace.kernels.local import LocalKernel
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.support.host_and_client import answer, desk
from tests.support.notebook_page import PATH, Nobody, Page, code, printed, result, room, text
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.notebook import NotebookCell

pytestmark = pytest.mark.asyncio

NOWHERE = (
    "is defined in no cell (any more): it is in the kernel only, and a restart loses it [notebook defined-nowhere]"
)
MISSING = "[ruff is not installed (`pip install 'jupyter-eca[lint]'`)]"


def nothing(name: str) -> str | None:  # noqa: ARG001
    return None


class Shelf(Nobody):
    """One notebook, in memory."""

    def __init__(self, *cells: NotebookCell, language: str = "python") -> None:
        self.document = NotebookDocument(path=PATH, cells=cells, language=language, kernel_id="k")

    async def read(self, path: str) -> NotebookDocument:
        return self.document.model_copy(update={"path": path})


async def told(folder: Path, *cells: NotebookCell, language: str = "python") -> list[str]:
    """The lines under the first one."""
    context = ToolContext("chat", Files((folder,)), notebooks=Shelf(*cells, language=language))
    return (await editor_diagnostics.run(context, {"path": PATH})).text.splitlines()[1:]


def ran(*sources: str) -> list[NotebookCell]:
    """Once, from the top."""
    return [code(f"c{n}", source, count=n) for n, source in enumerate(sources, 1)]


# -- all sources together


async def test_the_page_and_the_linters_tell_of_a_notebook_together_and_each_thing_once(tmp_path: Path) -> None:
    spot = {"start": {"line": 0, "character": 6}, "end": {"line": 0, "character": 7}}
    seen = {"severity": "warning", "source": "pylsp", "range": spot, "uri": f"jupyter:{PATH}#b"}
    page = Page(
        {
            PATH: [
                text("t", "# Words"),
                *(code(id, s, count=n) for id, s, n in (("a", "x: int = 'no'", 1), ("b", "print(y)", 2))),
            ]
        },
        problems=[{**seen, "message": "undefined name 'y'"}, {**seen, "message": "line is dull"}],
    )
    async with room(tmp_path, page=page) as there:
        done = await there.call("editor_diagnostics", path=PATH)
        assert result(done).splitlines() == [
            f"{PATH} (3 cells): 1 error, 2 warnings",
            'cell 2 [a] 1:10: error: Object of type `Literal["no"]` is not assignable to `int` [ty invalid-assignment]',
            f"cell 3 [b] 1:7: warning: `y` {NOWHERE}",
            "cell 3 [b] 1:7: warning: line is dull [pylsp]",
        ]
        assert page.asked == [f"jupyter:{PATH}"]
        assert result(await there.call("editor_diagnostics")).startswith(f"{PATH} (3 cells): 1 error, 2 warnings")
        assert page.asked[1:] == [f"jupyter:{PATH}", None]


async def test_a_notebook_that_nothing_is_wrong_with_is_told_in_one_line(tmp_path: Path) -> None:
    async with room(tmp_path, *ran("import json", "json.dumps({})")) as there:
        assert result(await there.call("editor_diagnostics", path=PATH)) == f"{PATH} (2 cells): nothing wrong is known"


async def test_an_open_notebook_that_cannot_be_read_hides_nothing_of_the_others(tmp_path: Path) -> None:
    page = Page({PATH: ran("print(1)"), "gone.ipynb": ran("1")}, unreadable="gone.ipynb")
    async with room(tmp_path, page=page) as there:
        told = result(await there.call("editor_diagnostics")).splitlines()
        assert told[::2] == [f"{PATH} (1 cell): nothing wrong is known", "gone.ipynb: gone.ipynb was closed"]


async def test_a_file_that_no_editor_has_is_linted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\n\ndef f(x: int) -> str:\n    return x + nothing\n")
    (tmp_path / "b.txt").write_text("words")
    context = ToolContext("chat", Files((tmp_path,)), notebooks=Nobody())
    assert (await editor_diagnostics.run(context, {"path": "a.py"})).text.splitlines() == [
        "a.py:4:16: error: Undefined name `nothing` [ruff F821]"
    ]
    assert (await editor_diagnostics.run(context, {"path": "b.txt"})).text == "Nothing wrong is known of b.txt."
    with pytest.raises(ToolError, match=r"There is no file c\.py"):
        await editor_diagnostics.run(context, {"path": "c.py"})
    with pytest.raises(ToolError, match=r"No notebook is open here\. Give the path"):
        await editor_diagnostics.run(context, {})


# -- linters


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline\n!pip --version\nx = !ls\ny = %pwd\nprint(x, y)",
        "%%bash\nfor i in 1 2; do echo $i; done",
        "%%time\nz = 1\nz",
        "%%eca -> answer\nWhy?\n",
        "len?\n?len\nlen??",
        "!echo it's \\\n  fine\nimport os",
        "'''\n%not a magic\n'''",
        "import asyncio\nawait asyncio.sleep(0)",
        "display(get_ipython(), In, Out, _, __, _1, _i1)",
        "from json import *\ndumps({})",
        "%run other.py\nfrom_other()",
        "import json\nimport json\nunused = f'plain'\njson",
    ],
)
async def test_what_ipython_understands_is_nothing_wrong(tmp_path: Path, source: str) -> None:
    (tmp_path / "other.py").write_text("def from_other(): pass\n")
    found = await told(tmp_path, *ran(source, "answer = 1" if "answer" not in source else "answer.text"))
    assert [line for line in found if "from_other" not in line] == []


async def test_a_broken_cell_hides_nothing_of_the_others(tmp_path: Path) -> None:
    found = await told(tmp_path, *ran("def f(:\n  later = 1", "f(later, nowhere)\nx = [1].nope", "% %% ?? ! (", "!ls"))
    errors = [line.partition(" error: ")[0] for line in found if "error:" in line]
    assert errors == ["cell 1 [c1] 1:7:", "cell 2 [c2] 1:10:", "cell 2 [c2] 2:5:"]
    assert not any("`later`" in line or "`f`" in line for line in found)


async def test_rules_that_a_project_has_chosen_are_those_that_are_heeded(tmp_path: Path) -> None:
    cells = ran("l = 1", "print(undefined_here)").__iter__()
    both = [next(cells), next(cells).model_copy(update={"execution_count": None, "state": CellState.EDITED})]
    assert not [line for line in await told(tmp_path, *both) if "E741" in line]
    (tmp_path / "work").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['E741']\n")
    found = [line for line in await told(tmp_path, *both) if "[ruff" in line]
    assert found == ["cell 1 [c1] 1:1: warning: Ambiguous variable name: `l` [ruff E741]"]


async def test_a_configuration_that_the_linters_refuse_is_told_and_python_looks_instead(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff")
    found = await told(tmp_path, *ran("x = = 1"))
    assert "error: SyntaxError: invalid syntax [python]" in found[0]
    assert [line.partition(":")[0] for line in found[1:]] == ["[ruff failed", "[ty failed"]


async def test_imports_are_looked_for_where_the_kernel_would_find_them(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "beside.py").write_text("def f() -> int: return 1\n")
    found = await told(tmp_path, *ran("import beside, pydantic, not_there_at_all\nbeside.f() + 'a'"))
    assert ["not_there_at_all" in found[0], "Operator `+`" in found[1], len(found)] == [True, True, 2]


async def test_without_linters_python_looks_for_what_it_cannot_read_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linter_process, "find", nothing)
    found = await told(tmp_path, *ran("%time x = 1\nls?\ny = x", "if x\n  pass"))
    assert found[0] == "cell 2 [c2] 1:5: error: SyntaxError: expected ':' [python]"
    assert found[1] == MISSING
    assert len(found) == 3


async def test_a_note_that_holds_for_all_notebooks_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linter_process, "find", nothing)
    page = Page({"a.ipynb": [code("a", "x = 1")], "b.ipynb": [code("b", "y = 2")]})
    async with room(tmp_path, page=page, toolCall={"approval": {"byDefault": "allow"}}) as there:
        text = result(await there.call("editor_diagnostics"))
    assert ("a.ipynb (1 cell)" in text, "b.ipynb (1 cell)" in text) == (True, True)
    assert text.count(MISSING) == 1


@pytest.mark.parametrize("cancelled", [True, False])
async def test_a_linter_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cancelled: bool) -> None:
    monkeypatch.setattr(linter_process, "LIMIT_SECONDS", 30.0 if cancelled else 0.3)
    hangs = tmp_path / "hangs"
    hangs.write_text(
        f"#!{sys.executable}\nimport os, time\nopen({str(tmp_path / 'pid')!r}, 'a').write('x')\ntime.sleep(60)\n"
    )
    hangs.chmod(0o755)

    def find(name: str) -> str | None:
        return str(hangs) if name == "ruff" else None

    monkeypatch.setattr(linter_process, "find", find)
    work = asyncio.create_task(told(tmp_path, *ran("x = 1")))
    if cancelled:
        async with asyncio.timeout(PATIENCE):
            while not (tmp_path / "pid").exists():  # noqa: ASYNC110  # another process makes it
                await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    else:
        async with asyncio.timeout(PATIENCE):
            assert f"[{hangs} did not end in 0.3 seconds]" in await work


# -- bad input


async def test_a_notebook_that_is_no_notebook_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "nb.ipynb").write_text('{"cells": [')
    files = Files((tmp_path,))
    with pytest.raises(ToolError, match="is not a valid notebook"):
        await editor_diagnostics.run(ToolContext("chat", files, notebooks=NotebookFiles(files)), {"path": "nb.ipynb"})


async def test_no_output_is_given_to_a_linter_whatever_its_size(tmp_path: Path) -> None:
    huge = "no such name " * 8_000_000
    broken = {
        "output_type": "error",
        "ename": "E" * 9_000,
        "evalue": huge,
        "traceback": [huge, f"Cell In[1], line 1\n{huge}"],
    }
    async with asyncio.timeout(PATIENCE):
        found = await told(tmp_path, code("a", "x = 1", printed(huge), broken, count=1))
    assert [len(line) < 600 for line in found] == [True]


@pytest.mark.parametrize("language", ["R", "julia"])
async def test_of_another_language_only_the_order_and_the_state_are_told(tmp_path: Path, language: str) -> None:
    cells = [code("a", "x <- 1", count=9), code("b", "y <- x %>% f()", count=2), code("c", "z <- y", count=3)]
    found = await told(tmp_path, *cells, code("d", "q <- 1"), language=language)
    assert found == [
        "cell 1 [a]: warning: ran out of order (execution 9), after cells 2-3 below it [notebook out-of-order]",
        "cell 4 [d]: info: never run [notebook never-run]",
    ]


# -- with a kernel


async def test_names_that_only_the_kernel_has_are_told_where_they_are_used_and_as_lost_by_a_restart(
    tmp_path: Path,
) -> None:
    files = Files((tmp_path,))
    kernel = LocalKernel(tmp_path)
    try:
        await kernel.execute("chat", "x, gone, other, made = 1, 2, 3, 4")
        books = NotebookFiles(files, kernel)
        sources = ("x = 1", "def f():\n    return gone + nowhere")
        blank: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        cells = [{**blank, "id": f"c{n}", "source": source} for n, source in enumerate(sources, 1)]
        (tmp_path / "nb.ipynb").write_text(
            json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        )
        context = ToolContext("chat", files, kernel=kernel, kernels=kernel, notebooks=books)
        found = (await editor_diagnostics.run(context, {"path": "nb.ipynb"})).text.splitlines()
    finally:
        await kernel.close()
    assert found == [
        "nb.ipynb (2 cells): 1 error, 2 warnings, 2 infos",
        "cell 2 [c2] 2:19: error: Undefined name `nowhere` [ruff F821]",
        "warning: A restart would lose what no cell defines: gone, made, other [notebook lost-by-restart]",
        f"cell 2 [c2] 2:12: warning: `gone` {NOWHERE}",
        "cells 1-2: info: never run [notebook never-run]",
    ]


async def test_cells_of_a_notebook_without_a_kernel_may_be_of_an_earlier_one(tmp_path: Path) -> None:
    cell: dict[str, Any] = {"cell_type": "code", "id": "a", "metadata": {}, "source": "df = 1", "outputs": []}
    cell["execution_count"] = 3
    book: dict[str, Any] = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(book))
    tools = [{"tool": name, "arguments": {"path": "a.ipynb"}} for name in ("notebook_read", "editor_diagnostics")]
    rules: list[dict[str, Any]] = [{"result": "", "reply": [{"text": "Done."}]}, {"message": "", "reply": tools}]
    allowed = {"approval": {"byDefault": "allow"}}
    async with desk(tmp_path, rules, NotebookFiles(Files((tmp_path,))), toolCall=allowed) as table:
        received = await answer(await table.client(), "look")
    read, problems = [str(one.content.outputs[0].text) for one in received if one.content.type == "toolCalled"]
    assert "--- cell 1 [a]: code, execution 3, perhaps in an earlier kernel ---" in read
    assert "cell 1 [a]: info: may have run in an earlier kernel" in problems
