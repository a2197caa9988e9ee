"""What `doctor` finds: each row of the table is one mistake that users make, and the words that name it and what to do.

The user's file and the project's are read as they are, so a row is what somebody would write.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
import pytest

from jupyter_eca import config
from jupyter_eca.config.trust import open_trusted_folders
from jupyter_eca.host import doctor
from jupyter_eca.host.doctor import report
from jupyter_eca.host.host import Host
from jupyter_eca.workspace.ports import Files, Workspace
from tests.support.host_and_client import desk_of, settings
from tests.support.trust import trust_folder

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio

SECRET = "sk-ant-" + "of-nobody" * 3
KEYS = ("ANTHROPIC", "OPENAI", "OPENROUTER", "GOOGLE", "GEMINI", "DEEPSEEK", "MISTRAL", "AZURE", "LITELLM")
NETWORK = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass
class Machine:
    """The folders and the environment of a user, without any mistake so far."""

    home: Path
    folder: Path
    database: Path
    patch: pytest.MonkeyPatch
    keys: dict[str, Any] = field(default_factory=dict[str, Any])
    """More keys of the user's own file."""

    def write(self, text: str, *, project: bool = False) -> Path:
        """Write the configuration of the user, or of the project."""
        file = (self.folder / ".eca" if project else self.home / "eca") / "config.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
        return file

    def write_jupyter(self, name: str, content: dict[str, Any]) -> None:
        """Write a file into Jupyter's folder of the user's configuration."""
        file = self.home / "jupyter" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content))

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[Desk]:
        file = self.home / "eca" / "config.json"
        if not file.exists():
            written = settings(self.home, [])
            providers = {**written["providers"], **self.keys.get("providers", {})}
            self.write(json.dumps({**written, **self.keys, "providers": providers}))
        trust = open_trusted_folders(self.database)
        read = partial(config.read_config, (self.folder,), home=self.home, trust=trust)
        found = read(skip_broken_projects=True)
        host = Host(found, Workspace(Files((self.folder,))), self.database, read, trust)
        async with desk_of(host, self.folder) as table:
            yield table


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name in (*(f"{key}_API_KEY" for key in KEYS), *NETWORK, *(name.lower() for name in NETWORK), "ECA_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(home / "jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home / "data"))
    trust_folder(monkeypatch, folder)
    return Machine(home, folder, tmp_path / "chats" / "chats.db", monkeypatch)


async def find_problems(machine: Machine) -> str:
    """The part of the report that says what to do."""
    async with machine.run() as table:
        text = await report(table.host.services, "here")
    assert SECRET not in text
    return text.partition("### What to do\n")[2].partition("\n### ")[0]


class Row(NamedTuple):
    """A mistake: keys of the user's file, or a function that makes it; then the words that name it and what to do."""

    mistake: dict[str, Any] | Callable[[Machine], object]
    problem: str
    step: str


def set_variable(name: str, value: str, **keys: Any) -> Callable[[Machine], object]:
    def change(machine: Machine) -> None:
        machine.patch.setenv(name, value)
        machine.keys |= keys

    return change


def write_hook(action: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"hooks": {"mine": {"type": "preToolCall", "actions": [action], **more}}}


def name_model(name: str, model: dict[str, Any]) -> dict[str, Any]:
    return {"providers": {name: {"api": "local", "models": {"small": model}}}}


def server(**fields: Any) -> dict[str, Any]:
    return {"mcpServers": {"weather": fields}}


def provide(**fields: Any) -> dict[str, Any]:
    return {"providers": {"acme": {"api": "openai-chat", "key": SECRET, "models": {"m": {}}, **fields}}}


def rule(decision: str, selector: str, **matchers: list[str]) -> dict[str, Any]:
    return {"toolCall": {"approval": {decision: {selector: {"argsMatchers": matchers} if matchers else {}}}}}


def find_closed_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def write_twice(machine: Machine) -> None:
    servers = '"weather": {"command": "one", "disabled": true}, "weather": {"command": "two", "disabled": true}'
    text = json.dumps(settings(machine.home, []))
    machine.write(text[:-1] + ', "mcpServers": {' + servers + "}}")


def open_file_to_others(machine: Machine) -> None:
    keys = settings(machine.home, [])
    keys["providers"]["anthropic"] = {"key": SECRET}
    machine.write(json.dumps(keys)).chmod(0o644)


def put_key_into_project(machine: Machine) -> None:
    machine.write(json.dumps({"providers": {"anthropic": {"key": SECRET}}}), project=True)


