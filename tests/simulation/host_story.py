"""Owns `HostStory`: a real host with its store, over some starts, and random clients at all of its doors, from a seed.

A client of ECA (with a kernel), one of the Agent Host Protocol, one of the Agent Client Protocol and one of MCP speak
in three chats at once: they ask, decide, stop, leave and come back. Programs ask over REST in chats of their own. The
user edits a file that the model edits, a kernel dies in the middle of a run, the disk is slow or refuses to store for a
while, chats that are not used leave memory, and the host is ended and started again. A seed gives the same happenings
in the same order; how far the host gets between two of them is up to its threads, so a seed that fails may need several
runs.

    python -m tests.simulation host SEED

Everything that is said of a chat has the mark of that chat, which a reader of another chat would notice. `_check_end`
has the other rules.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sqlite3
import time
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.server.silent_subscriber import SilentSubscriber
from jupyter_eca.config import Config
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp.front import AhpFront
from jupyter_eca.fronts.rest.front import PREFIX
from jupyter_eca.host.chat.registry import MAX_IDLE
from jupyter_eca.host.host import Host
from jupyter_eca.host.store import schema, store
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.protocol import chat as chat_protocol
from jupyter_eca.protocol.chats import ChatOpenParams, ChatOpenResult
from jupyter_eca.protocol.content import (
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
)
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.ports import Files, Workspace
from tests.engine.well_formed import assert_well_formed
from tests.fronts.ahp.place import Place, Refused, calls_of, without_clock
from tests.simulation.clients import REST_CHATS, AcpStoryClient, McpStoryClient, RestStoryClient, find_asked
from tests.support.host_and_client import PATIENCE, Notebook, settings
from tests.support.locked_store import locking

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import AsyncGenerator, Iterable
    from pathlib import Path

    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.plugins.providers.scripted import ReplyPart
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.transport.eca_client import EcaClient
    from tests.fronts.ahp.place import Client

CHATS: Final = ("ada", "bob", "cem")
# What a message makes the model do. The mark of the message comes back in everything that follows from it.
RULES: Final[list[dict[str, Any]]] = [
    {"result": r"(?P<mark>mark-\w+-\d+)", "reply": [{"text": "It said: $mark"}]},
    {"result": "", "reply": [{"text": "So it is."}]},
    {
        "message": r"run (?P<mark>\S+)",
        "reply": [{"text": "I run $mark. "}, {"tool": "run_code", "arguments": {"code": "'$mark'"}}],
    },
    {
        "message": r"write (?P<mark>\S+)",
        "reply": [{"tool": "write_file", "arguments": {"path": "$mark.txt", "content": "$mark"}}],
    },
    {
        "message": r"edit (?P<mark>\S+)",
        "reply": [
            {
                "tool": "edit_file",
                "arguments": {"path": "shared.txt", "original_content": "top\n", "new_content": "top\nmodel\n"},
            }
        ],
    },
    {
        "message": r"both (?P<mark>\S+)",
        "reply": [
            {"tool": "run_code", "arguments": {"code": "'1 $mark'"}},
            {"tool": "run_code", "arguments": {"code": "'2 $mark'"}},
        ],
    },
    {"message": r"slow (?P<mark>\S+)", "reply": [{"text": "$mark, " * 40, "chunk": 7, "delay": 0.001}]},
    {"message": r"fail (?P<mark>\S+)", "reply": [{"text": "$mark and "}, {"error": "The endpoint broke off."}]},
    {"message": r"(?P<mark>mark-\S+)", "reply": [{"reasoning": "$mark?"}, {"text": "Hello, $mark", "chunk": 3}]},
]
KINDS: Final = ("run", "run", "write", "edit", "both", "slow", "slow", "fail", "talk")
_MARK: Final = re.compile(r"mark-([a-z]+)-\d+")
# What a write takes on a slow disk, in seconds.
SLOW_SECONDS: Final = 0.01


def find_owners(text: str) -> set[str]:
    """The chats whose marks are in a text."""
    return set(_MARK.findall(text))


def get_owner(chat: str) -> str:
    """The name of a chat in the marks: the ids of chats over REST have a prefix."""
    return chat.removeprefix(PREFIX)


class SlowKernel(Notebook):
    """A kernel that runs code until the story lets it end."""

    async def execute(self, code: str) -> Any:
        self.hold = asyncio.Event()
        return await super().execute(code)

    def finish(self) -> None:
        """End what runs now."""
        if self.hold is not None:
            self.hold.set()


class EventRecord(SilentSubscriber):
    """All events that the clients of one host are shown."""

    def __init__(self, story: HostStory) -> None:
        self._story = story

    def show(self, events: list[Event]) -> None:
        for event in events:
            self._story.note_shown(event)

    def tell(self, notice: Notice) -> None: ...

    def reload_chat(self, reload: ChatReload) -> None: ...


class HostStory:
    """What happens to a host and its clients, over some starts of it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.trace: list[str] = []
        """What has happened, a line each, for whoever replays the seed."""
        self.shown: list[Event] = []
        self.problems: list[str] = []
        """Broken rules that were noticed in a task of the product, where an exception would not end the story."""
        self._approved: set[str] = set()
        # Chats leave memory while others are used; in a third of the stories all of them stay.
        self._max_idle = (1, 2, MAX_IDLE)[seed % 3]
        self._kernel = SlowKernel()
        self._edits: list[str] = []
        self._marks = 0
        self._joined = 0
        self._disk = ExitStack()
        self._is_locked = False
        self.is_slow = False
        """Whether each write to the disk takes long."""
        # The calls that wait in the client of ECA, by id: their chat.
        self._questions: dict[str, str] = {}

    # -- the whole of it

    async def run(self, starts: int = 2, steps: int = 35) -> None:
        """Raises: AssertionError when a rule is broken."""
        (self.folder / "shared.txt").write_text("top\n")
        with _short_waits(), _spied(self), _slow_disk(self):
            for _ in range(starts):
                async with self._life() as at:
                    for _ in range(steps):
                        await self._step(at)
                    self._unlock()
                    self.is_slow = False
            async with self._life() as at:
                await self._check_end(at)
        assert not self.problems, self.problems[0]

    @asynccontextmanager
    async def _life(self) -> AsyncGenerator[Place]:
        """A host from its start to its end, with both clients."""
        config = Config.model_validate(settings(self.folder, RULES, toolCall={"approval": {"byDefault": "ask"}}))
        host = Host(config, Workspace(Files((self.folder,))), self.folder / ".data" / "chats.db")
        host.chats.max_idle = self._max_idle
        front = AhpFront(host, None)
        async with asyncio.timeout(PATIENCE * 3), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(host.run())
            await host.ready.wait()
            host.connect(EventRecord(self))
            self.trace.append("a host has started")
            try:
                async with front.run():
                    at = Place(host, tasks, self.folder, front=front)
                    try:
                        await self._join_editor(at)
                        await self._join_agent_client(at)
                        await self._join_programs(at)
                        yield at
                        self._kernel.finish()
                        for program in (self.acp, self.mcp, self.rest):
                            await program.leave()
                    finally:
                        await at.close()
            finally:
                host.close()
                await running

    async def _join_editor(self, at: Place) -> None:
        """The client of ECA comes, and looks at all chats."""
        self.editor: EcaClient = await at.client(self._kernel)
        self._questions.clear()
        for chat in CHATS:
            self.editor.listen(chat, lambda received, chat=chat: self._read_editor(chat, received))
            with suppress(RemoteError):
                await self.editor.request("chat/open", ChatOpenParams(chat_id=chat), ChatOpenResult)

    async def _join_agent_client(self, at: Place) -> None:
        """The client of the Agent Host Protocol comes, and looks at all chats."""
        self._joined += 1
        self.agent_client: Client = await at.connect(f"client-{self._joined}")
        for chat in CHATS:
            try:
                await self.agent_client.subscribe(f"eca:/{chat}")
            except Refused:  # it does not exist yet
                await self.agent_client.create(f"eca:/{chat}")

    async def _join_programs(self, at: Place) -> None:
        """The clients of the other protocols come."""
        self.acp = AcpStoryClient(at.host, self.folder, at.tasks, self.check_shown)
        await self.acp.join(CHATS)
        self.mcp = McpStoryClient(at.host, at.tasks, self.check_shown)
        self.rest = RestStoryClient(at.host, at.tasks, self.check_shown)

    async def _step(self, at: Place) -> None:
        """Let one thing happen, and then the host do something."""
        kind = self.random.choices(list(_HAPPENINGS), list(_HAPPENINGS.values()))[0]
        self.trace.append(kind)
        await getattr(self, kind)(at)
        for _ in range(self.random.choice((0, 1, 3, 10, 30))):
            # The threads of the host get their turn, too.
            await asyncio.to_thread(time.sleep, 0)
            await asyncio.sleep(0)
        assert not self.problems, self.problems[0]

    # -- what both clients do

    def _make_message(self, chat: str) -> str:
        self._marks += 1
        return f"{self.random.choice(KINDS)} mark-{chat}-{self._marks}"

    async def ask_in_editor(self, at: Place) -> None:
        chat = self.random.choice(CHATS)
        params = chat_protocol.ChatPromptParams(chat_id=chat, message=self._make_message(chat))
        self.trace.append(f"  {params.message}")

        async def ask(editor: EcaClient) -> None:
            with suppress(RemoteError):  # a turn runs, nothing can be stored, or the host has ended
                await editor.request("chat/prompt", params, chat_protocol.ChatPromptResult)

        at.tasks.create_task(ask(self.editor))

    async def ask_in_agent_client(self, at: Place) -> None:  # noqa: ARG002
        chat = self.random.choice(CHATS)
        await self.agent_client.ask(f"eca:/{chat}", f"t{self._marks}", self._make_message(chat))

    async def decide_in_editor(self, at: Place) -> None:  # noqa: ARG002
        if self._questions:
            id = self.random.choice(sorted(self._questions))
            decision = CallDecision(self.random.random() < 0.7, session=False, reason="no")
            self._note_decision(id, approved=decision.approved)
            await self.editor.decide(self._questions[id], id, decision)

    async def decide_in_agent_client(self, at: Place) -> None:  # noqa: ARG002
        waiting = [
            (uri, turn["id"], call)
            for uri, state in sorted(self.agent_client.states.items())
            for turn in [state.get("activeTurn")]
            if turn
            for call in calls_of(turn)
            if call["status"] == "pending-confirmation"
        ]
        if waiting:
            uri, turn, call = self.random.choice(waiting)
            approved = self.random.random() < 0.7
            self._note_decision(call["toolCallId"], approved=approved)
            how = {"confirmed": "user-action"} if approved else {"reason": "denied"}
            await self.agent_client.decide(uri, turn, call, approved=approved, **how)

    def _note_decision(self, id: str, *, approved: bool) -> None:
        self.trace.append(f"  {'approve' if approved else 'reject'} {id}")
        if approved:
            self._approved.add(id)

    async def stop_in_editor(self, at: Place) -> None:  # noqa: ARG002
        await self.editor.stop(self.random.choice(CHATS))

    async def stop_in_agent_client(self, at: Place) -> None:  # noqa: ARG002
        chat = self.random.choice(CHATS)
        if turn := self.agent_client.states[f"eca:/{chat}"].get("activeTurn"):
            await self.agent_client.act("session/turnCancelled", f"eca:/{chat}", turnId=turn["id"])

    async def ask_over_acp(self, at: Place) -> None:  # noqa: ARG002
        chat = self.random.choice(CHATS)
        await self.acp.ask(chat, self._make_message(chat))

    async def ask_over_mcp(self, at: Place) -> None:  # noqa: ARG002
        chat = self.random.choice(CHATS)
        await self.mcp.ask(chat, self._make_message(chat))

    async def ask_over_rest(self, at: Place) -> None:  # noqa: ARG002
        chat = self.random.choice(REST_CHATS)
        await self.rest.ask(chat, self._make_message(chat))

    async def decide_over_acp(self, at: Place) -> None:  # noqa: ARG002
        if self.acp.questions:
            id = self.random.choice(sorted(self.acp.questions))
            approved = self.random.random() < 0.7
            self._note_decision(id, approved=approved)
            await self.acp.decide(id, approved=approved)

    async def decide_over_mcp(self, at: Place) -> None:
        waiting = [(message, answer) for message, answer in self.mcp.questions if not answer.done()]
        if waiting:
            message, answer = self.random.choice(waiting)
            approved = self.random.random() < 0.7
            lives = [live for chat in CHATS if (live := at.host.chats.get_live(chat))]
            calls = [call for live in lives for call in live.state.calls if call.status is ToolCallStatus.WAITING]
            for id in find_asked(message, [(call.id, call.arguments) for call in calls]):
                self._note_decision(id, approved=approved)
            answer.set_result(approved)

    async def stop_over_acp(self, at: Place) -> None:  # noqa: ARG002
        await self.acp.stop(self.random.choice(CHATS))

    async def hang_up_rest(self, at: Place) -> None:  # noqa: ARG002
        await self.rest.hang_up()

    async def leave_acp(self, at: Place) -> None:
        await self.acp.leave()
        self.acp = AcpStoryClient(at.host, self.folder, at.tasks, self.check_shown)
        await self.acp.join(CHATS)

    async def leave_mcp(self, at: Place) -> None:
        await self.mcp.leave()
        self.mcp = McpStoryClient(at.host, at.tasks, self.check_shown)

    async def leave_editor(self, at: Place) -> None:
        await self.editor.close()
        await self._join_editor(at)

    async def leave_agent_client(self, at: Place) -> None:
        await self.agent_client.close()
        await self._join_agent_client(at)

    # -- what happens around them

    async def finish_run(self, at: Place) -> None:  # noqa: ARG002
        self._kernel.finish()

    async def kill_kernel(self, at: Place) -> None:
        """The kernel is gone with its client, in the middle of what it runs; a new one comes."""
        await self.editor.close()
        old, self._kernel = self._kernel, SlowKernel(self._kernel.ran)
        await self._join_editor(at)
        old.finish()

    async def edit_file(self, at: Place) -> None:
        """The user adds a line to the file that the model edits, while no call may write to it."""
        lives = [at.host.chats.get_live(chat) for chat in CHATS]
        if any(call.id in self._approved and not call.has_ended for live in lives if live for call in live.state.calls):
            return
        self._edits.append(f"line {len(self._edits)}")
        with (self.folder / "shared.txt").open("a") as file:
            file.write(f"{self._edits[-1]}\n")

    async def break_disk(self, at: Place) -> None:  # noqa: ARG002
        """Another program holds the database, or leaves it."""
        if self._is_locked:
            self._unlock()
        else:
            try:
                self._disk.enter_context(locking(self.folder / ".data" / "chats.db"))
            except sqlite3.OperationalError:  # the host itself writes just now
                return
            self._is_locked = True

    async def slow_disk(self, at: Place) -> None:  # noqa: ARG002
        """The disk is slow from now on, or quick again."""
        self.is_slow = not self.is_slow

    def _unlock(self) -> None:
        self._disk.close()
        self._is_locked = False

    # -- what is seen

    def note_shown(self, event: Event) -> None:
        """Check an event that the clients are shown."""
        self.shown.append(event)
        if find_owners(event.content.model_dump_json()) - {get_owner(event.chat)}:
            self.problems.append(f"of another chat: {event}")
        if isinstance(event.content, ToolCallRunningContent) and event.content.id not in self._approved:
            self.problems.append(f"runs without approval: {event}")

    def check_shown(self, chat: str, shown: object) -> None:
        """Check what a client of another protocol was shown of a chat."""
        if find_owners(str(shown)) - {chat}:
            self.problems.append(f"{chat} is shown what belongs to another chat: {shown}")

    def note_request(self, request: ModelRequest) -> None:
        """Check a request to the model."""
        try:
            assert_well_formed(request.messages)
        except AssertionError as error:
            self.problems.append(f"a request that no vendor takes: {error}")
        if len(find_owners(str(request.messages))) > 1:
            self.problems.append(f"of another chat in a request: {request.messages}")

    def _read_editor(self, chat: str, received: Any) -> None:
        content = received.content
        if find_owners(content.model_dump_json()) - {chat}:
            self.problems.append(f"{chat} is shown what belongs to another chat: {content}")
        if isinstance(content, ToolCallRunContent) and content.manual_approval:
            self._questions[content.id] = chat
        elif isinstance(content, ToolCallRunningContent | ToolCalledContent | ToolCallRejectedContent):
            self._questions.pop(content.id, None)

    # -- the end

    async def _check_end(self, at: Place) -> None:
        """Every turn has ended; what was shown is stored, in all clients the same; and each call ran once at most."""
        assert len(self._kernel.ran) == len(set(self._kernel.ran)), "code ran twice"
        lines = (self.folder / "shared.txt").read_text().splitlines()
        assert [line for line in lines if line.startswith("line")] == self._edits, "what the user typed is lost"
        for chat in CHATS:
            stored = await self._read_stored(at, chat)
            self._check_stored(chat, stored)
            state = self.agent_client.states[f"eca:/{chat}"]
            assert "activeTurn" not in state, f"{chat} is stuck"
            await at.wait_until_same(self.agent_client, f"eca:/{chat}")
            assert find_owners(json.dumps(without_clock(state))) <= {chat}
        for chat in {event.chat for event in self.shown} - {*CHATS}:
            self._check_stored(chat, await self._read_stored(at, chat))

    async def _read_stored(self, at: Place, chat: str) -> list[Event]:
        # A turn that began while the host ended is closed when its chat is loaded again.
        await at.host.chats.load(chat)
        return await at.host.store.do(lambda tables: tables.read_events(chat, 0))

    def _check_stored(self, chat: str, stored: list[Event]) -> None:
        live = [event for event in self.shown if event.chat == chat]
        texts = _join_texts(stored)
        for turn, text in _join_texts(live).items():
            assert texts.get(turn, "").startswith(text), f"shown and not stored in {turn}: {text!r}"
        ends = [event.content.id for event in stored if isinstance(event.content, _ENDS)]
        assert len(ends) == len(set(ends)), "a call ended twice"
        assert {event.content.id for event in live if isinstance(event.content, _ENDS)} <= set(ends)
        ran = {event.content.id for event in stored if isinstance(event.content, ToolCallRunningContent)}
        assert ran <= self._approved
        begun = {event.turn for event in stored if event.turn}
        ended = {event.turn for event in stored if event.outcome is not None}
        assert begun == ended, f"without an end: {begun - ended}"


