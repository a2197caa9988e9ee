"""A gateway with the files that `jupyter-eca gateway` writes: a real LiteLLM Proxy, which a real JupyterHub starts, in
front of a scripted vendor. `test_hub_accounts` and `plugins/providers/test_hub` have what needs neither."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import urllib.error
import urllib.request
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

import psutil
import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from jupyter_eca.config import ModelConfig, ProviderConfig
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
from jupyter_eca.plugins.providers.hub import HubProvider
from tests.apps.hub.gateway_parts import CONTACT, KEYS, needs_npm
from tests.e2e.browser.hub import START_SECONDS, wait_until
from tests.plugins.providers.ask import answer, asking, text_of
from tests.support.gateway_server import CLAUDE, COSTS, GPT, USAGE, LoopbackVendor

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.plugins.providers.base import Provider
    from tests.apps.hub.gateway_parts import RunningGateway

pytestmark = [pytest.mark.nightly, needs_npm]

# The three APIs, each with a model that it is used for.
APIS: Final[dict[str, tuple[Provider, str]]] = {
    "messages": (anthropic.PROVIDER, CLAUDE),
    "responses": (openai.PROVIDER, GPT),
    "chat": (openai_chat.PROVIDER, GPT),
}
each_api = pytest.mark.parametrize("api", APIS)


async def ask(gateway: RunningGateway, api: str, token: str, model: str = "") -> list[Delta]:
    provider, usual = APIS[api]
    # A limit, as the provider `hub` sends it: without one, LiteLLM would reserve the price of the longest answer.
    name = model or usual
    config = {name: ModelConfig.model_validate({"limit": {"output": 1000}})}
    url = f"{gateway.url}/v1" if api == "chat" else gateway.url
    settings = ProviderConfig.model_validate({"url": url, "key": token}).model_copy(update={"models": config})
    return await answer(asking("hi", model=f"house/{name}"), settings, provider)


async def fail(gateway: RunningGateway, api: str, token: str, model: str = "") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(gateway, api, token, model)
    assert token not in str(caught.value)
    return caught.value


def read_ledger(gateway: RunningGateway, user: str) -> list[tuple[str, float]]:
    """The model and the cost of each answer, the oldest first."""
    with closing(sqlite3.connect(gateway.folder / "ledger.sqlite")) as database:
        query = "SELECT model, cost FROM spending WHERE user = ? ORDER BY rowid"
        return database.execute(query, (user,)).fetchall()


# -- a user's server has everything, but no key


async def ask_in_server(gateway: RunningGateway, user: str, model: str = "") -> list[dict[str, Any]]:
    """Ask in a new chat of the user's server. Return the contents of the chat."""
    token = gateway.hub.make_token(user)
    address = f"{gateway.hub.url.replace('http', 'ws', 1)}user/{user}/eca/ws"
    socket = await websocket_connect(HTTPRequest(address, headers={"Authorization": f"token {token}"}))
    start: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    prompt: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "chat/prompt",
        "params": {"message": "hi", "chatId": f"c{model}", **({"model": model} if model else {})},
    }
    contents: list[dict[str, Any]] = []
    async with asyncio.timeout(START_SECONDS):
        for message in (start, prompt):
            await socket.write_message(json.dumps(message))
        while not contents or contents[-1].get("state") != "finished":
            heard = json.loads(str(await socket.read_message()))
            if heard.get("method") == "chat/contentReceived":
                contents.append(heard["params"]["content"])
    socket.close()
    return contents


def find_processes(gateway: RunningGateway, user: str) -> list[psutil.Process]:
    """The server of a user, and what it has started."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has just ended, or is another user's
            is_server = "jupyterhub-singleuser" in " ".join(process.cmdline())
            if is_server and process.environ().get("HOME") == str(gateway.hub.home.parent / user):
                found.append(process)
    (server,) = found
    return [server, *server.children(recursive=True)]


def has_in_memory(pid: int, text: str) -> bool:
    """Whether a process has a text in the memory that it may write to."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:  # noqa: PTH123  # no files
        for line in maps:
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            begin, end = (int(number, 16) for number in place.split("-"))
            try:
                memory.seek(begin)
                if text.encode() in memory.read(end - begin):
                    return True
            except (OSError, OverflowError):
                continue
    return False


