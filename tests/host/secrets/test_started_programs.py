"""Which variables with keys the programs get that we start: commands, jobs, custom tools, hooks, helpers, kernels."""

from __future__ import annotations

import ast
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.apps.process import run_host
from jupyter_eca.config import Config, read_config
from jupyter_eca.config.trust import TrustedFolders
from jupyter_eca.host.host import Host
from jupyter_eca.workspace.ports import Files, Workspace
from tests.host.hooks.written import hook
from tests.support.host_and_client import answer, desk_of, settings
from tests.support.rooms import OURS, ROOT, sources, tree_of

if TYPE_CHECKING:
    from pathlib import Path

# The usual variables of providers, the one of a provider in the configuration, one whose value is the key that the
# configuration has, and a token of Jupyter.
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "HOUSE_API_KEY", "KEY_OF_MINE")
TOKEN = "JUPYTER_TOKEN"  # noqa: S105  # a name
OTHERS = ("HOUSE_SETTING", "HF_TOKEN")
HOUSE: dict[str, Any] = {"api": "openai-chat", "url": "http://127.0.0.1:9/v1"}
PROVIDERS: dict[str, Any] = {"house": HOUSE, "mine": {**HOUSE, "key": "the-KEY_OF_MINE"}}
TOOL: dict[str, Any] = {"description": "Writes", "command": "env > custom.txt", "schema": {}}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("shell_command", {"command": "env > shell.txt"}),
    ("shell_command", {"command": "env > job.txt", "background": True}),
    ("write", {}),
    ("grep", {"pattern": "anything"}),
)
PROGRAMS = ("shell", "job", "custom", "hook")
ALLOWED: dict[str, Any] = {"approval": {"byDefault": "allow"}}


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, TOKEN, *OTHERS):
        monkeypatch.setenv(name, f"the-{name}")


def configure(folder: Path, **more: Any) -> dict[str, Any]:
    """A configuration whose model makes all `CALLS` at once, and with a hook and a custom tool that write down their
    variables."""
    reply = [{"tool": name, "arguments": arguments} for name, arguments in CALLS]
    # The model is also told that the job has ended, and must not make all calls again for that.
    done: dict[str, Any] = {"reply": [{"text": "Done."}]}
    rules = [{"result": "", **done}, {"message": "begin it all", "reply": reply}, {"message": "", **done}]
    whole = settings(folder, rules, toolCall=ALLOWED, customTools={"write": TOOL}, **more)
    whole["hooks"] = {"one": hook("preRequest", "env > hook.txt")}
    whole["providers"] |= PROVIDERS
    return whole


def install_search_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ripgrep that writes down its variables and finds nothing."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "rg"
    program.write_text(f"#!/bin/sh\nenv > {folder}/helper.txt\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


def read_variables(file: Path) -> set[str]:
    """Those of ours that a program had; each had its own value."""
    lines = file.read_text().splitlines()
    return {name for name in (*KEYS, TOKEN, *OTHERS) if f"{name}=the-{name}" in lines}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install_search_program(tmp_path, monkeypatch)
    return tmp_path


async def ask(folder: Path, **more: Any) -> dict[str, set[str]]:
    """Let the model make all calls, and return which of our variables each program had."""
    config = Config.model_validate(configure(folder, **more))
    host = Host(config, Workspace(Files((folder,))), folder / "chats.db")
    async with desk_of(host, folder) as table:
        await answer(await table.client(), "begin it all")
        for job in host.jobs.list():
            await host.jobs.wait(job.id)
    return {name: read_variables(folder / f"{name}.txt") for name in (*PROGRAMS, "helper")}


@pytest.mark.asyncio
async def test_no_command_job_tool_or_hook_has_a_key_of_a_provider(folder: Path) -> None:
    found = await ask(folder)
    # A program that only reads for us gets no secret of any kind.
    assert found.pop("helper") == {"HOUSE_SETTING"}
    assert found == {name: set(OTHERS) for name in PROGRAMS}


@pytest.mark.asyncio
async def test_what_the_user_lists_is_kept_and_nothing_else(folder: Path) -> None:
    found = await ask(folder, keptVariables=["OPENAI_API_KEY", TOKEN])
    assert found.pop("helper") == {"HOUSE_SETTING"}
    assert found == {name: {*OTHERS, "OPENAI_API_KEY"} for name in PROGRAMS}


@pytest.mark.asyncio
@pytest.mark.parametrize("kept", [(), ("OPENAI_API_KEY",)])
async def test_a_kernel_that_the_assistant_starts_has_only_the_keys_that_the_user_keeps(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(configure(tmp_path, keptVariables=kept)))
    async with run_host((tmp_path,), file) as host:
        assert host.workspace.kernel is not None
        code = f"import os\nprint(*({{*{(*KEYS, TOKEN, *OTHERS)}}} & set(os.environ)))"
        ran = await host.workspace.kernel.execute("chat", code)
    assert set(ran.text.split()) == {*OTHERS, *kept}


def test_a_projects_list_keeps_nothing_until_its_folder_is_trusted(tmp_path: Path) -> None:
    (project := tmp_path / "project" / ".eca").mkdir(parents=True)
    (project / "config.json").write_text(json.dumps({"keptVariables": ["OPENAI_API_KEY"]}))
    trusted = TrustedFolders(tmp_path / "trust.json")
    config = read_config([project.parent], home=tmp_path / "home", environment={}, trust=trusted)
    assert (config.kept_variables, [held.summary for held in config.held_back]) == ((), ["1 other setting"])
    trusted.trusts_all = True
    assert read_config([project.parent], home=tmp_path / "home", environment={}, trust=trusted).kept_variables == (
        "OPENAI_API_KEY",
    )


def test_an_administrator_can_lock_the_list(tmp_path: Path) -> None:
    (home := tmp_path / "home" / "eca").mkdir(parents=True)
    (home / "config.json").write_text(json.dumps({"keptVariables": ["OPENAI_API_KEY"]}))
    policy = json.dumps({"locked": {"keptVariables": []}})
    for variables, kept in (({}, ("OPENAI_API_KEY",)), ({"JUPYTER_ECA_SERVER_POLICY": policy}, ())):
        assert read_config([tmp_path], home=tmp_path / "home", environment=variables).kept_variables == kept


# What starts a program, and the modules that start one with the whole environment: a program of ours alone, the user's
# own browser, and the user's own command in a placeholder of the configuration.
STARTS = frozenset({"Popen", "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "run"})
UNLIMITED = frozenset({"workspace/jobs/sandbox.py", "mcp_client/loopback_browser.py", "apps/hub/gateway"})


def is_start(node: ast.AST) -> bool:
    """Whether it is a call that starts a program. `run` is one only of `subprocess`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTS):
        return False
    return node.func.attr != "run" or ast.unparse(node.func.value) == "subprocess"


def test_every_start_of_a_program_names_its_variables() -> None:
    without = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources(OURS)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and is_start(node) and "env" not in {word.arg for word in node.keywords}
        if not any(str(path.relative_to(ROOT / OURS)).startswith(name) for name in UNLIMITED)
    ]
    assert without == []
