"""Announces the end of a background job in its chat, and lets the assistant continue there if the user has set
`chat.continueAfterJobs`.

Usually the end of a job is only a note: the user sees it at once, and the model reads it with the next prompt. With the
setting a turn begins, as if somebody had said that the job has ended. It is a turn like any other: its rules, budgets
and approvals are the same, and it can be stopped. Several jobs that end at once begin one turn: the ends of the others
are notes, which the model reads with the first request of that turn.

The note stays a note, and no turn begins, in these cases:

- Somebody has ended the job, or the server ends. Whoever ended it knows about it.
- The chat is busy with something else, or the user has to answer: a question of a command, or a plan.
- The job was not started in this chat by one of our own models: it is the job of a subagent, of an outside agent or of
  a program.
- Somebody has stopped a turn since the job began. Then the user does not want the assistant to continue.
- Nobody is there who could approve a call.
- Too many turns have begun by themselves since the user's last message. So the assistant cannot spend money without end
  while nobody looks.

It must not know how a turn begins: `turns` does. `host/notices` writes the texts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import EcaError
from jupyter_eca.host.chat.live_chat import Prompt
from jupyter_eca.host.notices import describe_job_end
from jupyter_eca.log_fields import LogFields
from jupyter_eca.protocol.event import Outcome
from jupyter_eca.protocol.job import JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.protocol.job import Job, JobLine

_log = logging.getLogger(__name__)

# The turns that may begin one after another without a message of the user. Those that hooks begin count too.
MAX_TURNS: Final = 10

# The name of the task that begins a turn in a chat.
_TASK: Final = "job end"

# The user reads this below the note.
_CONTINUES: Final = "The assistant continues, because `chat.continueAfterJobs` is set."

# The model reads this below the note.
_FOR_MODEL: Final = "[The user has written nothing since. Continue with what waited for this job, or say how it went.]"


class JobEndings:
    """Announces the ends of the background jobs of one host."""

    def __init__(self, services: Services, chats: Chats, tasks: ChatTasks, turns: Turns) -> None:
        self._services = services
        self._chats = chats
        self._tasks = tasks
        self._turns = turns
        # Whether the host ends, so that no turn begins any more.
        self._is_closed = False

    def close(self) -> None:
        """Begin no more turns, because the host ends."""
        self._is_closed = True

    def announce(self, job: Job, reason: str, lines: Sequence[JobLine] = ()) -> None:
        """Tell the chat of a job that it has ended. This must not wait.

        `reason` says why the job failed or was ended, "" if it has succeeded. `lines` are the output of the job.
        """
        shown, text_for_model = describe_job_end(job, reason, lines)
        live = self._chats.get_live(str(job.chat_id))
        if live is not None and job.status is not JobStatus.KILLED and self._may_continue(live):
            self._tasks.start(live, _TASK, self._continue(live, job, shown, text_for_model))
        else:
            self._turns.note(str(job.chat_id), shown, text_for_model)

    def _may_continue(self, chat: LiveChat) -> bool:
        """Return whether a turn may begin in the chat now, as far as this is known without its stored events. See the
        top of the module for the cases."""
        id, previous = chat.state.id, chat.last_prompt
        return (
            self._services.config.chat.continue_after_jobs
            and not self._is_closed
            and not (chat.is_busy or _TASK in chat.tasks)
            and not (chat.parent or chat.state.setup.outside or chat.state.ended_in_plan)
            and not (chat.dialogue is not None and not chat.dialogue.is_over)
            and previous is not None
            and previous.follow_up_count < MAX_TURNS
            and self._services.subscribers.has_attending_approver(id)
        )

    async def _continue(self, chat: LiveChat, job: Job, shown: str, text_for_model: str) -> None:
        """Begin a turn about the end of a job, or add a note if that is not possible after all. The user reads `shown`,
        and the model `text_for_model`."""
        previous = chat.last_prompt
        if previous is not None and await self._is_wanted(chat, job):
            prompt = Prompt(
                chat.state.id,
                f"{shown}\n\n{_CONTINUES}",
                bounds=previous.bounds,
                follow_up_count=previous.follow_up_count + 1,
                first_turn=previous.first_turn or previous.turn,
                job_end=f"{text_for_model}\n{_FOR_MODEL}",
                notebook=previous.notebook,
                allows_later_review=previous.allows_later_review,
            )
            try:
                await self._turns.prompt(prompt)
            except EcaError as error:
                fields = LogFields(chat_id=chat.state.id)
                _log.info("no turn was begun in %s at the end of %s: %s", chat.state.id, job.id, error, extra=fields)
            else:
                return
        self._turns.note(chat.state.id, shown, text_for_model)

    async def _is_wanted(self, chat: LiveChat, job: Job) -> bool:
        """Return whether the call that started the job is still in the chat, and no turn was stopped since."""
        events = await self._chats.read_events(chat.state.id)
        calls = [index for index, event in enumerate(events) if getattr(event.content, "id", None) == job.tool_call_id]
        return bool(calls) and all(event.outcome is not Outcome.STOPPED for event in events[calls[0] :])
