"""What a user has chosen is what new chats begin with, in the same notebook and in others, also after a restart."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from jupyter_eca.config import Config
from jupyter_eca.config.schema import AgentConfig
from jupyter_eca.host.host import Host
from jupyter_eca.workspace.ports import Files, RunningKernel, Workspace
from tests.fronts.eca.editor_client import Book, book
from tests.fronts.eca.test_approvals import filed, mine
from tests.support.access import ASKER
from tests.support.host_and_client import Desk, desk_of, settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Done."}]}]
DEFAULT, OTHER, THIRD = "scripted/test", "scripted/other", "scripted/third"
ALLOWING = {"toolCall": {"approval": {"byDefault": "allow"}}}


def configure(folder: Path, **more: Any) -> Config:
    config = settings(folder, RULES, **more)
    models = config["providers"]["scripted"]["models"]
    variants = {"low": {"effort": 1}, "high": {"effort": 2}}
    for name in ("other", "third"):
        models[name] = {**models["test"], "variants": variants}
    models["test"] = {**models["test"], "variants": variants}
    return Config.model_validate(config)


@asynccontextmanager
async def opened(folder: Path, **more: Any) -> AsyncGenerator[Desk]:
    """A server that was started with this configuration. All of one test use the same database."""
    host = Host(configure(folder, **more), Workspace(Files((folder,))), folder / "chats.db")
    async with desk_of(host, folder) as table:
        yield table


def panel(table: Desk, **can: Any) -> Any:
    return book(table, envelope=True, **can)


async def choose_model(client: Book, model: str, notebook: str | None, **more: Any) -> None:
    params = {"model": model, "notebook": notebook, **more}
    await client.peer.notify("chat/selectedModelChanged", {k: v for k, v in params.items() if v is not None})


async def choose_agent(client: Book, agent: str, notebook: str) -> None:
    await client.peer.notify("chat/selectedAgentChanged", {"agent": agent, "notebook": notebook})


async def begin(client: Book, notebook: str | None) -> tuple[str, str, str | None]:
    """The model, agent and variant that a new chat begins with."""
    params = {} if notebook is None else {"notebook": notebook}
    found = await client.peer.request("chat/selection", params)
    return found["model"], found["agent"], found.get("variant")


async def test_a_choice_counts_in_its_notebook_and_else_as_the_last_choice_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        assert await begin(client, "a.ipynb") == (DEFAULT, "code", None)
        await choose_model(client, OTHER, "a.ipynb", variant="high")
        await choose_agent(client, "plan", "a.ipynb")
        await choose_model(client, THIRD, "b.ipynb", variant="")
        await choose_agent(client, "code", "b.ipynb")
        assert await begin(client, "a.ipynb") == (OTHER, "plan", "high")
        async with panel(table) as another_browser:
            assert await begin(another_browser, "a.ipynb") == (OTHER, "plan", "high")
    async with opened(tmp_path) as table, panel(table) as client:
        assert await begin(client, "a.ipynb") == (OTHER, "plan", "high")
        assert await begin(client, "b.ipynb") == (THIRD, "code", None)
        assert await begin(client, "new.ipynb") == (THIRD, "code", None)
        assert await begin(client, "") == (THIRD, "code", None)


async def test_a_prompt_runs_with_what_is_remembered_and_its_chat_keeps_that(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        await choose_model(client, OTHER, "a.ipynb", variant="high")
        await choose_agent(client, "plan", "a.ipynb")
        await client.prompt("Hello", "first", notebook="a.ipynb")
        live = table.host.chats.get_live("first")
        assert live is not None
        assert (live.state.setup.model, live.state.setup.agent, live.state.setup.variant) == (OTHER, "plan", "high")
        await choose_model(client, THIRD, "a.ipynb", variant="")
        await client.prompt("Again", "first", notebook="a.ipynb")
        assert live.state.setup.model == OTHER
        row = await table.host.chats.read_row("first")
        assert row is not None
        assert (row.model, row.agent, row.variant) == (OTHER, "plan", "high")


async def test_a_choice_of_only_the_variant_leaves_the_model_to_the_configuration(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        await choose_model(client, DEFAULT, "a.ipynb", variant="high", chosen="variant")
        assert await begin(client, "a.ipynb") == (DEFAULT, "code", "high")
    async with opened(tmp_path, defaultModel=OTHER) as table, panel(table) as client:
        assert await begin(client, "a.ipynb") == (OTHER, "code", None)


async def test_a_default_that_is_configured_later_counts_until_the_next_choice(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        await choose_model(client, OTHER, "a.ipynb")
        await choose_agent(client, "plan", "a.ipynb")
        assert (await begin(client, "a.ipynb"))[:2] == (OTHER, "plan")
    changed: dict[str, Any] = {"defaultModel": THIRD, "defaultAgent": "own", "agent": {"own": {}}}
    async with opened(tmp_path, **changed) as table, panel(table) as client:
        assert (await begin(client, "a.ipynb"))[:2] == (THIRD, "own")
        await choose_model(client, OTHER, "a.ipynb")
        assert (await begin(client, "a.ipynb"))[:2] == (OTHER, "own")


async def test_a_default_that_the_settings_page_sets_again_is_newer_than_the_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch) as table, panel(table) as client:
        # The workspace's own default would come before the user's.
        (tmp_path / "root" / ".eca" / "config.json").unlink()
        mine(tmp_path).parent.mkdir(parents=True)
        mine(tmp_path).write_text(json.dumps({**settings(tmp_path / "root", RULES), "defaultModel": "scripted/first"}))
        await table.host.reload()

        async def set_default(model: str) -> None:
            await client.peer.request("config/setDefault", {"name": "defaultModel", "model": model})

        await choose_model(client, "scripted/test", "a.ipynb")
        assert (await begin(client, "a.ipynb"))[0] == "scripted/test"
        await set_default("scripted/second")
        assert (await begin(client, "a.ipynb"))[0] == "scripted/second"
        await set_default("scripted/first")
        assert (await begin(client, "a.ipynb"))[0] == "scripted/first"
        await choose_model(client, "scripted/test", "a.ipynb")
        assert (await begin(client, "a.ipynb"))[0] == "scripted/test"


async def test_a_model_that_is_gone_is_replaced_with_one_notice(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        await choose_model(client, OTHER, "a.ipynb")
        await begin(client, "a.ipynb")
    gone = {"providers": {"scripted": {"models": {"test": {"script": str(tmp_path / "script.json")}}}}}
    host = Host(
        Config.model_validate({**settings(tmp_path, RULES), **gone}),
        Workspace(Files((tmp_path,))),
        tmp_path / "chats.db",
    )
    async with desk_of(host, tmp_path) as table, panel(table) as client:
        for chat in ("one", "two"):
            assert (await begin(client, "a.ipynb"))[0] == DEFAULT
            await client.prompt("Hello", chat, notebook="a.ipynb")
        [notice] = client.notices("$/showMessage")
        assert notice["type"] == "warning"
        assert notice["message"] == (
            f"The model {OTHER}, which you chose earlier, cannot answer now. Until it can, new chats begin with"
            f" {DEFAULT}."
        )
    async with opened(tmp_path) as table, panel(table) as client:
        assert (await begin(client, "a.ipynb"))[0] == OTHER


async def test_a_model_of_a_provider_that_the_user_has_left_is_used_again_after_the_next_sign_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-used")
        await choose_model(client, "anthropic/claude-opus-5-5", "a.ipynb")
        assert (await begin(client, "a.ipynb"))[0] == "anthropic/claude-opus-5-5"
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        assert (await begin(client, "a.ipynb"))[0] == DEFAULT
        assert len(client.notices("$/showMessage")) == 1
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-used")
        assert (await begin(client, "a.ipynb"))[0] == "anthropic/claude-opus-5-5"


async def test_an_agent_whose_rules_have_changed_is_not_remembered(tmp_path: Path) -> None:
    async with opened(tmp_path, agent={"helper": {"prompt": "Help."}}) as table, panel(table) as client:
        await choose_agent(client, "helper", "a.ipynb")
        assert (await begin(client, "a.ipynb"))[1] == "helper"
    async with opened(tmp_path, agent={"helper": ALLOWING}) as table, panel(table) as client:
        assert (await begin(client, "b.ipynb"))[1] == "code"
        [notice] = client.notices("$/showMessage")
        assert "has other approval rules now. New chats begin with code." in notice["message"]
        await choose_agent(client, "helper", "a.ipynb")
        assert (await begin(client, "a.ipynb"))[1] == "helper"


async def test_an_editor_gets_the_configured_defaults_whatever_was_chosen_in_a_panel(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client, book(table) as editor:
        await choose_model(client, OTHER, "a.ipynb")
        assert (await begin(client, ""))[0] == OTHER
        assert (await begin(editor, ""))[0] == DEFAULT
        await editor.prompt("Hello", "of the editor", notebook="a.ipynb")
        live = table.host.chats.get_live("of the editor")
        assert live is not None
        assert live.state.setup.model == DEFAULT
        await choose_model(editor, THIRD, None)
        await editor.prompt("Hello", "another", notebook="a.ipynb")
        another = table.host.chats.get_live("another")
        assert another is not None
        assert another.state.setup.model == THIRD
        assert (await begin(client, ""))[0] == OTHER


async def test_programs_without_a_user_neither_remember_nor_recall(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client, panel(table, unattended=True) as program:
        await choose_model(client, OTHER, "a.ipynb")
        assert (await begin(client, "a.ipynb"))[0] == OTHER
        assert (await begin(program, "a.ipynb"))[0] == DEFAULT
        await choose_agent(program, "plan", "a.ipynb")
        assert (await begin(client, "a.ipynb"))[1] == "code"


@dataclass
class RunningKernels:
    """The kernels of a server, as far as their notebooks are asked for."""

    notebooks: dict[str, str]

    async def list(self) -> tuple[RunningKernel, ...]:
        return tuple(RunningKernel(id, notebook, "idle") for id, notebook in self.notebooks.items())


async def test_a_choice_in_a_cell_counts_in_the_notebook_of_its_kernel_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        workspace = table.host.current.workspace
        monkeypatch.setattr(
            table.host.current, "workspace", replace(workspace, kernels=cast("Any", RunningKernels({"k": "a.ipynb"})))
        )
        async with book(table, sees_all_chats=False, kernel_id="k", envelope=True) as cell:
            # A cell names no notebook, and it is not believed if it names one.
            await choose_model(cell, OTHER, "b.ipynb")
            assert (await begin(cell, None))[0] == OTHER
        assert (await begin(client, "a.ipynb"))[0] == OTHER
        assert (await begin(client, "b.ipynb"))[0] == DEFAULT
        async with book(table, sees_all_chats=False, kernel_id="k", envelope=True) as restarted:
            assert (await begin(restarted, None))[0] == OTHER
            await choose_model(client, THIRD, "a.ipynb")
            await begin(client, "a.ipynb")
            assert (await begin(restarted, None))[0] == THIRD


async def test_code_in_a_kernel_cannot_choose_the_agent_of_new_chats(tmp_path: Path) -> None:
    bold = {"bold": AgentConfig.model_validate(ALLOWING).model_dump(by_alias=True, exclude_none=True)}
    async with opened(tmp_path, agent=bold) as table, panel(table) as client:
        async with book(table, sees_all_chats=False, envelope=True) as kernel:
            await choose_agent(kernel, "bold", "a.ipynb")
            await choose_model(kernel, OTHER, "a.ipynb")
            assert (await begin(kernel, "a.ipynb"))[:2] == (OTHER, "bold")
        assert (await begin(client, "a.ipynb"))[:2] == (DEFAULT, "code")


async def test_a_client_that_may_not_approve_makes_no_choice_for_the_user(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        async with panel(table, access=ASKER) as stranger:
            await choose_model(stranger, OTHER, "a.ipynb")
            await choose_agent(stranger, "plan", "a.ipynb")
            await begin(stranger, "a.ipynb")
        assert (await begin(client, "a.ipynb"))[:2] == (DEFAULT, "code")


async def test_a_renamed_notebook_or_folder_keeps_its_choices_and_a_deleted_one_loses_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as table, panel(table) as client:
        await choose_model(client, OTHER, "old/a.ipynb")
        await choose_model(client, THIRD, "last.ipynb")
        assert (await begin(client, "old/a.ipynb"))[0] == OTHER
        await table.host.notebook_ids.move("old/a.ipynb", "old/b.ipynb")
        await table.host.notebook_ids.move("old", "new")
        assert (await begin(client, "new/b.ipynb"))[0] == OTHER
        assert (await begin(client, "old/a.ipynb"))[0] == THIRD
        await table.host.choice_memory.forget("new")
        assert (await begin(client, "new/b.ipynb"))[0] == THIRD
