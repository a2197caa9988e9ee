"""Who may say that changes are made without approval: the user's own file, and nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.errors import ConfigError
from tests.config.files import globally, locally, trusting, write

if TYPE_CHECKING:
    from pathlib import Path

LOOSE = ["after", "never"]


def read(home: Path, project: Path, **more: Any) -> tuple[str, bool]:
    """The setting, and whether a warning says that one was ignored."""
    config = read_config((project,), home=home, trust=trusting(project), **more)
    return config.review.value, any("`review` was ignored" in warning for warning in config.warnings)


@pytest.mark.parametrize("setting", LOOSE)
def test_the_users_own_file_may_loosen_it(home: Path, project: Path, tmp_path: Path, setting: str) -> None:
    assert read(home, project) == ("before", False)
    globally(home, {"review": setting})
    assert read(home, project) == (setting, False)
    extra = write(home / "eca" / "more.json", {"review": setting})
    globally(home, {"extraConfigs": [str(extra)]})
    assert read(home, project) == (setting, False)
    globally(home, {})
    only = write(tmp_path / "given.json", {"review": setting})
    assert read(home, project, only=only) == (setting, False)


@pytest.mark.parametrize("setting", LOOSE)
def test_a_project_cannot_loosen_it_though_its_folder_is_trusted(home: Path, project: Path, setting: str) -> None:
    locally(project, {"review": setting})
    assert read(home, project) == ("before", True)
    extra = write(project / "more.json", {"review": setting})
    locally(project, {"extraConfigs": [str(extra)]})
    assert read(home, project) == ("before", True)
    globally(home, {"review": "after"})
    locally(project, {"review": "never"})
    assert read(home, project) == ("after", True)


@pytest.mark.parametrize("setting", LOOSE)
def test_neither_a_client_nor_the_environment_can_loosen_it(home: Path, project: Path, setting: str) -> None:
    assert read(home, project, client={"review": setting}) == ("before", True)
    assert read(home, project, environment={"ECA_CONFIG": f'{{"review": "{setting}"}}'}) == ("before", True)
    # The user's file may name a file anywhere, and somebody else may have written that one.
    foreign = write(project.parent / "foreign.json", {"review": setting})
    globally(home, {"extraConfigs": [str(foreign)]})
    assert read(home, project) == ("before", True)


def test_a_project_may_make_it_stricter_though_its_folder_is_not_trusted(home: Path, project: Path) -> None:
    globally(home, {"review": "never"})
    locally(project, {"review": "before"})
    assert read_config((project,), home=home).review.value == "before"
    locally(project, {"review": "after"})
    assert read_config((project,), home=home).review.value == "after"


@pytest.mark.parametrize("setting", ["Never", None, True, ["never"]])
def test_another_value_is_an_error(home: Path, project: Path, setting: Any) -> None:
    globally(home, {"review": setting})
    with pytest.raises(ConfigError):
        read(home, project)
