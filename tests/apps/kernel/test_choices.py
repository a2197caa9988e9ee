"""Agents, variants, `/` commands, pictures, and what Tab offers, in a notebook whose engine runs in the kernel."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.apps.kernel.nbclient_notebook import PATIENCE, Book, Offered, opened, surround
from tests.host.outside.talking import PROGRAM
from tests.mcp_client.house import tour_server
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")

RULES: list[dict[str, Any]] = [
    {"message": "^draw", "reply": [{"tool": "tour__draw", "arguments": {}}]},
    {"result": "", "reply": [{"text": "Drawn."}]},
    {"message": "(?P<all>(.|\n)*)", "reply": [{"text": "I heard: $all"}]},
]
MORE: dict[str, Any] = {
    "toolCall": {"approval": {"allow": {"tour__draw": {}}}},
    "agent": {"reviewer": {"systemPrompt": "Review."}, "helper": {"mode": "subagent"}},
    "mcpServers": {"tour": tour_server()},
    "acpAgents": {"fake": {"command": sys.executable, "args": [str(PROGRAM)]}},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("choices")
    (folder / "sales of may.csv").write_text("city,sold\nLyon,120\n")
    (folder / "stock.csv").write_text("city,left\nLyon,7\n")
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def book(folder: Path) -> AsyncGenerator[Book]:
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, folder, settings(folder, RULES, **MORE))
        async with asyncio.timeout(PATIENCE * 3), opened(folder) as book:
            yield book


async def pressed(book: Book, code: str) -> Offered:
    """Tab until it offers something: one that hangs gives up, so on a busy machine the first may have nothing."""
    async with asyncio.timeout(PATIENCE):
        while not (offered := await book.tab(code)).matches:
            pass
    return offered


async def test_tab_knows_the_commands_of_the_chat_before_the_first_question(book: Book) -> None:
    offered = await pressed(book, "%eca /co")
    assert set(offered.matches) >= {"costs", "config", "context"}
    assert (offered.start, offered.end) == (len("%eca /"), len("%eca /co"))
    assert "costs" in (await pressed(book, "%%eca -n\n/cos")).matches


@pytest.mark.parametrize("code", ["%eca what is in @sto", "%%eca\nand then\nlook at #sto", "%%eca\n(@sto"])
async def test_tab_offers_files_wherever_one_may_be_pointed_at(book: Book, code: str) -> None:
    offered = await pressed(book, code)
    assert offered.matches[:1] == ["stock.csv"]
    assert code[offered.start : offered.end] == "sto"


async def test_a_name_with_spaces_is_offered_in_quotes(book: Book) -> None:
    assert '"sales of may.csv"' in (await pressed(book, "%eca @sales")).matches
    assert "sales of may.csv" in (await pressed(book, '%eca @"sales o')).matches


async def test_tab_offers_variables_and_they_are_shown_to_the_model(book: Book) -> None:
    await book.run("import pandas; sold_here = pandas.DataFrame({'city': ['Lyon'], 'sold': [120]})")
    assert "var:sold_here" in (await pressed(book, "%eca plot @sold_h")).matches
    assert (await pressed(book, "%%eca\nplot @var:sold_h")).matches[:1] == ["var:sold_here"]
    told = (await book.run("%eca plot @var:sold_here")).displays[0]["text/plain"]
    assert "pandas.DataFrame 1 x 2" in told
    assert "Lyon" in told


async def test_tab_offers_what_it_did_elsewhere_and_our_own_names(book: Book) -> None:
    await book.run("a_long_name = 1")
    assert "a_long_name" in (await pressed(book, "a_long")).matches
    assert "status" in (await pressed(book, "%eca st")).matches
    assert {"code", "plan", "reviewer"} <= set((await pressed(book, "%eca -b ")).matches)


async def test_what_is_pointed_at_is_shown_to_the_model(book: Book) -> None:
    assert "Lyon,7" in (await book.run("%eca what is in @stock.csv?")).displays[0]["text/plain"]


async def test_any_agent_of_the_configuration_can_be_asked_and_the_old_name_still_works(book: Book) -> None:
    for agent in ("code", "plan", "reviewer", "agent"):
        assert (await book.run(f"%eca -b {agent} hello")).failure == ""


async def test_an_unknown_agent_is_one_line_with_those_there_are_and_asks_nothing(book: Book) -> None:
    ran = await book.run("%eca -b chat hello")
    known = " or ".join(f"`--agent {name}`" for name in ("code", "plan", "tutor", "reviewer", "fake"))
    assert ran.traceback == [f"There is no agent 'chat'. Write {known}."]
    assert ran.displays == []


async def test_a_variant_that_the_model_does_not_have_is_one_line(book: Book) -> None:
    assert (await book.run("%eca -v high hello")).traceback == ["scripted/test has no variant 'high'. It has none."]


async def test_a_command_of_the_chat_is_answered_as_formatted_and_bound(book: Book) -> None:
    ran = await book.run("%eca /costs -> costs")
    assert ran.markdown.startswith("| | Cost | Requests | Tokens in | Of these cached | Tokens out |\n|---|")
    assert (await book.run("costs.text.count('This session')")).displays == [{"text/plain": "1"}]
    assert (await book.run("%%eca\n/costs")).markdown.startswith("| |")


async def test_a_long_answer_of_a_command_is_folded(book: Book) -> None:
    assert "<details><summary><code>&#47;config</code></summary>" in (await book.run("%eca /config")).markdown


async def test_go_without_a_plan_says_so_and_asks_no_model(book: Book) -> None:
    ran = await book.run("%eca go")
    assert "There is no plan" in ran.markdown
    assert "I heard" not in ran.markdown


async def test_resume_goes_on_with_an_earlier_chat(book: Book) -> None:
    await book.run("%eca -n the first of all -> one")
    await book.run("%eca -n another -> two")
    listed = (await book.run("%eca /resume -> list")).markdown
    assert listed.startswith("1. ")
    await book.run("%eca /resume 1")
    await book.run("%eca where was I? -> three")
    assert (await book.run("three.chat == one.chat, three.chat == two.chat")).displays == [
        {"text/plain": "(True, False)"}
    ]


async def test_a_chat_that_is_not_there_leaves_the_cells_in_theirs(book: Book) -> None:
    await book.run("%eca -n an earlier chat")
    await book.run("%eca -n hello -> one")
    assert "There is no chat '99'" in (await book.run("%eca /resume 99")).markdown
    await book.run("%eca hello -> two")
    assert (await book.run("one.chat == two.chat")).displays == [{"text/plain": "True"}]


async def test_a_picture_of_a_tool_is_displayed_beside_the_text(book: Book) -> None:
    async with asyncio.timeout(PATIENCE):
        # A cell waits for three seconds until the tools of a server are there, which is too short on a busy machine.
        while len((ran := await book.run("%eca draw")).displays) < 2:
            pass
    words, picture = ran.displays
    assert "[image/png, 0.1 kB]" in words["text/plain"]
    assert picture["image/png"].startswith("iVBORw0KGgo")


async def test_the_command_line_knows_the_same_agents(folder: Path, book: Book) -> None:  # noqa: ARG001  # its config
    async def asked(*arguments: str) -> tuple[int | None, str]:
        command = [sys.executable, "-m", "jupyter_eca", "ask", *arguments, "hello"]
        piped = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=piped, stderr=piped
        )
        async with asyncio.timeout(PATIENCE):
            said, problem = await process.communicate()
        return process.returncode, (said + problem).decode()

    status, said = await asked("-b", "reviewer")
    assert (status, "I heard: hello" in said) == (0, True)
    status, said = await asked("-b", "chat")
    assert (status, "There is no agent 'chat'. Write `--agent code`" in said) == (1, True)


async def test_an_agent_of_a_folder_that_is_not_trusted_is_explained(
    book: Book,  # noqa: ARG001  # its config
    tmp_path: Path,
) -> None:
    (tmp_path / ".eca").mkdir()
    config = {"acpAgents": {"stranger": {"command": sys.executable, "args": [str(PROGRAM)]}}}
    (tmp_path / ".eca" / "config.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "jupyter_eca", "ask", "--agent", "stranger", "hello"]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1
    )
    async with asyncio.timeout(PATIENCE):
        _, problem = await process.communicate()
    assert "There is no agent 'stranger'." in problem.decode()
    assert f"The folder {tmp_path} brings its own settings" in problem.decode()


async def test_a_cell_asks_an_outside_agent_by_its_name(book: Book) -> None:
    ran = await book.run("%%eca --agent fake\nDO: say Hello from another agent\nDO: unasked echo it ran")
    assert "Hello from another agent" in ran.markdown
    assert "Agent: <code>fake</code>, which chooses its model itself." in (await book.run("%eca status")).markdown
    assert "not asked" in ran.markdown
    assert "it ran" in ran.markdown
