"""The native commands, over a host with a scripted model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from jupyter_eca.config import ModelConfig, ProviderConfig
from jupyter_eca.config.masking import MASK, mask_secrets
from jupyter_eca.host import commands
from jupyter_eca.host.commands import CommandAnswer
from jupyter_eca.host.commands.dispatch import COMMAND_ORDER, find_native, list_native
from jupyter_eca.protocol.jsonrpc import Result
from jupyter_eca.redaction import HIDDEN
from tests.plugins.providers.ask import KEY, says
from tests.plugins.test_loader import install
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.host_and_client import answer, desk, said
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.host import Host

pytestmark = pytest.mark.asyncio

HELLO: list[dict[str, Any]] = [
    {"message": "look", "reply": [{"tool": "directory_tree", "arguments": {"path": "."}}]},
    {"result": "", "reply": [{"text": "I looked."}]},
    {"message": "", "reply": [{"text": "Hello there"}]},
]


ALLOWED: dict[str, Any] = {"approval": {"allow": {"directory_tree": {}}}}


def provide(host: Host, name: str, provider: dict[str, Any]) -> None:
    """Add a provider to the configuration that holds."""
    providers = {**host.config.providers, name: ProviderConfig.model_validate(provider)}
    config = host.config.model_copy(update={"providers": providers})
    host.current.configure(config)
    host.catalog.configure(config)


async def ask(host: Host, message: str, chat: str = "chat") -> str:
    made = await commands.run(host, chat, message, may_see=lambda _: True)
    assert isinstance(made, CommandAnswer)
    return made.text


def block(text: str) -> Any:
    """The JSON in an answer."""
    return json.loads(text.partition("```json\n")[2].rpartition("\n```")[0])


@pytest.mark.parametrize("message", ["hello", "/srv/ada/x.csv is large", "/usr is full", "/nothing:here"])
async def test_what_is_no_command_is_left_to_the_model(tmp_path: Path, message: str) -> None:
    async with desk(tmp_path, HELLO) as table:
        assert await commands.run(table.host, "chat", message) is None


async def test_a_mistyped_command_is_not_sent_to_the_model(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        assert "Did you mean `/costs`?" in await ask(table.host, "/cost")


async def test_help_lists_every_command(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        text = await ask(table.host, "/help")
        assert [one.name for one in list_native() if f"- `/{one.name}" not in text] == []
        assert "`/model [name]`: Show or choose" in text


async def test_a_command_of_a_plug_is_listed_without_a_row_anywhere_else(plug: Path) -> None:
    (plug / "greeting.py").write_text(
        "from jupyter_eca.host.commands import CommandAnswer, NativeCommand\n"
        "from jupyter_eca.protocol.command import CommandArgument\n"
        "async def greet(place, called):\n"
        "    return CommandAnswer(f'Hello, {called.text}')\n"
        "NAME = CommandArgument(name='name')\n"
        "COMMANDS = {name: NativeCommand(greet, 'Say hello', (NAME,)) for name in ('greet', 'ahoy')}\n"
    )
    install(plug, "commands", theirs="greeting:COMMANDS")
    names = [one.name for one in list_native()]
    assert {"ahoy", "greet"} <= set(names)
    assert names[-1] == "help"
    async with desk(plug, HELLO) as table:
        assert await ask(table.host, "/greet Ada") == "Hello, Ada"
        assert "- `/greet [name]`: Say hello\n" in await ask(table.host, "/help")
        assert "greet" in [one.name for one in await commands.list_commands(table.host)]


async def test_a_command_of_a_plug_that_returns_a_text_ends_the_turn_with_what_it_must_return(plug: Path) -> None:
    (plug / "greeting_in_text.py").write_text(
        "from jupyter_eca.host.commands import NativeCommand\n"
        "async def greet(place, called):\n    return 'Hello'\n"
        "COMMANDS = {'greet': NativeCommand(greet, 'Say hello')}\n"
    )
    install(plug, "commands", theirs="greeting_in_text:COMMANDS")
    async with desk(plug, HELLO) as table:
        told = said(await answer(await table.client(), "/greet"), "system")
        assert "must return a CommandAnswer or a CommandReplacement, and returned str" in told


async def test_the_order_of_commands_names_only_those_there_are() -> None:
    assert set(COMMAND_ORDER) <= find_native().keys()


async def test_a_model_is_chosen_for_one_chat_even_before_its_first_prompt(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "I am the other"}]}]}))
    async with desk(tmp_path, HELLO) as table, connect_and_initialize(table) as client:
        table.host.config.providers["scripted"].models["other"] = ModelConfig(script=str(other))
        assert "`scripted/test`" in await ask(table.host, "/model")
        assert "`scripted/other` now" in await ask(table.host, "/model scripted/other")
        assert "- `scripted/other` (in use)" in await ask(table.host, "/model")
        assert "- `scripted/test` (in use)" in await ask(table.host, "/model", "another chat")
        await client.ask("chat/list", {})
        told = client.params("config/updated")[-1]
        assert told == {"chat": {"selectModel": "scripted/other"}, "chatId": "chat"}
        assert said(await answer(await table.client(), "hello")) == "I am the other"


async def test_a_model_nobody_has_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        assert "no provider 'nobody'" in await ask(table.host, "/model nobody/none")
        assert "`scripted/test`" in await ask(table.host, "/model")


async def test_costs_are_those_of_the_chat_and_of_all_chats_of_the_session(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO, toolCall=ALLOWED) as table:
        client = await table.client()
        await answer(client, "hello hello hello")
        await answer(client, "look")
        await answer(client, "hello", chat="another")
        rows = [row for row in (await ask(table.host, "/costs")).splitlines() if "This" in row]
        chat, session = ([cell.strip() for cell in row.split("|")[1:-1]] for row in rows)
        assert (chat[0], chat[1], chat[2]) == ("This chat", "0.00 USD", "3")
        assert (session[0], session[2]) == ("This session", "4")
        tokens = [int(row[3].replace(",", "")) for row in (session, chat)]
        assert tokens[0] > tokens[1] > 0


async def test_costs_of_a_chat_nobody_used_are_none(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        assert "| This chat | 0.00 USD | 0 | 0 | 0 | 0 |" in await ask(table.host, "/costs")


async def test_somebody_who_sees_one_chat_is_told_of_no_other(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        client = await table.client()
        await answer(client, "a secret plan", chat="another")
        await answer(client, "hello")
        for message in ("/resume", "/resume another", "/resume 1"):
            assert await commands.run(table.host, "chat", message) == CommandAnswer(
                "There is no other chat to go on with."
            )
        made = await commands.run(table.host, "chat", "/costs")
        assert isinstance(made, CommandAnswer)
        assert "| This session | 0.00 USD | 1 |" in made.text


async def test_context_shows_what_fills_the_window(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        fresh = await ask(table.host, "/context")
        tools = int(fresh.partition("| Tools | ")[2].split(" ")[0].replace(",", ""))
        system = int(fresh.partition("| System prompt | ")[2].split(" ")[0])
        assert tools > system > 0
        assert fresh.startswith(f"About {tools + system:,} tokens are used.")
        await answer(await table.client(), "hello")
        # The scripted model counts the messages only, and its count is believed.
        assert (await ask(table.host, "/context")).startswith("About 3 tokens are used.")


async def test_the_prompt_that_is_shown_is_what_the_model_would_get(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        await answer(await table.client(), "hello")
        body = block(await ask(table.host, "/prompt-show and now?"))
        assert body["model"] == "scripted/test"
        assert [(one["role"], one["parts"][0]["text"]) for one in body["messages"]] == [
            ("user", "hello"),
            ("assistant", "Hello there"),
            ("user", "and now?"),
        ]
        assert "read_file" in [tool["name"] for tool in body["tools"]]
        assert str(tmp_path) in body["system"]


@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("api", ["anthropic", "ollama"])
async def test_the_prompt_that_is_shown_is_word_for_word_what_is_sent(tmp_path: Path, api: str) -> None:
    with LoopbackAnthropic(says("ok")) as server:
        provider = {"api": api, "url": server.url, "key": KEY, "models": {"best": {"extraPayload": {"max_tokens": 5}}}}
        async with desk(tmp_path, HELLO) as table:
            provide(table.host, "mine", provider)
            client = await table.client()
            await ask(table.host, "/model mine/best")
            await answer(client, "hello")
            text = await ask(table.host, "/prompt-show and now?")
            await answer(client, "and now?")
        assert block(text) == server.requests[-1].body
        assert KEY not in text


async def test_a_key_among_the_parameters_of_a_model_is_not_shown(tmp_path: Path) -> None:
    provider = {"api": "anthropic", "models": {"best": {"extraPayload": {"api_key": KEY, "more": {"token": KEY}}}}}
    async with desk(tmp_path, HELLO) as table:
        provide(table.host, "mine", provider)
        await ask(table.host, "/model mine/best")
        assert KEY not in await ask(table.host, "/prompt-show hello")


async def test_the_configuration_is_shown_with_its_files_and_without_its_secrets(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO, sources=["here.json"], welcomeMessage="Ahoy") as table:
        provide(table.host, "mine", {"key": "sk-hidden", "url": "https://ada:sk-hidden@example.org"})
        text = await ask(table.host, "/config")
        assert "- `here.json`" in text
        assert block(text)["welcomeMessage"] == "Ahoy"
        assert "sk-hidden" not in text


async def test_whatever_looks_like_a_secret_is_masked_and_nothing_else() -> None:
    settings = {
        "key": "s",
        "clientSecret": "s",
        "api_key": "s",
        "extra": [{"Authorization": "s"}, "--token=s", "Bearer s"],
        "env": {"HOME": "s"},
        "headers": {"X": "s"},
        "url": "https://a:s@b.org/?key=s&page=1",
        "args": ["--token", "s", "--port", "1"],
        "max_tokens": 5,
        "keymap": "vim",
        "model": "a/b",
        "key_of_map": {"name": "x"},
    }
    assert mask_secrets(settings) == {
        "key": MASK,
        "clientSecret": MASK,
        "api_key": MASK,
        "extra": [{"Authorization": MASK}, f"--token={MASK}", f"Bearer {MASK}"],
        "env": {"HOME": MASK},
        "headers": {"X": MASK},
        "url": f"https://{HIDDEN}@b.org/?key={HIDDEN}&page={HIDDEN}",
        "args": ["--token", HIDDEN, "--port", "1"],
        "max_tokens": 5,
        "keymap": "vim",
        "model": "a/b",
        "key_of_map": {"name": "x"},
    }


async def test_doctor_reports(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        assert "Default model: `scripted/test`" in await ask(table.host, "/doctor")


async def test_an_earlier_chat_is_listed_and_gone_on_with_by_number_or_id(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        client = await table.client()
        await answer(client, "the oldest", chat="one")
        await answer(client, "a newer one", chat="two")
        text = await ask(table.host, "/resume")
        assert [line[: line.index(" (")] for line in text.splitlines()[:2]] == ["1. *a newer one*", "2. *the oldest*"]
        for wanted in ("2", "one"):
            made = await commands.run(table.host, "chat", f"/resume {wanted}", may_see=lambda _: True)
            assert made == CommandAnswer("Going on with *the oldest*.", next_chat="one")
        assert "no chat '3'" in await ask(table.host, "/resume 3")


async def test_a_chat_is_exported_into_a_file_that_was_not_there(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO, toolCall=ALLOWED) as table:
        client = await table.client()
        await answer(client, "look")
        await answer(client, "say ``` please")
        assert await ask(table.host, '/export "my chat.md"') == "This chat is in [my chat.md](my%20chat.md) now."
        assert await ask(table.host, "/export chats.txt") == "This chat is in [chats.txt](chats.txt) now."
        text = (tmp_path / "chats.txt").read_text()
        head = (
            "# look\n\n## You\n\nlook\n\n## Assistant\n\n**directory_tree**: Listing . (allowed without a question)\n\n"
        )
        assert text.startswith(head)
        assert text.endswith("I looked.\n\n## You\n\nsay ``` please\n\n## Assistant\n\nHello there\n")


async def test_an_export_never_replaces_a_file_or_leaves_the_workspace(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "kept.md").write_text("mine")
    (inside / "out.md").symlink_to(tmp_path / "outside.md")
    async with desk(inside, HELLO) as table:
        await answer(await table.client(), "hello")
        assert "is there already" in await ask(table.host, "/export kept")
        assert "is there already" in await ask(table.host, "/export kept.md")
        assert "outside of the workspace" in await ask(table.host, "/export ../outside.md")
        assert "outside of the workspace" in await ask(table.host, "/export out.md")
        assert "cannot be written" in await ask(table.host, "/export no/such/folder.md")
        assert (inside / "kept.md").read_text() == "mine"
        assert not (tmp_path / "outside.md").exists()
        assert await ask(table.host, "/export") == "This chat is in [hello.md](hello.md) now."
        assert await ask(table.host, "/export") == "This chat is in [hello-2.md](hello-2.md) now."


async def test_a_chat_in_which_nothing_was_said_is_not_exported(tmp_path: Path) -> None:
    async with desk(tmp_path, HELLO) as table:
        assert await ask(table.host, "/export a.md") == "Nothing was said in this chat yet."
        assert not (tmp_path / "a.md").exists()


async def test_commands_are_listed_while_one_is_typed(tmp_path: Path) -> None:
    folder = tmp_path / ".eca" / "commands"
    folder.mkdir(parents=True)
    (folder / "tidy.md").write_text("Tidy up $1")
    async with desk(tmp_path, HELLO) as table, connect_and_initialize(table) as client:
        reply = await client.ask("chat/queryCommands", {"chatId": 7, "query": "tid"})
        assert isinstance(reply, Result)
        arguments = [{"name": "1", "required": False}]
        tidy = {"name": "tidy", "description": "Tidy up $1", "type": "customPrompt", "arguments": arguments}
        assert reply.result == {"chatId": 7, "commands": [tidy]}


async def test_a_chat_is_exported_as_a_notebook_whose_code_can_be_run(tmp_path: Path) -> None:
    said = "So:\n\n```python\nx = 1\nx + 1\n```\n\nAnd:\n\n```sh\nls\n```\nDone."
    async with desk(tmp_path, [{"message": "", "reply": [{"text": said}]}]) as table:
        await answer(await table.client(), "how")
        assert await ask(table.host, "/export how.ipynb") == "This chat is in [how.ipynb](how.ipynb) now."
    book = json.loads((tmp_path / "how.ipynb").read_text())
    nbformat.validate(book)  # pyright: ignore[reportUnknownMemberType]  # untyped
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]] == [
        ("markdown", "# how\n\n## You\n\nhow\n\n## Assistant\n\nSo:"),
        ("code", "x = 1\nx + 1"),
        ("markdown", "And:\n\n```sh\nls\n```\nDone."),
    ]
