"""What the official conformance suite has as a client: our manager, with a user who is agreeable. It is run with the
address of the suite's server as its last argument, and told the rest in the environment.

It connects, signs in where that is wanted, calls each tool once with as little as its schema wants, and leaves.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import EcaError, SamplingRefusal
from jupyter_eca.mcp_client.connection_settings import ConnectionTiming
from jupyter_eca.mcp_client.loopback_browser import Loopback
from jupyter_eca.mcp_client.sign_in import Landing
from jupyter_eca.protocol.mcp import ServerStatus
from jupyter_eca.protocol.question import ChatAskQuestionResult
from tests.mcp_client.door import visit
from tests.mcp_client.house import User, house

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.mcp_client.client_features import SamplingRequest, SamplingResult
    from jupyter_eca.protocol.lifecycle import MessageType
    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from tests.mcp_client.house import House

SAMPLE: dict[str, Any] = {"string": "x", "integer": 2, "number": 2, "boolean": True, "array": [], "object": {}}
# How often its user signs in again before they have had enough.
PATIENT = 3
PACE = ConnectionTiming(timeout=20, keep_alive=30, backoff=(0.1, 0.5), login=20)
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")


class Agreeable(User):
    """Takes the first that is offered."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        assert question.options is not None
        return ChatAskQuestionResult(answer=question.options[0].label)

    async def sample(self, chat: str, wanted: SamplingRequest) -> SamplingResult:
        raise SamplingRefusal(f"{chat} has no model for {wanted.server}")


class Browser:
    """Goes where it is sent."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks

    async def prepare_landing(self, port: int | None, used: Sequence[str]) -> Landing:
        landing = await Loopback().prepare_landing(port, used)
        return Landing(landing.address, landing.waiting_sign_ins, self._go, landing.close)

    def _go(self, url: str) -> None:
        self._tasks.create_task(self._visit(url))

    async def _visit(self, url: str) -> None:
        page = await visit(url)
        print(f"visited: {page.status_code}", file=sys.stderr)


def say(type: MessageType, message: str) -> None:
    print(f"{type}: {message}", file=sys.stderr)


async def settled(at: House) -> ServerStatus:
    moving = {ServerStatus.STARTING, ServerStatus.STOPPING, ServerStatus.STOPPED}
    async with asyncio.timeout(60):
        while (status := at.shown("subject").status) in moving:
            at.news.clear()
            await at.news.wait()
    print(f"{status}: {at.shown('subject').error}", file=sys.stderr)
    return status


async def signed_in(at: House, browser: Browser) -> bool:
    """Whether it runs in the end."""
    for _ in range(PATIENT):
        if await settled(at) is not ServerStatus.REQUIRES_AUTH:
            break
        await at.manager.connect("subject", browser, say)
    return await settled(at) is ServerStatus.RUNNING


async def called(at: House, browser: Browser, name: str, arguments: dict[str, Any]) -> None:
    for _ in range(PATIENT):
        try:
            result = await at.call(f"subject__{name}", **arguments)
        except (EcaError, StopIteration) as error:
            print(f"{name}: {error}", file=sys.stderr)
            if "sign in again" in str(error):
                await at.come("subject", ServerStatus.REQUIRES_AUTH)
            if at.shown("subject").status is ServerStatus.RUNNING or not await signed_in(at, browser):
                return
        else:
            print(f"{name}: {result.text[:200]}", file=sys.stderr)
            return


async def main(url: str) -> None:
    settings = {"url": url}
    if "client_id" in CONTEXT:
        settings |= {"clientId": CONTEXT["client_id"], "clientSecret": CONTEXT.get("client_secret")}
    elif os.environ.get("MCP_CONFORMANCE_SCENARIO") == "auth/basic-cimd":
        settings |= {"clientId": "https://conformance-test.local/client-metadata.json"}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            asyncio.TaskGroup() as tasks,
            house(Path(folder), {"subject": settings}, PACE, user=Agreeable()) as at,
        ):
            browser = Browser(tasks)
            if not await signed_in(at, browser):
                return
            if calls := CONTEXT.get("toolCalls"):
                for call in calls:
                    await called(at, browser, call["name"], call.get("arguments") or {})
                return
            for tool in at.shown("subject").tools or ():
                wanted: list[str] = tool.parameters.get("required", [])
                properties: dict[str, Any] = tool.parameters.get("properties", {})
                given: dict[str, Any] = {name: SAMPLE.get(properties[name].get("type"), "x") for name in wanted}
                await called(at, browser, tool.name, given)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
