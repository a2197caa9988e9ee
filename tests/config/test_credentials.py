"""Keys that were typed in: kept where that is safe, shared between processes, forgotten, never written in plain."""

from __future__ import annotations

import fcntl
import json
import logging
import multiprocessing
import os
import stat
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from keyring import core
from keyring.backends import fail, null
from keyring.backends.chainer import ChainerBackend

from jupyter_eca import redaction
from jupyter_eca.config.credentials import KeyStore, MemoryKeyStore, StoredKey
from jupyter_eca.config.keyring_backend import SERVICE
from tests.support.file_keyring import read
from tests.support.keyrings import NoRing, Ring

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.config.keyring_backend import Ring as Backend

KEY = "sk-very-secret"
LOGIN = StoredKey(KEY, "https://api.example")
OTHER = StoredKey("sk-another-one")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "auth.json"


def reopened(file: Path, ring: Backend | None = None) -> KeyStore:
    """As the next process has them; by default without any keyring."""
    credentials = KeyStore(file, ring or null.Keyring())
    credentials.load()
    return credentials


def holding(folder: Path, *secrets: str) -> list[str]:
    """The files that have one of the secrets."""
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [name for name, text in files.items() if any(secret.encode() in text for secret in secrets)]


def of_before(file: Path, **logins: StoredKey) -> None:
    """What earlier versions wrote where there was no keyring."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({name: {"url": one.url, "key": one.key} for name, one in logins.items()}))


# -- with a keyring


def test_a_key_is_there_after_the_next_start(file: Path) -> None:
    ring = Ring()
    assert reopened(file, ring).store("anthropic", LOGIN)
    assert reopened(file, ring).get("anthropic") == LOGIN
    assert reopened(file, ring).get("other") is None


def test_with_a_keyring_the_key_is_in_no_file(file: Path) -> None:
    ring = Ring()
    reopened(file, ring).store("anthropic", LOGIN)
    assert ring.kept == {(SERVICE, "anthropic"): KEY}
    assert holding(file.parent, KEY) == []
    assert {path.name for path in file.parent.iterdir()} == {"auth.json", "auth.lock"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_whether_keys_last_is_known_before_one_is_typed_and_trying_leaves_nothing(file: Path) -> None:
    ring = Ring()
    assert KeyStore(file, ring).is_persistent()
    assert ring.kept == {}
    assert [KeyStore(file, one).is_persistent() for one in (NoRing(), null.Keyring(), fail.Keyring())] == [False] * 3
    assert not MemoryKeyStore(file, ring).is_persistent()
    assert not file.parent.exists()


def test_of_a_chain_of_keyrings_each_recommended_one_is_used(
    file: Path, system_keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plaintext, first, second = Ring(priority=0.5), Ring(), Ring()
    monkeypatch.setattr(core, "_keyring_backend", ChainerBackend())
    monkeypatch.setattr(ChainerBackend, "backends", (first, second, plaintext))
    second.set_password(SERVICE, "anthropic", KEY)
    file.parent.mkdir()
    file.write_text('{"anthropic": {"url": null, "keyring": true}}')
    credentials = KeyStore(file)
    credentials.load()
    assert credentials.get("anthropic") == StoredKey(KEY)
    assert credentials.store("anthropic", OTHER)
    assert first.kept == {(SERVICE, "anthropic"): OTHER.key}
    credentials.forget("anthropic")
    assert (first.kept, second.kept) == ({}, {})
    monkeypatch.setattr(ChainerBackend, "backends", (plaintext, Ring(priority=0.6)))
    assert ChainerBackend.priority > 1
    assert not KeyStore(file).store("anthropic", LOGIN)
    assert plaintext.kept == {}
    assert not system_keyring.exists()


def test_the_keyring_that_is_installed_is_found(file: Path, system_keyring: Path) -> None:
    assert KeyStore(file).store("anthropic", LOGIN)
    assert read(system_keyring) == {f"{SERVICE} anthropic": KEY}
    assert holding(file.parents[1], KEY) == []


# -- without one


@pytest.mark.parametrize("ring", [fail.Keyring(), null.Keyring(), NoRing(), Ring(priority=0.5), Ring(forgets=True)])
def test_without_a_keyring_a_key_is_in_memory_only_and_nothing_secret_on_the_disk(file: Path, ring: Backend) -> None:
    credentials = reopened(file, ring)
    assert credentials.store("anthropic", LOGIN) is False
    credentials.load()
    assert credentials.get("anthropic") == LOGIN
    assert holding(file.parents[1], KEY) == []
    assert not file.exists()
    assert reopened(file, ring).get("anthropic") is None
    assert not isinstance(ring, Ring) or ring.kept == {}


def test_a_keyring_that_takes_no_more_has_the_older_key_no_longer(file: Path) -> None:
    ring = Ring()
    credentials = reopened(file, ring)
    credentials.store("anthropic", OTHER)
    ring.full = True
    assert not credentials.store("anthropic", LOGIN)
    assert (ring.kept, credentials.get("anthropic")) == ({}, LOGIN)
    assert reopened(file, ring).get("anthropic") is None


@pytest.mark.parametrize("credentials", [KeyStore, MemoryKeyStore])
def test_what_is_stored_is_hidden_from_then_on(file: Path, credentials: type[KeyStore]) -> None:
    key = f"sk-hidden-{credentials.__name__}"
    credentials(file, NoRing()).store("anthropic", StoredKey(key))
    assert redaction.redact(f"so {key}") == f"so {redaction.HIDDEN}"


@pytest.mark.parametrize(
    "name", ["keyring.backends.null.Keyring", "tests.support.file_keyring.NoSuch", "no.such.package"]
)
def test_a_keyring_that_was_chosen_and_keeps_nothing_is_none(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", name)
    monkeypatch.setattr(core, "_keyring_backend", None)
    credentials = KeyStore(file)
    assert (credentials.is_persistent(), credentials.store("anthropic", LOGIN)) == (False, False)
    assert credentials.get("anthropic") == LOGIN


def test_a_key_in_memory_stays_when_another_process_changes_the_file(file: Path) -> None:
    here, ring = reopened(file), Ring()
    here.store("anthropic", LOGIN)
    reopened(file, ring).store("other", OTHER)
    here.load()
    assert here.get("anthropic") == LOGIN


def test_what_is_typed_replaces_what_the_file_has_of_the_same_provider(file: Path) -> None:
    ring = Ring()
    for before in (lambda: reopened(file, ring).store("anthropic", OTHER), lambda: of_before(file, anthropic=OTHER)):
        before()
        credentials = reopened(file)
        credentials.store("anthropic", LOGIN)
        assert credentials.get("anthropic") == LOGIN
        assert json.loads(file.read_text()) == {}
        assert holding(file.parent, KEY, OTHER.key) == []


def test_a_keyring_that_locks_itself_gives_up_its_entry_for_what_is_typed(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    reopened(file, Ring()).store("anthropic", OTHER)
    locked = reopened(file, NoRing())
    assert locked.get("anthropic") is None
    for _ in range(3):
        assert not locked.store("anthropic", LOGIN)
    assert locked.get("anthropic") == LOGIN
    assert holding(file.parent, KEY) == []
    assert caplog.text.count("the keyring does not work") == 1
    assert KEY not in caplog.text


def test_of_two_processes_the_newer_key_wins(file: Path) -> None:
    ring = Ring()
    here, there = reopened(file), reopened(file, ring)
    reader = KeyStore(file, ring)  # one that has the key in memory and can read the keyring
    reader._memory["anthropic"] = LOGIN  # pyright: ignore[reportPrivateUsage]  # the keyring was locked at the time
    here.store("anthropic", LOGIN)
    there.store("anthropic", OTHER)
    here.load()
    reader.load()
    assert here.get("anthropic") == LOGIN, "a key that cannot be had is no newer one"
    assert reader.get("anthropic") == OTHER
    there.forget("anthropic")
    reader.load()
    assert reader.get("anthropic") is None, "an older one does not come back"


# -- what earlier versions wrote


def test_a_key_in_plain_of_before_is_read_and_told_once_and_its_secret_is_not(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    of_before(file, anthropic=LOGIN, other=OTHER)
    before = file.read_bytes()
    credentials = reopened(file)
    assert (credentials.get("anthropic"), credentials.get("other")) == (LOGIN, OTHER)
    os.utime(file, (1, 1))
    credentials.load()
    (told,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "anthropic, other. They are moved as soon as there is a system keyring" in told.getMessage()
    assert holding(file.parent, KEY) == ["auth.json"]
    assert file.read_bytes() == before
    assert not any(secret in caplog.text for secret in (KEY, OTHER.key))


def test_a_key_in_plain_of_before_is_moved_into_a_keyring_as_soon_as_there_is_one(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    of_before(file, anthropic=LOGIN, other=OTHER)
    ring = Ring()
    credentials = reopened(file, ring)
    assert (credentials.get("anthropic"), credentials.get("other")) == (LOGIN, OTHER)
    assert set(ring.kept.values()) == {KEY, OTHER.key}
    assert holding(file.parent, KEY, OTHER.key) == []
    assert caplog.records == []
    assert reopened(file, ring).get("anthropic") == LOGIN


def test_a_key_in_plain_of_before_stays_where_a_keyring_does_not_take_it(file: Path) -> None:
    of_before(file, anthropic=LOGIN)
    assert reopened(file, NoRing()).get("anthropic") == LOGIN
    assert holding(file.parent, KEY) == ["auth.json"]


def test_signing_in_to_another_provider_leaves_a_key_in_plain_of_before_as_it_was(file: Path) -> None:
    of_before(file, anthropic=LOGIN)
    reopened(file).store("other", OTHER)
    assert reopened(file).get("anthropic") == LOGIN
    assert holding(file.parent, OTHER.key) == []


def test_signing_out_removes_a_key_in_plain_of_before(file: Path) -> None:
    of_before(file, anthropic=LOGIN)
    reopened(file).forget("anthropic")
    assert holding(file.parent, KEY) == []
    assert reopened(file).get("anthropic") is None


# -- always


def keeping_rings() -> Iterable[Backend]:
    return NoRing(), null.Keyring(), Ring()


@pytest.mark.parametrize("ring", keeping_rings())
def test_a_key_that_is_forgotten_is_nowhere_any_more(file: Path, ring: Backend) -> None:
    credentials = reopened(file, ring)
    credentials.store("anthropic", LOGIN)
    credentials.store("other", OTHER)
    credentials.forget("anthropic")
    credentials.forget("nobody")
    credentials.load()
    assert (credentials.get("anthropic"), credentials.get("other")) == (None, OTHER)
    assert holding(file.parent, KEY) == []
    assert KEY not in (ring.kept.values() if isinstance(ring, Ring) else ())


def test_a_keyring_that_is_gone_costs_a_sign_in_and_nothing_else(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    ring = Ring()
    reopened(file, ring).store("anthropic", LOGIN)
    lost = reopened(file)
    assert lost.get("anthropic") is None
    lost.store("anthropic", LOGIN)
    assert lost.get("anthropic") == LOGIN
    assert KEY not in caplog.text


def test_what_another_process_stored_is_seen_at_the_next_look(file: Path) -> None:
    ring = Ring()
    here, there = reopened(file, ring), reopened(file, ring)
    there.store("anthropic", LOGIN)
    here.load()
    assert here.get("anthropic") == LOGIN


def _sign_in(file: Path, start: int) -> None:
    for number in range(start, start + 10):
        KeyStore(file).store(f"p{number}", StoredKey(f"key-{number}"))


def test_processes_that_sign_in_at_once_lose_no_key(file: Path, system_keyring: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_sign_in, args=(file, start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    found = KeyStore(file)
    found.load()
    assert [number for number in range(20) if found.get(f"p{number}") is None] == []
    assert len(read(system_keyring)) == 20


@pytest.mark.parametrize("ring", [null.Keyring(), Ring()])
def test_threads_that_sign_in_and_look_at_once_lose_no_key(file: Path, ring: Backend) -> None:
    names = [f"p{number}" for number in range(20)]
    of_before(file, **dict.fromkeys(names, OTHER))
    credentials = reopened(file, ring)
    threads = [Thread(target=credentials.store, args=(name, StoredKey(f"new-{name}"))) for name in names]
    threads += [Thread(target=credentials.load) for _ in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [credentials.get(name) for name in names] == [StoredKey(f"new-{name}") for name in names]


def test_a_sign_in_waits_for_another_process_that_is_writing(file: Path) -> None:
    ring = Ring()
    reopened(file, ring).store("first", StoredKey("one"))
    with file.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        storing = Thread(target=reopened(file, ring).store, args=("second", StoredKey("two")))
        storing.start()
        storing.join(0.2)
        assert storing.is_alive()
        ring.set_password(SERVICE, "third", "three")
        file.write_text('{"third": {"keyring": true}}')
    storing.join(5)
    found = reopened(file, ring)
    assert [found.get(name) for name in ("second", "third")] == [StoredKey("two"), StoredKey("three")]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"anthropic": 5}', '{"anthropic": {"key": 5}}', "[" * 100_000])
def test_a_file_that_is_broken_is_no_key_and_can_be_written_again(
    file: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    file.parent.mkdir()
    file.write_text(content)
    ring = Ring()
    credentials = reopened(file, ring)
    assert credentials.get("anthropic") is None
    credentials.store("anthropic", LOGIN)
    assert reopened(file, ring).get("anthropic") == LOGIN
    assert KEY not in caplog.text


@pytest.mark.parametrize("ring", keeping_rings())
def test_a_key_is_in_no_form_of_a_login_and_in_no_log(
    file: Path, caplog: pytest.LogCaptureFixture, ring: Backend
) -> None:
    caplog.set_level(logging.DEBUG)
    credentials = reopened(file, ring)
    credentials.store("anthropic", LOGIN)
    forms = [repr(LOGIN), str(LOGIN), repr(credentials), str(vars(credentials)), caplog.text]
    assert [form for form in forms if KEY in form] == []


def test_a_folder_that_cannot_be_written_says_so_where_a_key_would_last(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    file = tmp_path / "data" / "auth.json"
    with pytest.raises(OSError, match=r"exists|directory"):
        reopened(file, Ring()).store("anthropic", LOGIN)
    assert reopened(file).store("anthropic", LOGIN) is False
