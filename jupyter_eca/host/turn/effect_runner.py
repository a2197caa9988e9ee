"""Runs the engine's effects for one host: gathers, calls models, runs tools. Each ends in an input for the engine."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from jupyter_eca import redaction
from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat import recording as recorded
from jupyter_eca.engine.effects import (
    AskUser,
    CallModel,
    CancelGathering,
    CancelModel,
    CancelTool,
    CancelWait,
    Gather,
    RunTool,
    Wait,
)
from jupyter_eca.engine.model.delta import Remark
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.tool_call import AS_IT_IS, parsed
from jupyter_eca.errors import (
    BusyError,
    EcaError,
    FailureKind,
    LocalError,
    OverBudget,
    ProviderError,
    ToolError,
    UnknownChat,
)
from jupyter_eca.host import commands
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.checkpoints.checkpoints import Keeper
from jupyter_eca.host.costs import ledger
from jupyter_eca.host.hooks import turn_hooks
from jupyter_eca.host.tools.progress import Reporter
from jupyter_eca.host.turn import locked_answers, path_rules, tool_context
from jupyter_eca.host.turn import setup as setups
from jupyter_eca.instructions import notebook_metadata
from jupyter_eca.plugins.contexts.mcp_resource import changed
from jupyter_eca.plugins.contexts.resolve import given, materials, mentioned
from jupyter_eca.plugins.tools.base import ToolResult, capped
from jupyter_eca.protocol.content import RejectReason
from jupyter_eca.protocol.context import CursorContext
from jupyter_eca.workspace.shielded import whole

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Mapping

    from jupyter_eca.engine.approval.policy import Adjusted
    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.content import ToolCallDetails
    from jupyter_eca.protocol.context import ChatContext

_log = logging.getLogger(__name__)

# Seconds that telling what a call would do may hold up asking about it: it reads a file or two.
PREVIEW_SECONDS = 2.0

# Waits that are drawn apart need no secret, but this source needs no seed either.
_chance = random.SystemRandom()


class Work:
    def __init__(self, host: Host, tasks: asyncio.TaskGroup) -> None:
        self._host = host
        self._tasks = tasks

    def run(self, chat: LiveChat, effect: Effect) -> None:
        match effect:
            case Gather():
                self._start(chat, "gather", self._gather(chat))
            case CallModel():
                self._start(chat, f"model {effect.number}", self._call_model(chat, effect))
            case Wait(number=number):
                self._start(chat, f"wait {number}", self._wait(chat, effect))
            case CancelWait(number=number):
                self._cancel(chat, f"wait {number}")
            case RunTool(call=call):
                self._start(chat, f"tool {call}", self._run_tool(chat, effect))
            case CancelGathering():
                self._cancel(chat, "gather")
            case CancelModel(number=number):
                self._cancel(chat, f"model {number}")
            case CancelTool(call=call):
                self._cancel(chat, f"tool {call}")
            case AskUser(call=call):
                if not (chat.bounds.asks and self._host.audiences.attended(chat.state.id)):
                    self._host.feed(chat, inputs.Rejected(now(), call, RejectReason.NOBODY))
            case _:
                assert_never(effect)

    def deny_unattended(self, chat: LiveChat, grace: float) -> None:
        """Anew each time somebody goes."""
        self._cancel(chat, "deny")
        self._start(chat, "deny", self._deny(chat, grace))

    async def ended(self, chats: Iterable[LiveChat]) -> None:
        """Returns when everything of these chats has ended that was told to."""
        for chat in chats:
            self._cancel(chat, "deny")
            self._cancel(chat, "follow up")
            await asyncio.gather(*tuple(chat.tasks.values()), return_exceptions=True)

    def note(self, id: str, noted: inputs.Noted) -> None:
        """Also in a chat that is not loaded just now."""
        if live := self._host.live(id):
            self._host.feed(live, noted)
        else:
            self._tasks.create_task(self._note(id, noted), name=f"{id} note")

    async def _note(self, id: str, noted: inputs.Noted) -> None:
        try:
            self._host.feed(await self._host.load(id, must_exist=True), noted)
        except (UnknownChat, BusyError) as error:
            _log.info("nobody is told in %s that %s: %s", id, noted.text, error)

    async def _deny(self, chat: LiveChat, grace: float) -> None:
        turn = chat.state.turn
        await asyncio.sleep(grace)
        if chat.state.turn == turn and not self._host.audiences.attended(chat.state.id):
            for call in chat.state.calls:
                self._host.feed(chat, inputs.Rejected(now(), call.id, RejectReason.NOBODY), late=True)

    def _start(self, chat: LiveChat, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = chat.tasks[name] = self._tasks.create_task(work, name=f"{chat.state.id} {name}")
        task.add_done_callback(lambda done: chat.tasks.pop(name) if chat.tasks.get(name) is done else None)

    def _cancel(self, chat: LiveChat, name: str) -> None:
        if task := chat.tasks.get(name):
            task.cancel()

    # -- what was pointed at

    async def _gather(self, chat: LiveChat) -> None:
        try:
            await self._prepare(chat)
        except ToolError as error:
            self._host.feed(chat, inputs.Answered(now(), str(error), failed=True), late=True)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must end
            _log.exception("the prompt of %s could not be prepared", chat.state.id)
            message = redaction.hide(f"The prompt could not be prepared: {error!r}. The log has the details.")
            self._host.feed(chat, inputs.Answered(now(), message, failed=True), late=True)

    async def _prepare(self, chat: LiveChat) -> None:
        prompt = chat.prompt
        if prompt is None:
            raise LocalError("there is nothing to gather for")
        chat.notebook = await self._host.ledger.place(chat)
        if chat.parent:
            # A model wrote it: no command in it is carried out, and nothing that it points at is read for it.
            self._host.feed(chat, inputs.Gathered(now()), late=True)
            return
        sees = prompt.asker.sees if prompt.asker else None
        came_of_it = None
        if not prompt.follow_up and not prompt.means:
            came_of_it = await commands.run(self._host, prompt.chat, prompt.message, chat.kernel, sees)
        if isinstance(came_of_it, commands.Answer):
            failed = not chat.state.local
            self._host.feed(chat, inputs.Answered(now(), came_of_it.text, failed), late=True)
            if came_of_it.opens and prompt.asker:
                prompt.asker.resume(came_of_it.opens)
            return
        if isinstance(came_of_it, commands.Compaction):
            self._host.feed(chat, inputs.Compacted(now(), came_of_it.focus), late=True)
            return
        meant = came_of_it.message if came_of_it else prompt.means
        there = tool_context.contexts(self._host, prompt.chat, chat.kernel)
        pointed_at = [*prompt.contexts, *await mentioned(there, meant or prompt.message)]
        changes = await changed(there, pointed_at)
        found = [*await materials(there, fresh(chat, pointed_at)), *changes]
        text, images, documents = given(found, meant)
        text += await notebook_metadata.told(
            there.notebooks, chat.kernel, chat.state.history, self._host.audiences.warn
        )
        locking = chat.locking = await locked_answers.begin(self._host, chat, meant, found, now())
        again = await locked_answers.setup(self._host, chat, chat.replay) if chat.replay else None
        note = locking.note if locking else ""
        before = await turn_hooks.before_request(self._host, chat, command=bool(meant))
        if before is not None:
            text, setup = text + before.context, again or before.setup
            gathered = inputs.Gathered(now(), text, images, note, setup, before.reworded, documents)
            self._host.feed(chat, gathered, late=True)

    # -- models

    async def _call_model(self, chat: LiveChat, effect: CallModel) -> None:
        number = effect.number
        if chat.replay is not None:
            await self._replay(chat, number, chat.replay)
            return
        if not await turn_hooks.before_compaction(self._host, chat, number):
            return
        settings = ProviderConfig()
        chat.paid = chat.state.turn
        try:
            await self._host.catalog.refresh()
            chosen = self._host.catalog.choose(effect.request.model, effect.request.variant)
            settings, to = chosen.settings, ledger.bill(chat, effect.request.model)
            async with aclosing(self._host.ledger.stream(to, chosen, effect.request)) as deltas:
                async for delta in deltas:
                    self._host.feed(chat, inputs.Streamed(now(), number, delta))
        except ProviderError as error:
            images, overflow = error.kind is FailureKind.IMAGE, error.kind is FailureKind.CONTEXT
            told = redaction.hide(str(error))
            message = chat.locking.unanswered(told) if chat.locking and not chat.said else told
            final = isinstance(error, OverBudget)
            again = None if final else failure(error, settings)
            failed = inputs.ModelFailed(now(), number, message, images, overflow, again, final)
            self._host.feed(chat, failed)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must end
            _log.exception("the provider of %s failed", effect.request.model)
            told = f"The provider of {effect.request.model} failed inside: {error!r}. The log has the details."
            self._host.feed(chat, inputs.ModelFailed(now(), number, redaction.hide(told)))
        else:
            await self._replied(chat, number)

    async def _replied(self, chat: LiveChat, number: int) -> None:
        """The model has said what it had to say."""
        if chat.state.summing is not None:
            stops = await turn_hooks.after_compaction(self._host, chat, number)
            self._host.feed(chat, inputs.ModelFinished(now(), number))
            if stops:
                self._host.feed(chat, inputs.Stopped(now()), late=True)
            return
        adjusted = await turn_hooks.before_calls(self._host, chat)
        if adjusted is None:
            return
        details = await self._previews(chat, adjusted)
        next_prompt = "" if chat.state.calls or chat.state.goes_on else await turn_hooks.after_request(self._host, chat)
        if remark := await locked_answers.keep(self._host, chat):
            self._host.feed(chat, inputs.Streamed(now(), number, Remark(remark)))
        self._host.feed(chat, inputs.ModelFinished(now(), number, details, adjusted))
        if next_prompt:
            self._start(chat, "follow up", self._follow_up(chat, next_prompt))

    async def _follow_up(self, chat: LiveChat, message: str) -> None:
        """A hook asks in the user's name. Who is quicker with a prompt of their own goes first."""
        if (asked := chat.prompt) is None:
            return
        number = asked.follow_up + 1
        prompt = replace(asked, message=message, contexts=(), lock=None, turn="", follow_up=number)
        try:
            await self._host.prompt(prompt, chat.kernel)
        except EcaError as error:
            _log.info("a follow-up of hooks in %s was not begun: %s", chat.state.id, error)

    async def _replay(self, chat: LiveChat, number: int, replay: locked_answers.Replay) -> None:
        """In the place of a model: what it said once."""
        at = chat.state.steps - 1
        replay.check(at - 1)
        if replay.broken:
            self._host.feed(chat, inputs.ModelFailed(now(), number, replay.broken))
            return
        if replay.differs:
            replay.differs = False
            self._host.feed(chat, inputs.Streamed(replay.clock, number, Remark(locked_answers.DIFFERS)))
        ids = replay.ids(at)
        for took, delta in recorded.deltas(replay.turn.replies[at], ids):
            replay.clock += took
            self._host.feed(chat, inputs.Streamed(replay.clock, number, delta))
            await asyncio.sleep(0)  # a long answer must not hold up the other chats
        details = {id: found for id in ids if (found := replay.calls[id].details) is not None}
        await locked_answers.keep(self._host, chat)
        self._host.feed(chat, inputs.ModelFinished(replay.clock, number, details))

    async def _wait(self, chat: LiveChat, effect: Wait) -> None:
        await asyncio.sleep(effect.seconds)
        self._host.feed(chat, inputs.Waited(now(), effect.number), late=True)

    async def _previews(self, chat: LiveChat, adjusted: Mapping[str, Adjusted]) -> Mapping[str, ToolCallDetails]:
        """What the calls of the reply would do, as far as their tools can tell."""
        calls = chat.state.calls
        found = await asyncio.gather(*(self._preview(chat, call, adjusted.get(call.id, AS_IT_IS)) for call in calls))
        return {call.id: details for call, details in zip(calls, found, strict=True) if details is not None}

    async def _preview(self, chat: LiveChat, call: ToolCall, adjusted: Adjusted) -> ToolCallDetails | None:
        tool = self._host.toolbox.get(call.name, chat.state.id)
        arguments = parsed(call.arguments_text) if adjusted.arguments is None else adjusted.arguments
        if tool is None or arguments is None:
            return None
        return await preview(self._host, chat, tool, arguments, call.id)

    # -- tools

    async def _run_tool(self, chat: LiveChat, effect: RunTool) -> None:
        result, taken, stops = ToolResult("", error=True), False, False
        reporter = chat.reporters[effect.call] = Reporter(self._host.audiences.tell, chat.state.id, effect.call)
        try:
            result = await self._result(chat, effect, reporter)
            limits = self._host.config.tool_call.output_truncation
            result = await self._host.outputs.taken(chat.state.id, effect.call, result, limits)
            taken = True
            result, stops = await turn_hooks.after_call(self._host, chat, effect, result)
        finally:
            reporter.end()
            del chat.reporters[effect.call]
            if result.interrupted:
                self._host.stop(chat.parent or chat.state.id)
            # Also when cancelled: the engine waits for the end of every call it started.
            finished = self._finished(chat, effect.call, result if taken else capped(result))
            self._host.feed(chat, replace(finished, stops=stops), late=True)

    async def _result(self, chat: LiveChat, effect: RunTool, reporter: Reporter) -> ToolResult:
        name, replay = effect.tool.name, chat.replay
        own = chat.outside if chat.outside and chat.outside.spec == effect.tool else None
        tool = own or self._host.toolbox.get(name, chat.state.id)
        if replay is not None and not (tool is not None and tool.lives):
            return replay.result(effect.call)
        try:
            if tool is None:
                raise ToolError(f"{name} is gone: its server has left.")
            context = tool_context.tools(self._host, chat.state.id, chat.kernel, effect.call)
            context = replace(context, report=reporter.report, away=reporter.away)
            try:
                await path_rules.check(context, tool, effect.arguments)
                return await tool.run(context, effect.arguments)
            finally:
                if not tool.reads:
                    self._host.index.changed()
                if isinstance(context.keeper, Keeper) and context.keeper.kept:
                    await whole(context.keeper.done())
        except ToolError as error:
            return ToolResult(str(error), error=True)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must go on
            _log.exception("the tool %s failed", name)
            return ToolResult(redaction.hide(f"{name} failed inside: {error!r}"), error=True)

    def _finished(self, chat: LiveChat, call: str, result: ToolResult) -> inputs.ToolFinished:
        at, tools = now(), None
        if chat.replay is None:
            tools = setups.changed_tools(self._host, chat)
        else:
            started = next((one.started for one in chat.state.calls if one.id == call), at)
            at, result = chat.replay.ended(call, result, started)
        return inputs.ToolFinished(
            at,
            call,
            result.text,
            result.error,
            result.details,
            result.images,
            tools,
            result.links,
            result.whole,
            documents=result.documents,
            rule=result.rule,
        )


