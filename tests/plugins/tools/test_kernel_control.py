"""The tools on a kernel's life, through the engine, with a kernel that a person would call busy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.notebook import Inspection, KernelState
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.support.host_and_client import Notebook, answer, desk
from tests.support.notebook_page import Page, called, result, yes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCalledContent
    from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult

pytestmark = pytest.mark.asyncio


@dataclass
class Busy:
    """Runs cell 3 until it is interrupted or restarted."""

    id: str | None = None
    notebook: str = ""
    description = "A kernel."
    now: KernelState = field(
        default_factory=lambda: KernelState(status="busy", language="python", cell="3", busy_ms=4200, queued=2)
    )
    done: list[str] = field(default_factory=list[str])
    told: str = "Signature: f(x)"
    """What it knows of `f`."""
    names: tuple[str, ...] = ("x",)
    """Its variables."""

    async def execute(self, chat: str, code: str) -> KernelExecuteResult:  # noqa: ARG002
        return await Notebook().execute(code)

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        return await Notebook().variables(names or self.names)

    async def state(self) -> KernelState:
        return self.now

    async def interrupt(self) -> None:
        self.done.append("interrupt")
        self.now = KernelState(status="idle", language="python")

    async def restart(self) -> None:
        self.done.append("restart")
        self.now = KernelState(status="idle")

    async def inspect(self, name: str) -> Inspection:
        return Inspection(found=name == "f", text=self.told if name == "f" else "")


@dataclass
class Each:
    """A kernel for each notebook."""

    kernels: dict[str, Busy]

    async def find(self, path: str | None) -> Any:
        return self.kernels[path or ""]

    async def wait_for_idle_kernel(self, chat: str, path: str) -> Any:
        raise NotImplementedError


async def call(
    folder: Path, kernel: Any, tool: str, notebook: dict[str, Any] | None = None, **arguments: Any
) -> ToolCalledContent:
    calls: list[dict[str, Any]] = [{"tool": tool, "arguments": arguments}]
    rules: list[dict[str, Any]] = [{"message": "", "reply": calls}, {"result": "", "reply": []}]
    async with desk(folder, rules, notebook=notebook or {}) as table:
        table.host.current.workspace = replace(table.host.workspace, kernel=kernel)
        return called(await answer(await table.client(), "go", yes))[0]


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("kernel_state", "The kernel (python) is busy with cell 3 for 4.2 seconds; 2 more wait."),
        ("kernel_interrupt", "Interrupted. The kernel (python) is idle."),
        ("kernel_restart", "Restarted; its variables are gone. The kernel is idle."),
    ],
)
async def test_the_model_is_told_how_the_kernel_is_then(tmp_path: Path, tool: str, told: str) -> None:
    kernel = Busy()
    assert result(await call(tmp_path, kernel, tool)) == told
    assert kernel.done == ([] if tool == "kernel_state" else [tool.removeprefix("kernel_")])


async def test_a_name_is_looked_up_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    assert result(await call(tmp_path, Busy(), "inspect", name="f")) == "Signature: f(x)"
    done = await call(tmp_path, Busy(), "inspect", name="g")
    assert (done.error, "knows no g" in result(done)) == (True, True)


async def test_of_a_name_that_has_pages_the_beginning_is_told(tmp_path: Path) -> None:
    kernel = Busy(told="Signature: f(x)\nDocstring:\n" + "line of the docstring\n" * 500)
    text = result(await call(tmp_path, kernel, "inspect", name="f"))
    assert text.startswith("Signature: f(x)\nDocstring:\nline of")
    assert len(text) < 4_200
    assert text.endswith(" more characters: inspect a name inside of it, or read its file]")


async def test_of_many_variables_each_has_a_line_and_of_a_named_one_more_is_told(tmp_path: Path) -> None:
    kernel = Busy(names=tuple(f"x{n}" for n in range(21)))
    text = result(await call(tmp_path, kernel, "variables"))
    assert text.split("\n")[:2] == ["x0: int", "x1: int"]
    assert text.split("\n")[20:] == [
        "x20: int",
        "[many variables: a line for each; name those of which you need more]",
    ]
    assert result(await call(tmp_path, kernel, "variables", names=["x3"])) == "x3: int\n  1"


@pytest.mark.parametrize("tool", ["kernel_restart", "kernel_interrupt"])
async def test_the_kernel_is_that_of_the_notebook_that_is_worked_in(tmp_path: Path, tool: str) -> None:
    last, mine = Busy(), Busy()
    rules: list[dict[str, Any]] = [
        {"message": "", "reply": [{"tool": tool, "arguments": {}}]},
        {"result": "", "reply": []},
    ]
    page = Page({"mine.ipynb": [], "other.ipynb": []})
    async with desk(tmp_path, rules, NotebookFiles(Files((tmp_path,)), None)) as table:
        kernels = Each({"mine.ipynb": mine, "other.ipynb": Busy()})
        table.host.current.workspace = replace(table.host.workspace, kernel=last, kernels=kernels)
        await page.join(table)
        assert not called(await answer(await table.client(), "go", yes))[0].error
        await page.leave()
    assert (last.done, mine.done) == ([], [tool.removeprefix("kernel_")])


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("full", "x: int\n  1"),
        ("schema", "x: int\n[values are not told: the setting notebook.variables]"),
        ({"value": "names"}, "x: int\n[values are not told: the setting notebook.variables]"),
        ({"table": "names"}, "x: int\n  1"),
    ],
)
async def test_of_a_variable_only_as_much_is_told_as_the_configuration_allows(
    tmp_path: Path, setting: Any, told: str
) -> None:
    assert result(await call(tmp_path, Busy(), "variables", notebook={"variables": setting}, names=["x"])) == told
