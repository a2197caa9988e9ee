"""The reference of the configuration: whole, fresh, and with examples that can be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import json5
import pytest

from jupyter_eca.config import read_config
from jupyter_eca.config.examples import EXAMPLES
from jupyter_eca.config.reference import list_sections, main, make_anchor, render_page
from jupyter_eca.host import hooks

if TYPE_CHECKING:
    from jupyter_eca.config.reference import ReferenceKey, ReferenceSection

COMMITTED = Path(__file__).parents[2] / "notebooks" / "docs" / "configuration.md"
PAGE = render_page()
KEYS = [(section, key) for section in list_sections() for key in section.keys]


def test_the_committed_page_is_fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    is_fresh = main(["--check", str(COMMITTED)]) == 0
    assert is_fresh, "run: python -m jupyter_eca.config.reference notebooks/docs/configuration.md"
    stale = tmp_path / "page.md"
    stale.write_text("# Configuration\n")
    assert main(["--check", str(stale)]) == 1
    assert "is stale" in capsys.readouterr().err
    assert main([str(stale)]) == 0
    assert stale.read_text() == PAGE


@pytest.mark.parametrize(("section", "key"), KEYS, ids=[f"{one.path}.{key.name}" for one, key in KEYS])
def test_each_key_says_what_it_does_in_a_sentence(section: ReferenceSection, key: ReferenceKey) -> None:
    assert re.fullmatch(r"[A-Z`].*\.", key.description), f"write a string below the field of {section.model.__name__}"
    [_, below, *_] = re.split(rf"^#+ {re.escape(section.title)}$", PAGE, flags=re.MULTILINE)
    assert f"| `{key.name}` | " in below.partition("\n#")[0]


def test_the_keys_of_a_file_are_there_and_what_is_none_is_not() -> None:
    top = {key.name for key in list_sections()[0].keys}
    assert {"providers", "agent", "mcpServers", "toolCall", "notebook", "hooks"} <= top
    assert top.isdisjoint({"sources", "watched", "warnings", "variables"})


def test_links_in_the_page_lead_to_a_heading() -> None:
    headings = {make_anchor(heading) for heading in re.findall(r"^#+ (.*)$", PAGE, flags=re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= headings


def test_each_example_is_in_a_section() -> None:
    assert EXAMPLES.keys() <= {section.path for section in list_sections()}


@pytest.mark.parametrize("example", re.findall(r"```jsonc\n(.*?)```", COMMITTED.read_text(), flags=re.DOTALL))
def test_each_example_in_the_page_is_read_whole_and_without_a_warning(example: str, tmp_path: Path) -> None:
    (tmp_path / "eca").mkdir()
    (tmp_path / "eca" / "config.json").write_text(example)
    (tmp_path / ".netrc").write_text("machine models.example.org login me password no-key-at-all\n")
    config = read_config((), home=tmp_path, environment={"HOME": str(tmp_path), "MY_KEY": "none", "DOCS_TOKEN": "none"})
    assert not config.warnings
    assert not unread(cast("dict[str, Any]", json5.loads(example)), config.as_json_object())  # pyright: ignore[reportUnknownMemberType]  # untyped library
    assert not hooks.parse_hooks(config.hooks)[1]


def unread(written: dict[str, Any], held: dict[str, Any], place: str = "") -> list[str]:
    """The keys that nothing came of: a slip of the pen, since keys of others are left alone."""
    found: list[str] = []
    for name, value in written.items():
        if name not in held and value is not None:
            found.append(f"{place}{name}")
        elif isinstance(value, dict) and isinstance(held[name], dict):
            found += unread(cast("dict[str, Any]", value), held[name], f"{place}{name}.")
    return found
