"""Runs the effects of the engine: it gathers the contexts of a prompt, calls models and runs tools.

An effect is work that the engine requests (`engine.effects`). A turn is all that follows from one prompt, until the
model has no more to say. The order of a turn, with the methods here:

1. `_gather` runs the prompt if it is a command. Otherwise it reads the contexts (`@data.csv`), finds a locked answer
   (one that was recorded for this question, see `host.turn.locked_answers`), and runs the user's hooks.
2. `_call_model` streams the answer of the model, or `_replay` replays a recorded one.
3. `_finish_reply` prepares the tool calls of the answer before they are decided: hooks may change them,
   `_preview_calls` finds out what they would change, and `_find_targets` finds out which files they name on the disk.
4. `_run_tool` runs a call that was allowed. Before that it checks once more that the tool is the same, that its paths
   lead to the same files, and that the model knows the user's rules for them.

Each effect ends with an input to the engine (`Chats.feed`), which decides what comes next: this module must not. Many
inputs are fed as `late`: the turn may have been stopped meanwhile, and then they are ignored. `host.turn.turns`
starts and stops turns.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, assert_never

from jupyter_eca import redaction
from jupyter_eca.config import ProviderConfig
from jupyter_eca.config.agents import PLAN
from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.approval_scope import is_same_tool
from jupyter_eca.engine.approval.review_time import ReviewSituation, choose_review_time, may_run_code
from jupyter_eca.engine.chat import recording as recorded
from jupyter_eca.engine.effects import (
    AskUser,
    CallModel,
    CancelGathering,
    CancelModel,
    CancelTool,
    CancelWait,
    Gather,
    MakeTitle,
    RefuseCall,
    RunTool,
    Wait,
)
from jupyter_eca.engine.model.delta import Remark
from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.tool_call import NO_ADJUSTMENT, parse_arguments
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
from jupyter_eca.host.chat.turn_locking import CODE_DIFFERS, CODE_NOT_RUN, Replay
from jupyter_eca.host.checkpoints.checkpoints import CallCheckpointer, can_keep
from jupyter_eca.host.costs import ledger
from jupyter_eca.host.store import UnseenChange
from jupyter_eca.host.tools.output_limit import cut_and_keep
from jupyter_eca.host.tools.path_resolution import find_call_targets, find_default_notebook
from jupyter_eca.host.tools.progress import Reporter
from jupyter_eca.host.turn import path_rules, plan_mode
from jupyter_eca.host.turn.call_preview import preview_call
from jupyter_eca.host.turn.open_notebooks import find_renamed_notebook
from jupyter_eca.host.turn.prompt_contexts import PromptMaterials
from jupyter_eca.instructions import notebook_instructions
from jupyter_eca.log_fields import LOG_FIELDS, LogFields
from jupyter_eca.plugins.contexts.resolve import as_model_input
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import FileChangeDetails, RejectReason, RunCellsDetails
from jupyter_eca.protocol.notebook import DeleteCell, EditCell
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.head_and_tail import truncate_result
from jupyter_eca.workspace.shielded import run_to_end
from jupyter_eca.workspace.tool_result import Report, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.policy import CallAdjustment
    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.host.chat.live_chat import LiveChat, TurnUnderWay
    from jupyter_eca.host.chat.ports import CommandRunner, TurnStarter
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.costs.ledger import Ledger
    from jupyter_eca.host.costs.model_caller import ModelCaller
    from jupyter_eca.host.hooks.turn_hooks import TurnHooks
    from jupyter_eca.host.outside.outside_agents import OutsideAgents
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.chat_titles import ChatTitles
    from jupyter_eca.host.turn.locked_answers import LockedAnswers
    from jupyter_eca.host.turn.prompt_contexts import PromptContexts
    from jupyter_eca.host.turn.setup import Setups
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.plugins.contexts.base import Material
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.content import ToolCallDetails
    from jupyter_eca.workspace.known_versions import KnownVersions

_log = logging.getLogger(__name__)

# The seconds after which the card of a call says that a preview is still under way. Until it is ready, no approval is
# asked for.
PREVIEW_NOTE_SECONDS = 2.0

# What the user sees on the card of the call after this time.
_PREPARING = Report("Working out what this would change …")

TARGETS_CHANGED: Final = (
    "A symbolic link or the open notebook has changed since this call was decided, so that it means another file; not "
    "run."
)

CHANGED_UNSEEN: Final = "{path} was changed without approval since this call was decided; not run."

TOOL_REPLACED: Final = "The tool {tool} has changed since this call was decided; not run."

# The HTTP statuses that mean: no valid key, no money, no right to use the model, or no such model. With these, every
# other message would be refused as well.
_STATUSES_ABOUT_SENDER = frozenset({401, 402, 403, 404})

_NO_SUCH_MODEL = 404
# How many models an error names. The whole list can be long.
_MAX_NAMED_MODELS = 10

# Makes the waits before retries differ between clients. The numbers need not be secret, but this source needs no seed.
_random = random.SystemRandom()


class EffectRunner:
    """Implements `host.chat.ports.EffectSink`: each effect becomes a task of its chat."""

    def __init__(
        self,
        services: Services,
        chats: Chats,
        tasks: ChatTasks,
        contexts: ToolContexts,
        prompt_contexts: PromptContexts,
        setups: Setups,
        hooks: TurnHooks,
        ledger: Ledger,
        model_caller: ModelCaller,
        locked_answers: LockedAnswers,
        commands: CommandRunner,
        turns: TurnStarter,
        outside: OutsideAgents,
        titles: ChatTitles,
    ) -> None:
        self._services = services
        self._chats = chats
        self._tasks = tasks
        self._contexts = contexts
        self._prompt_contexts = prompt_contexts
        self._setups = setups
        self._hooks = hooks
        self._ledger = ledger
        self._model_caller = model_caller
        self._locked_answers = locked_answers
        self._commands = commands
        self._turns = turns
        self._outside = outside
        self._titles = titles

    def run(self, chat: LiveChat, effect: Effect) -> None:
        """Start the task of an effect, or cancel the task that an earlier effect started. Tasks are found by name."""
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
                chat.tasks[f"tool {call}"].add_done_callback(lambda _: self._finish_unstarted_call(chat, call))
            case CancelGathering():
                self._tasks.cancel(chat, "gather")
            case CancelModel(number=number):
                self._tasks.cancel(chat, f"model {number}")
            case CancelTool(call=call):
                self._tasks.cancel(chat, f"tool {call}")
            case MakeTitle():
                self._titles.start(chat, effect)
            case RefuseCall():  # only for a call of an outside agent, which waits for the decision
                self._outside.refuse(chat, effect)
            case AskUser(call=call):
                if not (chat.bounds.asks_user and self._services.subscribers.has_approver(chat.state.id)):
                    # Late, because the call is already skipped if the one before it was rejected a moment ago.
                    self._chats.feed(chat, inputs.Rejected(now(), call, RejectReason.NOBODY), late=True)
            case _:
                assert_never(effect)

    # -- prompts and their contexts

    async def _gather(self, chat: LiveChat, turn: TurnUnderWay) -> None:
        """Prepare the prompt of a turn. If that fails, the turn ends with an error."""
        try:
            await self._prepare_prompt(chat, turn)
        except (ToolError, NotSaved) as error:
            # This input also ends a turn that is no command. `withdrawn`: no later request may send the prompt either.
            ended = inputs.CommandEnded(now(), str(error), failed=True, withdrawn=True, kind=FailureKind.OTHER)
            self._chats.feed(chat, ended, late=True)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must end
            _log.exception("the prompt of %s could not be prepared", chat.state.id)
            message = redaction.redact(f"The prompt could not be prepared: {error!r}. The log has the details.")
            ended = inputs.CommandEnded(now(), message, failed=True, withdrawn=True, kind=FailureKind.OTHER)
            self._chats.feed(chat, ended, late=True)

    async def _prepare_prompt(self, chat: LiveChat, turn: TurnUnderWay) -> None:
        """Run the command in a prompt, or else read its contexts, and feed the result to the engine."""
        prompt = turn.prompt
        if prompt is None:
            raise LocalError("there is nothing to gather for")
        # A turn that cannot be stored does not begin. `Turns.prompt` has checked this before, but it may be a large
        # prompt that fills the disk.
        await self._services.store.confirm()
        chat.notebook = self._ledger.find_notebook(chat)
        if chat.parent:
            # A model wrote this prompt: no command in it is run, and no context that it mentions is read.
            self._chats.feed(chat, inputs.Gathered(now()), late=True)
            return
        # Commands that list chats list only those that the client of the prompt may see.
        may_see = prompt.sender.sees if prompt.sender else None
        outcome = None
        may_run = prompt.begins_with_slash or chat.dialogue is not None
        if may_run and not prompt.follow_up_count and not prompt.model_message:
            outcome = await self._commands.run(prompt.chat, prompt.message, chat.kernel, may_see)
        if isinstance(outcome, CommandAnswer):
            # A turn that did not begin as a command's (`local`) has no result, so the answer is the reason why it ends.
            is_failure = not chat.state.local
            self._chats.feed(chat, inputs.CommandEnded(now(), outcome.text, is_failure), late=True)
            if outcome.next_chat and prompt.sender:  # the command has chosen another chat for the user, by its id
                prompt.sender.resume(outcome.next_chat)
            return
        if isinstance(outcome, Compaction):
            self._chats.feed(chat, inputs.CompactionRequested(now(), outcome.focus), late=True)
            return
        model_message = outcome.message if outcome else prompt.model_message
        # A prompt about the end of a job (`job_end`) has texts that a model wrote, such as the label of the job. So no
        # context that they mention is read.
        materials = PromptMaterials()
        if not prompt.job_end:
            materials = await self._prompt_contexts.read(chat, prompt, model_message or prompt.message)
        found = materials.list_all()
        text, images, documents = as_model_input(found, model_message) if found or model_message else ("", (), ())
        agent = self._services.current.resolved.get_agent(chat.state.setup.agent)
        text += plan_mode.write_instructions(agent) if agent.kind == PLAN else ""
        if turn.notebook:
            notebooks, warn = self._contexts.find_notebooks(prompt.chat), self._services.subscribers.warn
            text += await notebook_instructions.find_new_instructions(
                notebooks, turn.notebook, chat.state.history, warn
            )
        lock = prompt.lock
        # A cell may switch locking on or off. Otherwise the configuration decides.
        is_locked = lock is not None and (self._services.config.notebook.lock if lock.on is None else lock.on)
        if is_locked and chat.state.setup.outside:
            raise ToolError("The answers of an outside agent cannot be locked.", "Ask without --lock.")
        if lock is not None and is_locked:
            turn.locking = await self._locked_answers.begin(
                chat, prompt, lock, model_message, materials.pointed_at, now()
            )
        replay_setup = await self._locked_answers.prepare_replay(chat, chat.replay) if chat.replay else None
        not_replayed = turn.locking.reason_line if turn.locking else ""
        files_note = _describe_named_files(materials.named_files)
        hook_outcome = await self._hooks.run_before_request(chat, is_command=bool(model_message))
        if hook_outcome is not None:  # otherwise a hook has ended the turn
            text, setup = text + hook_outcome.context, replay_setup or hook_outcome.setup
            gathered = inputs.Gathered(
                now(), text, images, not_replayed, setup, hook_outcome.replacement, documents, files_note
            )
            self._chats.feed(chat, gathered, late=True)

    # -- models

    async def _call_model(self, chat: LiveChat, turn: TurnUnderWay, effect: CallModel) -> None:
        """Send a request to the model, and feed each piece of its reply to the engine. In a replay, feed the recorded
        reply."""
        number = effect.number
        if chat.replay is not None:
            await self._replay(chat, number, chat.replay)
            return
        if chat.state.setup.outside:
            await self._outside.run(chat, turn, effect)
            return
        if not await self._hooks.run_before_compaction(chat, number):
            return
        settings = ProviderConfig()
        chat.last_paid_turn = chat.state.turn
        chat.known_versions.begin_request()
        chat.rhythm = chat.rhythm.add_request(now())
        # A user who pauses for more than five minutes needs a cache that the vendor keeps for an hour.
        request = replace(effect.request, cached_for_hour=chat.rhythm.has_paused)
        try:
            await self._services.catalog.refresh()
            chosen = self._services.catalog.choose(effect.request.model, effect.request.variant, thinks=True)
            settings, bill = chosen.settings, ledger.make_bill(chat, effect.request.model)
            async with aclosing(self._model_caller.stream(bill, chosen, request)) as deltas:
                async for delta in deltas:
                    self._chats.feed(chat, inputs.Streamed(now(), number, delta))
        except ProviderError as error:
            images, overflow = error.kind is FailureKind.IMAGE, error.kind is FailureKind.CONTEXT
            message = redaction.redact(str(error))
            if error.kind is FailureKind.BUDGET_EXCEEDED:
                message = f"{message} {self._services.config.policy.contact}".strip()
            if is_unknown_model(error) and not chat.has_answer:
                message = f"{message} {await self._restore_model(chat, turn)}".strip()
            message = turn.locking.explain_failure(message) if turn.locking and not chat.has_answer else message
            final = isinstance(error, OverBudget)  # then each other request of the turn would fail, too
            retryable_failure = None if final else build_failure(error, settings)
            refused = classify_refusal(error)
            failure = inputs.ModelFailed(
                now(),
                number,
                message,
                images,
                overflow,
                refusal_reason=refused,
                failure=retryable_failure,
                final=final,
                kind=error.kind,
            )
            was_pruned = chat.state.pruned
            self._chats.feed(chat, failure)
            if chat.state.pruned and not was_pruned:
                # The engine leaves old results of tools out now, and with them the texts that the model has read.
                chat.known_versions.forget()
            if refused is not None and not chat.is_busy:
                chat.cursor = None  # the model has not received the position of the cursor
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must end
            _log.exception("the provider of %s failed", effect.request.model)
            message = f"The provider of {effect.request.model} failed inside: {error!r}. The log has the details."
            self._chats.feed(chat, inputs.ModelFailed(now(), number, redaction.redact(message)))
        else:
            await self._finish_reply(chat, turn, number)

    async def _restore_model(self, chat: LiveChat, turn: TurnUnderWay) -> str:
        """Let the next turns of the chat run with the model that it had before, because there is no model with the name
        that this prompt chose. Return a message about it for the user."""
        models = await self._services.catalog.models()
        lines = [f"The models there are: {', '.join(models[:_MAX_NAMED_MODELS])}."] if models else []
        # A front may have chosen the same model already before the prompt: then that choice is no better.
        before = turn.earlier_choice if turn.earlier_choice.model != chat.state.setup.model else chat.last_answer_choice
        if chat.choice.model == chat.state.setup.model != before.model:
            chat.choice = replace(chat.choice, model=before.model, variant=before.variant)
            self._services.store.save_selection(chat.state.id, chat.choice.selection)
            lines.append(f"This chat keeps {before.model or 'the default model'}.")
        return " ".join(lines)

    async def _finish_reply(self, chat: LiveChat, turn: TurnUnderWay, number: int) -> None:
        """Prepare the tool calls of a complete reply, and tell the engine that the model has finished. `number` is that
        of the model request."""
        chat.last_answer_choice = chat.choice
        if chat.state.summary_under_way is not None:
            stops = await self._hooks.run_after_compaction(chat, number)
            self._chats.feed(chat, inputs.ModelFinished(now(), number))
            chat.known_versions.forget()  # the summary replaces the texts that the model has seen
            if stops:
                self._chats.feed(chat, inputs.Stopped(now()), late=True)
            return
        if chat.state.calls:
            turn.notebook = await find_renamed_notebook(
                self._services, chat.state.id, turn.notebook, turn.notebook_kernel
            )
        adjustments = await self._hooks.run_before_calls(chat)
        if adjustments is None:  # a hook has ended the turn
            return
        details, adjustments = await self._preview_calls(chat, adjustments)
        targets, adjustments = await self._find_targets(chat, adjustments, details)
        # The hooks after the answer run only at its end: no calls follow, and it was not interrupted by the vendor
        # (`resumes_reply`).
        next_prompt = "" if chat.state.calls or chat.state.resumes_reply else await self._hooks.run_after_request(chat)
        if turn.locking is not None and (remark := await self._locked_answers.save(chat)):
            self._chats.feed(chat, inputs.Streamed(now(), number, Remark(remark)))
        reviews = await self._choose_review_times(chat, turn, details, targets)
        chat.unseen_change = await self._services.checkpoints.find_unseen() if chat.state.calls else None
        unseen = chat.unseen_change.path if chat.unseen_change else ""
        self._chats.feed(
            chat,
            inputs.ModelFinished(now(), number, details, adjustments, targets, reviews=reviews, unseen_path=unseen),
        )
        if next_prompt:
            self._tasks.start(chat, "follow up", self._follow_up(chat, turn, next_prompt))

    async def _follow_up(self, chat: LiveChat, turn: TurnUnderWay, message: str) -> None:
        """Start a turn with a message that a hook sends in the user's name after `turn`. If the user has sent another
        prompt meanwhile, the message of the hook is dropped."""
        if (previous := turn.prompt) is None:
            return
        prompt = replace(
            previous,
            message=message,
            contexts=(),
            lock=None,
            turn="",
            job_end="",
            model_message="",
            follow_up_count=previous.follow_up_count + 1,
            first_turn=previous.first_turn or previous.turn,
            notebook=turn.notebook,
        )
        try:
            await self._turns.prompt(prompt, turn.kernel)
        except EcaError as error:
            _log.info("a follow-up of hooks in %s was not begun: %s", chat.state.id, error)

    async def _replay(self, chat: LiveChat, number: int, replay: Replay) -> None:
        """Replay the next recorded reply instead of calling a model. `number` is that of the model request."""
        reply = chat.state.steps - 1  # its index among the replies of the turn
        replay.fail_if_call_missing(reply - 1)
        if replay.failure:
            self._chats.feed(chat, inputs.ModelFailed(now(), number, replay.failure))
            return
        if replay.differs:
            replay.differs = False
            self._chats.feed(chat, inputs.Streamed(replay.clock, number, Remark(CODE_DIFFERS)))
        ids = replay.list_call_ids(reply)
        for milliseconds, delta in recorded.replay_deltas(replay.turn.replies[reply], ids):
            replay.clock += milliseconds
            self._chats.feed(chat, inputs.Streamed(replay.clock, number, delta))
            await asyncio.sleep(0)  # a long answer must not hold up the other chats
        details = {id: recorded_details for id in ids if (recorded_details := replay.calls[id].details) is not None}
        await self._locked_answers.save(chat)
        self._chats.feed(chat, inputs.ModelFinished(replay.clock, number, details))

    async def _wait(self, chat: LiveChat, effect: Wait) -> None:
        """Wait before a failed model call is repeated."""
        await asyncio.sleep(effect.seconds)
        self._chats.feed(chat, inputs.WaitEnded(now(), effect.number), late=True)

    async def _preview_calls(
        self, chat: LiveChat, adjustments: Mapping[str, CallAdjustment]
    ) -> tuple[Mapping[str, ToolCallDetails], Mapping[str, CallAdjustment]]:
        """Preview the calls of the reply. Return two tables by the call's id: the details of what each call would
        change, and the `adjustments`, to which the reason is added why a call must fail.

        A call whose preview has a problem fails without a question. But a call that comes after a call that changes
        something may work once that change is made. So it does not fail beforehand, and if the details of the earlier
        changes are known, it is previewed again on top of them. A call that shows the sources of cells is previewed
        again, too.
        """
        calls = chat.state.calls
        call_adjustments = [adjustments.get(call.id, NO_ADJUSTMENT) for call in calls]
        # First all calls are previewed at the same time, each as if it were the only one.
        first_previews = await asyncio.gather(*map(partial(self._preview_call, chat), calls, call_adjustments))
        previews: dict[str, CallPreview] = {}
        earlier: tuple[ToolCallDetails, ...] = ()
        is_behind_change = False
        for call, adjustment, preview in zip(calls, call_adjustments, first_previews, strict=True):
            if earlier and (preview.problem or _depends_on_sources(preview.details)):
                preview = await self._preview_call(chat, call, adjustment, earlier)
            previews[call.id] = preview
            if preview.problem and not is_behind_change:
                previews[call.id] = replace(preview, adjustment=replace(preview.adjustment, failure=preview.problem))
            earlier = earlier if preview.details is None else (*earlier, preview.details)
            is_behind_change = is_behind_change or not call.is_read_only
        details = {id: preview.details for id, preview in previews.items() if preview.details is not None}
        return details, {id: preview.adjustment for id, preview in previews.items()}

    async def _find_targets(
        self, chat: LiveChat, adjustments: Mapping[str, CallAdjustment], details: Mapping[str, ToolCallDetails]
    ) -> tuple[Mapping[str, CallTargets], Mapping[str, CallAdjustment]]:
        """Return two tables whose keys are the ids of the calls: the files on the disk that each call of the reply
        names, and the `adjustments`, to which the calls are added that fail because the disk does not answer."""
        targets: dict[str, CallTargets] = {}
        failed_calls: dict[str, CallAdjustment] = {}
        for call in chat.state.calls:
            new_arguments = adjustments.get(call.id, NO_ADJUSTMENT).arguments
            arguments = parse_arguments(call.arguments_text) if new_arguments is None else new_arguments
            if call.tool is not None and arguments is not None:
                try:
                    targets[call.id] = await self._find_call_targets(chat, call.tool, arguments, details.get(call.id))
                except ToolError as error:
                    failed_calls[call.id] = replace(adjustments.get(call.id, NO_ADJUSTMENT), failure=str(error))
        return targets, {**adjustments, **failed_calls}

    async def _choose_review_times(
        self,
        chat: LiveChat,
        turn: TurnUnderWay,
        details: Mapping[str, ToolCallDetails],
        targets: Mapping[str, CallTargets],
    ) -> Mapping[str, ReviewTime]:
        """Return when the user reviews what each call of the reply changes. A call that is not in the result is
        reviewed before it runs."""
        situation = ReviewSituation(
            self._services.config.review,
            is_shown=turn.prompt is not None
            and turn.prompt.allows_later_review
            and self._services.subscribers.has_reviewer(chat.state.id),
            is_subagent=bool(chat.parent),
            has_hooks=bool(self._services.current.resolved.hooks),
        )
        if situation.setting is ReviewTime.BEFORE:
            return {}
        reviews: dict[str, ReviewTime] = {}
        for call in chat.state.calls:
            if call.tool is not None:
                call_targets, call_details = targets.get(call.id), details.get(call.id)
                is_kept = call_targets is not None and await run_read(_can_keep_all, call_targets, call_details)
                reviews[call.id] = choose_review_time(
                    situation, call.tool, call_targets, call_details, can_be_undone=is_kept
                )
        return reviews

    async def _find_call_targets(
        self, chat: LiveChat, tool: ToolSpec, arguments: Mapping[str, Any], details: ToolCallDetails | None
    ) -> CallTargets:
        """Return the files that one call names on the disk. Raises: ToolError when the disk does not answer in time."""
        context = self._contexts.build(chat.state.id, chat.kernel)
        registered_tool = self._find_tool(chat, tool)
        notebook = await find_default_notebook(context, registered_tool, arguments) if registered_tool else ""
        return await find_call_targets(context.files, self._services.config, tool, arguments, notebook, details)

    def _find_tool(self, chat: LiveChat, spec: ToolSpec) -> Tool | None:
        """Return the tool of a call; None when there is none of its name now.

        If a program of the user called the tool (a direct call), it is the tool which that program passed.
        """
        direct = chat.under_way.called_tool if chat.under_way else None
        return direct if direct and direct.spec == spec else self._services.toolbox.get(spec.name, chat.state.id)

    async def _check_targets(self, chat: LiveChat, effect: RunTool) -> None:
        """Check that a call still names the files for which it was allowed.

        Raises: ToolError when it does not, for example because a symbolic link was changed meanwhile.
        """
        call = next((call for call in chat.state.calls if call.id == effect.call), None)
        if call is None or call.targets is None:
            return
        names_files = call.targets.paths or effect.tool.approval_covers is ApprovalCoverage.COMMANDS
        if not names_files:
            return
        now_named = await self._find_call_targets(chat, effect.tool, effect.arguments, call.details)
        # `parts` are not compared. They depend only on the arguments and the details, and the user may have left some
        # changes out of the details.
        if replace(now_named, parts=call.targets.parts) != call.targets:
            raise ToolError(TARGETS_CHANGED, "Call it again, so that it is decided anew.")

    async def _preview_call(
        self, chat: LiveChat, call: ToolCall, adjustment: CallAdjustment, earlier: tuple[ToolCallDetails, ...] = ()
    ) -> CallPreview:
        """Preview one call. The user gets a message if that takes long. `adjustment` is what hooks have changed in the
        call. `earlier` are the details of the calls before it: the preview assumes that their changes are already
        made."""
        tool = self._services.toolbox.get(call.name, chat.state.id)
        arguments = parse_arguments(call.arguments_text) if adjustment.arguments is None else adjustment.arguments
        if tool is None or arguments is None:
            return CallPreview(adjustment)
        try:
            context = replace(self._contexts.build(chat.state.id, chat.kernel, call.id), earlier_calls=earlier)
            reporter = Reporter(self._services.subscribers.tell, chat.state.id, call.id)
            loop = asyncio.get_running_loop()
            note = loop.call_later(PREVIEW_NOTE_SECONDS, reporter.report, _PREPARING)
            try:
                return CallPreview(adjustment, await preview_call(context, tool, arguments))
            finally:
                note.cancel()
                if note.when() <= loop.time():
                    reporter.report(Report())
                reporter.end()
        except StaleSourceError as error:
            return CallPreview(replace(adjustment, failure=str(error)))
        except ToolError as error:
            return CallPreview(adjustment, problem=str(error))

    # -- tools

    async def _run_tool(self, chat: LiveChat, turn: TurnUnderWay, effect: RunTool) -> None:
        """Run a tool call, cut its output if it is too long, run the hooks after it, and feed its result. It is the
        work of a task of its own."""
        LOG_FIELDS.set(LogFields(chat_id=chat.state.id, tool_call_id=effect.call))
        # `stops`: a hook ends the turn after this call.
        result, is_cut, stops = ToolResult("", error=True), False, False
        # The model knows the versions of files that the call shows only if it gets the whole result.
        known = chat.known_versions.copy_for_call()
        reporter = turn.reporters[effect.call] = Reporter(self._services.subscribers.tell, chat.state.id, effect.call)
        if chat.state.steers:
            reporter.steered.set()
        try:
            whole = result = await self._run_or_replay(chat, effect, reporter, known)
            limits = self._services.config.tool_call.output_truncation
            result = await cut_and_keep(self._services.outputs, chat.state.id, effect.call, result, limits)
            is_cut = True
            result, stops = await self._hooks.run_after_call(chat, effect, result)
            if whole.text in result.text:
                chat.known_versions.merge_call(known)
        finally:
            reporter.end()
            del turn.reporters[effect.call]
            if result.interrupted:
                self._turns.stop(chat.parent or chat.state.id)
            # This is also done when the task is cancelled: the engine waits for the end of every call that it started.
            result = result if is_cut else truncate_result(result)
            finished = self._make_end_input(chat, effect.call, result)
            self._chats.feed(chat, replace(finished, stops_turn=stops), late=True)
            self._outside.send_result(chat, effect.call, result)

    def _finish_unstarted_call(self, chat: LiveChat, call: str) -> None:
        """End a call whose task was cancelled before its first step. Such a task runs no code at all, and the engine
        would wait for the end of the call without end. In all other cases the call has ended, and nothing happens."""
        if any(other.id == call and not other.has_ended for other in chat.state.calls):
            self._chats.feed(chat, self._make_end_input(chat, call, ToolResult("", error=True)), late=True)

    async def _run_or_replay(
        self, chat: LiveChat, effect: RunTool, reporter: Reporter, known: KnownVersions
    ) -> ToolResult:
        """Run a tool call, and return its result. An error of the tool becomes a result too. In a replay, return the
        recorded result, unless the tool must run again (`Tool.runs_on_replay`). `known` remembers the versions of files
        and cells that the result shows."""
        name, replay = effect.tool.name, chat.replay
        if self._outside.owns(chat, effect.call):
            return await self._outside.run_call(chat, effect.call)
        tool = self._find_tool(chat, effect.tool)
        if replay is not None and replay.failure:
            return ToolResult(CODE_NOT_RUN, error=True)
        if replay is not None and not (tool is not None and tool.runs_on_replay):
            return replay.get_result(effect.call)
        try:
            if tool is None:
                raise ToolError(f"{name} is gone: its server has left.")
            if not is_same_tool(tool.spec, effect.tool):
                raise ToolError(TOOL_REPLACED.format(tool=name), "Call it again, so that it is decided anew.")
            context = self._contexts.build(chat.state.id, chat.kernel, effect.call)
            context = replace(
                context,
                report=reporter.report,
                moved_to_background=reporter.moved_to_background,
                steered=reporter.steered,
                known=known,
            )
            try:
                # After a crash, a call that is not stored as running counts as one that never ran, and the model would
                # call it again.
                await self._services.store.settle()
                await self._check_unseen_changes(chat, effect.call)
                await self._check_targets(chat, effect)
                await path_rules.check_call(context, tool, effect.arguments)
                return await tool.run(context, effect.arguments)
            finally:
                if not tool.only_reads:
                    self._services.index.mark_stale()
                if isinstance(context.checkpointer, CallCheckpointer) and context.checkpointer.kept_paths:
                    # The change is already made. If this fails, it cannot be undone, and an undo will say so.
                    with suppress(NotSaved):
                        await run_to_end(context.checkpointer.finish())
        except (ToolError, NotSaved) as error:
            return ToolResult(str(error), error=True)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must go on
            _log.exception("the tool %s failed", name)
            return ToolResult(redaction.redact(f"{name} failed inside: {error!r}"), error=True)

    async def _check_unseen_changes(self, chat: LiveChat, id: str) -> None:
        """Check that a call does not run code that was changed unseen: without approval, and not reviewed by the user.

        If the user was asked about the call because of such changes, and approved it, they count as seen from now on.

        Raises: ToolError when a rule allowed the call, and something was changed unseen since then. Another chat may
        have done that while the call waited for an earlier one.
        """
        call = next((call for call in chat.state.calls if call.id == id), None)
        if call is None or call.tool is None or call.cause is None:
            return
        checkpoints = self._services.checkpoints
        if call.approved and call.cause.kind == "unseen":
            owner = self._contexts.get_owner(chat.state.id)
            await checkpoints.mark_seen(owner, chat.unseen_change or UnseenChange("", 0, 0))
        is_allowed = not call.approved and call.cause.kind in {"rule", "remembered", "default"}
        if (
            is_allowed
            and not call.is_read_only
            and may_run_code(call.tool, call.targets)
            and (unseen := await checkpoints.find_unseen())
        ):
            raise ToolError(CHANGED_UNSEEN.format(path=unseen.path), "Call it again, so that it is decided anew.")

    def _make_end_input(self, chat: LiveChat, call: str, result: ToolResult) -> inputs.ToolFinished:
        """Return the input that ends a call. A replay replaces the time and the result by the recorded ones."""
        at, tools = now(), None
        if chat.replay is None:
            tools = self._setups.find_changed_tools(chat)
        else:
            started = next((state.started_at for state in chat.state.calls if state.id == call), at)
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
            result.whole_length,
            documents=result.documents,
            fetched_rule=result.fetched_rule,
        )


def _can_keep_all(targets: CallTargets, details: ToolCallDetails | None) -> bool:
    """Return whether everything that a call changes can be kept before it runs. Cells always can. Blocks,
    because it reads the disk."""
    if isinstance(details, FileChangeDetails) and details.cells:
        return True
    absolute = [form for forms in targets.paths.values() for form in map(Path, forms) if form.is_absolute()]
    return bool(absolute) and all(map(can_keep, absolute))


@dataclass(frozen=True, slots=True)
class CallPreview:
    """The preview of a call, which is made before the call is decided."""

    adjustment: CallAdjustment
    """What hooks have changed in the call, and why it must fail."""
    details: ToolCallDetails | None = None
    """What the call would change; None if nothing is known or shown of it."""
    problem: str = ""
    """Why the call would fail now, "" if it would not."""


def _depends_on_sources(details: ToolCallDetails | None) -> bool:
    """Return whether the details show sources of cells that an earlier call may change."""
    match details:
        case RunCellsDetails():
            return True
        case FileChangeDetails(cells=changes):
            return any(isinstance(change, EditCell | DeleteCell) for change in changes or ())
        case _:
            return False


def _describe_named_files(files: Iterable[Material]) -> str:
    """Return the line that tells the user which files are sent, because the message names them; "" for none."""
    names = ", ".join(file.label for file in files)
    return f"Sent with the message, which names them: {names}." if names else ""


def is_unknown_model(error: ProviderError) -> bool:
    """Return whether the error means that no model has the name in the request."""
    return isinstance(error, UnknownModel) or error.status == _NO_SUCH_MODEL


def classify_refusal(error: ProviderError) -> inputs.RefusalReason | None:
    """Return what the server of the model will refuse again at each attempt: this message, or this sender. None for an
    error that may pass, and for a request that was not sent."""
    if error.status is None or not 400 <= error.status < 500 or error.retryable:
        return None
    is_about_sender = error.status in _STATUSES_ABOUT_SENDER or error.kind is FailureKind.BUDGET_EXCEEDED
    return inputs.RefusalReason.SENDER if is_about_sender else inputs.RefusalReason.CONTENT


def build_failure(error: ProviderError, settings: ProviderConfig) -> Failure | None:
    """Return the failure for the engine to retry. None if the same request would fail in the same way again. A budget
    that is used up stays so, whatever the rules of the user say."""
    if error.kind is FailureKind.BUDGET_EXCEEDED:
        return None
    rule = next((rule for rule in settings.retry_rules if rule.matches(error.status, str(error))), None)
    if rule is None and not error.retryable:
        return None
    return Failure(
        error.kind,
        rule.label if rule else "",
        error.retry_after,
        _random.random(),
        settings.retry.max_retries,
        settings.rate_limit_max_wait_seconds,
    )