_ENDS: Final = (ToolCalledContent, ToolCallRejectedContent)


def _join_texts(events: Iterable[Event]) -> dict[str, str]:
    """What the model has said, by turn."""
    texts: dict[str, str] = {}
    for event in events:
        if isinstance(event.content, TextContent) and event.role == "assistant":
            texts[event.turn] = texts.get(event.turn, "") + event.content.text
    return texts


class _spied(ExitStack):  # used as a function
    """Show each request to the scripted model to a story."""

    def __init__(self, story: HostStory) -> None:
        super().__init__()
        answer = Script.answer

        def spy(self: Script, request: ModelRequest, answer_counts: Counter[int]) -> tuple[ReplyPart, ...]:
            story.note_request(request)
            return answer(self, request, answer_counts)

        Script.answer = spy
        self.callback(lambda: setattr(Script, "answer", answer))


class _slow_disk(ExitStack):  # used as a function
    """Each write takes long while the story says so."""

    def __init__(self, story: HostStory) -> None:
        super().__init__()
        write = Tables.write

        def write_slowly(self: Tables, *arguments: Any, **options: Any) -> Any:
            time.sleep(SLOW_SECONDS * story.is_slow)
            return write(self, *arguments, **options)

        Tables.write = write_slowly
        self.callback(lambda: setattr(Tables, "write", write))


class _short_waits(ExitStack):  # used as a function
    """The product waits for seconds, in which another program would end."""

    def __init__(self) -> None:
        super().__init__()
        for module, name, seconds in ((schema, "BUSY_SECONDS", 0.01), (store, "FIRST_RETRY_SECONDS", 0.02)):
            self.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, seconds)


# What can happen next, and how often.
_HAPPENINGS: Final = {
    "ask_in_editor": 8,
    "ask_in_agent_client": 5,
    "decide_in_editor": 6,
    "decide_in_agent_client": 6,
    "stop_in_editor": 1,
    "stop_in_agent_client": 1,
    "leave_editor": 1,
    "leave_agent_client": 1,
    "finish_run": 6,
    "kill_kernel": 1,
    "edit_file": 2,
    "break_disk": 3,
    "slow_disk": 1,
    "ask_over_acp": 4,
    "ask_over_mcp": 3,
    "ask_over_rest": 3,
    "decide_over_acp": 5,
    "decide_over_mcp": 4,
    "stop_over_acp": 1,
    "hang_up_rest": 1,
    "leave_acp": 1,
    "leave_mcp": 1,
}
