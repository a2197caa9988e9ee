"""Signing in to a server: asked for by the user, done in a browser, kept, renewed, forgotten on request."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from jupyter_eca import redaction
from jupyter_eca.config.policy.applied_policy import AppliedPolicy
from jupyter_eca.config.policy.document import PolicyDocument
from jupyter_eca.errors import McpRefusal, ToolError
from jupyter_eca.mcp_client.connection_settings import ConnectionTiming
from jupyter_eca.mcp_client.loopback_browser import Loopback
from jupyter_eca.mcp_client.sign_in import Landing, WaitingSignIns
from jupyter_eca.protocol.lifecycle import MessageType
from jupyter_eca.protocol.mcp import ServerStatus
from tests.config.test_credentials import holding
from tests.mcp_client.door import SECRET, visit
from tests.mcp_client.house import PATIENCE, House, house, raw
from tests.mcp_client.web import Web, web
from tests.support.keyrings import Ring

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    import httpx2

pytestmark = pytest.mark.asyncio

FOR_NOW = "There is no system keyring to store it in"


@dataclass
class User:
    """Somebody who signs in on this machine, and is told things. Their browser is opened by hand."""

    asked: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])
    warned: list[str] = field(default_factory=list[str])

    async def prepare_landing(self, port: int | None, used: Sequence[str]) -> Landing:
        landing = await Loopback().prepare_landing(port, used)
        return Landing(landing.address, landing.waiting_sign_ins, close=landing.close)

    def say(self, type: MessageType, message: str) -> None:
        if type is MessageType.INFO:
            self.asked.put_nowait(message.rpartition(" ")[2])
        else:
            self.warned.append(message)

    async def sent(self) -> str:
        return await asyncio.wait_for(self.asked.get(), PATIENCE)

    async def connects(self, at: House) -> str:
        await at.manager.connect("far", self, self.say)
        return await self.sent()

    async def signs_in(self, at: House) -> httpx2.Response:
        page = await visit(await self.connects(at))
        await at.running("far")
        return page


@asynccontextmanager
async def gated(folder: Path, ring: Ring | None = None) -> AsyncGenerator[tuple[Web, House, User]]:
    async with web(gated=True) as site, house(folder, {"far": {"url": site.url}}, ring=ring) as at:
        await at.come("far", ServerStatus.REQUIRES_AUTH)
        yield site, at, User()


async def test_a_user_signs_in_with_a_browser_and_out_again(tmp_path: Path) -> None:
    async with gated(tmp_path) as (site, at, user):
        assert user.asked.empty()
        page = await user.signs_in(at)
        assert (page.status_code, "Signed in" in page.text) == (200, True)
        assert at.shown("far").has_auth
        assert holding(tmp_path, SECRET) == []
        assert (await at.call("far__add", a=1, b=2)).text == "3"
        assert all(SECRET not in told.model_dump_json() for told in at.told)
        await at.manager.logout("far")
        assert (await at.come("far", ServerStatus.REQUIRES_AUTH)).has_auth is False
        assert holding(tmp_path, SECRET) == []
        at.manager.start("far")
        await at.come("far", ServerStatus.REQUIRES_AUTH)
        assert len(site.gate.granted) == 1


async def test_no_token_of_a_sign_in_is_logged_and_errors_that_quote_one_are_cleaned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with gated(tmp_path) as (_, at, user):
        await user.signs_in(at)
        assert (await at.call("far__add", a=1, b=2)).text == "3"
    told = "\n".join(map(logging.Formatter("%(name)s %(message)s").format, caplog.records))
    tokens = (f"{SECRET}token-0", f"{SECRET}refresh-0")
    assert "mcp.client" in told
    assert [token for token in tokens if token in told] == []
    assert redaction.redact(" ".join(tokens)) == f"{redaction.HIDDEN} {redaction.HIDDEN}"


async def test_a_program_has_nothing_to_sign_in_to(tmp_path: Path) -> None:
    async with house(tmp_path, {"near": raw("good")}) as at:
        with pytest.raises(McpRefusal, match="nothing to sign in to"):
            await at.manager.connect("near", User(), User().say)
        assert (await at.running("near")).has_auth is False


async def test_after_a_restart_of_the_program_its_user_is_still_signed_in(tmp_path: Path) -> None:
    ring = Ring()
    async with gated(tmp_path, ring) as (site, at, user):
        assert FOR_NOW not in (await user.signs_in(at)).text
        async with house(tmp_path, {"far": {"url": f"{site.url}/?another=query"}}, ring=ring) as again:
            assert again.told[0].has_auth
        async with house(tmp_path, {"far": {"url": site.url}}, ring=ring) as again:
            assert (await again.running("far")).has_auth
        assert site.gate.granted == ["authorization_code"]
    assert holding(tmp_path, SECRET) == []


async def test_without_a_keyring_a_sign_in_is_renewed_while_the_program_runs_and_gone_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with gated(tmp_path) as (site, at, user):
        assert FOR_NOW in (await user.signs_in(at)).text
        for _ in range(2):
            await at.subscribed("far")
            site.gate.good.clear()
            assert (await at.call("far__add", a=1, b=2)).text == "3"
        at.manager.stop("far")
        await at.come("far", ServerStatus.STOPPED)
        at.manager.start("far")
        assert (await at.running("far")).has_auth
        assert site.gate.granted == ["authorization_code", "refresh_token", "refresh_token"]
        await user.signs_in(at)
        assert len(site.gate.registered) == 1
        async with house(tmp_path, {"far": {"url": site.url}}) as again:
            assert (await again.come("far", ServerStatus.REQUIRES_AUTH)).has_auth is False
        assert holding(tmp_path, SECRET) == []
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("jupyter_eca")]
    assert [line for line in ours if "keyring" in line] == [
        "the keyring does not work (RuntimeError): keys are kept in memory"
    ]


@pytest.mark.parametrize("hours", [0, 2])
async def test_after_a_restart_a_token_that_does_not_count_any_more_is_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """When the server says so; before it is used, once it has run out."""
    ring = Ring()
    async with gated(tmp_path, ring) as (site, at, user):
        await user.signs_in(at)
        await at.subscribed("far")
        site.gate.good.clear()
        site.seen.clear()
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() + hours * 3600)
        async with house(tmp_path, {"far": {"url": site.url}}, ring=ring) as again:
            await again.running("far")
            assert (await again.call("far__add", a=1, b=2)).text == "3"
        assert site.gate.granted == ["authorization_code", "refresh_token"]
        assert any("token-0" in request for request in site.seen) is (hours == 0)
        async with house(tmp_path, {"far": {"url": site.url}}, ring=ring) as again:
            await again.running("far")
        assert len(site.gate.granted) == 2


async def test_a_token_that_is_taken_back_in_mid_session_is_renewed_or_asked_for_again(tmp_path: Path) -> None:
    async with gated(tmp_path) as (site, at, user):
        await user.signs_in(at)
        await at.subscribed("far")
        site.gate.good.clear()
        assert (await at.call("far__add", a=1, b=2)).text == "3"
        assert site.gate.granted == ["authorization_code", "refresh_token"]
        await at.subscribed("far")
        site.gate.good.clear()
        site.gate.forget()
        with pytest.raises(ToolError, match="sign in again"):
            await at.call("far__add", a=1, b=2)
        shown = await at.come("far", ServerStatus.REQUIRES_AUTH)
        assert shown.error == "it wants its user to sign in again"
        assert user.asked.empty()


async def test_we_are_registered_once_for_an_address_and_anew_at_another(tmp_path: Path) -> None:
    async with gated(tmp_path) as (site, at, user):
        await user.signs_in(at)
        await user.signs_in(at)
        assert len(site.gate.registered) == 1
        waiting_sign_ins = WaitingSignIns()

        class Elsewhere(User):
            async def prepare_landing(self, port: int | None, used: Sequence[str]) -> Landing:  # noqa: ARG002
                return Landing("https://hub.example/user/me/eca/oauth/callback", waiting_sign_ins)

        url = await Elsewhere().connects(at)
        assert "hub.example" in url
        assert [one["application_type"] for one in site.gate.registered] == ["native", "web"]
        # That attempt came to nothing, and what there was before still counts.
        at.manager.stop("far")
        await at.come("far", ServerStatus.STOPPED)
        at.manager.start("far")
        await at.running("far")
        assert site.gate.granted == ["authorization_code"] * 2


async def test_a_refusal_ends_the_sign_in_at_once_and_says_so_everywhere(tmp_path: Path) -> None:
    async with gated(tmp_path) as (site, at, user):
        site.gate.says_no = "<b>not you</b>"
        page = await visit(await user.connects(at))
        assert page.status_code == 400
        assert "&lt;b&gt;not you&lt;/b&gt;" in page.text
        assert "<b>" not in page.text
        shown = await at.come("far", ServerStatus.REQUIRES_AUTH)
        assert shown.error == "its authorization server said no: <b>not you</b>"
        assert user.warned == [f"Nobody is signed in to the MCP server 'far': {shown.error}."]
        assert shown.has_auth is False
        site.gate.says_no = ""
        await user.signs_in(at)


@pytest.mark.parametrize(
    ("denied", "registered", "granted"),
    [("/authorization?*", 1, 0), ("/as/tokens", 1, 0), ("/registration", 0, 0), ("/.well-known/*", 0, 0)],
)
async def test_a_sign_in_uses_no_address_that_the_policy_refuses(
    denied: str, registered: int, granted: int, tmp_path: Path
) -> None:
    document = PolicyDocument.model_validate({"deny": {"urls": [f"http://127.0.0.1:*{denied}"]}})
    policy, user = AppliedPolicy(documents=(document,)), User()
    async with (
        web(gated=True) as site,
        house(tmp_path, {"far": {"url": site.url}}, policy=policy) as at,
    ):
        await at.come("far", ServerStatus.REQUIRES_AUTH)
        await at.manager.connect("far", user, user.say)
        if denied == "/as/tokens":
            await visit(await user.sent())
        await at.until(lambda: "policy of the administrator" in (at.shown("far").error or ""))
        assert (len(site.gate.registered), len(site.gate.granted)) == (registered, granted)
        assert user.asked.empty()


async def test_a_state_counts_once_and_a_wrong_one_not_at_all(tmp_path: Path) -> None:
    async with gated(tmp_path) as (site, at, user):
        url = await user.connects(at)
        back = site.gate.sent_back(url)
        wrong = await visit(back.replace("state=", "state=x"))
        assert (wrong.status_code, "No sign-in waits" in wrong.text) == (404, True)
        nowhere = await visit(back.replace("/callback", "/other"))
        assert nowhere.status_code == 404
        assert at.shown("far").status is ServerStatus.STARTING
        first, second = await asyncio.gather(visit(back), visit(back))
        assert sorted([first.status_code, second.status_code]) == [200, 404]
        await at.running("far")
        assert site.gate.granted == ["authorization_code"]


async def test_a_sign_in_that_nobody_completes_ends_and_holds_up_nothing(tmp_path: Path) -> None:
    pace = ConnectionTiming(timeout=PATIENCE, login=1.0, backoff=(0.05,))
    async with web(gated=True) as site:
        servers = {"far": {"url": site.url}, "near": raw("good")}
        async with house(tmp_path, servers, pace) as at:
            await at.come("far", ServerStatus.REQUIRES_AUTH)
            await at.running("near")
            user = User()
            await user.connects(at)
            assert at.shown("far").status is ServerStatus.STARTING
            assert not (await at.call("near__work")).error
            shown = await at.come("far", ServerStatus.REQUIRES_AUTH)
            assert (shown.error, shown.has_auth) == ("nobody signed in within 1 s", False)
            assert len(user.warned) == 1
            # What they were registered as may be unknown there: then nobody ever comes back.
            await user.signs_in(at)
            assert len(site.gate.registered) == 2


async def test_a_second_attempt_ends_the_first_and_one_under_way_ends_with_its_server(tmp_path: Path) -> None:
    async with gated(tmp_path) as (site, at, user):
        first = site.gate.sent_back(await user.connects(at))
        second = site.gate.sent_back(await user.connects(at))
        assert (await visit(first)).status_code == 404
        assert (await visit(second)).status_code == 200
        await at.running("far")
        await user.connects(at)
        at.manager.stop("far")
        await at.come("far", ServerStatus.STOPPED)
        await user.connects(at)
        await at.manager.remove("far")
        await at.until(lambda: at.gone == ["far"])
        assert user.warned == []


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    async with web(gated=True) as site:
        taken = int(site.url.rpartition(":")[2].partition("/")[0])
        async with house(tmp_path, {"far": {"url": site.url, "oauthPort": taken}}) as at:
            await at.come("far", ServerStatus.REQUIRES_AUTH)
            with pytest.raises(McpRefusal, match="port"):
                await at.manager.connect("far", User(), User().say)


@pytest.mark.parametrize(("configured", "asked_for"), [({}, "read write"), ({"authScope": "read"}, "read")])
async def test_no_more_is_asked_for_than_is_configured(
    tmp_path: Path, configured: dict[str, str], asked_for: str
) -> None:
    user = User()
    async with web(gated=True) as site:
        site.gate.scopes = ("read", "write")
        async with house(tmp_path, {"far": {"url": site.url, **configured}}) as at:
            await at.come("far", ServerStatus.REQUIRES_AUTH)
            address = await user.connects(at)
            assert parse_qs(urlsplit(address).query)["scope"] == [asked_for]
            assert site.gate.registered[0]["scope"] == asked_for
            await visit(address)
            assert (await at.running("far")).has_auth
