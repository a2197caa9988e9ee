"""Questions in a cell, answered on the page that shows it: a real card, a real kernel, and a client that answers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
from tests.apps.server.cards import Cards
from tests.apps.server.cells import PATIENCE, PageKernel, Ran, Watcher, kernel
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.host_and_client import settings
from tests.support.trust import trust_folder

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

KEY = "sk-ant-typed-by-hand"
ASK = {"question": "Which *one*?", "options": [{"label": "Ape", "description": "big"}, "Bee"]}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "ask", "reply": [{"tool": "ask_user", "arguments": ASK}]},
    {"message": "choose", "reply": [{"tool": "ask_user", "arguments": {**ASK, "allow_freeform": False}}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "made.py", "content": "x = 2\n"}}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]


@pytest.fixture
def house() -> Generator[LoopbackAnthropic]:
    says = Script.model_validate({"rules": [{"message": "", "reply": [{"text": "Hi"}]}]})
    with LoopbackAnthropic(says, key=KEY) as server:
        yield server


@pytest.fixture(autouse=True)
def eca_config(jp_root_dir: Path, tmp_path: Path, house: LoopbackAnthropic, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings(tmp_path, RULES)
    config["providers"]["house"] = {"api": "anthropic", "url": house.url, "models": {"claude-haiku-5-5": None}}
    (jp_root_dir / ".eca").mkdir()
    (jp_root_dir / ".eca" / "config.json").write_text(json.dumps(config))
    trust_folder(monkeypatch, jp_root_dir)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


def asking(at: PageKernel, question: str) -> asyncio.Task[Ran]:
    return asyncio.create_task(at.page(f"%eca {question}"))


def left_over(ran: Ran) -> list[dict[str, Any]]:
    """The outputs that the saved notebook would have beside the answer: what was displayed last in each."""
    last = {display["id"]: display for display in ran.displays}.values()
    answers = [display for display in last if set(display) == {"id", "text/markdown", "text/plain"}]
    empty = [display for display in last if set(display) == {"id", "text/plain"} and not display["text/plain"]]
    return [display for display in last if display not in [*answers, *empty]]


async def test_an_option_that_is_clicked_answers_on_every_page_and_nothing_dead_is_left(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        one, two = Cards.at(at), Cards.at(at)
        running = asking(at, "ask")
        asked = await one.question("Which *one*?")
        assert asked["options"] == [{"label": "Ape", "description": "big"}, {"label": "Bee"}]
        await two.question("Which *one*?")
        one.answer(answer="Bee")
        await two.sees(lambda: not two.questions)
        ran = await running
        assert "I read: The user answered: Bee" in ran.markdown
        assert (left_over(ran), one.open) == ([], [])


async def test_words_of_ones_own_answer_and_a_question_can_be_skipped(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        card = Cards.at(at)
        running = asking(at, "ask")
        assert (await card.question("Which *one*?"))["allowFreeform"]
        card.answer(answer="neither")
        assert "The user answered: neither" in (await running).markdown
        running = asking(at, "choose")
        assert not (await card.question("Which *one*?"))["allowFreeform"]
        card.answer(cancelled=True)
        assert "The user did not answer" in (await running).markdown


async def test_an_interrupt_takes_the_question_away(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        card = Cards.at(at)
        running = asking(at, "ask")
        await card.question("Which *one*?")
        await jp_serverapp.kernel_manager.interrupt_kernel(at.id)
        ran = await asyncio.wait_for(running, PATIENCE)
        assert ran.error == "Stopped."
        assert (left_over(ran), card.open) == ([], [])


class Quick(Watcher):
    """Another client, which answers as soon as the cell shows the question."""

    def __init__(self, host: Any) -> None:
        super().__init__(host)
        self.shown = asyncio.Event()

    def answers(self, chat: str) -> bool:  # noqa: ARG002  # all
        return True

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        await self.shown.wait()
        return ChatAskQuestionResult(answer=f"quickly: {question.question}")


async def test_an_answer_from_elsewhere_takes_the_question_out_of_the_cell(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        await at.page("%eca hi")
        (app,) = jp_serverapp.extension_manager.extension_apps["jupyter_eca"]
        quick = Quick(await app.eca_server.get_host())
        quick.host.connect(quick)
        card = Cards.at(at)
        running = asking(at, "ask")
        await card.question("Which *one*?")
        quick.shown.set()
        ran = await running
        assert "The user answered: quickly" in ran.markdown
        assert (left_over(ran), card.open) == ([], [])


async def test_where_nobody_is_there_the_model_cannot_ask(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        assert "There is no tool 'ask_user'" in (await at.run("%eca ask")).markdown
        assert at.widgets.models == {}


async def test_a_key_is_asked_for_as_a_secret_and_is_in_no_output_and_no_widget(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        card = Cards.at(at)
        running = asking(at, "/login house")
        await card.sees(lambda: [one for one in card.questions.values() if one.get("secret")])
        card.answer(answer=KEY)
        ran = await running
        for_now = "The key is kept in memory only: it is gone when this server ends."
        assert ran.markdown.startswith(f"You are signed in to house. {for_now} To have it last, ")
        assert KEY not in json.dumps([ran.displays, ran.stdout, card.models, card.calls])
        assert (left_over(ran), card.open) == ([], [])


async def test_a_change_is_shown_as_a_diff_before_it_is_approved(jp_serverapp: Any, jp_root_dir: Path) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        card = Cards.at(at)
        running = asking(at, "write")
        call = await card.call()
        assert call["manualApproval"]
        assert "+x = 2" in call["details"]["diff"]
        await card.approve()
        ran = await running
        waiting = next(display for display in ran.displays if "waits for your approval" in display["text/plain"])
        assert "```diff\n" in waiting["text/markdown"]
        assert "+x = 2" in waiting["text/markdown"]
        assert (jp_root_dir / "made.py").read_text() == "x = 2\n"
        assert (left_over(ran), card.open) == ([], [])


async def test_stop_in_the_card_ends_the_answer_and_no_rule_can_be_written_through_it(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        card = Cards.at(at)
        running = asking(at, "write")
        await card.call()
        rule = {"decision": "allow", "rule": "eca", "scope": "workspace"}
        assert (await card.request("approvals/add", rule))["code"] == -32601
        card.notify("chat/toolCallApprove", {"chatId": card.chat, "toolCallId": "of somebody else's"})
        card.notify("chat/promptStop", {"chatId": card.chat})
        ran = await asyncio.wait_for(running, PATIENCE)
        assert (ran.error, left_over(ran), card.open) == ("Stopped.", [], [])
        assert "stopped, not run" in ran.markdown


async def test_where_no_page_draws_the_card_it_is_asked_by_input_and_from_then_on_at_once(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    asked: list[str] = []
    async with kernel(jp_serverapp) as at:
        await at.run(
            "%load_ext jupyter_eca\nimport jupyter_eca.apps.kernel.answer.questions as asking\n"
            "asking.FIRST_CARD_SECONDS = 0.2"
        )

        def reads(message: dict[str, Any]) -> None:
            asked.append(message["content"]["prompt"])
            at.client.input("1" if "Which" in asked[-1] else "y")

        ran = await at.page("%eca write", stdin_hook=reads)
        assert "+x = 2" in asked[0]
        assert (jp_root_dir / "made.py").read_text() == "x = 2\n"
        assert (left_over(ran), at.widgets.models) == ([], {})
        ran = await at.page("asking.FIRST_CARD_SECONDS = 3600\n%eca ask", stdin_hook=reads)
        assert "The user answered: Ape" in ran.markdown
        assert (left_over(ran), at.widgets.models) == ([], {})
