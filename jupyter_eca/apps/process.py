"""Owns the engine as a process of its own: for an editor over stdio, for one question in a terminal, for a front.

It must not parse arguments: `cli.py` does.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
import sys
import uuid
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_eca import config
from jupyter_eca.apps.python_tools import LENT
from jupyter_eca.config.trust import TrustedFolders, open_trusted_folders
from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.eca import trust
from jupyter_eca.fronts.eca.session import EcaSession, load_handlers
from jupyter_eca.host.doctor import report
from jupyter_eca.host.host import Host
from jupyter_eca.mcp_client.loopback_browser import Loopback
from jupyter_eca.plugins import loader
from jupyter_eca.protocol.event import Outcome
from jupyter_eca.transport.eca_client import EcaClient
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.stdio import open_stdio
from jupyter_eca.workspace.kernels.local import LocalKernel
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.paths import find_database, parse_file_uri
from jupyter_eca.workspace.ports import Files, Workspace

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Generator, Sequence
    from pathlib import Path

    from jupyter_eca.fronts.base import ProgramFront
    from jupyter_eca.protocol.lifecycle import InitializeParams
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import QuestionHandler

_log = logging.getLogger(__name__)

# Seconds between two checks that the editor still runs; the end of stdin usually tells at once.
PARENT_EVERY = 2.0

# What an empty chat shows where there is no notebook, unless a configuration has another text.
_WELCOME = "Ask about this project, its code or its data."

# How long a key is remembered that only this process has, in memory.
_COMMAND = "this command ends, and the next one does not know it"


@contextmanager
def _unwrap_single_error() -> Generator[None]:
    """Unwrap the error of a group that has only one: callers can handle it."""
    try:
        yield
    except BaseExceptionGroup as group:
        first, *others = group.exceptions
        if others:
            raise
        raise first from None


@asynccontextmanager
async def run_host(
    folders: Sequence[Path],
    config_file: Path | None,
    options: dict[str, Any] | None = None,
    trusted: TrustedFolders | None = None,
) -> AsyncGenerator[Host]:
    """Run a host over some folders. A tool that needs a kernel gets one of the host's own. Raises: ConfigError."""
    trusted = trusted or open_trusted_folders(find_database())
    read = partial(config.read_config, folders, config_file, options, trust=trusted)
    settings = await asyncio.to_thread(read, skip_broken_projects=True)
    for held in settings.held_back:
        _log.warning("%s Start with --trust-folder if you trust it.", trust.describe(held))
    kernel = LocalKernel(folders[0])
    files = Files(tuple(folders))
    host = Host(
        settings, Workspace(files, kernel, NotebookFiles(files, kernel), kernel), find_database(), read, trusted
    )
    with _unwrap_single_error():
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(host.run())
            await host.ready.wait()
            try:
                yield host
            finally:
                host.close()
                await kernel.close()
                # If this is cancelled, the group would cancel the host while it ends its tasks.
                await asyncio.wait((serving,))


class ProcessDoor:
    """The `Door` of the one client of a process. The host is made for the folders and options that it names."""

    sees_all = True
    follows = True
    browser = Loopback()
    kernel = None
    approves = True
    may_trust = True

    def __init__(self, folder: Path, config_file: Path | None, until: str = "", *, trust_folder: bool = False) -> None:
        """`until` says what ends this process, in the words shown to the user. "" for a server. `trust_folder`: the
        user trusts the folders as they are now."""
        self._folder = folder
        self._config_file = config_file
        self._trust_folder = trust_folder
        self._until = until
        self._requests: asyncio.Queue[tuple[InitializeParams, asyncio.Future[Host]]] = asyncio.Queue()

    async def run(self) -> None:
        """Keep the host until the editor ends. The task that makes the host must be the one that ends it.

        A client may try again after an error in the configuration.
        """
        while True:
            params, answer = await self._requests.get()
            named = [parse_file_uri(folder.uri) for folder in params.workspace_folders]
            folders = [folder for folder in named if folder is not None] or [self._folder]
            try:
                trusted = open_trusted_folders(find_database(), folders if self._trust_folder else ())
                # An editor that cannot ask has ECA's own behaviour. Our own programs know better.
                trusted.trusts_all = not self._until and not _can_ask(params)
                options = {"welcomeMessage": _WELCOME, **(params.initialization_options or {})}
                async with run_host(folders, self._config_file, options, trusted) as host:
                    host.logins.until = self._until or host.logins.until
                    host.setups.is_one_shot = bool(self._until)
                    answer.set_result(host)
                    await _wait_for_exit(params.process_id)
                    return
            except ConfigError as error:
                answer.set_exception(error)

    async def host(self, params: InitializeParams) -> Host:
        answer: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._requests.put_nowait((params, answer))
        return await answer

    async def doctor(self, host: Host) -> str:
        return await report(host.services, "in a process of its own")

    async def interrupt(self) -> None:
        """Do nothing: the client is no kernel."""


def _can_ask(params: InitializeParams) -> bool:
    can = params.capabilities.code_assistant
    return can.trust or can.chat_capabilities.ask_question