def define_server_twice(machine: Machine) -> None:
    machine.keys |= server(url="https://weather.example.org/mcp")
    machine.write(json.dumps(server(command=sys.executable)), project=True)


def break_project(text: str) -> Callable[[Machine], object]:
    return lambda machine: machine.write(text, project=True)


def write_other_encoding(machine: Machine) -> None:
    machine.write("{}", project=True).write_text("{}", "utf-16")


def leave_untrusted(machine: Machine) -> None:
    machine.patch.delenv("JUPYTER_ECA_TRUSTED_FOLDERS")
    machine.write(json.dumps(server(command=sys.executable)), project=True)


def install(package: str, version: str) -> Callable[[Machine], object]:
    """Another version of a package is found first."""

    def change(machine: Machine) -> None:
        folder = machine.home / "packages" / f"{package}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        machine.patch.setattr(sys, "path", [str(folder.parent), *sys.path])

    return change


def install_panel(machine: Machine) -> None:
    machine.patch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    folder = machine.home / "data" / "labextensions" / "jupyter-eca"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": "jupyter-eca", "version": "0.0.1"}))


def switch_off_panel(machine: Machine) -> None:
    machine.write_jupyter("labconfig/page_config.json", {"disabledExtensions": {"jupyter-eca": True}})


def switch_off_server(machine: Machine) -> None:
    machine.patch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    switches = {"ServerApp": {"jpserver_extensions": {"jupyter_eca": False}}}
    machine.write_jupyter("jupyter_server_config.json", switches)


def add_bare_kernel(machine: Machine) -> None:
    python = machine.home / "other" / "bin" / "python"
    (python.parent.parent / "lib" / "python3.12" / "site-packages").mkdir(parents=True)
    python.parent.mkdir()
    python.touch()
    kernel = machine.home / "data" / "kernels" / "other" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(json.dumps({"argv": [str(python), "-m", "ipykernel"], "display_name": "x", "language": "python"}))


def hide_programs(machine: Machine) -> None:
    machine.patch.setenv("PATH", str(machine.home))


def fill_disk(machine: Machine) -> None:
    usage = shutil.disk_usage(machine.home)._replace(free=5_000_000)

    def read(_: Path) -> object:
        return usage

    machine.patch.setattr(shutil, "disk_usage", read)


def mount_network_drive(machine: Machine) -> None:
    class Mount(NamedTuple):
        mountpoint: str
        fstype: str

    def read(**_: bool) -> list[Mount]:
        return [Mount("/", "ext4"), Mount(str(machine.database.parent), "nfs4")]

    machine.patch.setattr(psutil, "disk_partitions", read)


def turn_clock_back(machine: Machine) -> None:
    """A file of ours is from the year 2100."""
    later = machine.database.with_name("chats.db")
    later.parent.mkdir(parents=True, exist_ok=True)
    stat, seconds = type(later).stat, 4_102_444_800

    def read(path: Path, **more: Any) -> os.stat_result:
        found = stat(path, **more)
        return os.stat_result((*found[:8], seconds, *found[9:])) if path == later else found

    machine.patch.setattr(type(later), "stat", read)


def hide_sandbox(machine: Machine) -> None:
    machine.patch.setattr(doctor, "find_sandbox_program", lambda: "")
    machine.keys |= {"toolCall": {"sandbox": {"mode": "auto"}}}


def lock_budget(machine: Machine) -> None:
    policy = machine.home / "policy.json"
    policy.write_text(json.dumps({"locked": {"budget": {"perChat": 1}}}))
    machine.patch.setenv("JUPYTER_ECA_POLICY", str(policy))
    machine.keys |= {"budget": {"perChat": 9}}


CUSTOM = {"description": "Looks a word up.", "command": "grep -r {{word}} ."}
WORD = {"properties": {"word": {"type": "string"}}}

