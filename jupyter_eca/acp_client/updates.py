"""Reads the updates of a session (`session/update`) as events. Pure.

Agents send kinds, fields and statuses that no version of the protocol has. What we do not understand is ignored, and
raises no error. The calls of the session are kept here too, because a call is described piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.acp_client.agent_call import AgentCall, read_block, read_image
from jupyter_eca.acp_client.agent_events import (
    AgentTitleChanged,
    AgentUsageChanged,
    CallDescribed,
    ImageShown,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PlanChanged,
    TextSaid,
    Thought,
)
from jupyter_eca.acp_client.config_options import MODE, list_objects, list_values, read_config_options

if TYPE_CHECKING:
    from jupyter_eca.acp_client.agent_events import AgentEvent
    from jupyter_eca.protocol.lifecycle import AgentOption

Json = Mapping[str, Any]


class UpdateReader:
    """Reads the updates of one session. For each kind of update there is a method, which gets the fields of the update
    and yields its events. `_READERS` at the end of the module says which method is for which kind."""

    def __init__(self) -> None:
        self.calls: dict[str, AgentCall] = {}
        """The calls of the turn by their ids."""
        self.mode = ""
        """The mode of the session, as far as it is known."""
        self.options: tuple[AgentOption, ...] = ()
        """The options of the session without the mode, as far as they are known."""
        self.commands: tuple[tuple[str, str], ...] = ()
        """The name and the description of each `/` command of the agent."""

    def merge_description(self, fields: Any) -> AgentCall | None:
        """Merge a description of a call into what is known of the call, and return the call. An unknown id begins a
        call. Return None for a description without an id."""
        if not isinstance(fields, Mapping):
            return None
        known = cast("Json", fields)
        id = known.get("toolCallId")
        if not isinstance(id, str) or not id:
            return None
        call = self.calls[id] = self.calls.get(id, AgentCall(id)).merge(known)
        return call

    def read(self, update: Any) -> Iterator[AgentEvent]:
        """Yield the events of an update."""
        if isinstance(update, Mapping):
            fields = cast("Json", update)
            read = _READERS.get(str(fields.get("sessionUpdate")))
            yield from read(self, fields) if read is not None else ()

    def read_text(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield a piece of the answer: a text or an image. Qwen Code also sends the tokens that it has used with it."""
        content, message = fields.get("content"), fields.get("messageId")
        if (image := read_image(content)) is not None:
            yield ImageShown(*image)
        elif text := read_block(content):
            yield TextSaid(text, message if isinstance(message, str) else "")
        if (usage := _read_qwen_usage(fields)) is not None:
            yield usage

    def read_thought(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield a piece of the agent's thoughts."""
        if text := read_block(fields.get("content")):
            yield Thought(text)

    def read_call(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield what is now known about a tool call."""
        if (call := self.merge_description(fields)) is not None:
            yield CallDescribed(call)

    def read_plan(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield the agent's plan, which replaces the one before."""
        yield PlanChanged(_read_entries(fields.get("entries")))

    def read_usage(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield the tokens and the cost that the agent reports."""
        yield _read_usage(fields)

    def read_info(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield the new title of the session, if the agent sends one."""
        if isinstance(title := fields.get("title"), str) and title:
            yield AgentTitleChanged(title)

    def read_mode(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield the mode of the agent if it has changed."""
        mode = fields.get("currentModeId") or read_open_mode(fields)[0]
        if isinstance(mode, str) and mode and mode != self.mode:
            self.mode = mode
            yield ModeChanged(mode)

    def read_options(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield the options whose values have changed. One of them may be the mode."""
        yield from self.read_mode(fields)
        if (options := read_config_options(fields)) != self.options:
            before = {option.id: option.value for option in self.options}
            self.options = options
            # An option that is new has not changed its value.
            changed = tuple(option for option in options if option.value != before.get(option.id, option.value))
            yield OptionsChanged(changed)

    def read_commands(self, fields: Json) -> Iterator[AgentEvent]:
        """Store the commands that the agent offers. Yields nothing."""
        self.commands = _read_commands(fields.get("availableCommands"))
        yield from ()

    def read_notice(self, fields: Json) -> Iterator[AgentEvent]:
        """Yield a notice that the agent shows to the user."""
        if isinstance(title := fields.get("title"), str):
            yield NoticeShown(title)


def read_open_mode(opened: Json) -> tuple[str, frozenset[str], str]:
    """Return the mode of a session that was opened, the modes that can be set, and the id of the option by which they
    are set; "" if they are set by `session/set_mode`. If an agent sends both ways, the options count."""
    for option in list_objects(opened.get("configOptions")):
        if option.get("category") == MODE and isinstance(option.get("id"), str):
            values = {str(value.get("value")) for value in list_values(option.get("options"))}
            return str(option.get("currentValue") or ""), frozenset(values), str(option["id"])
    modes = opened.get("modes")
    if not isinstance(modes, Mapping):
        return "", frozenset(), ""
    fields = cast("Json", modes)
    ids = {str(mode.get("id")) for mode in list_objects(fields.get("availableModes"))}
    return str(fields.get("currentModeId") or ""), frozenset(ids), ""


def _read_usage(fields: Json) -> AgentUsageChanged:
    """Return the usage in an update. A cost in another currency than dollars is left out."""
    cost = fields.get("cost")
    amount, currency = None, "USD"
    if isinstance(cost, Mapping):
        amount, currency = cast("Json", cost).get("amount"), str(cast("Json", cost).get("currency") or "USD")
    is_known = isinstance(amount, int | float) and currency == "USD"
    dollars = float(amount) if is_known and isinstance(amount, int | float) else None
    return AgentUsageChanged(_read_count(fields.get("used")), _read_count(fields.get("size")), dollars)


def _read_qwen_usage(fields: Json) -> AgentUsageChanged | None:
    """Return the usage that Qwen sends in `_meta` of an empty text; None for none."""
    meta = fields.get("_meta")
    usage = cast("Json", meta).get("usage") if isinstance(meta, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    return AgentUsageChanged(_read_count(cast("Json", usage).get("totalTokens")), 0)


def _read_count(value: Any) -> int:
    """Return a number of tokens; 0 for a value that is none."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0


def _read_entries(entries: Any) -> tuple[tuple[str, str], ...]:
    """Return the text and the status of each step of a plan."""
    return tuple(
        (str(entry.get("content") or ""), str(entry.get("status") or "pending")) for entry in list_objects(entries)
    )


def _read_commands(commands: Any) -> tuple[tuple[str, str], ...]:
    """Return the name and the description of each `/` command."""
    return tuple(
        (str(command["name"]), str(command.get("description") or ""))
        for command in list_objects(commands)
        if isinstance(command.get("name"), str)
    )


_READERS: Final[Mapping[str, Callable[[UpdateReader, Json], Iterator[AgentEvent]]]] = {
    "agent_message_chunk": UpdateReader.read_text,
    "agent_thought_chunk": UpdateReader.read_thought,
    "tool_call": UpdateReader.read_call,
    "tool_call_update": UpdateReader.read_call,
    "plan": UpdateReader.read_plan,
    "usage_update": UpdateReader.read_usage,
    "session_info_update": UpdateReader.read_info,
    "current_mode_update": UpdateReader.read_mode,
    "config_option_update": UpdateReader.read_options,
    "available_commands_update": UpdateReader.read_commands,
    "notice": UpdateReader.read_notice,
}
"""The functions that read the kinds of updates. Other kinds are ignored."""
