"""A kernel and the server's engine, over the comm that the server opens."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.apps.server.cells import PATIENCE, Watcher, kernel
from tests.host.secrets.house import MARK, secret, servers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"run_code": {}}}


async def test_a_cell_is_answered_by_the_server_and_the_variable_stays_in_its_kernel(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        assert "runs in the Jupyter server" in (await at.run("%eca status")).markdown
        ran = await at.run("%%eca -> result\nmake a variable")
        assert ran.status == "ok"
        assert "I make it." in ran.markdown
        assert (await at.run("print(answer, len(result.tool_calls))")).stdout == "42 1\n"


async def test_python_in_a_cell_asks_the_server_and_its_functions_are_called_in_its_kernel(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        ran = await at.run(
            "import jupyter_eca\n\n@jupyter_eca.tool\n"
            "def forecast(city: str) -> str:\n    global seen\n    seen = city\n    return 'sunny'\n\n"
            "async with jupyter_eca.connect(approve=lambda call: call.name == 'forecast') as eca:\n"
            "    answer = await eca.ask('forecast')\n    print(answer.text, seen)"
        )
        assert (ran.status, ran.stdout) == ("ok", "The tool said: sunny Ulm\n")
        assert "runs in the Jupyter server" in (await at.run("%eca status")).markdown


async def test_run_all_finds_the_server_although_its_comm_opens_behind_the_queued_cells(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        at.client.execute("%load_ext jupyter_eca", silent=False)
        assert "runs in the Jupyter server" in (await at.run("%eca status")).markdown


async def test_no_token_and_no_address_of_the_server_enters_the_kernel(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        await at.run("%eca you")
        seen = await at.run(
            "import gc\nfor thing in gc.get_objects():\n    if isinstance(thing, (dict, list, tuple)): repr(thing)"
        )
        assert seen.status == "ok"
        token = jp_serverapp.identity_provider.token
        await at.run(
            "import gc, os\n"
            "held = [o for o in gc.get_objects() if isinstance(o, dict)]\n"
            "texts = [v for o in held for v in list(o.values()) if isinstance(v, str)] + list(os.environ.values())"
        )
        found = await at.run(
            f"backwards = {token[::-1]!r}\nprint(len(texts) > 100, any(backwards[::-1] in t for t in texts))"
        )
        assert found.stdout == "True False\n"


async def test_no_key_of_a_provider_enters_the_kernel(jp_serverapp: Any, jp_root_dir: Path, sdk: None) -> None:  # noqa: ARG001
    typed, written = secret("login"), secret("config")
    echo, other = servers()
    with echo, other:
        file = jp_root_dir / ".eca" / "config.json"
        config = json.loads(file.read_text())
        headers = {"X-House": secret("header")}
        house: dict[str, Any] = {"api": "anthropic", "url": echo.url, "models": {"m": {}}, "retry": False}
        config["providers"] |= {"login": house, "config": {**house, "key": written, "extraHeaders": headers}}
        file.write_text(json.dumps(config))
        watcher = await Watcher.of(jp_serverapp)
        await watcher.host.logins.enter("login", {"key": typed})
        async with kernel(jp_serverapp) as at:
            await at.run("%load_ext jupyter_eca")
            await at.run("%eca -m config/m be well")
            await at.run("%eca -m config/m be wrong")
            await at.run("%eca -m login/m be wrong")
            assert (await at.run("%eca status")).status == "ok"
            found = await at.run(
                "import gc, os\n"
                "held = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple))]\n"
                "texts = [v for o in held for v in (o.values() if isinstance(o, dict) else o) if isinstance(v, str)]\n"
                f"texts += [*os.environ.values()]; mark = {MARK[::-1]!r}\n"
                "print(len(texts) > 1000, [t[:200] for t in texts if mark[::-1] in t])"
            )
        sent = [asked.headers for asked in echo.requests]
    assert found.stdout == "True []\n"
    assert all(any(one in str(headers) for headers in sent) for one in (typed, written, secret("header")))


async def test_code_that_kills_the_kernel_ends_the_turn_and_the_server_lives(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        restarted = asyncio.Event()
        at.kernels.add_restart_callback(at.id, restarted.set, "restart")
        watcher = await Watcher.of(jp_serverapp)
        await at.run("%load_ext jupyter_eca")
        at.client.execute("%eca die")
        called = (await watcher.until("toolCalled")).content
        assert "The kernel did not answer" in str(called)
        await watcher.ended()
        await asyncio.wait_for(restarted.wait(), PATIENCE)
        await at.reopen()
        await at.run("%load_ext jupyter_eca")
        assert (await at.run("%eca you")).markdown == "Hello, you"


async def test_a_kernel_that_is_restarted_is_found_again(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        await at.run("%eca you")
        await jp_serverapp.kernel_manager.restart_kernel(at.id)
        await at.reopen()
        await at.run("%load_ext jupyter_eca")
        assert "runs in the Jupyter server" in (await at.run("%eca status")).markdown
        assert (await at.run("%eca you")).markdown == "Hello, you"


@pytest.mark.parametrize(("prompt", "sign"), [("slow", "text"), ("wait", "toolCallRunning")])
async def test_interrupt_stops_the_turn_at_once_and_the_next_question_is_answered(
    jp_serverapp: Any, prompt: str, sign: str
) -> None:
    async with kernel(jp_serverapp) as at:
        watcher = await Watcher.of(jp_serverapp)
        await at.run("%load_ext jupyter_eca")
        running = asyncio.ensure_future(at.run(f"%eca {prompt}"))
        await watcher.until(sign)
        await jp_serverapp.kernel_manager.interrupt_kernel(at.id)
        ran = await asyncio.wait_for(running, PATIENCE)
        assert (ran.status, ran.error) == ("error", "Stopped.")
        assert (await watcher.ended()).outcome == "stopped"
        assert (await at.run("%eca you")).markdown == "Hello, you"


async def test_an_interrupt_in_mid_answer_keeps_what_was_shown(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        watcher = await Watcher.of(jp_serverapp)
        await at.run("%load_ext jupyter_eca")
        running = asyncio.ensure_future(at.run("%eca slow"))
        await watcher.until("text")
        await jp_serverapp.kernel_manager.interrupt_kernel(at.id)
        ran = await asyncio.wait_for(running, PATIENCE)
        assert ran.markdown.startswith("word")
        assert ran.error == "Stopped."


async def test_a_stop_from_elsewhere_interrupts_code_that_runs_in_the_kernel(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        watcher = await Watcher.of(jp_serverapp)
        await at.run("%load_ext jupyter_eca")
        running = asyncio.ensure_future(at.run("%eca wait"))
        started = await watcher.until("toolCallRunning")
        watcher.host.turns.stop(started.chat)
        ran = await asyncio.wait_for(running, 10)
        assert ran.error == "Stopped."
        assert (await at.run("%eca you")).markdown == "Hello, you"


async def test_a_broken_configuration_is_named_below_the_answer_and_mending_it_is_enough(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    file = jp_root_dir / ".eca" / "config.json"
    good = file.read_text()
    file.write_text("{")
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        *answer, warning = (await at.run("%eca you")).displays
        assert answer
        assert str(file) in warning["text/markdown"]
        assert "this project's settings are not used" in warning["text/markdown"]
        assert str(file) not in (await at.run("%eca you")).markdown
        watcher = await Watcher.of(jp_serverapp)
        file.write_text(good)
        await watcher.until_notice("config/updated")
        assert (await at.run("%eca -n you")).markdown == "Hello, you"


async def test_a_locked_answer_is_replayed_in_the_next_kernel_and_its_variable_is_there(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    question = "%%eca --lock -> result\nmake a variable"
    async with kernel(jp_serverapp) as at:
        await at.run(f"%cd -q {jp_root_dir}\n%load_ext jupyter_eca")
        first = await at.page(question)
        assert (first.status, (await at.page(question)).markdown) == ("ok", first.markdown)
    (jp_root_dir.parent / "script.json").write_text('{"rules": []}')
    async with kernel(jp_serverapp) as at:
        await at.run(f"%cd -q {jp_root_dir}\n%load_ext jupyter_eca")
        again = await at.page(question)
        assert (again.status, again.markdown) == ("ok", first.markdown)
        assert (await at.run("print(answer, result.replayed)")).stdout == "42 True\n"
        assert "runs in the Jupyter server" in (await at.run("%eca status")).markdown