async def _wait_for_exit(process: int | None) -> None:
    """Wait until the editor has ended (protocol, `processId`). An editor without an id ends stdin instead."""
    if process is None or process < 1:
        await asyncio.Event().wait()
        return
    while await asyncio.to_thread(_is_alive, process):  # noqa: ASYNC110  # no event tells of another process' end
        await asyncio.sleep(PARENT_EVERY)


def _is_alive(process: int) -> bool:
    import psutil  # the import takes 30 ms, by which it would delay the reply to `initialize` on the loop

    try:
        return psutil.pid_exists(process)
    except OverflowError:
        return False


@asynccontextmanager
async def _door(
    folder: Path, config_file: Path | None, until: str = "", *, trust_folder: bool = False
) -> AsyncGenerator[tuple[ProcessDoor, asyncio.Task[None]]]:
    door = ProcessDoor(folder, config_file, until, trust_folder=trust_folder)
    keeping = asyncio.create_task(door.run())
    try:
        yield door, keeping
    finally:
        keeping.cancel()
        await asyncio.wait((keeping,))


async def serve(folder: Path, config_file: Path | None, *, trust_folder: bool = False) -> int:
    """Serve until `exit`, the end of stdin, the end of the editor, or a signal: some editors send one soon after
    `exit`. Return the exit status: 1 if a client sent what is not the protocol.
    """
    async with _door(folder, config_file, trust_folder=trust_folder) as (door, keeping):
        link = open_stdio()
        _preload()
        session = asyncio.create_task(EcaSession(link, door).run())
        with suppress(NotImplementedError):  # Windows has no signal handlers on the loop
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, session.cancel)
        await asyncio.wait((session, keeping), return_when=asyncio.FIRST_COMPLETED)
        session.cancel()
        await asyncio.wait((session,))
        if keeping.done():
            await keeping  # an error of the host must not be hidden
    if link.failure:
        sys.stderr.write(f"jupyter-eca: the client does not speak the protocol: {link.failure}.\n")
        return 1
    return 0


def _preload() -> None:
    """Import what the host needs before the editor sends `initialize`, which must be answered within 100 ms."""
    importlib.import_module("jupyter_core.paths")
    loader.find("providers", "PROVIDER")
    loader.find("tools", "TOOLS")
    load_handlers()


@asynccontextmanager
async def connect(
    folder: Path,
    config_file: Path | None,
    *,
    unattended: bool = False,
    answer_questions: QuestionHandler | None = None,
    trust_folder: bool = False,
) -> AsyncGenerator[EcaClient]:
    """Connect a client to an engine of its own in this process. Raises: ConfigError, RemoteError."""
    ours, server_link = make_link_pair()
    with _unwrap_single_error():
        async with (
            _door(folder, config_file, _COMMAND, trust_folder=trust_folder) as (door, _),
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(EcaSession(server_link, door).run())
            client = EcaClient(ours, "jupyter_eca", answer_questions=answer_questions, lending=LENT)
            tasks.create_task(client.run())
            try:
                await client.initialize(unattended=unattended, folders=(folder.as_uri(),))
                await client.setup.known.wait()
                yield client
            finally:
                await client.close()


async def ask(
    folder: Path,
    config_file: Path | None,
    question: str,
    model: str,
    agent: str,
    chat: str = "",
    *,
    trust_folder: bool = False,
) -> int:
    """Answer one question on stdout, in `chat` or a new chat. The user approves tool calls by typing, at a terminal."""
    from jupyter_eca.apps.kernel.answer.screen import TerminalScreen
    from jupyter_eca.apps.kernel.answer.terminal_approval import ask_decision
    from jupyter_eca.apps.kernel.answer.terminal_question import ask_answer as typed_answer
    from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
    from jupyter_eca.apps.kernel.model_check import check
    from jupyter_eca.apps.kernel.options import Ask

    chat, screen, transcript = chat or uuid.uuid4().hex, TerminalScreen(), CellTranscript(Ask(question).command)
    decided: set[str] = set()

    async def answer(question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        return typed_answer(question)

    unattended = not sys.stdin.isatty()
    async with connect(
        folder, config_file, unattended=unattended, answer_questions=answer, trust_folder=trust_folder
    ) as client:
        await check(client.setup, model, agent)
        async for received in client.ask(chat, question, model, agent):
            transcript.add(received)
            screen.draw(transcript)
            for call in transcript.undecided_calls:
                if call.key not in decided:
                    decided.add(call.key)
                    await client.decide(call.chat or chat, call.id, ask_decision(call))
    screen.finish(transcript)
    return 0 if transcript.outcome is Outcome.COMPLETED else 1


async def run_front(name: str, folder: Path, config_file: Path | None, options: argparse.Namespace) -> int:
    """Run the front of that name as a program, until its client leaves or a signal."""
    front: ProgramFront = loader.find("fronts", "FRONT")[name]
    trusted = open_trusted_folders(find_database(), [folder] if options.trust_folder else ())
    await front.run(options, folder, partial(run_host, [folder], config_file, trusted=trusted))
    return 0


async def doctor(folder: Path, config_file: Path | None, *, trust_folder: bool = False) -> int:
    trusted = open_trusted_folders(find_database(), [folder] if trust_folder else ())
    async with run_host([folder], config_file, trusted=trusted) as host:
        sys.stdout.write(await report(host.services, "in a process of its own") + "\n")
    return 0
