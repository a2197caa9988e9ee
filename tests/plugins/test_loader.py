"""The loader: our own plugs, and those of others, of which none can take the assistant down."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.host import commands
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.tools.base import NativeTool
from tests.support.host_and_client import answer, desk, said
from tests.support.path_arguments import find_undeclared

if TYPE_CHECKING:
    from pathlib import Path


def install(folder: Path, group: str, **entries: str) -> None:
    """A distribution of somebody else's, as pip would leave it."""
    info = folder / "somebody-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
    lines = [f"[jupyter_eca.{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]  # untyped in pytest
    return tmp_path


def test_our_own_providers_are_found_by_their_modules() -> None:
    found = loader.find("providers", "PROVIDER")
    assert {"anthropic", "ollama", "local", "scripted"} <= found.keys()
    assert not {"base", "catalog", "messages"} & found.keys()


def test_our_own_tools_are_found_and_their_names_are_unique() -> None:
    tools = [tool for module in loader.find("tools", "TOOLS").values() for tool in module]
    assert tools
    assert all(isinstance(tool, NativeTool) for tool in tools)
    counts = Counter(tool.spec.name for tool in tools)
    assert [name for name, count in counts.items() if count > 1] == [], "give each tool a name of its own"
    untold = [tool.spec.name for tool in tools if not (tool.spec.description and tool.spec.summary)]
    assert untold == [], "write a docstring, which the model reads, and `@tool(summary=...)`, which the user sees"


def test_each_argument_of_our_tools_that_names_a_file_is_declared_so_that_rules_about_paths_hold() -> None:
    tools = [tool for module in loader.find("tools", "TOOLS").values() for tool in module]
    undeclared = {tool.spec.name: names for tool in tools if (names := find_undeclared(tool))}
    # The file of a skill is a path in the folder of the skill, and no rule about paths is about it.
    assert undeclared.pop("skill") == ["file"]
    assert undeclared == {}, "name these arguments in `@tool(paths=[...])`"


def test_a_plug_of_somebody_else_is_found_by_its_entry_point(site: Path) -> None:
    (site / "somebodys_plug.py").write_text("PROVIDER = 'a provider'\n")
    install(site, "providers", theirs="somebodys_plug:PROVIDER")
    found = loader.find("providers", "PROVIDER")
    assert found["theirs"] == "a provider"
    assert "scripted" in found


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("raise RuntimeError('broken inside')", "somebodys_broken_plug:PROVIDER"),
        ("import a_library_that_is_not_there", "somebodys_broken_plug:PROVIDER"),
        ("this is no Python", "somebodys_broken_plug:PROVIDER"),
        ("", "somebodys_broken_plug:PROVIDER"),
        ("", "a_module_that_is_not_there:PROVIDER"),
    ],
)
def test_a_plug_that_cannot_be_loaded_is_logged_and_left_out(
    site: Path, caplog: pytest.LogCaptureFixture, source: str, value: str
) -> None:
    (site / "somebodys_broken_plug.py").write_text(source + "\n")
    (site / "somebodys_plug.py").write_text("PROVIDER = 'a provider'\n")
    install(site, "providers", broken=value, fine="somebodys_plug:PROVIDER")
    found = loader.find("providers", "PROVIDER")
    assert "broken" not in found
    assert found["fine"] == "a provider"
    assert f"the providers plug broken of {value} cannot be loaded" in caplog.text


def test_entry_points_of_another_kind_are_left_alone(site: Path) -> None:
    install(site, "tools", theirs="a_module_that_is_not_there:TOOLS")
    assert "theirs" not in loader.find("providers", "PROVIDER")


def test_a_plug_of_somebody_else_that_replaces_one_of_ours_is_named_in_one_warning(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (site / "somebodys_plug.py").write_text("PROVIDER = 'a provider'\n")
    install(site, "providers", scripted="somebodys_plug:PROVIDER", theirs="somebodys_plug:PROVIDER")
    for _ in range(2):
        assert loader.find("providers", "PROVIDER")["scripted"] == "a provider"
    assert caplog.messages == [
        "the providers plug scripted is replaced by somebodys_plug:PROVIDER, which has the same name"
    ]


@pytest.mark.parametrize(
    ("kind", "constant", "source"),
    [
        ("providers", "PROVIDER", "class Echo:\n    name = 'echo'\nPROVIDER = Echo()"),
        (
            "providers",
            "PROVIDER",
            "from jupyter_eca.plugins.providers.scripted import PROVIDER\nPROVIDER = type(PROVIDER)",
        ),
        ("tools", "TOOLS", "from jupyter_eca.plugins.tools.tree import directory_tree\nTOOLS = (directory_tree)"),
        ("tools", "TOOLS", "async def count_words(context, path):\n    pass\nTOOLS = (count_words,)"),
        ("contexts", "CONTEXT", "CONTEXT = 'branch'"),
        ("commands", "COMMANDS", "async def greet(place, call):\n    pass\nCOMMANDS = {'greet': greet}"),
        ("agents", "AGENT", "AGENT = {'command': ['house-agent']}"),
    ],
)
@pytest.mark.asyncio
async def test_a_constant_that_is_no_plug_of_its_kind_is_left_out_and_the_log_says_what_to_write(
    plug: Path, caplog: pytest.LogCaptureFixture, kind: str, constant: str, source: str
) -> None:
    module = f"mistake_{plug.name}"  # Python keeps modules by their names
    (plug / f"{module}.py").write_text(source + "\n")
    install(plug, kind, theirs=f"{module}:{constant}")
    async with desk(plug, [{"message": "", "reply": [{"text": "In trees."}]}]) as table:
        assert said(await answer(await table.client(), "Where do @parrots sleep?")) == "In trees."
        await commands.list_commands(table.host)
    assert f"the {kind} plug theirs of {module}:{constant} cannot be loaded" in caplog.text
    assert "TypeError: The constant must be a" in caplog.text
