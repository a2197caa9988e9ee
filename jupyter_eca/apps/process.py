"""Owns the commands that run the engine in a process of its own: for an editor over stdio, or for one question in a
terminal. `front_program.py` runs the engine for a front.

The engine is the program that calls the model and runs tools. Its central object is the `Host`. This module must not
parse arguments: `cli.py` parses them.
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
from jupyter_eca.apps.python_tools import LENT_TOOLS
from jupyter_eca.config.trust import TrustedFolders, open_trusted_folders
from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.client_access import FULL_ACCESS
from jupyter_eca.fronts.eca import trust
from jupyter_eca.fronts.eca.session import EcaSession, load_handlers
from jupyter_eca.fronts.mcp.agent_endpoint import open_agent_endpoint
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
    from collections.abc import AsyncGenerator, Generator, Sequence
    from pathlib import Path

    from jupyter_eca.protocol.lifecycle import InitializeParams
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import QuestionHandler

_log = logging.getLogger(__name__)

# Seconds between two checks that the editor still runs. Usually stdin ends with the editor, and no check is needed.
PARENT_CHECK_INTERVAL = 2.0

# The text of an empty chat, unless the configuration has another. The default text is about notebooks.
_WELCOME = "Ask about this project, its code or its data."

# After a sign-in, the user is told until when the key is remembered, if it is only in the memory of this process. This
# text completes that sentence for a command that asks one question. For a server, the sentence has its own text.
_UNTIL_COMMAND_ENDS = "this command ends, and the next one does not know it"


@contextmanager
def _unwrap_single_error() -> Generator[None]:
    """If a group of errors has only one, raise that one, so that callers can catch it by its type."""
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
    """Run a host for some folders, as long as this context lasts. Tools that need a kernel use a kernel of the host's
    own.

    `config_file` is read instead of the usual files, if it is not None. `options` are further settings, which have
    precedence. `trusted` knows which folders may bring any settings; None reads the stored list. Raises: ConfigError.
    """
    trusted = trusted or open_trusted_folders(find_database())
    read = partial(config.read_config, folders, config_file, options, trust=trusted)
    settings = await asyncio.to_thread(read, skip_broken_projects=True)
    for held in settings.held_back:
        _log.warning("%s Start with --trust-folder if you trust it.", trust.describe_held_settings(held))
    kernel = LocalKernel(folders[0], lambda: host.catalog.build_environment())
    files = Files(tuple(folders))
    host = Host(
        settings, Workspace(files, kernel, NotebookFiles(files, kernel), kernel), find_database(), read, trusted
    )
    with _unwrap_single_error():
        async with asyncio.TaskGroup() as tasks:
            host_task = tasks.create_task(host.run())
            await host.ready.wait()
            try:
                async with open_agent_endpoint(host, tasks):
                    yield host
            finally:
                host.close()
                await kernel.close()
                # Wait for the host here. Otherwise a cancellation would make the group cancel the host while it ends
                # its tasks.
                await asyncio.wait((host_task,))


class ProcessDoor:
    """Implements `Door` for a process with one client: it gives the host to the client's session, and decides what the
    client may do. The host is made when the client sends `initialize`, for the folders and options in that request."""

    # The only client of the process belongs to its user, so it may see and do everything.
    sees_all_chats = True
    access = FULL_ACCESS
    may_trust_folders = True
    # Events say who has caused them.
    sends_user_names = True
    # The workspace has the folders that the client names in `initialize`.
    client_chooses_folders = True
    # Opens pages for a sign-in in the user's browser, which is on this machine.
    browser = Loopback()
    # The client is no kernel.
    kernel_id = None

    def __init__(
        self, folder: Path, config_file: Path | None, *, is_one_shot: bool = False, trust_folder: bool = False
    ) -> None:
        """`folder` is used if the client names no folders. `is_one_shot`: one of our own commands runs the process, and
        it ends after a question or two. `trust_folder`: the user trusts the folders as they are now."""
        self._folder = folder
        self._config_file = config_file
        self._trust_folder = trust_folder
        self._is_one_shot = is_one_shot
        # The `initialize` requests that wait for a host, and the futures of their hosts.
        self._requests: asyncio.Queue[tuple[InitializeParams, asyncio.Future[Host]]] = asyncio.Queue()

    async def run(self) -> None:
        """Run the host from the first `initialize` until the editor ends. After an error in the configuration, wait for
        the next `initialize`, because a client may try again.

        The host is made here and not in `get_host`, because the task that makes it must also end it.
        """
        while True:
            params, answer = await self._requests.get()
            named = [parse_file_uri(folder.uri) for folder in params.workspace_folders]
            folders = [folder for folder in named if folder is not None] or [self._folder]
            try:
                trusted = open_trusted_folders(find_database(), folders if self._trust_folder else ())
                # An editor that cannot ask the user gets ECA's own behaviour, which trusts all folders. Our own
                # programs can tell the user about `--trust-folder`.
                trusted.trusts_all = not self._is_one_shot and not _can_ask_for_trust(params)
                options = {"welcomeMessage": _WELCOME, **(params.initialization_options or {})}
                async with run_host(folders, self._config_file, options, trusted) as host:
                    if self._is_one_shot:
                        host.logins.until = _UNTIL_COMMAND_ENDS
                        host.setups.is_one_shot = True
                    answer.set_result(host)
                    await _wait_for_exit(params.process_id)
                    return
            except ConfigError as error:
                answer.set_exception(error)
            except Exception as error:
                if not answer.done():
                    answer.set_exception(error)  # otherwise the client would wait for the host forever
                raise

    async def get_host(self, params: InitializeParams) -> Host:
        """Let `run` make the host, and return it. Raises: ConfigError."""
        answer: asyncio.Future[Host] = asyncio.get_running_loop().create_future()
        self._requests.put_nowait((params, answer))
        return await answer

    async def describe_setup(self, host: Host) -> str:
        """Return the report on what is set up and what is missing."""
        return await report(host.services, "in a process of its own")

    async def interrupt_kernel(self) -> None:
        """Do nothing: the client is no kernel."""


def _can_ask_for_trust(params: InitializeParams) -> bool:
    """Return whether the client can ask the user to trust a folder."""
    capabilities = params.capabilities.code_assistant
    return capabilities.trust or capabilities.chat_capabilities.ask_question


async def _wait_for_exit(process_id: int | None) -> None:
    """Wait until the process of the editor has ended (ECA protocol, `processId`). Without an id, wait forever: the end
    of stdin then ends the session."""
    if process_id is None or process_id < 1:
        await asyncio.Event().wait()
        return
    while await asyncio.to_thread(_is_alive, process_id):  # noqa: ASYNC110  # there is no event for the end of another process
        await asyncio.sleep(PARENT_CHECK_INTERVAL)


def _is_alive(process_id: int) -> bool:
    """Return whether a process with this id exists."""
    import psutil  # imported in this thread, because the import takes 30 ms and would delay the reply to `initialize`

    try:
        return psutil.pid_exists(process_id)
    except OverflowError:
        return False  # the number is too large for an id


@asynccontextmanager
async def _run_door(
    folder: Path, config_file: Path | None, *, is_one_shot: bool = False, trust_folder: bool = False
) -> AsyncGenerator[tuple[ProcessDoor, asyncio.Task[None]]]:
    """Run a door, and yield it with the task that runs its host. See `ProcessDoor` for the arguments."""
    door = ProcessDoor(folder, config_file, is_one_shot=is_one_shot, trust_folder=trust_folder)
    host_task = asyncio.create_task(door.run())
    try:
        yield door, host_task
    finally:
        host_task.cancel()
        await asyncio.wait((host_task,))


async def serve(folder: Path, config_file: Path | None, *, trust_folder: bool = False) -> int:
    """Serve an editor over stdio, until it sends `exit`, stdin ends, the editor ends, or SIGTERM comes, which some
    editors send soon after `exit`. `trust_folder`: the user trusts the settings in the folders. Return the exit status:
    1 if we have closed the link, because the client does not speak the protocol or has stopped reading; otherwise 0.
    """
    async with _run_door(folder, config_file, trust_folder=trust_folder) as (door, host_task):
        link = open_stdio()
        _preload()
        session = asyncio.create_task(EcaSession(link, door).run())
        with suppress(NotImplementedError):  # Windows has no signal handlers on the loop
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, session.cancel)
        await asyncio.wait((session, host_task), return_when=asyncio.FIRST_COMPLETED)
        session.cancel()
        await asyncio.wait((session,))
        if host_task.done():
            await host_task  # this raises the error of the host, which must not be hidden
    if link.failure:
        sys.stderr.write(f"jupyter-eca: {link.failure}\n")
        return 1
    return 0


def _preload() -> None:
    """Import what the host needs, before the editor sends `initialize`. That request must be answered within 100 ms."""
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
    """Start an engine in this process, and yield a client that is connected to it. `unattended`: nobody approves tool
    calls. `trust_folder`: the user trusts the settings in the folder. Raises: ConfigError, RemoteError."""
    client_link, server_link = make_link_pair()
    with _unwrap_single_error():
        async with (
            _run_door(folder, config_file, is_one_shot=True, trust_folder=trust_folder) as (door, _),
            asyncio.TaskGroup() as tasks,
        ):
            tasks.create_task(EcaSession(server_link, door).run())
            client = EcaClient(client_link, "jupyter_eca", answer_questions=answer_questions, tool_lender=LENT_TOOLS)
            tasks.create_task(client.run())
            try:
                await client.initialize(unattended=unattended, folders=(folder.as_uri(),))
                await client.setup.received.wait()
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
    """Ask one question, in `chat` or a new chat, and print the answer. At a terminal, the user is asked to approve tool
    calls. `trust_folder`: the user trusts the settings in the folder. Return the exit status: 0 if the answer is
    complete, otherwise 1."""
    from jupyter_eca.apps.kernel.answer.screen import TerminalScreen
    from jupyter_eca.apps.kernel.answer.terminal_approval import ask_decision
    from jupyter_eca.apps.kernel.answer.terminal_question import ask_question
    from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
    from jupyter_eca.apps.kernel.choice_check import check_choice
    from jupyter_eca.apps.kernel.options import CellQuestion

    chat, screen, transcript = (
        chat or uuid.uuid4().hex,
        TerminalScreen(),
        CellTranscript(CellQuestion(question).command),
    )
    decided_calls: set[str] = set()

    async def answer(question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the user a question of the assistant."""
        return ask_question(question)

    unattended = not sys.stdin.isatty()
    async with connect(
        folder, config_file, unattended=unattended, answer_questions=answer, trust_folder=trust_folder
    ) as client:
        await check_choice(client.setup, model, agent)
        async for received in client.ask(chat, question, model, agent):
            transcript.add(received)
            screen.draw(transcript)
            for call in transcript.undecided_calls:
                if call.key not in decided_calls:  # the reply to the decision may be still on its way
                    decided_calls.add(call.key)
                    await client.decide(call.chat or chat, call.id, ask_decision(call))
    screen.finish(transcript)
    return 0 if transcript.outcome is Outcome.COMPLETED else 1


async def doctor(folder: Path, config_file: Path | None, *, trust_folder: bool = False) -> int:
    """Print the report: what is set up, what is missing, and what to do about it. `trust_folder`: the user trusts the
    settings in the folder. Return the exit status."""
    trusted = open_trusted_folders(find_database(), [folder] if trust_folder else ())
    async with run_host([folder], config_file, trusted=trusted) as host:
        sys.stdout.write(await report(host.services, "in a process of its own") + "\n")
    return 0
