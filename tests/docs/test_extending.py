"""Runs the examples of `extending.md`: its files are installed as a package, and each plug is used.

`tests/apps/server/test_front_plugs.py` runs the front of the page in a Jupyter server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.support.docs_pages import ROOT, blocks, install, page
from tests.support.host_and_client import settings
from tests.support.path_arguments import find_undeclared

if TYPE_CHECKING:
    from pathlib import Path

# This runs in a process of its own, because plugs are looked for only once.
_USE = """
import asyncio, json, jupyter_eca
from jupyter_eca.host.outside.known_agents import find_outside_agents
from jupyter_eca.protocol.context import OtherContext

async def main():
    async with jupyter_eca.connect(folder=".", config_file="set.json", approve=lambda call: True) as eca:
        echoed = await eca.ask("Polly wants", model="echo/parrot")
        counted = await eca.chat().ask("count")
        offered = await eca.client.list_contexts(eca.id, "bra")
        seen = await eca.chat().ask("where am I?", [OtherContext(type="branch")])
        named = await eca.chat().ask("Is it @branch?")
        kinds = [context.type for context in offered]
        # The answer of a command is the server's, no model's.
        (greeting,) = [
            event.content.text
            async for event in eca.chat().ask("/greet Ada")
            if (event.role, event.content.type) == ("system", "text")
        ]
        house = find_outside_agents()["house"]
        print(json.dumps([echoed.text, counted.text, kinds, seen.text, named.text, greeting, house.title]))

asyncio.run(main())
"""


def test_each_argument_of_a_tool_of_the_page_that_names_a_file_is_declared() -> None:
    examples = [body for _, body in blocks(page("extending.md"), "python") if "TOOLS = (" in body]
    assert examples
    for body in examples:
        names: dict[str, Any] = {}
        exec(body, names)  # noqa: S102  # our own page
        assert [find_undeclared(tool) for tool in names["TOOLS"]] == [[]]


def test_the_plugs_of_the_page_work_as_soon_as_they_are_installed(tmp_path: Path) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    (work / ".git").mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/parrots\n")
    (work / "notes.txt").write_text("one two three")
    rules = [
        {"message": "count", "reply": [{"tool": "count_words", "arguments": {"path": "notes.txt"}}]},
        {"result": "", "reply": [{"text": "{result}"}]},
        {"message": "(?P<seen>refs/heads/\\w+)", "reply": [{"text": "On $seen."}]},
    ]
    (work / "set.json").write_text(json.dumps(settings(work, rules)))
    install(site)
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    path = os.pathsep.join([str(site), str(ROOT)])
    around = {**kept, "PYTHONPATH": path, "JUPYTER_DATA_DIR": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _USE], cwd=work, env=around, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    without = [option for name in ("cacheprovider", "nbval", "schemathesis") for option in ("-p", f"no:{name}")]
    tests = [sys.executable, "-m", "pytest", "-q", *without, site]
    tested = subprocess.run(tests, cwd=work, env=around, capture_output=True, text=True, check=False)
    assert "3 passed" in tested.stdout, tested.stdout
    answers = ["Polly wants", "notes.txt has 3 words.", ["branch"], *["On refs/heads/parrots."] * 2, "Hello, Ada!"]
    answers.append("House agent")
    assert json.loads(done.stdout) == answers
