"""Owns the server of OpenCode, another coding agent, as a `Backend` of the MCP front: the program that does the work.
It also owns the choice of the project folder for each call.

It must not know the tools, which are in `offers/`, or the form of the API (`api.py`).
"""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.fronts.mcp.offers_base import About, Offers, RefusedCall
from jupyter_eca.fronts.mcp.opencode.api import OpenCodeApi
from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from jupyter_eca.fronts.mcp.offers_base import ChangeListener, Offer, OfferCall, OfferResult

# What the front tells clients about itself.
_ABOUT: Final = About(
    "opencode",
    "OpenCode",
    "Hands work to the OpenCode agent of a project: opencode_run does a task in a session of its own. "
    "Errors say what to do about them.",
)

# Files that only the top folder of a project has.
_MARKERS: Final = (".git", "opencode.json", "opencode.jsonc", "package.json", "pyproject.toml", "Cargo.toml", "go.mod")


@dataclass(frozen=True, slots=True)
class Folder:
    """The project folder of a call."""

    path: str
    """The absolute path of the folder."""

    source: str
    """Why this folder was chosen, for the answer."""

    @property
    def fields(self) -> dict[str, str]:
        """The folder, as fields of the answer to a call."""
        return {"directory": self.path, "directorySource": self.source}


class OpenCode:
    """One OpenCode server as a `Backend`."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """Read the settings from environment variables. `folder` is the working directory. Raises: ConfigError."""
        self.api = OpenCodeApi(environment)
        self.default_model = environment.get("OPENCODE_DEFAULT_MODEL", "")
        self._project = environment.get("OPENCODE_DEFAULT_PROJECT", "")  # the folder of calls that name none
        self._folder = folder
        self._prompts: set[asyncio.Task[Any]] = set()  # the requests that wait for an answer
        plugs: list[Offers] = list(loader.find("fronts.mcp.opencode.offers", "OFFERS").values())
        self._offers = Offers(tuple(tool for plug in plugs for tool in plug.tools))

    @property
    def about(self) -> About:
        """What the server tells its clients about itself."""
        return _ABOUT

    def list_offers(self) -> Offers:
        """Return the tools, which never change."""
        return self._offers

    def listen(self, listener: ChangeListener) -> Callable[[], None]:
        """Do nothing, because this backend offers no resources, and its tools never change."""
        del listener
        return lambda: None

    async def call(self, offer: Offer, call: OfferCall[Any], arguments: dict[str, Any]) -> OfferResult:
        """Run a tool. Our approval rules do not apply, because OpenCode asks its user for permission itself."""
        return await offer.run(call, arguments)

    def start_prompt(self, session: str, body: Mapping[str, Any], folder: Folder) -> asyncio.Task[Any]:
        """Send a prompt to a session, in a task whose result is the answer. The request continues after the call of the
        tool has ended. If the request ended too, OpenCode would stop its work, although its user may still be deciding
        about a permission."""
        path = f"/session/{session}/message"
        task = asyncio.create_task(self.api.post(path, body, without_timeout=True, directory=folder.path))
        self._prompts.add(task)
        task.add_done_callback(self._forget_prompt)
        return task

    def _forget_prompt(self, task: asyncio.Task[Any]) -> None:
        """Forget a request that has ended. Its error is read here, because nothing else reads it if the call has ended
        before, and asyncio would log it."""
        self._prompts.discard(task)
        if not task.cancelled():
            task.exception()

    async def close(self) -> None:
        """Cancel the requests that still run, and close the connection."""
        for task in self._prompts:
            task.cancel()
        await asyncio.gather(*self._prompts, return_exceptions=True)
        await self.api.close()

    async def find_folder(self, argument: str = "") -> Folder:
        """Return the project folder of a call. `argument` is the folder that the call names, or "".

        Raises: RefusedCall when the named folder does not exist.
        """
        chosen = await asyncio.to_thread(_choose_folder, argument, self._project, self._folder)
        if chosen is None:
            named = argument or self._project
            raise RefusedCall(f"There is no folder {named}.", "Give the absolute path of a project.")
        return chosen


@asynccontextmanager
async def open_backend(folder: Path) -> AsyncGenerator[OpenCode]:
    """Yield the backend for the server that the environment variables name. Raises: ConfigError."""
    backend = OpenCode(folder, os.environ)
    try:
        yield backend
    finally:
        await backend.close()


def _choose_folder(argument: str, project: str, folder: Path) -> Folder | None:
    """Return the folder that the call names (`argument`); without one, the folder that the environment variable names
    (`project`); without both, the nearest project at or above the working directory `folder`, or else `folder` itself.
    Return None if a named folder does not exist."""
    for named, source in ((argument, "argument"), (project, "OPENCODE_DEFAULT_PROJECT")):
        if named:
            path = Path(named).expanduser().absolute()
            return Folder(str(path), source) if path.is_dir() else None
    for parent in (folder, *folder.parents):
        if any((parent / marker).exists() for marker in _MARKERS):
            return Folder(str(parent), "nearest project")
    return Folder(str(folder), "working directory")
