"""What `${...}` in a configuration is filled in with, and what it is refused."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config import interpolation, read_config
from tests.config.files import globally, locally, trusting, write

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-very-secret"


def key_of(home: Path, written: str, **environment: str) -> tuple[str, tuple[str, ...]]:
    """The key that this text becomes in the user's own file, and the warnings."""
    globally(home, {"providers": {"a": {"key": written}}})
    config = read_config((), home=home, environment={"HOME": str(home), "PATH": os.environ["PATH"], **environment})
    found = config.providers["a"].key
    assert found is not None
    return found.get_secret_value(), config.warnings


def test_an_unset_variable_is_its_default_or_nothing(home: Path) -> None:
    assert key_of(home, "${env:MINE:one:two}") == ("one:two", ())
    assert key_of(home, "${env:MINE:other}", MINE=KEY) == (KEY, ())
    assert key_of(home, "a${env:MINE}b") == ("ab", ())


def test_a_server_of_a_project_can_name_the_python_that_the_assistant_runs_in(home: Path, project: Path) -> None:
    locally(project, {"mcpServers": {"shop": {"command": "${python}", "args": ["-m", "shop", "${pythons}"]}}})
    config = read_config((project,), home=home, trust=trusting(project))
    assert config.mcp_servers["shop"].command == sys.executable
    assert config.mcp_servers["shop"].args[2] == "${pythons}"
    assert config.warnings == ()


def test_a_file_is_read_from_beside_the_configuration_without_its_last_newline(home: Path) -> None:
    write(home / "eca" / "secret" / "key.txt", f"{KEY}\n")
    assert key_of(home, "${file:secret/key.txt}") == (KEY, ())


def test_a_file_may_be_named_from_the_users_home(home: Path) -> None:
    write(home / "key.txt", KEY)
    assert key_of(home, "${file:~/key.txt}") == (KEY, ())


def test_a_file_that_is_missing_is_empty_and_told(home: Path) -> None:
    said, warnings = key_of(home, "${file:none.txt}")
    assert said == ""
    assert len(warnings) == 1
    assert "${file:none.txt} cannot be read" in warnings[0]


def test_a_project_reads_no_file_outside_of_itself(home: Path, project: Path) -> None:
    write(home / "key.txt", KEY)
    write(project / "words.txt", "Hello")
    locally(project, {"welcomeMessage": "${file:../words.txt} ${file:../../home/key.txt}"})
    config = read_config((project,), home=home, trust=trusting(project))
    assert config.welcome_message == "Hello "
    assert "outside of the project" in config.warnings[0]
    assert KEY not in str(config)


def test_a_link_out_of_a_project_is_outside_of_it(home: Path, project: Path) -> None:
    write(home / "key.txt", KEY)
    project.mkdir()
    (project / "link.txt").symlink_to(home / "key.txt")
    locally(project, {"welcomeMessage": "${file:../link.txt}"})
    assert read_config((project,), home=home, trust=trusting(project)).welcome_message == ""


@pytest.mark.parametrize(
    ("what", "found"), [("api.example", KEY), ("api.example/login", "me"), ("me@api.example/password", KEY)]
)
def test_a_netrc_gives_the_fields_of_a_machine(home: Path, what: str, found: str) -> None:
    write(home / ".netrc", f"machine api.example\nlogin me\npassword {KEY}\n")
    assert key_of(home, f"${{netrc:{what}}}") == (found, ())


def test_a_netrc_of_another_name_may_be_configured(home: Path) -> None:
    write(home / "mine.netrc", f"machine api.example login me password {KEY}\n")
    globally(home, {"netrcFile": "~/mine.netrc", "welcomeMessage": "${netrc:api.example}"})
    assert read_config((), home=home, environment={"HOME": str(home)}).welcome_message == KEY


@pytest.mark.parametrize("what", ["other.example", "you@api.example"])
def test_a_machine_or_login_that_a_netrc_does_not_have_is_empty_and_told_without_the_key(home: Path, what: str) -> None:
    write(home / ".netrc", f"machine api.example\nlogin me\npassword {KEY}\n")
    said, warnings = key_of(home, f"${{netrc:{what}}}")
    assert (said, len(warnings)) == ("", 1)
    assert KEY not in warnings[0]


@pytest.mark.parametrize("content", [None, f"machine\n{KEY} nonsense"])
def test_a_netrc_that_cannot_be_read_is_told_without_its_content(home: Path, content: str | None) -> None:
    if content is not None:
        write(home / ".netrc", content)
    said, warnings = key_of(home, "${netrc:api.example}")
    assert (said, len(warnings)) == ("", 1)
    assert KEY not in warnings[0]


def test_a_command_of_the_users_own_is_run_once_a_reading(home: Path) -> None:
    script = write(home / "count.py", "import pathlib\nwith open('ran', 'a') as f: f.write('x')\nprint('}', 'key')")
    command = f"${{cmd:{sys.executable} {script} #{{}}}}"
    globally(home, {"welcomeMessage": command, "providers": {"a": {"key": command}}})
    assert read_config((), home=home).welcome_message == "} key"
    assert (home / "eca" / "ran").read_text() == "x"


def test_a_command_of_a_project_or_a_client_is_never_run_and_that_is_told(home: Path, project: Path) -> None:
    ran = project / "ran"
    locally(project, {"welcomeMessage": f"${{cmd:touch {ran}}}", "defaultModel": f"a/${{cmd:touch {ran}}}"})
    config = read_config(
        (project,), home=home, client={"chat": {"x": f"${{cmd:touch {ran}}}"}}, trust=trusting(project)
    )
    assert not ran.exists()
    assert config.default_model == "a/"
    assert len(config.warnings) == 3
    assert all("runs only from your own configuration" in warning for warning in config.warnings)


def test_a_command_that_fails_is_empty_and_told_without_what_it_said(home: Path) -> None:
    said, warnings = key_of(home, f"${{cmd:echo {KEY} >&2; exit 3}}")
    assert (said, len(warnings)) == ("", 1)
    assert "ended with status 3" in warnings[0]
    assert KEY not in warnings[0]


def test_a_command_that_does_not_end_is_stopped_with_its_children(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpolation, "COMMAND_SECONDS", 0.2)
    began = time.monotonic()
    said, warnings = key_of(home, "${cmd:sleep 60 & wait}")
    assert (said, len(warnings)) == ("", 1)
    assert "did not end" in warnings[0]
    assert time.monotonic() - began < 5


def test_a_resource_of_ecas_own_is_empty_so_that_ours_stands(home: Path) -> None:
    globally(home, {"agent": {"code": {"prompts": {"chat": "${classpath:prompts/code_agent.md}"}}}})
    config = read_config((), home=home)
    assert config.agent["code"].prompt_text == ""
    assert config.warnings == ()