async def preview(
    host: Host, chat: LiveChat, tool: Tool, arguments: dict[str, Any], call: str
) -> ToolCallDetails | None:
    """What a call would do, as far as its tool can tell in time."""
    if tool.preview is None:
        return None
    try:
        async with asyncio.timeout(PREVIEW_SECONDS):
            return await tool.preview(tool_context.tools(host, chat.state.id, chat.kernel, call), arguments)
    except (ToolError, TimeoutError):
        return None
    except Exception:  # noqa: BLE001  # a plug's: the call itself will say what is wrong
        _log.exception("the preview of %s failed", tool.spec.name)
        return None


def failure(error: ProviderError, settings: ProviderConfig) -> Failure | None:
    """None when the same request would fail in the same way."""
    rule = next((rule for rule in settings.retry_rules if rule.matches(error.status, str(error))), None)
    if rule is None and not error.retryable:
        return None
    return Failure(
        error.kind,
        rule.label if rule else "",
        error.retry_after,
        _chance.random(),
        settings.retry.max_retries,
        settings.rate_limit_max_wait_seconds,
    )


def fresh(chat: LiveChat, contexts: Iterable[ChatContext]) -> list[ChatContext]:
    """A cursor is told only when it has moved: one that came with every prompt would be all that changed in it, and
    cost the model's cache each time (ECA 6.1, class 39)."""
    told = chat.cursor
    kept = [context for context in contexts if not (isinstance(context, CursorContext) and context == told)]
    chat.cursor = next((context for context in reversed(kept) if isinstance(context, CursorContext)), told)
    return kept
