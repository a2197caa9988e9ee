"""Owns the terminals of all clients of the Agent Host Protocol. A terminal is a shell that runs on the server, and a
state that shows its output. All clients share the state, as they share a session. The claim of a terminal says which
client or session it belongs to. The state changes by actions, which are messages to all clients.

It must not know the front, which it sees only as `ports.TerminalFront`, or how shells are started: a `base.Shells`
starts them.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import LocalError, RemoteError
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, omit_none
from jupyter_eca.fronts.ahp.session.action_rules import refuse_terminal_action
from jupyter_eca.fronts.ahp.terminals.shell_integration import (
    CommandFinished,
    CommandStarted,
    FolderChanged,
    OutputParser,
    PromptStarted,
    TerminalText,
)
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.protocol.ahp import ROOT, actions
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.protocol.ahp.state import SessionClaim
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from jupyter_eca.fronts.ahp.hub import ActionOrigin
    from jupyter_eca.fronts.ahp.ports import TerminalFront
    from jupyter_eca.fronts.base import Shell, Shells
    from jupyter_eca.protocol.ahp import commands
    from jupyter_eca.protocol.ahp.state import TerminalClaim

# How many characters of output are kept for clients that subscribe later. If there is more output, the older half is
# dropped, because a terminal may run for weeks.
MAX_OUTPUT_CHARACTERS: Final = 1_000_000


@dataclass
class Terminals:
    """The terminals of all clients."""

    _front: TerminalFront
    """The front, whose hub has the states of the terminals."""

    _shells: Shells | None
    """Starts shells. None on a server without terminals; then the root does not list terminals."""

    _open: dict[str, Shell] = field(default_factory=dict[str, "Shell"])
    """The shells of the open terminals, by the URI of the terminal."""

    @property
    def is_available(self) -> bool:
        """Whether this server can open terminals."""
        return self._shells is not None

    def has(self, uri: str) -> bool:
        """Return whether a terminal with this URI is open."""
        return uri in self._open

    async def create(self, params: commands.CreateTerminal, client: str) -> None:
        """Start a shell, and share its terminal with all clients. Raises: RemoteError."""
        hub, uri = self._front.hub, params.terminal
        if self._shells is None:
            raise RemoteError("This server has no terminals.", AhpErrorCode.METHOD_NOT_FOUND)
        # URIs that begin with `eca:` are those of sessions, and the root has a URI with `agenthost:`.
        if hub.has(uri) or uri.startswith(("eca:", "agenthost:")):
            raise RemoteError(f"{uri} is taken.", AhpErrorCode.ALREADY_EXISTS)
        claim = params.claim.as_json_object()
        if claim.get("clientId", client) != client:
            raise RemoteError("A client can claim a terminal for itself or for a session.", AhpErrorCode.INVALID_PARAMS)
        if reason := self._refuse_claim(params.claim):
            raise RemoteError(reason, AhpErrorCode.SESSION_NOT_FOUND)
        folder = self._resolve_folder(params.cwd)
        cols, rows = params.cols or 80, params.rows or 24
        state: Json = {"title": params.name or "Terminal", "claim": claim, "content": [], "cwd": folder.as_uri()}
        hub.add_terminal(uri, {**state, "cols": cols, "rows": rows})
        on_output = partial(self._handle_output, uri, OutputParser())
        try:
            self._open[uri] = self._shells.open(
                folder, cols, rows, on_output, lambda code: self._handle_exit(uri, code)
            )
        except LocalError as error:
            hub.remove(uri)
            raise RemoteError(str(error), AhpErrorCode.INTERNAL) from error
        self._publish_list()

    def _refuse_claim(self, claim: TerminalClaim) -> str | None:
        """Return why a terminal cannot get this owner; None if it can."""
        if isinstance(claim, SessionClaim) and not self._front.has_session(claim.session):
            return f"There is no session {claim.session}."
        return None

    def _resolve_folder(self, uri: str | None) -> Path:
        """Return the folder in which a shell starts. Raises: RemoteError when the URI does not name a folder."""
        files = self._front.host.workspace.files
        if uri is None:
            return files.roots[0]
        path = parse_file_uri(uri)
        if path is None or not path.is_dir():
            raise RemoteError(f"{uri} is not a folder.", AhpErrorCode.NOT_FOUND)
        return path

    async def dispose(self, uri: str) -> None:
        """End a terminal and its shell. Raises: RemoteError."""
        shell = self._open.pop(uri, None)
        if shell is None:
            raise RemoteError(f"There is no terminal {uri}.", AhpErrorCode.NOT_FOUND)
        self._front.hub.remove(uri)
        self._publish_list()
        await shell.end()

    async def dispose_of_session(self, session: str) -> None:
        """End the terminals that belong to a session. Called before the session is removed."""
        for uri in list(self._open):
            if self._front.hub.get_state(uri)["claim"].get("session") == session:
                await self.dispose(uri)

    async def close(self) -> None:
        """End all shells, because the server ends."""
        for uri in list(self._open):
            await self._open.pop(uri).end()

    def handle(self, raw: Json, action: actions.TerminalAction, origin: ActionOrigin) -> None:
        """Apply an action of a client, or refuse it. `raw` is the same action as JSON."""
        hub, uri = self._front.hub, action.terminal
        reason = refuse_terminal_action(hub.get_state(uri), action, origin.client)
        if reason is None and isinstance(action, actions.TerminalClaimed):
            reason = self._refuse_claim(action.claim)
        if reason:
            hub.refuse(uri, raw, origin, reason)
            return
        hub.apply(uri, raw, now(), origin)
        match action:
            case actions.TerminalInput(data=data):
                self._open[uri].write(data)
            case actions.TerminalResized(cols=cols, rows=rows):
                self._open[uri].resize(cols, rows)
            case actions.TerminalClaimed() | actions.TerminalTitleChanged():
                self._publish_list()
            case _:
                pass

    def _handle_output(self, uri: str, parser: OutputParser, data: str) -> None:
        """Dispatch actions for a piece of a shell's output."""
        for piece in parser.feed(data):
            if not self._front.hub.has(uri):
                return
            match piece:
                case TerminalText(text):
                    self._append_output(uri, text)
                case PromptStarted():
                    if not self._front.hub.get_state(uri).get("supportsCommandDetection"):
                        self._dispatch(actions.CommandDetectionAvailable(terminal=uri))
                case CommandStarted(line):
                    self._dispatch(
                        actions.TerminalCommandExecuted(
                            terminal=uri, command_id=uuid.uuid4().hex, command_line=line, timestamp=now()
                        )
                    )
                case CommandFinished(code):
                    self._finish_command(uri, code)
                case FolderChanged(folder) if Path(folder).is_absolute():
                    cwd = Path(folder).as_uri()
                    if cwd != self._front.hub.get_state(uri).get("cwd"):
                        self._dispatch(actions.TerminalCwdChanged(terminal=uri, cwd=cwd))
                case _:
                    pass

    def _append_output(self, uri: str, text: str) -> None:
        """Append output to a terminal. If there is too much output, drop the older half."""
        self._dispatch(actions.TerminalData(terminal=uri, data=text))
        content = get_list(self._front.hub.get_state(uri), "content")
        output = "".join(str(part.get("value", part.get("output", ""))) for part in content)
        if len(output) > MAX_OUTPUT_CHARACTERS:
            self._dispatch(actions.TerminalCleared(terminal=uri))
            self._dispatch(actions.TerminalData(terminal=uri, data=output[-MAX_OUTPUT_CHARACTERS // 2 :]))

    def _finish_command(self, uri: str, code: int | None) -> None:
        """Dispatch that a command has ended. A shell also reports an end at its first prompt and after an empty line,
        where no command has run; these reports are ignored."""
        last = (get_list(self._front.hub.get_state(uri), "content") or [{}])[-1]
        if last.get("type") == "command" and not last["isComplete"]:
            duration = now() - last["timestamp"]
            self._dispatch(
                actions.TerminalCommandFinished(
                    terminal=uri, command_id=last["commandId"], exit_code=code, duration_ms=duration
                )
            )

    def _dispatch(self, action: actions.TerminalScoped) -> None:
        """Apply an action of the server to the terminal that it names, and send it to the subscribers."""
        self._front.hub.dispatch(action.terminal, action, now())

    def _handle_exit(self, uri: str, code: int | None) -> None:
        """Dispatch that the shell of a terminal has ended."""
        if self._front.hub.has(uri):
            self._dispatch(actions.TerminalExited(terminal=uri, exit_code=code))
            self._publish_list()

    def _publish_list(self) -> None:
        """Update the list of terminals in the root."""
        hub = self._front.hub
        infos = [
            omit_none(resource=uri, **{name: hub.get_state(uri).get(name) for name in ("title", "claim", "exitCode")})
            for uri in self._open
        ]
        hub.dispatch(ROOT, actions.TerminalsChanged(terminals=infos), now())