@pytest.mark.asyncio
async def test_a_turn_on_a_hub_is_answered_through_the_gateway_and_no_server_of_a_user_has_a_key(
    gateway: RunningGateway,
) -> None:
    await asyncio.to_thread(gateway.hub.start_server, "ada")
    before, spent = len(gateway.vendor.requests), len(read_ledger(gateway, "ada"))
    contents = await ask_in_server(gateway, "ada")
    said = "".join(content.get("text", "") for content in contents if content["type"] == "text")
    assert "Hello 1" in said
    # The first model of the list answers by default, and the vendor has seen the key of the institution only.
    asked = [one for one in gateway.vendor.requests[before:] if one.body]  # LiteLLM asks for a list of models, too
    assert {(one.path.partition("?")[0], one.key) for one in asked} == {
        ("/v1/messages", KEYS["INSTITUTION_ANTHROPIC_KEY"])
    }
    assert asked[0].body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    # The cost that the user sees is that of the ledger.
    usage = next(content for content in contents if content["type"] == "usage")
    wait_until(lambda: len(read_ledger(gateway, "ada")) == spent + len(asked), START_SECONDS)
    assert read_ledger(gateway, "ada")[spent:] == [(CLAUDE, pytest.approx(COSTS[CLAUDE]))] * len(asked)
    assert float(usage["lastMessageCost"]) == pytest.approx(COSTS[CLAUDE], rel=0.01)

    processes = find_processes(gateway, "ada")
    own_token = processes[0].environ()["JUPYTERHUB_API_TOKEN"]
    for process in processes:
        assert not {*KEYS} & process.environ().keys()
        assert not {*KEYS.values()} & {*process.environ().values()}
    if os.access(f"/proc/{processes[0].pid}/mem", os.R_OK):
        assert has_in_memory(processes[0].pid, own_token)  # so what is there is found
        assert [process for process in processes for key in KEYS.values() if has_in_memory(process.pid, key)] == []
    home = gateway.hub.home.parent / "ada"
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    found = [path for path in files for key in KEYS.values() if key.encode() in path.read_bytes()]
    assert found == []


# -- who may use which model


@each_api
@pytest.mark.asyncio
async def test_a_model_that_a_user_may_not_use_is_refused_on_each_api(gateway: RunningGateway, api: str) -> None:
    error = await fail(gateway, api, gateway.make_token("ben"), CLAUDE)
    assert (error.kind, error.status, error.retryable) == (FailureKind.AUTH, 403, False)
    assert f"may not use {CLAUDE}" in str(error)
    assert "choose another model" in str(error)
    assert text_of(await ask(gateway, api, gateway.make_token("ada"), CLAUDE)) == "Hello 1"


@pytest.mark.parametrize(("user", "models"), [("ada", (CLAUDE, GPT)), ("ben", (GPT,))])
@pytest.mark.asyncio
async def test_a_user_is_offered_only_their_own_models(
    gateway: RunningGateway, user: str, models: tuple[str, ...]
) -> None:
    settings = ProviderConfig.model_validate({"url": gateway.url, "key": gateway.make_token(user)})
    assert await HubProvider().models(settings) == models


# -- what is refused, and in which words


@each_api
@pytest.mark.asyncio
async def test_a_wrong_token_and_a_narrow_one_are_refused(gateway: RunningGateway, api: str) -> None:
    wrong = await fail(gateway, api, "0123456789abcdef")
    assert (wrong.kind, wrong.status, wrong.retryable) == (FailureKind.AUTH, 401, False)
    narrow = await fail(gateway, api, gateway.make_token("ada", "access:servers!user=ada"))
    assert (narrow.kind, narrow.status, narrow.retryable) == (FailureKind.AUTH, 403, False)
    assert "needs the scope" in str(narrow)


@each_api
@pytest.mark.asyncio
async def test_a_user_who_asks_too_often_waits(gateway: RunningGateway, api: str) -> None:
    token = gateway.make_token("dora")
    errors: list[ProviderError] = []
    for _ in range(2):  # the tests before may have used up this minute
        try:
            await ask(gateway, api, token)
        except ProviderError as error:
            errors.append(error)
    assert errors
    assert (errors[-1].kind, errors[-1].retryable) == (FailureKind.RATE_LIMITED, True)
    # LiteLLM says on the Messages API no time; then the assistant waits longer each time.
    assert (errors[-1].retry_after is None) == (api == "messages")


