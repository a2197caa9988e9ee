"""The notebook and the kernel of a turn are those of its prompt, whatever is in front while the model works."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import RejectReason, ToolCallRejectedContent
from jupyter_eca.protocol.context import TextContext
from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelState, KernelVariablesResult, RunStatus, Variable
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.kernels.run_history import KernelHistory
from jupyter_eca.workspace.ports import RunningKernel
from tests.support.host_and_client import answer
from tests.support.notebook_page import Page, Room, called, code, result, room, script, yes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent
    from jupyter_eca.workspace.ports import CellKernel, RunObserver

pytestmark = pytest.mark.asyncio

SALES, WIDE = "sales.ipynb", "wide.ipynb"


@dataclass
class NotebookKernel:
    """The kernel of one notebook; it remembers what ran in it."""

    notebook: str
    description: str = "A kernel."
    ran: list[str] = field(default_factory=list[str])

    @property
    def id(self) -> str:
        return f"kernel of {self.notebook}"

    async def execute(self, chat: str, code: str, observer: RunObserver | None = None) -> KernelExecuteResult:  # noqa: ARG002
        self.ran.append(code)
        return KernelExecuteResult(status=RunStatus.OK, text=f"ran {code}")

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        return KernelVariablesResult(variables=tuple(Variable(name=name, type="int", preview="1") for name in names))

    async def state(self) -> KernelState:
        return KernelState(status="idle", language="python")

    async def restart(self) -> None:
        self.ran.append("restart")


@dataclass
class RestartedKernel(NotebookKernel):
    """A kernel in which nothing has run since its restart."""

    @property
    def id(self) -> str:
        return "k"  # as the page says

    async def history(self) -> KernelHistory | None:
        return KernelHistory(60.0, {})


@dataclass
class TwoKernels:
    kernels: dict[str, NotebookKernel]

    async def list(self) -> tuple[RunningKernel, ...]:
        return tuple(RunningKernel(kernel.id, path, "idle") for path, kernel in self.kernels.items())

    async def find(self, path: str | None) -> Any:
        assert path is not None
        return self.kernels[path]

    async def wait_for_idle_kernel(self, chat: str, path: str) -> CellKernel:
        raise NotImplementedError


def open_two() -> tuple[Page, TwoKernels]:
    page = Page({SALES: [code("s", "df = 1")], WIDE: [code("w", "df = 2")]})
    return page, TwoKernels({path: NotebookKernel(path) for path in (SALES, WIDE)})


def with_kernels(there: Room, kernels: TwoKernels) -> None:
    host = there.table.host
    host.current.workspace = replace(host.workspace, kernel=kernels.kernels[WIDE], kernels=kernels)  # type: ignore[arg-type]  # as much of a kernel as is used


def bring_to_front(page: Page, path: str) -> None:
    """Change the tab, as a user does while the model works."""
    page.books = {path: page.books[path], **page.books}


def switch_then_approve(page: Page) -> Callable[[ToolCallRunContent], CallDecision]:
    def choose(call: ToolCallRunContent) -> CallDecision:
        bring_to_front(page, WIDE)
        return yes(call)

    return choose


def steps(folder: Path, first: dict[str, Any], *then: dict[str, Any]) -> None:
    """The model makes these calls, one in each reply."""
    rules: list[dict[str, Any]] = [{"message": "", "reply": [first]}]
    rules += [{"result": "", "times": 1, "reply": [call]} for call in then]
    (folder / "script.json").write_text(json.dumps({"rules": [*rules, {"result": "", "reply": [{"text": "Done."}]}]}))


async def test_a_cell_is_inserted_where_the_user_asked_though_another_tab_is_in_front_by_then(tmp_path: Path) -> None:
    page, _ = open_two()
    async with room(tmp_path, page=page) as there:
        insert = {"tool": "notebook_insert_cell", "arguments": {"source": "one = 1"}}
        again = {"tool": "notebook_insert_cell", "arguments": {"source": "two = 2"}}
        steps(tmp_path, insert, again)
        await answer(there.client, "go", switch_then_approve(page))
        assert [source for _, source in page.cells(SALES)] == ["df = 1", "one = 1", "two = 2"]
        assert [source for _, source in page.cells(WIDE)] == ["df = 2"]


async def test_code_runs_in_the_kernel_of_the_notebook_that_was_asked_in_and_the_result_names_it(
    tmp_path: Path,
) -> None:
    page, kernels = open_two()
    async with room(tmp_path, page=page) as there:
        with_kernels(there, kernels)
        run = {"tool": "run_code", "arguments": {"code": "df = df.dropna()"}}
        look = {"tool": "variables", "arguments": {"names": ["df"]}}
        steps(tmp_path, run, look)
        ran, looked = called(await answer(there.client, "go", switch_then_approve(page)))
        assert kernels.kernels[SALES].ran == ["df = df.dropna()"]
        assert kernels.kernels[WIDE].ran == []
        assert result(ran) == "In the kernel of sales.ipynb:\nran df = df.dropna()"
        assert result(looked).startswith("In the kernel of sales.ipynb:\ndf: int")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("notebook_read", {}),
        ("notebook_edit_cell", {"cell": "s", "source": "df = 2"}),
        ("notebook_insert_cell", {"source": "x", "path": " "}),
        ("notebook_run_cells", {"cells": ["s"]}),
        ("run_code", {"code": "1"}),
        ("variables", {}),
        ("inspect", {"name": "df"}),
        ("kernel_state", {}),
        ("kernel_restart", {}),
        ("notebook_read", {"path": "./sales.ipynb"}),
        ("variables", {"path": "notes/../sales.ipynb"}),
    ],
)
async def test_a_rule_about_a_notebook_also_holds_where_it_is_meant_without_its_path(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    deny = {tool: {"argsMatchers": {"path": [r"sales\.ipynb"]}}}
    page, kernels = open_two()
    rules = {"approval": {"deny": deny, "byDefault": "allow"}}
    async with room(tmp_path, page=page, read=False, toolCall=rules) as there:
        with_kernels(there, kernels)
        elsewhere = {**arguments, "path": WIDE}
        steps(tmp_path, {"tool": tool, "arguments": arguments}, {"tool": tool, "arguments": elsewhere})
        received = await answer(there.client, "go", yes)
        rejected = [one.content for one in received if isinstance(one.content, ToolCallRejectedContent)]
        assert [content.reason for content in rejected] == [RejectReason.CONFIG]
        assert len(called(received)) == 1


async def test_a_rule_that_allows_a_notebook_allows_it_where_it_is_meant_without_its_path(tmp_path: Path) -> None:
    allow = {"run_code": {"argsMatchers": {"path": [r"sales\.ipynb"]}}}
    page, kernels = open_two()
    async with room(tmp_path, page=page, toolCall={"approval": {"allow": allow}}) as there:
        with_kernels(there, kernels)
        run = {"tool": "run_code", "arguments": {"code": "1"}}
        steps(tmp_path, run, {"tool": "run_code", "arguments": {"code": "2", "path": WIDE}})
        received = await answer(there.client, "go", lambda _: CallDecision(approved=False))
        assert (kernels.kernels[SALES].ran, kernels.kernels[WIDE].ran) == (["1"], [])
        assert [one.content.type for one in received].count("toolCallRejected") == 1


async def test_the_kernel_of_another_notebook_is_meant_by_its_path(tmp_path: Path) -> None:
    page, kernels = open_two()
    async with room(tmp_path, page=page) as there:
        with_kernels(there, kernels)
        ran = await there.call("run_code", code="1", path=WIDE)
        assert result(ran) == "In the kernel of wide.ipynb:\nran 1"
        state = await there.call("kernel_state", path=WIDE)
        assert result(state) == "The kernel of wide.ipynb (python) is idle."
        await there.call("kernel_restart", path=WIDE)
        assert (kernels.kernels[SALES].ran, kernels.kernels[WIDE].ran) == ([], ["1", "restart"])


async def test_a_prompt_says_itself_where_it_was_asked_and_that_counts_more_than_what_is_in_front(
    tmp_path: Path,
) -> None:
    page, _ = open_two()
    async with room(tmp_path, page=page) as there:
        script(tmp_path, [{"tool": "notebook_read", "arguments": {}}])
        place = TextContext(label="active cell 1 of wide.ipynb", content="df = 2", path=WIDE, cell="w")
        received = await answer(there.client, "go", yes, contexts=(place,))
        assert result(called(received)[0]).startswith("wide.ipynb: 1 cell")


async def test_a_prompt_that_was_asked_in_no_notebook_gets_none_that_is_opened_later(tmp_path: Path) -> None:
    page, _ = open_two()
    books, page.books = page.books, {}
    async with room(tmp_path, page=page) as there:

        def open_them(call: ToolCallRunContent) -> CallDecision:
            page.books = books
            return yes(call)

        write = {"tool": "write_file", "arguments": {"path": "new.txt", "content": "new"}}
        insert = {"tool": "notebook_insert_cell", "arguments": {"source": "one = 1"}}
        steps(tmp_path, write, insert)
        _, inserted = called(await answer(there.client, "go", open_them))
        assert inserted.error
        assert "You were not asked in a notebook. Give the path of one. Open are: sales.ipynb, wide.ipynb." in result(
            inserted
        )
        assert page.edits == 0


async def test_a_notebook_that_is_renamed_while_the_model_works_is_still_the_one_that_was_asked_in(
    tmp_path: Path,
) -> None:
    page, kernels = open_two()
    page.kernel_ids = {SALES: "k1", WIDE: "k2"}
    async with room(tmp_path, page=page) as there:
        with_kernels(there, kernels)

        def rename_then_approve(call: ToolCallRunContent) -> CallDecision:
            if SALES in page.books:
                page.books = {WIDE: page.books[WIDE], "new.ipynb": page.books[SALES]}
                page.kernel_ids = {WIDE: "k2", "new.ipynb": "k1"}
                kernels.kernels["new.ipynb"] = NotebookKernel("new.ipynb")
            return yes(call)

        write = {"tool": "write_file", "arguments": {"path": "a.txt", "content": "new"}}
        insert = {"tool": "notebook_insert_cell", "arguments": {"source": "one = 1"}}
        run = {"tool": "run_code", "arguments": {"code": "one"}}
        steps(tmp_path, write, insert, run)
        _, inserted, ran = called(await answer(there.client, "go", rename_then_approve))
        assert not inserted.error
        assert page.cells("new.ipynb")[1][1] == "one = 1"
        assert result(ran).startswith("In the kernel of new.ipynb:")


@pytest.mark.parametrize("mention", ["@notebook", "@cell:1", "@sales.ipynb"])
async def test_a_context_says_which_cells_ran_in_an_earlier_kernel(tmp_path: Path, mention: str) -> None:
    page, kernels = open_two()
    page.books = {SALES: [code("s", "df = 1", count=3)]}
    kernels.kernels[SALES] = RestartedKernel(SALES)
    (tmp_path / SALES).write_text("{}")  # a file is mentioned when it is there
    async with room(tmp_path, page=page) as there:
        with_kernels(there, kernels)
        script(tmp_path, [{"text": "Hello."}])
        await answer(there.client, f"What of {mention}?")
        history = (await there.table.host.chats.load("chat")).state.history
        assert "execution 3, ran in an earlier kernel" in str(history[0])
