"""Keys that were typed in: kept, shared between processes, forgotten, and never shown."""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import stat
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from keyring.backends import null

from jupyter_eca.credentials import SERVICE, Credentials, Login

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-very-secret"
LOGIN = Login(KEY, "https://api.example")


class NoRing:
    """A keyring as it is where there is none: everything raises."""

    def get_password(self, service: str, username: str, /) -> str | None:
        raise RuntimeError(f"no backend for {service} {username} {KEY}")

    def set_password(self, service: str, username: str, password: str, /) -> None:
        raise RuntimeError(f"no backend for {service} {username} {password}")

    def delete_password(self, service: str, username: str, /) -> None:
        raise RuntimeError(f"no backend for {service} {username}")


@dataclass
class Ring:
    kept: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def get_password(self, service: str, username: str, /) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str, /) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str, /) -> None:
        del self.kept[service, username]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "auth.json"


def reopened(file: Path, ring: Ring | NoRing | None = None) -> Credentials:
    credentials = Credentials(file, ring or NoRing())
    credentials.load()
    return credentials


def test_a_key_is_there_after_the_next_start(file: Path) -> None:
    reopened(file).store("anthropic", LOGIN)
    assert reopened(file).known("anthropic") == LOGIN
    assert reopened(file).known("other") is None


def test_without_a_keyring_only_the_owner_can_read_the_file(file: Path) -> None:
    reopened(file).store("anthropic", LOGIN)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY in file.read_text()
    assert {path.name for path in file.parent.iterdir()} == {"auth.json", "auth.lock"}


def test_with_a_keyring_the_key_is_in_no_file(file: Path) -> None:
    ring = Ring()
    reopened(file, ring).store("anthropic", LOGIN)
    assert ring.kept == {(SERVICE, "anthropic"): KEY}
    assert [path for path in file.parent.iterdir() if KEY in path.read_text()] == []
    assert reopened(file, ring).known("anthropic") == LOGIN


def test_a_keyring_that_takes_a_key_and_forgets_it_is_not_trusted(file: Path) -> None:
    credentials = Credentials(file, null.Keyring())
    credentials.store("anthropic", LOGIN)
    assert credentials.known("anthropic") == LOGIN


def test_a_keyring_that_is_gone_costs_a_sign_in_and_nothing_else(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    ring = Ring()
    credentials = reopened(file, ring)
    credentials.store("anthropic", LOGIN)
    lost = reopened(file)
    assert lost.known("anthropic") is None
    lost.store("anthropic", LOGIN)
    assert reopened(file).known("anthropic") == LOGIN
    assert KEY not in caplog.text


@pytest.mark.parametrize("ring", [NoRing(), Ring()])
def test_a_key_that_is_forgotten_is_nowhere_any_more(file: Path, ring: Ring | NoRing) -> None:
    credentials = reopened(file, ring)
    credentials.store("anthropic", LOGIN)
    credentials.store("other", Login("another"))
    credentials.forget("anthropic")
    credentials.forget("nobody")
    assert credentials.known("anthropic") is None
    assert reopened(file, ring).known("other") == Login("another")
    assert KEY not in file.read_text()
    assert KEY not in (ring.kept.values() if isinstance(ring, Ring) else ())


def test_what_another_process_stored_is_seen_at_the_next_look(file: Path) -> None:
    here, there = reopened(file), reopened(file)
    there.store("anthropic", LOGIN)
    here.load()
    assert here.known("anthropic") == LOGIN


def _sign_in(file: Path, start: int) -> None:
    for number in range(start, start + 10):
        Credentials(file, NoRing()).store(f"p{number}", Login(f"key-{number}"))


def test_processes_that_sign_in_at_once_lose_no_key(file: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_sign_in, args=(file, start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    found = reopened(file)
    assert [number for number in range(20) if found.known(f"p{number}") is None] == []


def test_a_sign_in_waits_for_another_process_that_is_writing(file: Path) -> None:
    reopened(file).store("first", Login("one"))
    with file.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        storing = Thread(target=reopened(file).store, args=("second", Login("two")))
        storing.start()
        storing.join(0.2)
        assert storing.is_alive()
        file.write_text('{"third": {"key": "three"}}')
    storing.join(5)
    found = reopened(file)
    assert [found.known(name) for name in ("second", "third")] == [Login("two"), Login("three")]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"anthropic": 5}', '{"anthropic": {"key": 5}}', "[" * 100_000])
def test_a_file_that_is_broken_is_no_key_and_can_be_written_again(
    file: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    file.parent.mkdir()
    file.write_text(content)
    credentials = reopened(file)
    assert credentials.known("anthropic") is None
    credentials.store("anthropic", LOGIN)
    assert reopened(file).known("anthropic") == LOGIN
    assert KEY not in caplog.text


def test_a_key_is_in_no_form_of_a_login_and_in_no_log(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    credentials = reopened(file)
    credentials.store("anthropic", LOGIN)
    forms = [repr(LOGIN), str(LOGIN), repr(credentials), str(vars(credentials)), caplog.text]
    assert [form for form in forms if KEY in form] == []


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(OSError, match=r"exists|directory"):
        reopened(tmp_path / "data" / "auth.json").store("anthropic", LOGIN)