@each_api
@pytest.mark.asyncio
async def test_a_budget_that_is_used_up_is_said_once_and_not_asked_for_again(gateway: RunningGateway, api: str) -> None:
    token = gateway.make_token("carl")
    if not read_ledger(gateway, "carl"):
        await ask(gateway, api, token)  # one answer is more than the budget
        wait_until(lambda: bool(read_ledger(gateway, "carl")), START_SECONDS)
    error = await fail(gateway, api, token)
    assert (error.kind, error.retryable, error.status) == (FailureKind.BUDGET_EXCEEDED, False, 422)
    for part in ("of your budget of $0.0001 a week", "It begins anew on 2", CONTACT.rstrip(".")):
        assert part in str(error)


# -- what it costs


@each_api
@pytest.mark.asyncio
async def test_the_cost_of_an_answer_is_that_of_the_ledger(gateway: RunningGateway, api: str) -> None:
    token, before = gateway.make_token("ada"), len(read_ledger(gateway, "ada"))
    usages = [delta for _ in range(2) for delta in await ask(gateway, api, token) if isinstance(delta, UsageDelta)]
    wait_until(lambda: len(read_ledger(gateway, "ada")) == before + 2, START_SECONDS)
    costs = [cost for _, cost in read_ledger(gateway, "ada")[before:]]
    assert [usage.cost for usage in usages] == pytest.approx(costs, rel=0.01)
    assert costs == [pytest.approx(COSTS[APIS[api][1]])] * 2
    assert [usage.cache_read_tokens for usage in usages] == [USAGE[1]] * 2


@pytest.mark.asyncio
async def test_the_provider_of_the_hub_reads_costs_and_limits_of_the_gateway(gateway: RunningGateway) -> None:
    settings = ProviderConfig.model_validate({"url": gateway.url, "key": gateway.make_token("ada")})
    provider = HubProvider()
    for name, path, limit in ((CLAUDE, "/v1/messages", 32_000), (GPT, "/v1/responses", 16_384)):
        deltas = await answer(asking("hi", model=f"hub/{name}"), settings, provider)
        (usage,) = (delta for delta in deltas if isinstance(delta, UsageDelta))
        assert usage.cost == pytest.approx(COSTS[name], rel=0.01)
        assert usage.context_limit > 100_000
        asked = gateway.vendor.requests[-1]
        assert asked.path == path
        assert asked.body.get("max_tokens", asked.body.get("max_output_tokens")) == limit


# -- what a user may not do there


def send(gateway: RunningGateway, token: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
    """Return the status and the text of an answer. Without a body, this is a GET."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{gateway.url}{path}", data, headers)  # noqa: S310  # our own gateway
    try:
        with urllib.request.urlopen(request, timeout=60) as answered:  # noqa: S310  # the same
            return answered.status, answered.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("name", ["api_base", "base_url"])
@pytest.mark.parametrize(
    ("path", "model", "question"),
    [
        ("/v1/messages", CLAUDE, {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}),
        ("/v1/responses", GPT, {"input": "hi", "max_output_tokens": 100}),
        ("/v1/chat/completions", GPT, {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}),
    ],
)
def test_no_request_leads_the_key_to_another_address(
    gateway: RunningGateway, path: str, model: str, question: dict[str, Any], name: str
) -> None:
    token = gateway.make_token("ada")
    with LoopbackVendor() as other:
        for url in (other.url, f"{other.url}/v1"):
            send(gateway, token, path, {"model": model, "stream": True, **question, name: url})
            more = {"extra_body": {name: url}, "litellm_params": {name: url}, "metadata": {name: url}}
            send(gateway, token, path, {"model": model, "stream": True, **question, **more})
    assert other.requests == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/model/new", {"model_name": "mine", "litellm_params": {"model": "openai/gpt-4o"}}),
        ("/key/generate", {"models": [CLAUDE]}),
        ("/config/update", {"general_settings": {}}),
        ("/user/new", {"user_role": "proxy_admin"}),
        ("/config/yaml", None),
        ("/get/config/callbacks", None),
        ("/model/info", None),
        ("/v1/model/info", None),
        ("/v2/model/info", None),
        ("/key/list", None),
        ("/health", None),
        ("/openai/v1/models", None),
    ],
)
def test_a_user_administers_nothing_and_is_shown_no_key(
    gateway: RunningGateway, path: str, body: dict[str, Any] | None
) -> None:
    status, text = send(gateway, gateway.make_token("ben"), path, body)
    assert status != 200 or body is None
    assert [key for key in (*KEYS.values(), "sk-") if key in text] == []
