"""Plain IPython: as a script, which nobody watches, and in a terminal, where somebody types."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, surround
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pexpect: Any = pytest.importorskip("pexpect", reason="IPython brings it, but not on Windows")

KEY = "sk-ant-typed-by-hand"
HOUSE = "house"
# The seconds after which an interrupt that nothing has answered is sent again.
AGAIN_AFTER = 5
SAYS = Script.model_validate({"rules": [{"message": "", "reply": [{"text": "Hi"}]}]})
CODE = {"tool": "run_code", "arguments": {"code": "loaded = 42\nprint('rows', loaded)"}}
# Past the capture of what is printed, straight into the terminal: so that a test can wait for it.
SLEEP = {"tool": "run_code", "arguments": {"code": "import os, time\nos.write(1, b'be' + b'gun')\ntime.sleep(600)"}}
# An interrupt that comes when IPython is about to run the last statement: no statement is at work then.
BETWEEN = """import os, signal, sys, time
def look(frame, event, _):
    if event == "call" and frame.f_back.f_code.co_name == "run_ast_nodes":
        sys.setprofile(None)
        os.kill(os.getpid(), signal.SIGINT)
sys.setprofile(look)
time.sleep(600)"""
RULES: list[dict[str, Any]] = [
    {"message": "^load", "reply": [{"text": "Let me."}, CODE]},
    {"message": "^load", "result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "^sleep", "reply": [SLEEP]},
    {"message": "^between", "reply": [{"tool": "run_code", "arguments": {"code": BETWEEN}}]},
    {"message": "^slow", "reply": [{"text": "and so on " * 1000, "chunk": 5, "delay": 0.05}]},
    {
        "message": "^ask",
        "reply": [{"tool": "ask_user", "arguments": {"question": "Which?", "options": ["Ape", "Bee"]}}],
    },
    {"tool": "ask_user", "result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "^write", "reply": [{"tool": "write_file", "arguments": {"path": "a.py", "content": "x = 2\n"}}]},
    {"tool": "write_file", "result": "", "reply": [{"text": "Written."}]},
    {"message": "^plan", "reply": [{"tool": "task", "arguments": {"op": "plan", "tasks": ["look", "leap"]}}]},
    {"tool": "task", "result": "", "reply": [{"text": "Planned."}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    folder = tmp_path_factory.mktemp("ipython")
    with pytest.MonkeyPatch.context() as patch:
        made = settings(folder, RULES)
        made["providers"][HOUSE] = {"api": "anthropic", "models": {"claude-haiku-5-5": None}}
        surround(patch, folder, made)
        patch.setenv("TERM", "dumb")
        yield folder


def script(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "IPython", "--colors=nocolor", *arguments]
    nobody = subprocess.DEVNULL
    done = subprocess.run(command, cwd=folder, stdin=nobody, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_line_on_the_command_line_is_answered(folder: Path) -> None:
    assert "I heard: hello" in script(folder, "-c", f"{LOAD}\n%eca hello")


@pytest.mark.cold_start
def test_loading_imports_nothing_but_our_own_few_modules(folder: Path) -> None:
    """Half a second of imports waits for the first question."""
    code = f"import sys\nold = {{*sys.modules, *sys.stdlib_module_names}}\n{LOAD}\n"
    said = script(
        folder, "-c", code + "print({name.partition('.')[0] for name in sys.modules if name not in old} - old)"
    )
    assert said == "{'jupyter_eca'}\n"


def test_a_script_is_answered_and_its_calls_need_a_rule(folder: Path) -> None:
    (folder / "story.ipy").write_text(f"{LOAD}\n%eca hello\n%eca load -> answer\nprint(answer.tool_calls[0].state)\n")
    said = script(folder, "story.ipy")
    assert "I heard: hello" in said
    assert "⊘ not run: it needs approval, and nobody is there to give it" in said


class Terminal:
    """An IPython in a terminal; `type` waits for its prompt first."""

    def __init__(self, folder: Path) -> None:
        command = ["-m", "IPython", "--no-banner", "--simple-prompt", "--colors=nocolor"]
        self._shell = pexpect.spawn(sys.executable, command, cwd=str(folder), encoding="utf-8", timeout=PATIENCE)
        self.type(LOAD)

    def type(self, line: str) -> None:
        self.see(r"In \[\d+\]: ")
        self._shell.sendline(line)

    def reply(self, words: str, to: str = "Run it?") -> None:
        self.see(to)
        self._shell.sendline(words)

    def see(self, pattern: str) -> str:
        """What stands before the pattern."""
        self._shell.expect(pattern)
        return self._shell.before

    def interrupt(self) -> None:
        self._shell.sendintr()

    def interrupt_question(self) -> str:
        """What stands before "Stopped.", which an interrupt of a question prints.

        Python loses an interrupt that comes after `input` has printed the prompt and before it waits for a line. As a
        user would, this presses the key again when nothing happens.
        """
        for _ in range(PATIENCE // AGAIN_AFTER):
            self.interrupt()
            if self._shell.expect(["Stopped\\.\r\n\r\n", pexpect.TIMEOUT], timeout=AGAIN_AFTER) == 0:
                return self._shell.before
        return self.see("Stopped\\.\r\n\r\n")

    def close(self) -> None:
        self._shell.close(force=True)


@pytest.fixture(scope="module")
def terminal(folder: Path) -> Generator[Terminal]:
    terminal = Terminal(folder)
    yield terminal
    terminal.close()


def test_an_answer_is_printed(terminal: Terminal) -> None:
    terminal.type("%eca hello")
    terminal.see("I heard: hello\r\n")


def test_code_that_is_approved_by_typing_runs(terminal: Terminal) -> None:
    terminal.type("%eca load")
    terminal.see("loaded = 42\r\n")
    terminal.reply("y")
    terminal.see("I read: rows 42")
    terminal.type("loaded + 1")
    terminal.see("43")


def test_a_reason_rejects_and_reaches_the_model(terminal: Terminal) -> None:
    terminal.type("%eca load again")
    terminal.reply("use less memory")
    terminal.see("⊘ rejected, not run")
    terminal.see("I read: The user rejected this call.*use less memory")


def test_a_rejection_needs_only_return(terminal: Terminal) -> None:
    terminal.type("%eca load again")
    terminal.reply("")
    terminal.see("⊘ rejected, not run")


def test_an_interrupt_stops_the_answer_in_one_word_and_the_next_question_works(terminal: Terminal) -> None:
    terminal.type("%eca slow")
    terminal.see("so on")
    terminal.interrupt()
    said = terminal.see("Stopped.\r\n\r\n")
    assert "Traceback" not in said
    terminal.type("%eca are you there?")
    terminal.see("I heard: are you there?")


def test_an_interrupt_of_the_question_stops_the_turn(terminal: Terminal) -> None:
    terminal.type("%eca load again")
    terminal.see("Run it?")
    assert "⊘ stopped, not run" in terminal.interrupt_question()
    terminal.type("%eca and now?")
    terminal.see("I heard: and now")


def test_an_interrupt_of_code_that_blocks_stops_the_turn(terminal: Terminal) -> None:
    terminal.type("%eca sleep")
    terminal.reply("y")
    terminal.see("begun")
    terminal.interrupt()
    terminal.see("Stopped.\r\n\r\n")
    terminal.type("%eca still there?")
    terminal.see("I heard: still there")


def test_an_interrupt_between_two_statements_is_not_lost(terminal: Terminal) -> None:
    terminal.type("%eca between")
    terminal.reply("y")
    terminal.see("Stopped.\r\n\r\n")
    terminal.type("%eca what now?")
    terminal.see("I heard: what now")


def test_approval_for_the_session_asks_no_more(terminal: Terminal) -> None:
    terminal.type("%eca load a last time")
    terminal.reply("s")
    terminal.see("I read: rows 42")
    terminal.type("%eca load once more")
    assert "Run it?" not in terminal.see("I read: rows 42")


@pytest.mark.parametrize(("words", "answer"), [("2", "Bee"), ("ape", "Ape"), ("neither", "neither")])
def test_a_question_is_answered_by_typing(terminal: Terminal, words: str, answer: str) -> None:
    terminal.type("%eca ask me")
    terminal.see("Which\\?\r\n1. Ape\r\n2. Bee\r\n")
    terminal.reply(words, to="Number or answer: ")
    terminal.see(f"I read: The user answered: {answer}")


def test_return_leaves_a_question_unanswered(terminal: Terminal) -> None:
    terminal.type("%eca ask me")
    terminal.reply("", to="Number or answer: ")
    terminal.see("I read: The user did not answer")


def test_an_interrupt_of_a_question_of_the_models_stops_the_turn(terminal: Terminal) -> None:
    terminal.type("%eca ask me")
    terminal.see("Number or answer: ")
    terminal.interrupt_question()
    terminal.type("%eca and now?")
    terminal.see("I heard: and now")


def test_a_change_is_shown_before_it_is_approved(terminal: Terminal) -> None:
    terminal.type("%eca write it")
    terminal.see("write_file wants to run:\r\na.py \\(\\+1 -0\\)\r\n")
    terminal.see("\\+x = 2\r\n")
    terminal.reply("n")
    terminal.see("Written.")


def test_the_plan_is_printed_at_the_end(terminal: Terminal) -> None:
    terminal.type("%eca plan it")
    terminal.see("Planned.\r\n\r\n\\[ \\] look\r\n\\[ \\] leap\r\n")


def test_a_key_is_typed_unseen(terminal: Terminal) -> None:
    with LoopbackAnthropic(SAYS, key=KEY) as server:
        terminal.type(f"%eca /login {HOUSE}")
        terminal.reply(KEY, to="API key.*not shown: ")
        terminal.reply(server.url, to="Address of the server.*Answer: ")
        said = terminal.see(f"You are signed in to {HOUSE}")
    terminal.type("'still ' + 'there'")
    said += terminal.see("still there")
    assert KEY not in said
