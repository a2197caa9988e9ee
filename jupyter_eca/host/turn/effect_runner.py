"""Runs the engine's effects: gathers what a prompt points at, calls models, runs tools. Each ends in an input.

Must not decide what comes next: the engine does. `host.turn.turns` is for what people do to a turn.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, assert_never

from jupyter_eca import redaction
from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.approval_scope import is_same_tool
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
from jupyter_eca.engine.model.request import Remembers
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.tool_call import AS_IT_IS, parse_arguments
from jupyter_eca.errors import (
    EcaError,
    FailureKind,
    LocalError,
    NotSaved,
    OverBudget,
    ProviderError,
    StaleSourceError,
    ToolError,
    UnknownModel,
)
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.chat.ports import CommandAnswer, Compaction
from jupyter_eca.host.chat.recorded_turn import DIFFERS, NOT_RUN, ReplayedTurn
from jupyter_eca.host.checkpoints.checkpoints import CallKeeper
from jupyter_eca.host.costs import ledger
from jupyter_eca.host.tools.path_resolution import find_call_targets
from jupyter_eca.host.tools.progress import Reporter
from jupyter_eca.host.turn import path_rules
from jupyter_eca.host.turn.open_notebooks import find_renamed_notebook
from jupyter_eca.instructions import notebook_metadata
from jupyter_eca.plugins.contexts.mcp_resource import read_changed
from jupyter_eca.plugins.contexts.resolve import as_model_input, find_mentioned_contexts, materials
from jupyter_eca.protocol.content import RejectReason, RunCellsDetails
from jupyter_eca.protocol.context import CursorContext
from jupyter_eca.workspace.shielded import run_to_end
from jupyter_eca.workspace.tool_result import Report, ToolResult, truncate_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.policy import Adjusted
    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.host.chat.live_chat import LiveChat, TurnUnderWay
    from jupyter_eca.host.chat.ports import CommandRunner, TurnStarter
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.costs.ledger import Ledger
    from jupyter_eca.host.costs.metered import Metered
    from jupyter_eca.host.hooks.turn_hooks import TurnHooks
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.locked_answers import LockedAnswers
    from jupyter_eca.host.turn.setup import Setups
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.plugins.tools.base import Tool, ToolContext
    from jupyter_eca.protocol.content import ToolCallDetails
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.known_versions import KnownVersions

_log = logging.getLogger(__name__)

# Seconds after which a reader is told why a call is not asked about yet: what it would do is still worked out.
PREVIEW_NOTE_SECONDS = 2.0

# Seconds that working this out may take. A page that is busy answers after a while, or never. Nobody is asked to
# approve a change that could not be shown.
PREVIEW_SECONDS = 60.0

_PREPARING = Report("Working out what this would change …")

LINK_CHANGED: Final = "A symbolic link has changed since this call was decided, so that it means other files; not run."

TOOL_REPLACED: Final = "The tool {tool} has changed since this call was decided; not run."

# No key, no money, no right to the model, no such model: a shorter or other message would be refused too.
_ABOUT_SENDER = frozenset({401, 402, 403, 404})

_NO_SUCH_MODEL = 404

# How many models an error names. The list of them all can be long.
_SHOWN_MODELS = 10

# Waits that are drawn apart need no secret, but this source needs no seed either.
_chance = random.SystemRandom()


class EffectRunner:
    """`host.chat.ports.EffectSink`: each effect becomes a task of its chat."""

    def __init__(
        self,
        services: Services,
        chats: Chats,
        tasks: ChatTasks,
        contexts: ToolContexts,
        setups: Setups,
        hooks: TurnHooks,
        ledger: Ledger,
        metered: Metered,
        locked_answers: LockedAnswers,
        commands: CommandRunner,
        turns: TurnStarter,
    ) -> None:
        self._services = services
        self._chats = chats
        self._tasks = tasks
        self._contexts = contexts
        self._setups = setups
        self._hooks = hooks
        self._ledger = ledger
        self._metered = metered
        self._locked_answers = locked_answers
        self._commands = commands
        self._turns = turns

    def run(self, chat: LiveChat, effect: Effect) -> None:
        match effect:
            case Gather():
                self._tasks.start(chat, "gather", self._gather(chat, chat.turn))
            case CallModel():
                self._tasks.start(chat, f"model {effect.number}", self._call_model(chat, chat.turn, effect))
            case Wait(number=number):
                self._tasks.start(chat, f"wait {number}", self._wait(chat, effect))
            case CancelWait(number=number):
                self._tasks.cancel(chat, f"wait {number}")
            case RunTool(call=call):
                self._tasks.start(chat, f"tool {call}", self._run_tool(chat, chat.turn, effect))
            case CancelGathering():
                self._tasks.cancel(chat, "gather")
            case CancelModel(number=number):
                self._tasks.cancel(chat, f"model {number}")
            case CancelTool(call=call):
                self._tasks.cancel(chat, f"tool {call}")
            case AskUser(call=call):
                if not (chat.bounds.asks and self._services.audiences.has_approver(chat.state.id)):
                    # Late: where the call before it was rejected just now, this one is skipped already.
                    self._chats.feed(chat, inputs.Rejected(now(), call, RejectReason.NOBODY), late=True)
            case _:
                assert_never(effect)

    # -- what was pointed at

    async def _gather(self, chat: LiveChat, turn: TurnUnderWay) -> None:
        try:
            await self._prepare(chat, turn)
        except (ToolError, NotSaved) as error:
            self._chats.feed(chat, inputs.CommandEnded(now(), str(error), failed=True), late=True)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must end
            _log.exception("the prompt of %s could not be prepared", chat.state.id)
            message = redaction.redact(f"The prompt could not be prepared: {error!r}. The log has the details.")
            self._chats.feed(chat, inputs.CommandEnded(now(), message, failed=True), late=True)

    async def _prepare(self, chat: LiveChat, turn: TurnUnderWay) -> None:
        prompt = turn.prompt
        if prompt is None:
            raise LocalError("there is nothing to gather for")
        # A turn that cannot be stored does not begin. `Turns.prompt` has looked before, but a large prompt may be what
        # fills the disk.
        await self._services.store.confirm()
        chat.notebook = self._ledger.place(chat)
        if chat.parent:
            # A model wrote it: no command in it is carried out, and nothing that it points at is read for it.
            self._chats.feed(chat, inputs.Gathered(now()), late=True)
            return
        sees = prompt.asker.sees if prompt.asker else None
        came_of_it = None
        if not prompt.follow_up and not prompt.means:
            came_of_it = await self._commands.run(prompt.chat, prompt.message, chat.kernel, sees)
        if isinstance(came_of_it, CommandAnswer):
            failed = not chat.state.local
            self._chats.feed(chat, inputs.CommandEnded(now(), came_of_it.text, failed), late=True)
            if came_of_it.opens and prompt.asker:
                prompt.asker.resume(came_of_it.opens)
            return
        if isinstance(came_of_it, Compaction):
            self._chats.feed(chat, inputs.CompactionRequested(now(), came_of_it.focus), late=True)
            return
        meant = came_of_it.message if came_of_it else prompt.means
        there = self._contexts.build_surroundings(prompt.chat, chat.kernel, turn.notebook, chat.known)
        pointed_at = [*prompt.contexts, *await find_mentioned_contexts(there, meant or prompt.message)]
        changes = await read_changed(there, pointed_at)
        found = [*await materials(there, fresh(chat, pointed_at)), *changes]
        text, images, documents = as_model_input(found, meant)
        text += await notebook_metadata.find_news(
            there.notebooks, turn.notebook, chat.state.history, self._services.audiences.warn
        )
        locking = turn.locking = await self._locked_answers.begin(chat, meant, found, now())
        again = await self._locked_answers.prepare_replay(chat, chat.replay) if chat.replay else None
        note = locking.note if locking else ""
        before = await self._hooks.before_request(chat, command=bool(meant))
        if before is not None:
            text, setup = text + before.context, again or before.setup
            gathered = inputs.Gathered(now(), text, images, note, setup, before.reworded, documents)
            self._chats.feed(chat, gathered, late=True)

    # -- models

    async def _call_model(self, chat: LiveChat, turn: TurnUnderWay, effect: CallModel) -> None:
        number = effect.number
        if chat.replay is not None:
            await self._replay(chat, number, chat.replay)
            return
        if not await self._hooks.before_compaction(chat, number):
            return
        settings = ProviderConfig()
        chat.paid = chat.state.turn
        chat.known.begin_request()
        try:
            await self._services.catalog.refresh()
            chosen = self._services.catalog.choose(effect.request.model, effect.request.variant)
            settings, to = chosen.settings, ledger.bill(chat, effect.request.model)
            async with aclosing(self._metered.stream(to, chosen, effect.request)) as deltas:
                async for delta in deltas:
                    self._chats.feed(chat, inputs.Streamed(now(), number, delta))
        except ProviderError as error:
            images, overflow = error.kind is FailureKind.IMAGE, error.kind is FailureKind.CONTEXT
            told = redaction.redact(str(error))
            if is_about_model(error) and not chat.has_answer:
                told = f"{told} {await self._restore_model(chat, turn)}".strip()
            message = turn.locking.explain_failure(told) if turn.locking and not chat.has_answer else told
            final = isinstance(error, OverBudget)
            again = None if final else failure(error, settings)
            refused = find_refused(error)
            failed = inputs.ModelFailed(
                now(), number, message, images, overflow, refused=refused, failure=again, final=final
            )
            pruned = chat.state.pruned
            self._chats.feed(chat, failed)
            if chat.state.pruned and not pruned:
                chat.known.forget()
            if refused is not None and not chat.busy:
                chat.cursor = None  # the model was not told where the cursor is
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must end
            _log.exception("the provider of %s failed", effect.request.model)
            told = f"The provider of {effect.request.model} failed inside: {error!r}. The log has the details."
            self._chats.feed(chat, inputs.ModelFailed(now(), number, redaction.redact(told)))
        else:
            await self._finish_reply(chat, turn, number)

    async def _restore_model(self, chat: LiveChat, turn: TurnUnderWay) -> str:
        """Have the next turns of the chat run with the model from before the prompt, when there is no model of the
        name that the prompt has. Returns what the user is told."""
        models = await self._services.catalog.models()
        lines = [f"The models there are: {', '.join(models[:_SHOWN_MODELS])}."] if models else []
        # A front may have chosen the model before the prompt: then that choice is no better.
        before = turn.earlier if turn.earlier.model != chat.state.setup.model else chat.answered_with
        if chat.choice.model == chat.state.setup.model != before.model:
            chat.choice = replace(chat.choice, model=before.model, variant=before.variant)
            self._services.store.select(chat.state.id, chat.choice.selection)
            lines.append(f"This chat keeps {before.model or 'the default model'}.")
        return " ".join(lines)

    async def _finish_reply(self, chat: LiveChat, turn: TurnUnderWay, number: int) -> None:
        """The model has said what it had to say."""
        chat.answered_with = chat.choice
        if chat.state.summary_under_way is not None:
            stops = await self._hooks.after_compaction(chat, number)
            self._chats.feed(chat, inputs.ModelFinished(now(), number))
            chat.known.forget()  # the summary stands in the place of the texts that the model was shown
            if stops:
                self._chats.feed(chat, inputs.Stopped(now()), late=True)
            return
        if chat.state.calls:
            turn.notebook = await find_renamed_notebook(
                self._services, chat.state.id, turn.notebook, turn.notebook_kernel
            )
        adjusted = await self._hooks.before_calls(chat)
        if adjusted is None:
            return
        details, adjusted = await self._previews(chat, adjusted)
        targets, adjusted = await self._find_targets(chat, adjusted)
        next_prompt = "" if chat.state.calls or chat.state.resumes_reply else await self._hooks.after_request(chat)
        if remark := await self._locked_answers.save(chat):
            self._chats.feed(chat, inputs.Streamed(now(), number, Remark(remark)))
        self._chats.feed(chat, inputs.ModelFinished(now(), number, details, adjusted, targets))
        if next_prompt:
            self._tasks.start(chat, "follow up", self._follow_up(chat, turn, next_prompt))

    async def _follow_up(self, chat: LiveChat, turn: TurnUnderWay, message: str) -> None:
        """A hook asks in the user's name, when its `turn` has ended. Who is quicker with a prompt of their own goes
        first."""
        if (asked := turn.prompt) is None:
            return
        number = asked.follow_up + 1
        prompt = replace(
            asked, message=message, contexts=(), lock=None, turn="", follow_up=number, notebook=turn.notebook
        )
        try:
            await self._turns.prompt(prompt, turn.kernel)
        except EcaError as error:
            _log.info("a follow-up of hooks in %s was not begun: %s", chat.state.id, error)

    async def _replay(self, chat: LiveChat, number: int, replay: ReplayedTurn) -> None:
        """In the place of a model: what it said once."""
        at = chat.state.steps - 1
        replay.check(at - 1)
        if replay.broken:
            self._chats.feed(chat, inputs.ModelFailed(now(), number, replay.broken))
            return
        if replay.differs:
            replay.differs = False
            self._chats.feed(chat, inputs.Streamed(replay.clock, number, Remark(DIFFERS)))
        ids = replay.ids(at)
        for took, delta in recorded.replay_deltas(replay.turn.replies[at], ids):
            replay.clock += took
            self._chats.feed(chat, inputs.Streamed(replay.clock, number, delta))
            await asyncio.sleep(0)  # a long answer must not hold up the other chats
        details = {id: found for id in ids if (found := replay.calls[id].details) is not None}
        await self._locked_answers.save(chat)
        self._chats.feed(chat, inputs.ModelFinished(replay.clock, number, details))

    async def _wait(self, chat: LiveChat, effect: Wait) -> None:
        await asyncio.sleep(effect.seconds)
        self._chats.feed(chat, inputs.WaitEnded(now(), effect.number), late=True)

    async def _previews(
        self, chat: LiveChat, adjusted: Mapping[str, Adjusted]
    ) -> tuple[Mapping[str, ToolCallDetails], Mapping[str, Adjusted]]:
        """What the calls of the reply would do, as far as their tools can tell, and which of them must fail.

        A call behind a change may work once the change is made. So it is not failed beforehand, and where the change is
        known it is previewed once more, as it will be then.
        """
        calls = chat.state.calls
        before = [adjusted.get(call.id, AS_IT_IS) for call in calls]
        found = await asyncio.gather(*map(partial(self._preview, chat), calls, before))
        previews: dict[str, PreviewOutcome] = {}
        earlier: tuple[ToolCallDetails, ...] = ()
        is_behind_change = False
        for call, one, first in zip(calls, before, found, strict=True):
            again = earlier and (first.problem or isinstance(first.details, RunCellsDetails))
            made = previews[call.id] = await self._preview(chat, call, one, earlier) if again else first
            if made.problem and not is_behind_change:
                previews[call.id] = replace(made, adjusted=replace(made.adjusted, failure=made.problem))
            earlier = earlier if made.details is None else (*earlier, made.details)
            is_behind_change = is_behind_change or not call.reads
        details = {id: preview.details for id, preview in previews.items() if preview.details is not None}
        return details, {id: preview.adjusted for id, preview in previews.items()}

    async def _find_targets(
        self, chat: LiveChat, adjusted: Mapping[str, Adjusted]
    ) -> tuple[Mapping[str, CallTargets], Mapping[str, Adjusted]]:
        """What the calls of the reply name on the disk. A call for which the disk does not answer fails."""
        found: dict[str, CallTargets] = {}
        failed: dict[str, Adjusted] = {}
        for call in chat.state.calls:
            changed = adjusted.get(call.id, AS_IT_IS).arguments
            arguments = parse_arguments(call.arguments_text) if changed is None else changed
            if call.tool is not None and arguments is not None:
                try:
                    found[call.id] = await self._targets_of(chat, call.tool, arguments)
                except ToolError as error:
                    failed[call.id] = replace(adjusted.get(call.id, AS_IT_IS), failure=str(error))
        return found, {**adjusted, **failed}

    async def _targets_of(self, chat: LiveChat, tool: ToolSpec, arguments: Mapping[str, Any]) -> CallTargets:
        services = self._services
        files = self._contexts.find_files(chat.state.id)
        return await find_call_targets(files, services.config, tool, arguments, chat.asked_notebook)

    async def _check_targets(self, chat: LiveChat, effect: RunTool) -> None:
        """Raises: ToolError when the call names something else than when it was decided."""
        then = next((call.targets for call in chat.state.calls if call.id == effect.call), None)
        names_files = then is not None and (then.paths or effect.tool.remembers is Remembers.COMMANDS)
        if names_files and then != await self._targets_of(chat, effect.tool, effect.arguments):
            raise ToolError(LINK_CHANGED, "Call it again, so that it is decided anew.")

    async def _preview(
        self, chat: LiveChat, call: ToolCall, adjusted: Adjusted, earlier: tuple[ToolCallDetails, ...] = ()
    ) -> PreviewOutcome:
        tool = self._services.toolbox.get(call.name, chat.state.id)
        arguments = parse_arguments(call.arguments_text) if adjusted.arguments is None else adjusted.arguments
        if tool is None or arguments is None:
            return PreviewOutcome(adjusted)
        try:
            context = replace(self._contexts.build(chat.state.id, chat.kernel, call.id), earlier=earlier)
            reporter = Reporter(self._services.audiences.tell, chat.state.id, call.id)
            loop = asyncio.get_running_loop()
            note = loop.call_later(PREVIEW_NOTE_SECONDS, reporter.report, _PREPARING)
            try:
                return PreviewOutcome(adjusted, await preview(context, tool, arguments))
            finally:
                note.cancel()
                if note.when() <= loop.time():
                    reporter.report(Report())
                reporter.end()
        except StaleSourceError as error:
            return PreviewOutcome(replace(adjusted, failure=str(error)))
        except ToolError as error:
            return PreviewOutcome(adjusted, problem=str(error))

    # -- tools

    async def _run_tool(self, chat: LiveChat, turn: TurnUnderWay, effect: RunTool) -> None:
        result, taken, stops = ToolResult("", error=True), False, False
        known = chat.known.for_call()
        reporter = turn.reporters[effect.call] = Reporter(self._services.audiences.tell, chat.state.id, effect.call)
        try:
            whole = result = await self._result(chat, turn, effect, reporter, known)
            limits = self._services.config.tool_call.output_truncation
            result = await self._services.outputs.cut_and_keep(chat.state.id, effect.call, result, limits)
            taken = True
            result, stops = await self._hooks.after_call(chat, effect, result)
            if whole.text in result.text:
                chat.known.take_over(known)
        finally:
            reporter.end()
            del turn.reporters[effect.call]
            if result.interrupted:
                self._turns.stop(chat.parent or chat.state.id)
            # Also when cancelled: the engine waits for the end of every call it started.
            finished = self._make_finished(chat, effect.call, result if taken else truncate_result(result))
            self._chats.feed(chat, replace(finished, stops=stops), late=True)

    async def _result(
        self, chat: LiveChat, turn: TurnUnderWay, effect: RunTool, reporter: Reporter, known: KnownVersions
    ) -> ToolResult:
        name, replay = effect.tool.name, chat.replay
        own = turn.outside if turn.outside and turn.outside.spec == effect.tool else None
        tool = own or self._services.toolbox.get(name, chat.state.id)
        if replay is not None and replay.broken:
            return ToolResult(NOT_RUN, error=True)
        if replay is not None and not (tool is not None and tool.lives):
            return replay.result(effect.call)
        try:
            if tool is None:
                raise ToolError(f"{name} is gone: its server has left.")
            if not is_same_tool(tool.spec, effect.tool):
                raise ToolError(TOOL_REPLACED.format(tool=name), "Call it again, so that it is decided anew.")
            context = self._contexts.build(chat.state.id, chat.kernel, effect.call)
            context = replace(context, report=reporter.report, away=reporter.away, known=known)
            try:
                await self._check_targets(chat, effect)
                await path_rules.check(context, tool, effect.arguments)
                return await tool.run(context, effect.arguments)
            finally:
                if not tool.reads:
                    self._services.index.mark_stale()
                if isinstance(context.keeper, CallKeeper) and context.keeper.kept:
                    # The change is made. Without this note it only cannot be undone, which an undo says by itself.
                    with suppress(NotSaved):
                        await run_to_end(context.keeper.finish())
        except (ToolError, NotSaved) as error:
            return ToolResult(str(error), error=True)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must go on
            _log.exception("the tool %s failed", name)
            return ToolResult(redaction.redact(f"{name} failed inside: {error!r}"), error=True)

    def _make_finished(self, chat: LiveChat, call: str, result: ToolResult) -> inputs.ToolFinished:
        at, tools = now(), None
        if chat.replay is None:
            tools = self._setups.find_changed_tools(chat)
        else:
            started = next((one.started for one in chat.state.calls if one.id == call), at)
            at, result = chat.replay.end_call(call, result, started)
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


@dataclass(frozen=True, slots=True)
class PreviewOutcome:
    """What is known of a call before it is decided."""

    adjusted: Adjusted
    """What hooks make of it, and why it must fail."""
    details: ToolCallDetails | None = None
    """What it would do."""
    problem: str = ""
    """Why it would fail now."""


async def preview(context: ToolContext, tool: Tool, arguments: dict[str, Any]) -> ToolCallDetails | None:
    """What a call would do, as far as its tool can tell. Raises: ToolError when the call would fail now;
    StaleSourceError when it must fail."""
    if tool.preview is None:
        return None
    try:
        async with asyncio.timeout(PREVIEW_SECONDS):
            await path_rules.check(context, tool, arguments)
            return await tool.preview(context, arguments)
    except ToolError:
        raise
    except TimeoutError:
        raise StaleSourceError(
            f"What {tool.spec.name} would change could not be worked out in {PREVIEW_SECONDS:g} seconds. "
            "It did not run.",
            "Try it again.",
        ) from None
    except Exception:  # noqa: BLE001  # a plug's: the call itself will say what is wrong
        _log.exception("the preview of %s failed", tool.spec.name)
        return None


def is_about_model(error: ProviderError) -> bool:
    """Return whether there is no model of the name that was asked for."""
    return isinstance(error, UnknownModel) or error.status == _NO_SUCH_MODEL


def find_refused(error: ProviderError) -> inputs.Refused | None:
    """Return what the model's server would refuse every time; None for what may pass, and for what was not sent."""
    if error.status is None or not 400 <= error.status < 500 or error.retryable:
        return None
    return inputs.Refused.SENDER if error.status in _ABOUT_SENDER else inputs.Refused.CONTENT


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
