"""The shipped notebooks, as far as nbval cannot judge them: it compares outputs, and a model's differ."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.apps.kernel.nbclient_notebook import opened, surround

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

TEXTS = {".ipynb", ".lock", ".json", ".csv", ".py", ".cfg", ".md"}
# Links for readers, and examples. Nothing that runs goes there.
ADDRESSES = re.compile(
    r"code\.visualstudio\.com|cloud\.google\.com|opentelemetry\.io|modelcontextprotocol\.io|agentclientprotocol\.com"
    r"|eca\.dev|github\.com|codecompanion\.olimorris\.dev|127\.0\.0\.1|(\w+\.)?example\.org"
)

# In the kernel, before anything of ours is loaded: every way out of this machine is shut.
NO_NETWORK = """
import socket
def _refused(self, address):
    if isinstance(address, tuple) and not str(address[0]).startswith("127."):
        raise AssertionError(f"a connection to {address}")
    return _connect(self, address)
_connect, socket.socket.connect = socket.socket.connect, _refused
"""


def sources(name: str) -> Iterator[str]:
    notebook = json.loads((NOTEBOOKS / name).read_text())
    return ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


@pytest.mark.nightly
@pytest.mark.weights
@pytest.mark.asyncio
async def test_the_offline_notebook_is_answered_by_the_embedded_model_with_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surround(monkeypatch, tmp_path, {"defaultModel": "nowhere/x"})
    async with opened(tmp_path) as book:
        await book.run(NO_NETWORK)
        await book.run("%unload_ext jupyter_eca")
        for source in sources("02_offline_model.ipynb"):
            assert (await book.run(source)).failure == ""
        assert "`local/smollm2-135m`" in (await book.run("%eca status")).displays[0]["text/plain"]
        told = await book.run("print(len(answer.text) > 20, answer.outcome, answer.usage.session_tokens > 20)")
        assert told.printed == "True completed True\n"


def shipped() -> list[Path]:
    """All that a reader gets with the stories, but for pictures."""
    return [file for file in sorted(NOTEBOOKS.rglob("*")) if file.suffix in TEXTS and "__pycache__" not in file.parts]


@pytest.mark.parametrize("file", shipped(), ids=lambda file: file.name)
def test_what_is_shipped_holds_no_path_of_a_machine_no_secret_and_no_address_of_a_registry(file: Path) -> None:
    text = file.read_text()
    assert not re.findall(r"/(?:home|root|tmp|work|Users|opt|var)/|site-packages|[A-Z]:\\\\", text)
    assert not re.findall(r"sk-\w{8}|gh[pous]_\w{16}|(?i:token|password|secret)[\"']?\s*[=:]\s*[\"']?\w{8}", text)
    hosts: set[str] = set(re.findall(r"https?://([\w.-]+)", text))
    assert {host for host in hosts if not ADDRESSES.fullmatch(host)} == set()


@pytest.mark.parametrize("file", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.name)
def test_a_notebook_runs_anywhere_from_its_first_cell_to_its_last_and_was_stored_so(file: Path) -> None:
    notebook = json.loads(file.read_text())
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    # In order and once each, or never, where what is said differs from run to run.
    assert [cell["execution_count"] for cell in code] in ([*range(1, len(code) + 1)], [None] * len(code))
    assert all(set(cell["metadata"]) <= {"tags"} for cell in notebook["cells"])
    assert not any("application/vnd.jupyter.widget-view+json" in str(cell["outputs"]) for cell in code)
    expected = {cell["id"] for cell in code if "raises-exception" in cell["metadata"].get("tags", [])}
    failed = {cell["id"] for cell in code if any(output["output_type"] == "error" for output in cell["outputs"])}
    assert failed <= expected
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert not re.search(
        r"^\s*(?:%pip|!pip|%conda|!curl|!wget)|urlopen|requests\.", "\n".join(sources(file.name)), re.M
    )


def test_a_story_that_another_notebook_or_the_readme_names_is_there() -> None:
    text = "".join(file.read_text() for file in (*NOTEBOOKS.glob("*.ipynb"), NOTEBOOKS.parent / "README.md"))
    named = set(re.findall(r"\b0\d_\w+\.(?:ipynb|eca\.lock)", text))
    assert {name for name in named if not (NOTEBOOKS / name).exists()} == set()
