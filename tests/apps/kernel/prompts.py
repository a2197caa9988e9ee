"""A notebook of prompts without a server: the kernel `eca`, as its kernelspec starts it, under jupyter_client."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import AsyncKernelManager

from tests.apps.kernel.nbclient_notebook import PATIENCE, document

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


def book(kernel: str, *sources: str) -> Any:
    made = document(*sources)
    made["metadata"]["kernelspec"]["name"] = kernel
    return made


@dataclass
class Shown:
    """What came of a cell: `outputs` as a page keeps them, those with a display id in their last form, and how many
    times one of them was `redrawn`."""

    status: str = ""
    outputs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    asked: list[str] = field(default_factory=list[str])
    redrawn: int = 0

    @property
    def text(self) -> str:
        texts = [one.get("text") or one.get("data", {}).get("text/plain", "") for one in self.outputs]
        return "".join(texts)


class Seat:
    """Somebody at the kernel, who answers what `input()` asks with `says`."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager = manager
        self.client: Any = client

    async def run(self, code: str, says: str = "", until: str = "", **how: Any) -> Shown:
        """`until` interrupts once this is shown."""
        shown, places = Shown(), dict[str, dict[str, Any]]()

        def hear(message: dict[str, Any]) -> None:
            content: dict[str, Any] = message["content"]
            place = content.get("transient", {}).get("display_id", "")
            match message["msg_type"]:
                case "update_display_data" if place in places:
                    places[place].update(data=content["data"], metadata=content["metadata"])
                case "display_data" | "execute_result" | "stream" | "error" as kind:
                    shown.outputs.append({"output_type": kind, **content})
                    places[place] = shown.outputs[-1]
                case _:
                    pass
            if until and not interrupts and until in shown.text:
                interrupts.append(asyncio.ensure_future(self.manager.interrupt_kernel()))

        def ask(message: dict[str, Any]) -> None:
            shown.asked.append(message["content"]["prompt"])
            self.client.input(says)

        interrupts: list[asyncio.Future[None]] = []
        self.client.allow_stdin = True
        reply = await self.client.execute_interactive(code, output_hook=hear, stdin_hook=ask, timeout=PATIENCE, **how)
        await asyncio.gather(*interrupts)
        shown.status = reply["content"]["status"]
        return shown

    async def ask(self, request: str, *arguments: Any) -> dict[str, Any]:
        return (await getattr(self.client, request)(*arguments, reply=True, timeout=PATIENCE))["content"]


@asynccontextmanager
async def seated(folder: Path, kernel: str = "eca", *options: str) -> AsyncGenerator[Seat]:
    manager: Any = AsyncKernelManager(kernel_name=kernel)
    await manager.start_kernel(cwd=str(folder), extra_arguments=list(options))
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=PATIENCE)
        yield Seat(manager, client)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
