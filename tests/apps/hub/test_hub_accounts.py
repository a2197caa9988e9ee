"""The part of a gateway that knows users, limits and what was spent, without LiteLLM and with a Hub that only says
whose a token is. `test_gateway` has the whole."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from jupyter_eca.apps.cli import main
from jupyter_eca.apps.hub.gateway import hub_accounts
from jupyter_eca.apps.hub.gateway.hub_accounts import (
    Accounts,
    HubUsers,
    LimitsFile,
    Period,
    RefusedRequest,
    SpendingTable,
)
from jupyter_eca.apps.hub.write_gateway import FILES

if TYPE_CHECKING:
    from types import TracebackType

SCOPE = "access:services!service=llm"
LIMITS: dict[str, Any] = {
    "contact": "Ask Ada.",
    "default": {"models": ["small"], "budget": 2, "period": "month"},
    "groups": {"staff": {"models": ["small", "large"], "budget": 20, "rpm_limit": 9}, "guests": {"models": ["small"]}},
    "users": {"eve": {"models": ["small"], "budget": 0.001, "period": "week"}},
}


def describe(name: str, *scopes: str, groups: tuple[str, ...] = (), kind: str = "user") -> dict[str, Any]:
    return {"kind": kind, "name": name, "scopes": scopes, "groups": groups}


class LoopbackHub:
    """Says whose a token is, and counts how often it is asked."""

    def __init__(self, **users: dict[str, Any]) -> None:
        asked: list[str] = []
        self.asked = asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.headers["Authorization"].removeprefix("token "))
                user = users.get(asked[-1]) if self.path == "/hub/api/user" else None
                content = json.dumps(user or {}).encode()
                self.send_response(200 if user else 403)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.api_url = f"http://127.0.0.1:{self._server.server_port}/hub/api"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def make_accounts(folder: Path, hub: LoopbackHub, limits: object = LIMITS) -> Accounts:
    (folder / "limits.json").write_text(json.dumps(limits))
    users = HubUsers(hub.api_url, frozenset({SCOPE, "access:services"}))
    return Accounts(users, LimitsFile(folder / "limits.json"), SpendingTable(folder / "ledger.sqlite"))


def refuse(accounts: Accounts, key: str, *, pays: bool = True) -> RefusedRequest:
    with pytest.raises(RefusedRequest) as caught:
        accounts.admit(key, pays=pays)
    assert key == "" or key not in str(caught.value)
    return caught.value


def spend(accounts: Accounts, user: str, cost: float, at: datetime | None = None) -> None:
    moment = (at or datetime.now(UTC)).timestamp()
    accounts.ledger.add(user, "small", "aresponses", 10, 20, cost, moment)


@pytest.mark.parametrize("key", ["one", "Bearer one", "token one"])
def test_a_token_of_the_hub_says_who_asks_and_litellm_gets_the_limits(tmp_path: Path, key: str) -> None:
    with LoopbackHub(one=describe("ada", SCOPE, groups=("other", "staff"))) as hub:
        caller = make_accounts(tmp_path, hub).admit(key, pays=True)
    arguments = caller.as_arguments()
    assert arguments["user_id"] == "ada"
    assert arguments["models"] == ["small", "large"]
    assert (arguments["rpm_limit"], arguments["max_budget"], arguments["spend"]) == (9, 20, 0)
    assert "one" not in arguments.values()


@pytest.mark.parametrize(
    ("user", "status"),
    [
        (None, 401),
        (describe("ada"), 403),
        (describe("ada", "access:services!service=other", "self"), 403),
        (describe("culler", SCOPE, kind="service"), 401),
    ],
    ids=["unknown", "no scope", "other scopes", "a service"],
)
def test_other_tokens_are_refused(tmp_path: Path, user: dict[str, Any] | None, status: int) -> None:
    with LoopbackHub(**({"one": user} if user else {})) as hub:
        refused = refuse(make_accounts(tmp_path, hub), "one")
    assert (refused.status, refused.kind) == (status, "auth_error")


@pytest.mark.parametrize("key", ["", "Bearer ", "one\r\nX: y", "ünï"])
def test_what_is_no_token_is_not_sent_to_the_hub(tmp_path: Path, key: str) -> None:
    with LoopbackHub() as hub:
        assert refuse(make_accounts(tmp_path, hub), key).status == 401
    assert hub.asked == []


def test_the_hub_is_asked_once_in_a_while(tmp_path: Path) -> None:
    with LoopbackHub(one=describe("ada", SCOPE)) as hub:
        accounts = make_accounts(tmp_path, hub)
        for _ in range(3):
            accounts.admit("one", pays=True)
    assert hub.asked == ["one"]


def test_a_token_that_was_revoked_is_refused_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = {"one": describe("ada", SCOPE)}
    with LoopbackHub(**users) as hub:
        accounts = make_accounts(tmp_path, hub)
        accounts.admit("one", pays=True)
    with LoopbackHub() as restarted:
        monkeypatch.setattr(accounts.users, "api_url", restarted.api_url)
        monkeypatch.setattr(hub_accounts, "KEEP_SECONDS", -1.0)
        assert refuse(accounts, "one").status == 401


def test_while_the_hub_is_restarted_known_users_are_answered_and_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackHub(one=describe("ada", SCOPE)) as hub:
        accounts = make_accounts(tmp_path, hub)
        accounts.admit("one", pays=True)
    monkeypatch.setattr(hub_accounts, "KEEP_SECONDS", -1.0)
    assert accounts.admit("one", pays=True).name == "ada"
    assert refuse(accounts, "two").status == 503  # which the assistant repeats
    monkeypatch.setattr(hub_accounts, "STALE_SECONDS", -1.0)
    assert refuse(accounts, "one").status == 503


def test_a_budget_that_is_used_up_says_what_it_is_when_it_begins_anew_and_whom_to_ask(tmp_path: Path) -> None:
    with LoopbackHub(one=describe("ben", SCOPE)) as hub:
        accounts = make_accounts(tmp_path, hub)
        spend(accounts, "ben", 1.25)
        assert accounts.admit("one", pays=True).spent == 1.25
        spend(accounts, "ben", 0.76)
        spend(accounts, "ada", 5)
        refused = refuse(accounts, "one")
        assert (refused.status, refused.kind) == (422, "budget_exceeded")
        end = Period.containing("month", datetime.now(UTC)).end
        assert str(refused) == (
            "You have spent $2.01 of your budget of $2.00 a month. "
            f"It begins anew on {end:%Y-%m-%d} at 00:00 UTC. Ask Ada."
        )
        assert accounts.admit("one", pays=False)  # the list of models


@pytest.mark.parametrize(
    ("name", "moment", "begin", "end"),
    [
        ("day", "2026-02-28T23:59", "2026-02-28", "2026-03-01"),
        ("week", "2026-12-31T12:00", "2026-12-28", "2027-01-04"),
        ("month", "2026-12-31T12:00", "2026-12-01", "2027-01-01"),
        ("month", "2027-02-01T00:00", "2027-02-01", "2027-03-01"),
    ],
)
def test_a_period_begins_and_ends_at_midnight(name: str, moment: str, begin: str, end: str) -> None:
    period = Period.containing(name, datetime.fromisoformat(moment).replace(tzinfo=UTC))
    assert (f"{period.begin:%Y-%m-%d}", f"{period.end:%Y-%m-%d}") == (begin, end)


def test_what_was_spent_before_the_period_does_not_count_and_litellm_counts_anew_too(tmp_path: Path) -> None:
    with LoopbackHub(one=describe("ben", SCOPE)) as hub:
        accounts = make_accounts(tmp_path, hub)
        begin = Period.containing("month", datetime.now(UTC)).begin
        spend(accounts, "ben", 50, datetime.fromtimestamp(begin.timestamp() - 1, UTC))
        caller = accounts.admit("one", pays=True)
    assert caller.spent == 0
    assert caller.as_arguments()["api_key"] == f"ben since {begin:%Y-%m-%d}"


def test_the_ledger_is_a_table_that_a_restart_keeps_and_several_processes_share(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    first, second = SpendingTable(file), SpendingTable(file)
    with ThreadPoolExecutor(8) as pool:
        for number in range(40):
            pool.submit([first, second][number % 2].add, "ada", "small", "x", 1, 2, 0.01, 1_800_000_000.0).result()
    assert SpendingTable(file).sum_up("ada", 0.0) == pytest.approx(0.4)
    script = Path(hub_accounts.__file__)
    printed = subprocess.check_output([sys.executable, script, file], text=True).splitlines()
    assert printed[1:] == ["2027-01,ada,40,40,80,0.4000"]


def test_a_change_of_the_limits_counts_at_once(tmp_path: Path) -> None:
    with LoopbackHub(one=describe("ben", SCOPE)) as hub:
        accounts = make_accounts(tmp_path, hub)
        assert accounts.admit("one", pays=True).limits.budget == 2
        (tmp_path / "limits.json").write_text(json.dumps({"users": {"ben": {"models": ["large"]}}}))
        changed = accounts.admit("one", pays=True)
        assert changed.as_arguments()["models"] == ["large"]
        assert "max_budget" not in changed.as_arguments()


@pytest.mark.parametrize(
    "limits",
    [
        [],
        {"default": {"budget": 2}},
        {"default": {"models": []}},
        {"default": {}},
        {"defaults": {"models": ["small"]}},
        {"default": {"models": ["small"], "budgets": 2}},
        {"users": {"ben": {"models": ["small"], "period": "year"}}},
        {"groups": {"staff": {"models": ["small"], "budget": "2"}}},
        {"groups": {"staff": {"models": "all"}}},
        {"groups": ["staff"]},
    ],
)
def test_limits_that_cannot_be_used_let_nobody_in(
    tmp_path: Path, limits: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with LoopbackHub(one=describe("ben", SCOPE)) as hub:
        assert refuse(make_accounts(tmp_path, hub, limits), "one").status == 503
    assert "limits.json" in capsys.readouterr().err  # the log of the service


def test_the_limits_that_the_command_writes_are_right() -> None:
    shipped = LimitsFile(Path(hub_accounts.__file__).with_name("limits.json"))
    assert shipped.find("ada", ["staff"]).budget == 20
    assert shipped.find("ben", []).litellm["models"] == ["house-gpt"]


def test_a_user_without_limits_has_no_access(tmp_path: Path) -> None:
    with LoopbackHub(one=describe("ben", SCOPE)) as hub:
        refused = refuse(make_accounts(tmp_path, hub, {"contact": "Ask Ada.", "users": {}}), "one")
    assert (refused.status, str(refused)) == (403, "You have no access to the models. Ask Ada.")


def test_the_command_writes_the_files_and_overwrites_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "srv" / "gateway"
    assert main(["gateway", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == {*FILES}
    (folder / "limits.json").write_text("mine")
    (folder / "hub_litellm.py").unlink()
    assert main(["gateway", str(folder)]) == 1
    assert "hub_accounts.py exists already" in capsys.readouterr().err
    assert (folder / "limits.json").read_text() == "mine"
    assert not (folder / "hub_litellm.py").exists()
