"""What a model is told at the beginning of a chat, and what the user is told of files that are not right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca.config import Config
from tests.support.host_and_client import desk, settings
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

HELLO: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello"}]}]


def put(folder: Path, **files: str) -> None:
    """Files by their names, with `__` for `/`, and `.md` behind them."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def told(folder: Path, **config: Any) -> tuple[str, list[str]]:
    """The system prompt of a new chat, and the warnings; it is made twice, and they come once."""
    async with desk(folder, HELLO) as table, connect_and_initialize(table) as client:
        table.host.current.configure(Config.model_validate({**settings(folder, HELLO), **config}))
        words = (await table.host.turns.draft("chat")).system
        assert (await table.host.turns.draft("chat")).system == words
        await client.ask("chat/list", {})
        return words, [one["message"] for one in client.params("$/showMessage")]
