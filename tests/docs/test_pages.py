"""Compares what the pages name (files, commands, options, keys, configuration) with what the product has.

`tests/support/docs_pages.py` lists the pages. The examples of `extending.md` run in `test_extending.py`.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from typing import TYPE_CHECKING, Any, cast

import json5
import pytest
from mcp_types import version as mcp
from PIL import Image

from jupyter_eca.apps.cli import build_parser
from jupyter_eca.apps.kernel import options
from jupyter_eca.config import Config
from jupyter_eca.config.reference import make_anchor
from jupyter_eca.host.commands.dispatch import list_native
from jupyter_eca.host.outside.known_agents import find_outside_agents
from jupyter_eca.host.turn.plan_mode import GO_AHEAD_MESSAGES
from jupyter_eca.plugins.contexts.resolve import LIVE, TYPES, find_plugs
from jupyter_eca.protocol.ahp import VERSION
from tests.plugins.test_loader import install
from tests.support.docs_pages import PAGES, ROOT, blocks, page, prose

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

REFERENCE = page("reference.md")
every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)


def spans(text: str) -> list[str]:
    """Return the texts between backticks."""
    return re.findall(r"`([^`\n]+)`", prose(text))


@every_page
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text())):
        file, _, anchor = link.partition("#")
        if link.startswith("https://"):
            continue
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        headings = re.findall(r"^#+ (.*)$", target.read_text(), flags=re.MULTILINE) if anchor else []
        assert not anchor or anchor in map(make_anchor, headings), link


@every_page
def test_a_page_names_no_file_of_the_repository_that_there_is_not(path: Path) -> None:
    first = {path.name for path in (*ROOT.iterdir(), *(ROOT / "jupyter_eca").iterdir(), *(ROOT / "tests").iterdir())}
    for span in spans(path.read_text()):
        if (found := re.fullmatch(r"(\w[\w-]*)/[\w./-]*", span)) is not None and found[1] in first:
            assert any((root / span).exists() for root in (ROOT, ROOT / "jupyter_eca", ROOT / "tests")), span


@every_page
def test_a_page_names_no_command_of_a_cell_or_a_chat_that_there_is_not(path: Path) -> None:
    words = {name.partition(" ")[0] for name in options.COMMANDS} | GO_AHEAD_MESSAGES | {"QUESTION"}
    slashes = {f"/{one.name}" for one in list_native()} | {"/name", "/server:prompt", "/docs", "/openapi.json"}
    for span in spans(path.read_text()):
        if found := re.match(r"%eca ([a-zA-Z-]+)", span):
            assert found[1] in words, span
        if found := re.fullmatch(r"(/[a-z:.-]+)( [A-Z]+)?", span):
            assert found[1] in slashes, span


@every_page
def test_a_page_names_no_command_line_or_extra_that_there_is_not(path: Path) -> None:
    text = path.read_text()
    shell = [line for _, body in blocks(text, "bash") for line in body.splitlines()]
    for line in [*spans(text), *shell]:
        if line.startswith("jupyter-eca ") and "…" not in line:
            build_parser().parse_args(shlex.split(line)[1:])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = [name for names in re.findall(r"jupyter-eca\[([\w,]+)\]", text) for name in names.split(",")]
    assert set(named) <= extras.keys()


@every_page
def test_code_in_a_page_is_python_and_its_configuration_is_read(path: Path) -> None:
    for _, body in blocks(path.read_text(), "python"):
        line, _, below = body.partition("\n")
        if (magic := re.match(r"(%{1,2})eca ?(.*)", line)) is not None:
            assert isinstance(options.parse(magic[2], below if magic[1] == "%%" else None), options.CellQuestion), line
        elif not line.startswith("%"):
            compile(body, path.name, "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for _, body in blocks(path.read_text(), "jsonc"):
        written = cast("dict[str, Any]", json5.loads(body))  # pyright: ignore[reportUnknownMemberType]  # untyped library
        assert written.keys() <= Config.model_validate(written).as_json_object().keys()


def test_each_command_option_and_word_is_in_the_reference() -> None:
    assert list_missing_words() == [], "add a row for each to a table of notebooks/docs/reference.md"


def test_a_command_that_a_module_brings_is_missed_in_the_reference(plug: Path) -> None:
    (plug / "greeting_page.py").write_text(
        "from jupyter_eca.host.commands import NativeCommand\nCOMMANDS = {'greet': NativeCommand(print, 'Say hello')}\n"
    )
    install(plug, "commands", theirs="greeting_page:COMMANDS")
    assert "/greet" in list_missing_words()


def test_a_context_that_a_module_brings_is_missed_in_the_reference(plug: Path) -> None:
    (plug / "clock_page.py").write_text(
        "class Clock:\n    kind = 'clock'\n    query = resolve = print\nCONTEXT = Clock()\n"
    )
    install(plug, "contexts", theirs="clock_page:CONTEXT")
    assert "@clock" in list_missing_words()


def list_missing_words() -> list[str]:
    """Return the commands, options and words that the reference does not name."""
    named = spans(REFERENCE)
    words = [f"%eca {name.partition(' ')[0]}" for name in options.COMMANDS]
    # The kinds of the protocol that are not live have no word: files are written by their paths.
    own = {kind for kind in find_plugs() if kind and kind not in TYPES}
    words += [f"/{one.name}" for one in list_native()] + [f"@{kind}" for kind in (*LIVE, *own)] + list(options.OPTIONS)
    return [
        word
        for word in words
        if not any(re.match(rf"{re.escape(word)}\b|{re.escape(word)} ", f"{span} ") for span in named)
    ]


def test_each_command_line_and_its_options_are_in_the_reference() -> None:
    there = spans(REFERENCE)
    for name, command in commands():
        assert any(span.startswith(f"jupyter-eca {name}") for span in there), name
        for action in command._actions:  # pyright: ignore[reportPrivateUsage]  # argparse has no other list of them
            long = next((one for one in action.option_strings if one.startswith("--") and one != "--help"), None)
            assert long is None or any(long in span for span in there), f"{name} {long}"


def commands() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in build_parser()._actions:  # pyright: ignore[reportPrivateUsage]  # as above
        if action.dest == "command":
            yield from cast("dict[str, argparse.ArgumentParser]", action.choices).items()


def test_each_key_of_the_labextension_is_in_the_reference() -> None:
    schema = json.loads((ROOT / "labextension" / "schema" / "plugin.json").read_text())
    for shortcut in schema["jupyter.lab.shortcuts"]:
        assert f"`{shortcut['keys'][0].replace('Accel', 'Ctrl').replace(' ', '+')}`" in REFERENCE


def test_each_revision_of_a_protocol_is_told() -> None:
    text = page("protocols.md")
    for revision in (*mcp.SUPPORTED_PROTOCOL_VERSIONS, VERSION):
        assert revision in text


def test_each_claim_about_security_names_a_test_that_there_is() -> None:
    rows = re.findall(r"^\| (?!claim|---)(.*) \| (.*) \|$", page("security.md"), flags=re.MULTILINE)
    assert len(rows) > 30
    for claim, shown in rows:
        file, _, test = shown.strip("`").partition("::")
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(), claim


def test_the_readme_is_read_in_five_minutes_and_its_picture_moves() -> None:
    assert len(page("README.md").splitlines()) <= 200
    file = ROOT / "notebooks" / "images" / "tour.webp"
    assert file.stat().st_size <= 1024 * 1024
    with Image.open(file) as picture:
        lasting = 0
        for frame in range(getattr(picture, "n_frames", 1)):
            picture.seek(frame)
            picture.load()
            lasting += picture.info["duration"]
    assert 10_000 <= lasting <= 25_000


@every_page
def test_a_page_holds_no_path_of_a_machine(path: Path) -> None:
    assert not re.findall(r"/(?:home|root|tmp|work|Users)/", path.read_text())


def test_the_page_about_other_agents_names_each_known_one_with_its_program() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([\w-]+)`", page("use-other-agents.md"), flags=re.MULTILINE))
    assert rows == {name: agent.command[0] for name, agent in find_outside_agents().items()}