ROWS: dict[str, Row] = {
    # -- keys
    "the key of another vendor": Row(set_variable("OPENAI_API_KEY", SECRET), "is a key of Anthropic", "make a key at"),
    "the key of a vendor that we do not know": Row(
        set_variable("MISTRAL_API_KEY", "gsk_0123456789"), "is a key of Groq", "make a key at"
    ),
    "an empty key in a variable": Row(set_variable("OPENAI_API_KEY", " "), "`OPENAI_API_KEY` is set, but", "Give it"),
    "an empty key in the file": Row(
        {"providers": {"anthropic": {"key": ""}}}, "`providers.anthropic.key` is empty", "sign in with `/login`"
    ),
    "a key with its quotes": Row(set_variable("OPENAI_API_KEY", '"sk-proj-1"'), "has quotes around it", "Remove them"),
    "a key with the word Bearer": Row(
        set_variable("OPENAI_API_KEY", "Bearer sk-proj-1"), "begins with the word `Bearer`", "Remove it"
    ),
    "a key with the name of its variable": Row(
        set_variable("OPENAI_API_KEY", "OPENAI_API_KEY=sk-proj-1"), "begins with the name of a variable", "Write only"
    ),
    "a key with a line end": Row(set_variable("OPENAI_API_KEY", "sk-proj-1\n23"), "a line end in it", "Copy it again"),
    "a key with a long dash": Row(
        set_variable("OPENAI_API_KEY", "sk\N{EN DASH}proj-1"), "a character that no key", "Copy it"
    ),
    "a key of a documentation": Row(
        set_variable("OPENAI_API_KEY", "your-api-key"), "is the example of a documentation", "Replace it"
    ),
    "a variable that is not set": Row(
        {"providers": {"anthropic": {"key": "${env:NOBODY_HAS_THIS}"}}}, "names a variable that is not set", "Set it"
    ),
    "a key that others can read": Row(open_file_to_others, "other users of this machine can read it", "chmod 600"),
    "a key in the project": Row(put_key_into_project, "you may share it by mistake", "Move the key"),
    # -- addresses and the network
    "http for a remote address": Row(
        provide(url="http://models.example.org/v1"), "models.example.org without encryption", "`https://`"
    ),
    "an address without its scheme": Row(
        provide(url="models.example.org/v1"), "does not begin with `https://`", "Write it as"
    ),
    "an address that is none": Row(provide(url="https://[::1/v1"), "is not a URL", "Write it as"),
    "an address with its endpoint": Row(
        provide(url="https://models.example.org/v1/chat/completions"), "ends with `/chat/completions`", "without it"
    ),
    "a password in an address": Row(
        provide(url=f"https://me:{SECRET}@models.example.org/v1"), "a user name or a password in it", "as a header"
    ),
    "nobody at a local address": Row(
        provide(url=f"http://127.0.0.1:{find_closed_port()}/v1"),
        "No program answers at 127.0.0.1",
        "Start the server",
    ),
    "http for a remote MCP server": Row(
        server(url="http://weather.example.org/mcp", headers={"a": SECRET}), "weather.example.org without", "`https://`"
    ),
    "a proxy that hides this machine": Row(
        set_variable("HTTP_PROXY", "http://127.0.0.1:9", **server(url=f"http://localhost:{find_closed_port()}/mcp")),
        "go to the proxy of `HTTP_PROXY`",
        "Add `localhost` to `NO_PROXY`",
    ),
    "a proxy of an unknown kind": Row(
        set_variable("ALL_PROXY", "socks://127.0.0.1:9"), "names a proxy of the kind `socks`", "Use `http://`"
    ),
    "a certificate that does not exist": Row(
        set_variable("SSL_CERT_FILE", "/nowhere/ca.pem"), "names /nowhere/ca.pem, which does not exist", "Correct or"
    ),
    # -- models and providers
    "a model without its provider": Row({"defaultModel": "gpt-5"}, "is `gpt-5`, without the provider", "Write it as"),
    "a model of a provider that is missing": Row(
        {"defaultModel": "acme/m"}, "there is no such provider", "Change it in the configuration"
    ),
    "a model of another provider": Row(
        {"defaultModel": "anthropic/gpt-5"}, "such a model is one of `openai`", "Write `openai/gpt-5`"
    ),
    "a model for completions that is missing": Row(
        {"completion": {"model": "acme/m"}}, "`completion.model` is `acme/m`, but", "Change it"
    ),
    "a default model without its key": Row(
        {"defaultModel": "openai/m"}, "cannot answer now. `OPENAI_API_KEY` is not set", "`/login`"
    ),
    "an api that does not exist": Row(provide(api="openai"), "has the unknown `api` 'openai'", "Write one of"),
    "a provider without an api": Row(
        {"providers": {"acme": {"url": "https://models.example.org/v1"}}}, "'acme' has no `api`", "Write one of"
    ),
    "a model whose file is missing": Row(
        name_model("mine", {"path": "/nowhere/m.gguf"}), "has the file '/nowhere/m.gguf'", "Correct the path"
    ),
    # -- MCP servers
    "a program that is not on the PATH": Row(
        server(command="nobody-has-this"), "'nobody-has-this' is not on the PATH", "Install it"
    ),
    "a program that does not exist": Row(server(command="/nowhere/run"), "'/nowhere/run' does not exist", "Install it"),
    "a program of Windows": Row(
        server(command="C:\\Programs\\run.exe"), "the path of a Windows program", "a program of this machine"
    ),
    "arguments in the command": Row(
        server(command="npx -y weather"), "has its arguments in `command`", "the list `args`"
    ),
    "a script that is missing": Row(
        server(command=sys.executable, args=["nowhere.py"]), "its script 'nowhere.py' does not exist", "whole path"
    ),
    "a server with nothing": Row(server(env={"A": "b"}), "has neither a `command` nor a `url`", "Write one of them"),
    "a server in two files": Row(define_server_twice, "has both a `command` and a `url`", "keep one"),
    "a server twice in a file": Row(write_twice, "has the key 'weather' twice", "Remove one"),
    "arguments that are a text": Row(
        break_project(json.dumps(server(command="x", args="-v"))), "mcpServers.weather.args", "Fix this key"
    ),
    # -- agents, tools, hooks
    "an agent without its parent": Row(
        {"agent": {"mine": {"inherit": "nobody"}}}, "inherits from 'nobody', which does not exist", "without a parent"
    ),
    "a default agent that does not exist": Row(
        {"defaultAgent": "nobody"}, "`defaultAgent` is `nobody`, but", "Correct the name"
    ),
    "an agent that is a program that is missing": Row(
        {"acpAgents": {"mine": {"command": "nobody-has-this"}}},
        "its program 'nobody-has-this' was not found",
        "Install",
    ),
    "a rule that selects no tool": Row(rule("deny", "shell_comand"), "'shell_comand' in `toolCall", "Correct the name"),
    "a rule about an argument that does not exist": Row(
        rule("allow", "shell_command", comand=["ls.*"]), "names the argument 'comand'", "Correct the name"
    ),
    "rules that contradict each other": Row(
        {"toolCall": {"approval": {"allow": {"write_file": {}}, "deny": {"write_file": {}}}}},
        "The rules of 'write_file' contradict each other",
        "Drop one",
    ),
    "a disabled tool that does not exist": Row(
        {"disabledTools": ["shel_command"]}, "`disabledTools` names 'shel_command'", "Correct the name"
    ),
    "an argument that a custom tool does not use": Row(
        {"customTools": {"look_up": {**CUSTOM, "command": "ls", "schema": WORD}}},
        "does not use the argument 'word'",
        "Write `{{word}}`",
    ),
    "a custom tool with an error": Row(
        {"customTools": {"look_up": {"command": "ls"}}}, "the custom tool 'look_up' was left out", "description"
    ),
    "a custom tool with a name of ours": Row(
        {"customTools": {"read_file": {**CUSTOM, "schema": WORD}}}, "'read_file' was left out", "there is one of that"
    ),
    "a hook with an error": Row({"hooks": {"mine": 3}}, "The hook 'mine' was left out", "not an object"),
    "a hook with a missing script": Row(
        write_hook({"type": "shell", "file": "nowhere.sh"}), "has the script 'nowhere.sh'", "Correct the path"
    ),
    "a hook that selects no tool": Row(
        write_hook({"type": "shell", "shell": "true"}, matcher="eca__nothing"), "selects no tool", "Correct it"
    ),
    # -- files
    "a misspelled key": Row({"mcp_servers": {}}, "`mcp_servers` in", "Write `mcpServers`"),
    "a key of another program": Row(
        {"providers": {"acme": {"api": "openai-chat", "apiKey": "${env:HOME}", "models": {"m": {}}}}},
        "`providers.acme.apiKey` in",
        "Write `key`",
    ),
    "a file that is not JSON": Row(
        break_project('{\n  "budget": {,}\n}'), "is not JSON: line 2", "Fix it, or move it away"
    ),
    "a file that is not UTF-8": Row(write_other_encoding, "it is not UTF-8", "Fix it"),
    "a folder that is not trusted": Row(leave_untrusted, "not used until you trust the folder", "asks you"),
    "rules that do not exist": Row({"rules": [{"path": "nowhere.md"}]}, "`rules` names 'nowhere.md'", "Correct"),
    "skills that do not exist": Row({"skills": [{"path": "nowhere"}]}, "`skills` names 'nowhere'", "Correct"),
    "a folder of the sandbox that does not exist": Row(
        {"toolCall": {"sandbox": {"writable": ["/nowhere"]}}},
        "names '/nowhere', which does not exist",
        "Make the folder",
    ),
    "a trusted folder that does not exist": Row(
        set_variable("JUPYTER_ECA_TRUSTED_FOLDERS", "/nowhere"), "names /nowhere, which does not exist", "Correct"
    ),
    # -- limits
    "a budget of 0": Row({"budget": {"perDay": 0}}, "`budget.perDay` is 0", "Remove it for no limit"),
    "a budget that has no effect": Row(
        {"budget": {"perDay": 1, "perChat": 5}}, "`budget.perChat` is larger than", "Make it smaller"
    ),
    "a limit of milliseconds": Row({"mcpTimeoutSeconds": 60000}, "is 60000 seconds", "Write seconds"),
    "a timeout of seconds": Row(
        write_hook({"type": "shell", "shell": "true"}, timeout=30), "less than 100 milliseconds", "Write milliseconds"
    ),
    "a summary after each message": Row({"autoCompactPercentage": 5}, "`autoCompactPercentage` is 5", "Use 75"),
    "an agent of one step": Row(
        {"agent": {"mine": {"maxSteps": 1}}}, "never sees the result of a tool", "a larger number"
    ),
    "a limit that the administrator has locked": Row(lock_budget, "`budget.perChat`", "policy"),
    # -- the installation and the machine
    "an old JupyterLab": Row(install("jupyterlab", "4.1.0"), "jupyterlab 4.1.0 is installed, but >=4.3", "pip install"),
    "an old ipykernel": Row(install("ipykernel", "6.0.0"), "ipykernel 6.0.0 is installed, but", "pip install"),
    "a panel of another version": Row(install_panel, "has the version 0.0.1, but", "Remove that folder"),
    "a panel that is switched off": Row(switch_off_panel, "The panel is switched off", "labextension enable"),
    "a server extension that is off": Row(switch_off_server, "is not enabled", "server extension enable"),
    "a kernel without our package": Row(add_bare_kernel, "The kernel 'other' runs in an environment", "pip install"),
    "no ripgrep": Row(hide_programs, "ripgrep (`rg`) is not installed", "Install it"),
    "no sandbox": Row(hide_sandbox, "There is no sandbox on this machine", "Install it, or switch it off"),
    "a full disk": Row(fill_disk, "has only 5 MB left", "Make space"),
    "chats on a network drive": Row(mount_network_drive, "on a network drive (nfs4)", "Set `JUPYTER_DATA_DIR`"),
    "a wrong clock": Row(turn_clock_back, "The clock of this machine is wrong", "Correct it"),
}


