"""The story of a notebook that nobody watches, in which the engine runs inside of the kernel."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, Book, document, opened, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")


def runs(code: str) -> dict[str, Any]:
    return {"tool": "run_code", "arguments": {"code": code}}


# Pictures of one pixel each.
RED = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
BLUE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC"
DRAWING = f"""
import base64
from IPython.display import Image, display
class Kept:
    def _repr_png_(self):
        return base64.b64decode("{BLUE}")
kept = Kept()
display(Image(base64.b64decode("{RED}")))
"""

RULES: list[dict[str, Any]] = [
    {"message": "^hello", "reply": [{"text": "Hi **there**, 1 < 2.", "chunk": 3}]},
    {"message": "^load", "reply": [{"text": "Let me."}, runs("loaded = 42\nprint('rows', loaded)")]},
    {"message": "^load", "result": "rows 42", "reply": [{"text": "`loaded` is there."}]},
    {"message": "^secret", "reply": [runs("secret = 1")]},
    {"message": "^secret", "result": "(?i)nobody is there", "reply": [{"text": "I may not."}]},
    {"message": "^fail", "reply": [runs("def f():\n    1 / 0\nf()")]},
    {
        "message": "^fail",
        "result": "(?P<where>f\\(\\))(.|\n)*(?P<what>ZeroDivisionError: .*)",
        "reply": [{"text": "I read $what in $where"}],
    },
    {"message": "^forecast", "reply": [{"tool": "forecast", "arguments": {"city": "Ulm"}}]},
    {"message": "^forecast", "result": "", "reply": [{"text": "It is {result}"}]},
    {"message": "^typo", "reply": [runs("x = = 1")]},
    {"message": "^typo", "result": "(?P<what>SyntaxError.*)", "reply": [{"text": "I read $what"}]},
    {"message": "^look", "reply": [{"tool": "variables", "arguments": {"names": ["numbers"]}}]},
    {"message": "^look", "result": "", "reply": [{"text": "{result}"}]},
    {"message": "^wrong", "reply": [{"tool": "editor_diagnostics", "arguments": {"path": "wrong.ipynb"}}]},
    {"message": "^wrong", "result": "", "reply": [{"text": "{result}"}]},
    {"message": "^quit", "reply": [runs("import sys\nsys.exit(3)")]},
    {"message": "^quit", "result": "(?P<what>SystemExit)", "reply": [{"text": "I read $what"}]},
    {
        "message": "^picture",
        "reply": [runs("from IPython.display import HTML, display\ndisplay(HTML('<b>seen</b>'))\n7")],
    },
    {"message": "^picture", "result": "", "reply": [{"text": "{result}"}]},
    {"message": "^draw", "reply": [runs(DRAWING), {"tool": "variables", "arguments": {"names": ["kept"]}}]},
    {"message": "^draw", "result": "", "reply": [{"text": "Drawn."}]},
    {"message": "^break", "reply": [{"text": "So far so good."}, {"error": "The model is overloaded.", "status": 529}]},
    {"message": "^silent", "reply": [{"error": ""}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]
ALLOWED = {
    "toolCall": {
        "approval": {"allow": {"run_code": {"argsMatchers": {"code": ["(?!secret).*"]}}, "python__forecast": {}}}
    }
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def book(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Book]:
    folder = tmp_path_factory.mktemp("book")
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, folder, settings(folder, RULES, **ALLOWED))
        async with asyncio.timeout(PATIENCE * 3), opened(folder) as book:
            yield book


async def test_an_answer_is_exactly_one_display(book: Book) -> None:
    ran = await book.run("%eca hello")
    (display,) = ran.displays
    assert display == {"text/markdown": "Hi **there**, 1 &#60; 2.", "text/plain": "Hi **there**, 1 < 2."}
    assert (len(ran.outputs), ran.failure) == (1, "")


async def test_a_cell_is_a_question_too(book: Book) -> None:
    assert (await book.run("%%eca\nhello\nyou")).markdown.startswith("Hi")


async def test_what_allowed_code_defines_is_there_in_the_next_cell(book: Book) -> None:
    ran = await book.run("%eca load")
    assert "✓ done" in ran.markdown
    assert "rows 42" in ran.markdown
    assert ran.markdown.endswith("<code>loaded</code> is there.")
    assert (len(ran.outputs), ran.printed) == (1, "")
    assert (await book.run("loaded")).displays == [{"text/plain": "42"}]


async def test_code_that_nobody_can_approve_is_denied_and_the_answer_says_so(book: Book) -> None:
    ran = await book.run("%eca secret")
    assert "⊘ not run: it needs approval, and nobody is there to give it" in ran.markdown
    assert ran.markdown.endswith("I may not.")
    assert (await book.run("'secret' in globals()")).displays == [{"text/plain": "False"}]


async def test_a_name_binds_the_result(book: Book) -> None:
    await book.run("%eca load -> answer")
    ran = await book.run("(answer.text, answer.outcome, answer.tool_calls[0].name, answer.tool_calls[0].output)")
    expected = ("Let me.\n\n`loaded` is there.", "completed", "run_code", "rows 42")
    assert ran.displays == [{"text/plain": str(expected)}]
    assert (await book.run("answer.usage.message_input_tokens > 0, answer.chat != ''")).displays == [
        {"text/plain": "(True, True)"}
    ]


async def test_a_cell_of_python_asks_the_same_engine_about_the_same_kernel(book: Book) -> None:
    ran = await book.run(
        "import jupyter_eca\n"
        "async with jupyter_eca.connect() as eca:\n"
        "    reply = await eca.ask('load')\n"
        "    print(reply.text, loaded)\n"
        "    print((await eca.ask('secret')).text)"
    )
    assert ran.failure == ""
    assert ran.printed == "Let me.\n\n`loaded` is there. 42\nI may not.\n"


async def test_a_program_that_approves_is_asked_and_the_cells_after_it_are_still_denied(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, tmp_path, settings(tmp_path, RULES, **ALLOWED))
        async with asyncio.timeout(PATIENCE * 2), opened(tmp_path) as book:
            ran = await book.run(
                "import jupyter_eca\n"
                "async with jupyter_eca.connect(approve=lambda call: True) as eca:\n"
                "    await eca.ask('other')\n"
                "    print(eca.models != ())"
            )
            assert (ran.failure, ran.printed) == ("", "True\n")
            ran = await book.run("%eca secret")
            assert "⊘ rejected, not run" in ran.markdown
            assert (await book.run("'secret' in globals()")).displays == [{"text/plain": "False"}]


@pytest.mark.nightly
@pytest.mark.parametrize("variable", ["JPY_SESSION_NAME", "KERNEL_GATEWAY"])
async def test_where_the_engine_of_a_server_was_expected_a_cell_says_once_that_the_kernel_answers(
    tmp_path: Path, variable: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, tmp_path, settings(tmp_path, RULES))
        patch.setenv(variable, "1")
        async with opened(tmp_path) as book:
            await book.run(LOAD)
            notice, answer = (await book.run("%eca hello")).displays
            assert "runs in this kernel" in notice["text/markdown"]
            assert "Hi **there**" in answer["text/markdown"]
            assert len((await book.run("%eca hello")).displays) == 1


async def test_a_function_of_a_cell_is_a_tool_of_the_questions_after_it(book: Book) -> None:
    await book.run(
        "import jupyter_eca\n\n@jupyter_eca.tool(reads=True)\n"
        "def forecast(city: str) -> str:\n    'The weather.'\n    return 'sunny in ' + city"
    )
    ran = await book.run("%eca forecast")
    assert ran.markdown.endswith("It is sunny in Ulm")


async def test_a_result_that_is_shown_is_inert(book: Book) -> None:
    await book.run("%eca echo <b> -> answer")
    assert (await book.run("answer")).markdown == "I heard: echo &#60;b>"


async def test_an_error_in_the_models_code_fails_no_cell_and_the_model_reads_it(book: Book) -> None:
    ran = await book.run("%eca fail")
    assert ran.failure == ""
    assert "✗ failed" in ran.markdown
    assert ran.markdown.endswith("I read ZeroDivisionError: division by zero in f()")
    assert ran.printed == ""


async def test_a_syntax_error_in_the_models_code_is_told_to_it(book: Book) -> None:
    ran = await book.run("%eca typo")
    assert (ran.failure, ran.printed) == ("", "")
    assert ran.markdown.endswith("I read SyntaxError: invalid syntax (line 1): x = = 1")


async def test_code_that_exits_ends_neither_kernel_nor_cell(book: Book) -> None:
    ran = await book.run("%eca quit")
    assert (ran.failure, ran.markdown.rpartition("\n")[2]) == ("", "I read SystemExit")
    assert (await book.run("1 + 1")).displays == [{"text/plain": "2"}]


async def test_after_an_error_of_the_models_code_the_users_own_errors_show_as_ever(book: Book) -> None:
    await book.run("%eca fail")
    ran = await book.run("1 / 0")
    assert ran.failure == "ZeroDivisionError: division by zero"
    assert len(ran.traceback) > 1


async def test_the_model_sees_the_users_variables(book: Book) -> None:
    await book.run("numbers = [1, 2]")
    assert "numbers: list of length 2" in (await book.run("%eca look -> told")).markdown


async def test_what_the_models_code_shows_goes_to_this_cells_output_and_its_value_to_the_model(book: Book) -> None:
    ran = await book.run("%eca picture -> told")
    assert [display.get("text/html") for display in ran.displays] == ["<b>seen</b>", None]
    assert (await book.run("print(told.text)")).printed == "seen\n7\n"


async def test_a_picture_of_the_models_code_is_shown_once_and_one_that_it_only_looked_at_is_shown_too(
    book: Book,
) -> None:
    ran = await book.run("%eca draw")
    assert "Drawn." in str(ran.displays)
    assert [picture for display in ran.displays if (picture := display.get("image/png"))] == [RED, BLUE]


async def test_a_provider_that_fails_ends_the_cell_in_one_line_and_keeps_what_was_said(book: Book) -> None:
    ran = await book.run("%eca break -> answer")
    assert ran.failure == "CellError: No answer: The model is overloaded."
    assert ran.traceback == ["No answer: The model is overloaded."]
    assert ran.markdown == "So far so good.\n\n> The model is overloaded."
    assert (await book.run("answer.outcome, answer.text")).displays == [{"text/plain": "('failed', 'So far so good.')"}]


async def test_a_provider_that_fails_without_a_word_ends_the_cell_in_one_line_too(book: Book) -> None:
    assert (await book.run("%eca silent")).traceback == ["No answer: the model's server did not say why."]


async def test_an_unknown_model_is_refused_in_one_line(book: Book) -> None:
    ran = await book.run("%eca -m nobody/x hello")
    assert len(ran.traceback) == 1
    assert "There is no provider 'nobody'" in ran.traceback[0]


async def test_misuse_is_a_line_that_says_what_to_write(book: Book) -> None:
    ran = await book.run("%eca -x hello")
    assert (ran.traceback, ran.displays) == (["`-x` is not an option: see `%eca help`."], [])


async def test_a_second_question_knows_the_first_and_a_new_chat_does_not(book: Book) -> None:
    await book.run("%eca -n hello -> one")
    await book.run("%eca hello again -> two")
    await book.run("%eca -n hello anew -> three")
    assert (await book.run("one.chat == two.chat, two.chat == three.chat")).displays == [
        {"text/plain": "(True, False)"}
    ]


async def test_status_names_engine_model_and_chat(book: Book) -> None:
    markdown = (await book.run("%eca status")).displays[0]["text/plain"]
    assert markdown.startswith("The engine runs in this kernel. Model: `scripted/test`. Chat: `")


async def test_models_are_listed_and_can_be_chosen(book: Book) -> None:
    assert "- `scripted/test` (in use)" in (await book.run("%eca models")).displays[0]["text/plain"]
    assert "not a full name" in (await book.run("%eca use test")).displays[0]["text/plain"]
    assert "does not list it" in (await book.run("%eca use scripted/nope")).displays[0]["text/plain"]
    assert "There is no script for scripted/nope" in (await book.run("%eca hello")).traceback[0]
    assert (await book.run("%eca use scripted/test")).displays[0]["text/plain"] == (
        "Answers come from `scripted/test` now."
    )
    assert (await book.run("%eca hello")).failure == ""


async def test_the_cost_is_that_of_the_chat(book: Book) -> None:
    assert (await book.run("%eca new")).displays[0]["text/plain"] == "The next question starts a new chat."
    assert (await book.run("%eca cost")).displays[0]["text/plain"] == "Nothing was asked in this chat yet."
    await book.run("%eca hello")
    told = (await book.run("%eca cost")).displays[0]["text/plain"].splitlines()
    assert [line.partition(" USD (")[0] for line in told] == [
        "- Last message: 0.00",
        "- This chat: 0.00",
        "- Today, all chats: 0.00",
    ]


async def test_doctor_tells_what_is_set_up(book: Book) -> None:
    report = (await book.run("%eca doctor")).displays[0]["text/plain"]
    assert "in this kernel (no Jupyter server with jupyter_eca was found)" in report
    assert "Default model: `scripted/test`" in report
    assert "`ANTHROPIC_API_KEY` is not set" in report


async def test_help_shows_every_command(book: Book) -> None:
    assert "%eca doctor" in (await book.run("%eca help")).displays[0]["text/plain"]
    assert (await book.run("%eca")).displays == (await book.run("%eca help")).displays


async def test_nothing_runs_so_nothing_is_stopped(book: Book) -> None:
    assert (await book.run("%eca stop")).displays[0]["text/plain"] == "Nothing is being answered."


async def test_loading_twice_changes_nothing_and_unloading_takes_the_magic_away(book: Book) -> None:
    assert (await book.run(f"{LOAD}\n%reload_ext jupyter_eca\n%eca hello")).markdown.startswith("Hi")
    await book.run("%unload_ext jupyter_eca")
    assert "not found" in (await book.run("%eca hello")).printed
    assert (await book.run(LOAD)).failure == ""
    assert (await book.run("%eca hello")).markdown.startswith("Hi")


async def test_a_question_in_the_cell_that_loads_us_is_sent_to_the_next_cell(book: Book) -> None:
    await book.run("%unload_ext jupyter_eca")
    (line,) = (await book.run(f"{LOAD}\n%eca hello")).traceback
    assert line.startswith("Ask in the next cell")


async def test_a_model_may_be_chosen_in_the_cell_that_loads_us(book: Book) -> None:
    await book.run("%unload_ext jupyter_eca")
    ran = await book.run(f"{LOAD}\n%eca use scripted/chosen")
    assert (ran.displays[0]["text/plain"], ran.failure) == ("Answers come from `scripted/chosen` now.", "")
    assert "Model: `scripted/chosen`" in (await book.run("%eca status")).displays[0]["text/plain"]
    await book.run("%eca use scripted/test")


async def test_a_reset_of_the_namespace_leaves_the_magic(book: Book) -> None:
    assert (await book.run("%reset -f")).failure == ""
    assert (await book.run("%eca hello")).markdown.startswith("Hi")


async def test_without_any_model_the_answer_is_a_card_of_three_ways_to_get_one(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, tmp_path, {"providers": {"ollama": {"url": "http://127.0.0.1:9"}}})
        async with asyncio.timeout(PATIENCE), opened(tmp_path) as book:
            await book.run("import sys\nsys.modules['xllamacpp'] = None  # as if it were not installed")
            ran = await book.run("%eca hello")
            models = await book.run("%eca models")
    assert ran.traceback == ["No answer: No model is set up yet. Choose one of these, then ask again:"]
    assert [line[:9] for line in ran.displays[0]["text/plain"].splitlines()] == [
        "No model ",
        "1. a key:",
        "2. a loca",
        "3. offlin",
    ]
    assert models.displays[0]["text/plain"] == "No model can answer now: `%eca doctor` says why."


async def test_a_broken_configuration_is_one_line_that_names_the_file(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, tmp_path, {"providers": 5})
        async with asyncio.timeout(PATIENCE), opened(tmp_path) as book:
            ran = await book.run("%eca hello")
    (line,) = ran.traceback
    assert str(tmp_path / "eca" / "config.json") in line
    assert "providers" in line


@pytest.mark.nightly
async def test_papermill_runs_the_same_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    surround(monkeypatch, tmp_path, settings(tmp_path, RULES, **ALLOWED))
    source, target = tmp_path / "in.ipynb", tmp_path / "out.ipynb"
    source.write_text(
        json.dumps(document(LOAD, "%eca load -> answer", "assert (loaded, city) == (42, 'Bonn') and answer.tool_calls"))
    )
    command = [
        sys.executable,
        "-m",
        "papermill",
        "--no-progress-bar",
        "-p",
        "city",
        "Bonn",
        "--cwd",
        str(tmp_path),
        str(source),
        str(target),
    ]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=PATIENCE * 2)
    assert done.returncode == 0, done.stderr
    (output,) = json.loads(target.read_text())["cells"][2]["outputs"]
    assert output["data"]["text/plain"][-1] == "`loaded` is there."


async def test_what_is_wrong_with_a_notebook_is_told_with_no_page_and_no_server(book: Book) -> None:
    wrong = json.dumps(document("import json, pydantic", "print(nowhere)"))
    await book.run(f"with open('wrong.ipynb', 'w') as file:\n    print({wrong!r}, file=file)")
    (display,) = (await book.run("%eca wrong")).displays
    told = display["text/plain"]
    assert "wrong.ipynb (2 cells): 1 error, 2 infos" in told
    assert "1:7: error: Undefined name `nowhere` [ruff F821]" in told