# What means nothing on Windows, or is known in another way there.
ONLY_POSIX = ("a program of Windows", "a key that others can read", "no sandbox")


@pytest.mark.parametrize("name", ROWS)
async def test_a_mistake_is_named_with_what_to_do_next(name: str, machine: Machine) -> None:
    if sys.platform == "win32" and name in ONLY_POSIX:
        pytest.skip("not on Windows")
    row = ROWS[name]
    if callable(row.mistake):
        row.mistake(machine)
    else:
        machine.keys |= row.mistake
    found = await find_problems(machine)
    [line, *_] = [line for line in found.split("\n- ") if row.problem in line] or [""]
    assert row.problem in line, found
    assert row.step in line


async def test_a_set_up_without_a_mistake_has_none_of_these_sentences(machine: Machine) -> None:
    script = machine.folder / "server.py"
    script.write_text("raise SystemExit\n")
    machine.keys |= {
        "defaultModel": "anthropic/claude-fable-5",
        "mcpServers": {"weather": {"command": sys.executable, "args": ["server.py"], "disabled": True}},
        "toolCall": {"approval": {"allow": {"shell_command": {"argsMatchers": {"command": ["ls"]}}, "weather": {}}}},
        "customTools": {"look_up": {**CUSTOM, "schema": WORD}},
        "disabledTools": ["weather__tomorrow", "task"],
        "budget": {"perDay": 5, "perChat": 1},
        "unknown": {"key": "of another program"},
    }
    machine.patch.setenv("ANTHROPIC_API_KEY", SECRET)
    machine.patch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    assert "Nothing: no problem was found." in await find_problems(machine)
